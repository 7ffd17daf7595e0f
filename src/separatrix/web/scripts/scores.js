/** The scores of a search by one of its parameters: folds as points, means and standard deviations. */

import { element, menu, svg } from "./dom.js";
import { makeAxes, makeFigure, makePicture, whenResized } from "./figure.js";
import { measureText, shade } from "./runs.js";
import { capital, linearScale, logScale, percentage, short } from "./scales.js";

const FAR = 20; // ratio of the ends of an axis above which it is logarithmic

/** Return the figure: `node` and `update(study)`. */
export function scoresView(state) {
  const figure = makeFigure("scores-figure");
  const view = { node: figure.node, update, study: null };
  whenResized(figure.body, () => view.study && draw());

  function update(study) {
    view.study = study;
    draw();
  }

  function draw() {
    const study = view.study, { parameters } = study.page;
    const k = Math.max(parameters.findIndex(one => one.name === state.get("across")), 0);
    const caption = wordsOfScores(study, k);
    figure.show({
      title: capital(`${study.page.scoring} by ${parameters[k].label}`),
      controls: [parameters.length > 1 && menu("across", parameters.map(one => [one.name, one.label]),
        parameters[k].name, name => state.set({ across: name }))],
      body: [legendOfLines(study, k), picture(study, k, Math.max(figure.body.clientWidth, 280), caption)],
      caption,
      data: () => ({
        head: [study.page.scoring, "mean", "standard deviation", "lowest fold", "highest fold"],
        rows: study.runs.map(run => [run.name, ...[run.score, deviationOf(run),
          Math.min(...known(run)), Math.max(...known(run))].map(value => measureText(study.score, value))]),
      }),
    });
  }

  function picture(study, k, width, caption) {
    const height = width < 500 ? 280 : 340, box = { left: 62, right: width - 16, top: 14, bottom: height - 42 };
    const values = study.runs.map(run => run.values[k]).filter(value => value !== null);
    const scores = study.runs.flatMap(known);
    const low = Math.min(...scores), high = Math.max(...scores), room = 0.06 * (high - low || 0.1);
    const x = scaleOfValues(values, [box.left + 14, box.right - 14]);
    const y = linearScale([low - room, high + room], [box.bottom, box.top]);
    const format = value => (study.score.endsWith("accuracy") ? percentage(value, 0) : short(value));
    const lines = linesOfRuns(study, k);
    const across = [...new Set(values)].sort((a, b) => a - b);
    return makePicture(width, height, caption,
      makeAxes({ x, y, box, xTicks: across.length > width / 60 ? x.ticks(5) : across, yTicks: y.ticks(5),
        xName: study.page.parameters[k].label,
        format: { x: value => short(value, 2), y: format } }),
      lines.map(({ runs, colour }, i) => drawLine(runs, colour, x, y, k, 5 * (i - (lines.length - 1) / 2))));
  }

  /** Draw the candidates of one line, moved sideways so that spreads do not cover each other. */
  function drawLine(runs, colour, x, y, k, aside) {
    const place = run => x.at(run.values[k]) + aside;
    const style = `--own:${colour}`;
    return svg("g", { style },
      svg("path", { class: "means", d: `M${runs.map(run => `${place(run)} ${y.at(run.score)}`).join("L")}` }),
      runs.map(run => {
        const spread = deviationOf(run);
        return svg("g", {
          class: `candidate ${run.kind}`,
          on: { click: () => state.toggle(run.number),
            pointerenter: () => state.point(run.number), pointerleave: () => state.point(null) },
        },
        svg("title", {}, `${run.name}: ${measureText(view.study.score, run.score)} `
          + `± ${measureText(view.study.score, spread)}`),
        svg("line", { class: "spread", x1: place(run), x2: place(run), y1: y.at(run.score - spread),
          y2: y.at(run.score + spread) }),
        known(run).map(score => svg("circle", { class: "fold", cx: place(run), cy: y.at(score), r: 2 })),
        svg("circle", { class: "mean", cx: place(run), cy: y.at(run.score), r: run.kind === "best" ? 7 : 5 }));
      }));
  }

  return view;
}

function known(run) {
  return run.scores.filter(score => score !== null);
}

function deviationOf(run) {
  const scores = known(run);
  return Math.sqrt(scores.reduce((sum, score) => sum + (score - run.score) ** 2, 0) / (scores.length || 1));
}

/** Return one line for every combination of the other parameters, in shades of blue. */
function linesOfRuns(study, k) {
  const groups = new Map();
  const { parameters } = study.page;
  for (const run of study.runs.filter(one => one.score !== null && one.values[k] !== null)) {
    const word = parameters.map((one, j) => (j === k ? "" : `${one.label} ${run.words[j]}`)).filter(Boolean).join(", ");
    if (!groups.has(word)) groups.set(word, []);
    groups.get(word).push(run);
  }
  return [...groups].map(([word, runs], i) => ({
    word, runs: runs.sort((a, b) => a.values[k] - b.values[k]),
    colour: shade(groups.size > 1 ? i / (groups.size - 1) : 0.6),
  }));
}

function legendOfLines(study, k) {
  const lines = linesOfRuns(study, k);
  const item = ({ word, colour }) => element("span", {}, element("span", { class: "key",
    style: `background:${colour}` }), word);
  return element("div", { class: "legend" }, lines.length > 1 && lines.slice(0, 12).map(item),
    element("span", {}, element("span", { class: "key", style: "background:var(--chosen)" }), "best"));
}

function scaleOfValues(values, range) {
  const low = Math.min(...values), high = Math.max(...values);
  if (low === high) return linearScale([low - 0.5, low + 0.5], range);
  return (low > 0 && high / low > FAR ? logScale : linearScale)([low, high], range);
}

function wordsOfScores({ page, best, score, runs }, k) {
  const left = runs.filter(run => run.values[k] === null).length;
  const words = `Large points: mean ${page.scoring} over ${page.folds} folds. Small points: the folds. Vertical `
    + "lines: one standard deviation of the folds to each side."
    + `${left ? ` Infinite values of ${page.parameters[k].label} are only in the table.` : ""}`;
  return best ? `${words} Best of ${runs.length}: ${measureText(score, best.score)} at ${best.name}.` : words;
}
