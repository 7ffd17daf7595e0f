/** The accuracy of several models on every part of the data, as points on one line for each model. */

import { element, svg } from "./dom.js";
import { makeAxes, makeFigure, makePicture, whenResized } from "./figure.js";
import { linearScale, percentage } from "./scales.js";

const LINE = 30; // height of a model
const ROLES = { training: "train", validation: "validation", test: "ink" };

/** Return the figure: `node` and `update(study)`. */
export function modelPointsView(state) {
  const figure = makeFigure("models-figure");
  const view = { node: figure.node, update, study: null };
  whenResized(figure.body, () => view.study && draw());

  function update(study) {
    view.study = study;
    figure.node.hidden = !study.page.parts_drawn.length;
    if (!figure.node.hidden) draw();
  }

  function draw() {
    const { page, runs } = view.study, parts = page.parts_drawn;
    const sorted = byMerit(view.study, runs); // as in the table
    const caption = `Accuracy of ${runs.length} models on the ${parts.join(", ")} rows. Different shapes lie side `
      + "by side where a model has the same accuracy on several parts.";
    const key = (part, k) => element("span", {}, svg("svg", { viewBox: "-6 -6 12 12", class: "key-point",
      "aria-hidden": "true" }, mark(k, 0, 0, part)), part);
    figure.show({
      title: "Accuracy by model",
      body: [element("div", { class: "legend" }, parts.map(key)),
        pointsOfModels(sorted, parts, Math.max(figure.body.clientWidth, 280), caption)],
      caption,
      data: () => ({ head: ["model", ...parts], rows: sorted.map(run =>
        [run.name, ...run.accuracies.map(value => percentage(value))]) }),
    });
  }

  function pointsOfModels(sorted, parts, width, caption) {
    const left = Math.min(20 + 7.6 * Math.max(...sorted.map(run => run.name.length)), 150);
    const height = LINE * sorted.length + 62;
    const box = { left, right: width - 22, top: 8, bottom: height - 44 };
    const values = sorted.flatMap(run => run.accuracies).filter(value => value !== null);
    const low = Math.min(...values), high = Math.max(...values), room = 0.05 * (high - low || 0.2);
    const x = linearScale([Math.max(low - room, 0), Math.min(high + room, 1)], [box.left + 8, box.right - 4]);
    const lines = sorted.map((_, k) => k);
    const y = linearScale([0, sorted.length], [box.top, box.top + LINE * sorted.length]);
    return makePicture(width, height, caption,
      makeAxes({ x, y: { at: k => y.at(k + 0.5) }, box, xTicks: x.ticks(width < 500 ? 3 : 6), yTicks: lines,
        xName: "accuracy", format: { x: value => percentage(value, 0), y: k => sorted[k].name } }),
      sorted.map((run, k) => svg("g", {
        class: `model ${run.kind}`,
        on: { click: () => state.toggle(run.number),
          pointerenter: () => state.point(run.number), pointerleave: () => state.point(null) },
      }, run.accuracies.map((value, i) => value !== null && svg("g", {},
        svg("title", {}, `${run.name}, ${parts[i]}: ${percentage(value)}`),
        mark(i, x.at(value), y.at(k + 0.5) + 6 * (i - (parts.length - 1) / 2), parts[i]))))));
  }

  return view;
}

function mark(k, x, y, part) {
  const shapes = ["M-4.5 0a4.5 4.5 0 1 0 9 0a4.5 4.5 0 1 0 -9 0", "M0 -5.5l5.5 5.5l-5.5 5.5l-5.5 -5.5z",
    "M-4 -4h8v8h-8z"];
  return svg("path", { class: "accuracy-mark", d: shapes[k % 3], transform: `translate(${x} ${y})`,
    style: `fill:var(--${ROLES[part]})` });
}
