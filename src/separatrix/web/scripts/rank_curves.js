/** ROC and precision-recall curves of one class or of every class against the rest. */

import { classOf, cutOf } from "./cuts.js";
import { element, svg } from "./dom.js";
import { makeAxes, makeFigure, makePicture, whenResized } from "./figure.js";
import { linearScale, percentage, short } from "./scales.js";

const CURVES = {
  roc: {
    title: "ROC curve", area: "roc_auc", areaName: "area under the curve",
    xName: "false positive rate", yName: "true positive rate",
    x: cut => cut.falseRate, y: cut => cut.recall,
    level: () => [0, 1], levelWords: "Dashed: guessing.",
  },
  precision: {
    title: "Precision-recall curve", area: "average_precision", areaName: "average precision",
    xName: "recall", yName: "precision",
    x: cut => cut.recall, y: cut => cut.precision,
    level: one => [one.positives / (one.positives + one.negatives), one.positives / (one.positives + one.negatives)],
    levelWords: "Dashed: guessing, the share of positive rows.",
  },
};

/** Return the figure of a kind of curve ("roc" or "precision"): `node` and `update(study)`. */
export function rankCurveView(state, kind) {
  const about = CURVES[kind], figure = makeFigure(`${kind}-figure`);
  const view = { node: figure.node, update, study: null };
  whenResized(figure.body, () => view.study && draw());

  function update(study) {
    view.study = study;
    figure.node.hidden = !study.classes.length;
    if (!figure.node.hidden) draw();
  }

  function draw() {
    const study = view.study, shown = classOf(study, state);
    if (!shown) return;
    const areas = study.classes.map(one => `${one.name} ${short(one[about.area], 4)}`).join(", ");
    const caption = `${study.classes.length > 1 ? "Each class against the rest" : `Positive: ${shown.name}`}. `
      + `${about.areaName[0].toUpperCase()}${about.areaName.slice(1)}: ${areas}. ${about.levelWords} `
      + `Point: the threshold below.${study.classes.length > 1 && study.classes.length < study.page.data.classes.length
        ? ` ${study.classes.length} of ${study.page.data.classes.length} classes are drawn.` : ""}`;
    figure.show({
      title: about.title,
      body: [legendOfClasses(study, shown),
        picture(study, shown, Math.min(figure.body.clientWidth || 400, 520), caption)],
      caption,
      data: () => ({
        head: ["class", about.areaName, "positive rows", "other rows"],
        rows: study.classes.map(one =>
          [one.name, short(one[about.area], 4), short(one.positives), short(one.negatives)]),
      }),
    });
  }

  function picture(study, shown, width, caption) {
    const height = Math.round(0.82 * width);
    const box = { left: 64, right: width - 12, top: 12, bottom: height - 42 };
    const x = linearScale([0, 1], [box.left, box.right]), y = linearScale([0, 1], [box.bottom, box.top]);
    const ticks = [0, 0.25, 0.5, 0.75, 1], format = value => percentage(value, 0);
    const [from, to] = about.level(shown);
    const order = [...study.classes].sort((a, b) => (a === shown) - (b === shown));
    const now = shown.cuts[cutOf(shown, state)];
    const path = one => one.cuts.filter(cut => about.y(cut) !== null)
      .map(cut => `${x.at(about.x(cut)).toFixed(1)} ${y.at(about.y(cut)).toFixed(1)}`).join("L");
    return makePicture(width, height, caption,
      makeAxes({ x, y, box, xTicks: ticks, yTicks: ticks, xName: about.xName, yName: about.yName,
        format: { x: format, y: format } }),
      svg("line", { class: "limit", x1: x.at(0), x2: x.at(1), y1: y.at(from), y2: y.at(to) }),
      order.map(one => svg("path", { class: `rank ${one === shown ? "shown" : ""}`, d: `M${path(one)}`,
        style: `stroke:${colourOfClass(study, one)}`,
        "stroke-dasharray": study.classes.indexOf(one) < 10 ? null : "6 3" }, svg("title", {}, one.name))),
      about.y(now) !== null
        && svg("circle", { class: "dot now", cx: x.at(about.x(now)), cy: y.at(about.y(now)), r: 6 }));
  }

  return view;
}

/** Return the colour of a class, which is that of its points in other pictures. */
function colourOfClass({ classes, page }, one) {
  const k = Math.max(page.data.classes.indexOf(one.name), 0);
  return classes.length === 1 ? "var(--validation)" : `var(--class-${k % 10})`;
}

function legendOfClasses(study, shown) {
  if (study.classes.length < 2) return null;
  return element("div", { class: "legend" }, study.classes.map(one => element("span", {},
    element("span", { class: "key", style: `background:${colourOfClass(study, one)}` }),
    one === shown ? element("b", {}, one.name) : one.name)));
}
