/** Why the most important failure failed: the objective along its steps. */

import { button, element, fill, svg } from "./dom.js";
import { makeAxes, makeFigure, makePicture, whenResized } from "./figure.js";
import { linearScale, logScale, percentage, short } from "./scales.js";

const LOG_FROM = 20; // ratio of highest to lowest objective above which the axis is logarithmic

/** Return the section: `node` and `update(study)`. It is hidden if nothing failed. */
export function failureView(state) {
  const heading = element("h2"), words = element("div", { class: "reading" });
  const figure = makeFigure("failure-figure");
  const node = element("section", { id: "why", class: "failure" }, heading,
    element("div", { class: "beside" }, words, figure.node));
  const view = { node, update, study: null };
  whenResized(figure.body, width => view.study && draw(width));

  function update(study) {
    view.study = study;
    const failure = study.page.drawings.failure;
    node.hidden = !failure;
    if (!failure) return;
    heading.className = failure.what;
    fill(heading, `Why ${failure.name} ${failure.what}`);
    fill(words, failure.words.map(sentence => element("p", {}, sentence)),
      element("p", {}, button("show its curve", () => {
        if (!state.chosen().includes(failure.number)) state.toggle(failure.number);
        document.querySelector(".curves-figure").scrollIntoView({ block: "nearest" });
      })));
    figure.node.hidden = !failure.steps;
    draw(figure.body.clientWidth || 460);
  }

  function draw(width) {
    const failure = view.study.page.drawings.failure;
    if (!failure || !failure.steps) return;
    const caption = wordsOfFailure(failure), { unit, steps, epochs } = failure;
    figure.show({
      title: `The objective along ${unit}s ${epochs[0] + 1} to ${epochs[epochs.length - 1]} of this run`
        .replace(/s (\d+) to \1 /, " $1 "),
      body: stepsPicture(failure, Math.max(width, 280), caption),
      caption,
      data: () => ({
        head: [unit, "objective before", "lowest on the way", "objective after"],
        rows: steps.map((values, k) => [String(epochs[k + 1]), short(values[0], 4),
          short(Math.min(...values), 4), short(values[values.length - 1], 4)]),
      }),
    });
  }

  return view;
}

/** Draw the steps side by side with the same width: the ends of one step begin the next. */
function stepsPicture({ epochs, steps, valleys, unit }, width, caption) {
  const height = 300, box = { left: 58, right: width - 14, top: 18, bottom: height - 42 };
  const all = steps.flat(), low = Math.min(...all), high = Math.max(...all);
  const x = linearScale([epochs[0], epochs[epochs.length - 1]], [box.left, box.right]);
  const isLog = low > 0 && high > LOG_FROM * low, room = high - low;
  const y = isLog ? logScale([low / 1.3, high * 1.2], [box.bottom, box.top])
    : linearScale([low - 0.06 * room, high + 0.04 * room], [box.bottom, box.top]);
  const along = (values, k) => values.map((value, i) => {
    const px = x.at(epochs[k] + i / (values.length - 1));
    return `${px.toFixed(1)} ${Math.max(y.at(value), -2000).toFixed(1)}`;
  }).join("L");
  const ends = [steps[0][0], ...steps.map(values => values[values.length - 1])];
  return makePicture(width, height, caption,
    svg("defs", {}, svg("clipPath", { id: "clip-failure" }, svg("rect", {
      x: box.left, y: box.top, width: box.right - box.left, height: box.bottom - box.top,
    }))),
    makeAxes({ x, y, box, xTicks: epochs, yTicks: y.ticks(4), xName: unit, yName: "objective",
      format: { x: String, y: short } }),
    svg("g", { "clip-path": "url(#clip-failure)" }, valleys
      && valleys.map((values, k) => svg("path", { class: "valley", d: `M${along(values, k)}` }))),
    svg("path", { class: "slice", d: `M${steps.map(along).join("L")}` }),
    ends.map((value, k) => svg("circle", { class: "step", cx: x.at(epochs[k]), cy: y.at(value), r: 4.5 })),
    ends.map((value, k) => svg("text", { class: "label diverged", x: x.at(epochs[k]), y: y.at(value) - 8,
      "text-anchor": k === 0 ? "start" : k === ends.length - 1 ? "end" : "middle" }, short(value))));
}

/** Describe the picture; how far the steps overshoot is said only where the objective rose. */
function wordsOfFailure({ unit, rate, steps, valleys, is_rate_stable: isRateStable }) {
  const words = [`Red: the objective after each ${unit}. Line: the objective on the way from one to the next.`];
  const rising = steps.filter(values => values[values.length - 1] > values[0]);
  const lowest = rising.map(values => values.indexOf(Math.min(...values)) / (values.length - 1));
  if (rising.length) {
    const most = percentage(Math.max(...lowest), 0);
    words.push(Math.max(...lowest) > 0 ? `On the way it was lowest after at most ${most} of a ${unit}: each one goes `
      + "too far and lands higher." : `It rises from the beginning of the ${unit}.`);
  }
  if (valleys) words.push(`Dashed: the narrowest valley in which a learning rate of ${short(rate)} is stable.`);
  if (isRateStable)
    words.push("The objective is flatter than that at all weights: momentum carries the steps uphill.");
  return words.join(" ");
}
