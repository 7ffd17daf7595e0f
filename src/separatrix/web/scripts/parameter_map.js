/**
 * A measure by two parameters: a table of shaded cells if the values form a grid, else points.
 *
 * Failures are hatched and named, and a dashed line marks the largest stable learning rate.
 */

import { button, element, menu, svg } from "./dom.js";
import { chosenView } from "./curves.js";
import { LETTER, makeAxes, makeFigure, makePicture, whenResized } from "./figure.js";
import { UNLIKE_LOSSES, bestBy, isHigherBetter, measureText, measureWords, shade } from "./runs.js";
import { capital, count, linearScale, logScale, percentage, quantile, short, significant } from "./scales.js";
import { filteredRuns } from "./table.js";

const MOST_COLUMNS = 20, MOST_LINES = 24;
const NARROW = 400; // pixels of the narrow figure; a wider grid gets the full width
const WIDE = 8; // columns above which failures are "×" and numbers have two digits
const FEW = 12; // values of the vertical parameter that have lines of their own
const LOG_RATIO = 20; // ratio of the ends of an axis above which it is logarithmic

/** Return the figure: `node` and `update(study)`. It is hidden if no number varies. */
export function parameterMapView(state) {
  const figure = makeFigure("map-figure");
  const view = { node: figure.node, update, study: null };
  whenResized(figure.body, () => view.study && draw());

  function update(study) {
    view.study = study;
    const numeric = study.page.parameters.some(one => one.numeric);
    figure.node.hidden = !numeric || !study.runs.some(run => run.kind !== "waiting");
    if (!figure.node.hidden) draw();
  }

  function draw() {
    const study = view.study, main = study.score || chosenView(study, state).main;
    const axes = axesOf(study, state);
    const runs = filteredRuns(study, state).runs.filter(run => run.kind !== "waiting");
    const map = mapOf(study, runs, axes, main);
    const isGrid = axes.y && map.columns.length <= MOST_COLUMNS && map.lines.length <= MOST_LINES
      && map.cells.size >= 0.5 * map.columns.length * map.lines.length;
    const names = [axes.x, axes.y].filter(Boolean).map(one => one.label).join(" and ");
    const caption = describeMap(study, map, axes, main, isGrid);
    figure.node.classList.toggle("wide", Boolean(isGrid) && widthOfGrid(map, axes) > NARROW);
    figure.show({
      title: `${capital(measureWords(main))} by ${names}`,
      controls: controls(study, axes),
      body: isGrid ? grid(study, map, axes, main, state)
        : points(study, runs, axes, main, map, figure.body.clientWidth || 400, state, caption),
      caption,
      data: () => dataOfMap(map, axes, main),
    });
  }

  function controls(study, { x, y }) {
    const numeric = study.page.parameters.filter(one => one.numeric);
    const others = study.page.parameters.filter(one => one !== x);
    const options = list => list.map(one => [one.name, one.label]);
    return [
      numeric.length > 1 && menu("across", options(numeric), x.name, name => state.set({ across: name })),
      others.length > 1 && menu("down", options(others), y.name, name => state.set({ down: name })),
    ];
  }

  return view;
}

/**
 * Return the parameters of the axes: the chosen ones, else the learning rate and a parameter that was
 * drawn at random, or momentum.
 */
function axesOf(study, state) {
  const all = study.page.parameters, numeric = all.filter(one => one.numeric);
  const named = (list, name) => list.find(one => one.name === name);
  const x = named(numeric, state.get("across")) || named(numeric, "learning_rate") || numeric[0];
  const rest = all.filter(one => one !== x), numbers = rest.filter(one => one.numeric);
  const values = one => new Set(study.runs.map(run => run.words[all.indexOf(one)])).size;
  const y = named(rest, state.get("down")) || numbers.find(one => values(one) > MOST_LINES)
    || named(rest, "momentum") || numbers[0] || rest[0] || null;
  return { x, y };
}

function mapOf(study, runs, { x, y }, main) {
  const at = parameter => study.page.parameters.indexOf(parameter);
  const valuesOf = parameter => {
    if (!parameter) return [{ word: "", value: 0 }];
    const found = new Map(runs.map(run => [run.words[at(parameter)], run.values[at(parameter)]]));
    const values = [...found].map(([word, value]) => ({ word, value }));
    return parameter.numeric ? values.sort((a, b) => (a.value ?? Infinity) - (b.value ?? Infinity)) : values;
  };
  const columns = valuesOf(x), lines = valuesOf(y);
  const cells = new Map();
  for (const run of runs) {
    const key = `${run.words[at(x)]}\n${y ? run.words[at(y)] : ""}`;
    if (!cells.has(key)) cells.set(key, []);
    cells.get(key).push(run);
  }
  const shades = new Map();
  for (const [key, own] of cells) {
    const best = bestBy(own, main);
    if (best) shades.set(key, best.measure(main));
  }
  const sorted = [...shades.values()].sort((a, b) => a - b);
  const low = quantile(sorted, 0.05), high = quantile(sorted, 0.95);
  const log = low > 0 && high / low > LOG_RATIO;
  const place = value => {
    const [a, b, c] = log ? [Math.log(low), Math.log(high), Math.log(value)] : [low, high, value];
    const share = b > a ? Math.min(Math.max((c - a) / (b - a), 0), 1) : 0.5;
    return isHigherBetter(main) ? share : 1 - share;
  };
  const rates = own => own.map(run => run.stable_rate).filter(rate => rate !== null);
  const limits = lines.map(line => {
    if (x.name !== "learning_rate") return null;
    const found = rates(runs.filter(run => !y || run.words[at(y)] === line.word));
    return found.length ? Math.min(...found) : null;
  });
  const areEqual = lines.every(line => new Set(rates(runs.filter(run => !y || run.words[at(y)] === line.word))).size < 2);
  return { columns, lines, cells, place, limits, areEqual };
}

function grid(study, map, axes, main, state) {
  const { columns, lines, cells, limits } = map;
  const digits = columns.length > 9 ? 2 : 3;
  const cell = (column, line, k, limit) => {
    const own = cells.get(`${column.word}\n${line.word}`);
    const border = limit === null ? "" : limitClass(columns, k, limit);
    if (!own) return element("td", { class: border });
    const best = bestBy(own, main);
    const failed = own.filter(run => run.kind === "diverged").length;
    const kinds = [border, own.includes(study.best) && "best", best ? failed && "partly" : "diverged"];
    const place = best && map.place(best.measure(main));
    const value = best && (main.endsWith("accuracy") ? percentage(best.measure(main), 0)
      : significant(best.measure(main), digits));
    const words = `${axes.x.label} ${column.word}, ${axes.y.label} ${line.word}: ${best ? value : "diverged"}`
      + `${best && failed ? `, ${failed} of ${own.length} diverged` : ""}`;
    const shown = best ? value : columns.length > WIDE ? "×" : "diverged";
    return element("td", { class: kinds.filter(Boolean).join(" ") }, button(shown,
      () => state.toggle((best || own[0]).number), {
        "aria-label": words, title: words, class: place === null ? null : shadeClass(place),
        style: place === null ? null : `--place:${shadePercent(place)}%`,
      }));
  };
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Map" },
    element("table", { class: "map" },
      element("thead", {}, element("tr", {}, element("th", { scope: "col" }, axes.y.label),
        columns.map(column => element("th", { scope: "col", title: column.word }, headOf(column))))),
      element("tbody", {}, lines.map((line, row) => element("tr", {},
        element("th", { scope: "row", title: line.word }, headOf(line)),
        columns.map((column, k) => cell(column, line, k, limits[row]))))),
      element("tfoot", {}, element("tr", {}, element("td", {}),
        element("td", { colspan: columns.length }, axes.x.label)))));
}

function headOf({ word, value }) {
  return typeof value === "number" ? short(value, 2) : word;
}

/** The line is left of the first column that is not stable, and right of the last if all are. */
function limitClass(columns, k, limit) {
  const stable = columns.filter(column => column.value <= limit).length;
  if (k === stable) return "limit";
  return k === columns.length - 1 && stable === columns.length ? "limit after" : "";
}

/** Shades leave out the middle, where neither dark nor light text could be read. */
function shadePercent(place) {
  return Math.round(place < 0.5 ? 6 + 52 * place : 78 + 44 * (place - 0.5));
}

function shadeClass(place) {
  return place < 0.5 ? "light" : "dark";
}

/**
 * Draw points for what is no grid of few cells: the best of every pair of values, or the measure by
 * one parameter. Few values of the vertical parameter have lines of their own.
 */
function points(study, runs, { x, y }, main, map, width, state, caption) {
  const at = parameter => study.page.parameters.indexOf(parameter);
  const hasLines = y && map.lines.length <= FEW, byMeasure = !y || !(y.numeric || hasLines);
  const shown = byMeasure ? runs : [...map.cells.values()].map(own => bestBy(own, main) || own[0]);
  const height = hasLines ? Math.max(34 * map.lines.length + 56, 140) : Math.min(Math.max(0.8 * width, 240), 360);
  const names = hasLines ? Math.min(Math.max(...map.lines.map(line => headOf(line).length)) * LETTER + 26, 130) : 62;
  const box = { left: names, right: width - 12, top: 14, bottom: height - 42 };
  const across = fitting(shown.map(run => run.values[at(x)]), [box.left + 8, box.right - 8]);
  const lineOf = new Map(map.lines.map(({ word }, k) => [word, k]));
  const up = byMeasure ? run => run.measure(main)
    : hasLines ? run => lineOf.get(run.words[at(y)]) : run => run.values[at(y)];
  const upward = hasLines ? linearScale([-0.5, map.lines.length - 0.5], [box.top, box.bottom])
    : fitting((byMeasure ? shown.filter(run => run.kind !== "diverged") : shown).map(up),
      [box.bottom - 8, box.top + 8]);
  const dot = run => {
    const px = across.at(run.values[at(x)]), value = run.measure(main);
    if (run.kind === "diverged") {
      const py = byMeasure ? box.top + 4 : upward.at(up(run));
      return svg("path", { class: "cross", d: `M${px - 4} ${py - 4}l8 8m0 -8l-8 8` },
        svg("title", {}, `${run.name}: diverged`));
    }
    return value !== null && svg("circle", {
      cx: px, cy: upward.at(up(run)), r: run.kind === "best" ? 6.5 : 5, class: `dot ${run.kind}`,
      style: `fill:${byMeasure ? "var(--other)" : shade(map.place(value))}`,
      on: {
        click: () => state.toggle(run.number),
        pointerenter: () => state.point(run.number), pointerleave: () => state.point(null),
      },
    }, svg("title", {}, `${run.name}: ${measureText(main, value)}`));
  };
  const order = [...shown].sort((a, b) => (a.kind === "best") - (b.kind === "best"));
  const limit = Math.min(...map.limits.filter(one => one !== null));
  const inside = Number.isFinite(limit) && across.at(limit) > box.left && across.at(limit) < box.right;
  const format = value => (byMeasure && main.endsWith("accuracy") ? percentage(value, 0)
    : hasLines ? headOf(map.lines[value]) : short(value));
  return [!byMeasure && keyOfShades(main), makePicture(width, height, caption,
    makeAxes({
      x: across, y: upward, box, xTicks: across.ticks(Math.floor(width / 90)),
      yTicks: hasLines ? map.lines.map((_, k) => k) : upward.ticks(4),
      xName: x.label, yName: byMeasure ? measureWords(main) : y.label, format: { x: short, y: format },
    }),
    inside && svg("line", { class: "limit", x1: across.at(limit), x2: across.at(limit),
      y1: box.top, y2: box.bottom }),
    order.map(dot))].filter(Boolean);
}

/** Say which end of the shades is better. */
function keyOfShades(main) {
  const [low, high] = isHigherBetter(main) ? ["low", "high"] : ["high", "low"];
  const key = (place, words) => element("span", {}, element("span", { class: "key",
    style: `background:${shade(place)}` }), words);
  return element("div", { class: "legend" }, key(0, `${low} ${measureWords(main)}`), key(1, high));
}

/** Return the width that a grid needs for its numbers, about. */
function widthOfGrid({ columns, lines }, { y }) {
  const heads = Math.max(y.label.length, ...lines.map(line => headOf(line).length));
  return columns.reduce((sum, column) => sum + Math.max(LETTER * headOf(column).length, 52) + 6, LETTER * heads);
}

/** Return a scale that shows all values, logarithmic if they are positive and far apart. */
function fitting(values, range) {
  const known = values.filter(value => typeof value === "number" && Number.isFinite(value));
  const low = Math.min(...known), high = Math.max(...known);
  if (!known.length || low === high) return linearScale([(low || 0) - 0.5, (low || 0) + 0.5], range);
  return (low > 0 && high / low > LOG_RATIO ? logScale : linearScale)([low, high], range);
}

function describeMap(study, map, axes, main, isGrid) {
  const own = [...map.cells.values()].flat();
  const best = bestBy(own, main);
  const failed = own.filter(run => run.kind === "diverged").length;
  const others = study.page.parameters.filter(one => one !== axes.x && one !== axes.y);
  const words = [];
  if (isGrid && others.length)
    words.push(`Each cell is the best over ${others.map(one => one.label).join(" and ")}.`);
  if (study.page.unlike_losses && main.endsWith("loss")) words.push(UNLIKE_LOSSES);
  else if (best)
    words.push(`${isHigherBetter(main) ? "Highest" : "Lowest"}: `
      + `${measureText(main, best.measure(main))} at ${best.name}.`);
  const framed = isGrid && [...map.cells.values()].find(runs => runs.includes(study.best));
  if (framed && bestBy(framed, main) && bestBy(framed, main) !== study.best && study.best.measure(main) !== null)
    words.push(`Green: the cell of the best configuration, which itself has ${measureText(main, study.best.measure(main))}.`);
  const rates = map.limits.filter(rate => rate !== null);
  if (rates.length) {
    const [low, high] = [Math.min(...rates), Math.max(...rates)].map(rate => short(rate, 2));
    words.push(`Dashed: largest rate that is stable at all weights (${low === high ? low : `${low} to ${high}`}`
      + `${map.areEqual || !others.length ? "" : `, the lowest over ${others.map(one => one.label).join(" and ")}`}).`);
  }
  const drawn = isGrid ? "hatched, or × if only some of a cell" : "×";
  if (failed) words.push(`${count(failed, study.thing)} diverged (${drawn}).`);
  return words.join(" ");
}

function dataOfMap(map, { x, y }, main) {
  const rows = [...map.cells].map(([key, own]) => {
    const best = bestBy(own, main);
    const failed = own.filter(run => run.kind === "diverged").length;
    return [...key.split("\n").slice(0, y ? 2 : 1), best ? measureText(main, best.measure(main)) : "diverged",
      String(own.length), String(failed)];
  });
  return { head: [x.label, ...(y ? [y.label] : []), measureWords(main), "runs", "diverged"], rows };
}
