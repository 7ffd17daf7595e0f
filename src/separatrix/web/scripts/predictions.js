/** How the best configuration predicts the validation rows: confusion matrix and calibration. */

import { element, svg } from "./dom.js";
import { makeAxes, makeFigure, makePicture, whenResized } from "./figure.js";
import { count, linearScale, percentage } from "./scales.js";

const MOST_NAMES = 24; // classes of a confusion matrix that is shown

/** Return the word for a row that was predicted, such as "test row". */
function rowWord({ page }) {
  return `${page.drawings.part ?? "validation"} row`.trim();
}

/** Return the figure of the confusion matrix: `node` and `update(study)`. */
export function confusionView() {
  const figure = makeFigure("confusion-figure");
  return {
    node: figure.node,
    update(study) {
      const { confusion } = study.page.drawings, names = study.page.data.classes;
      figure.node.hidden = !confusion;
      if (!confusion) return;
      figure.show({
        title: "Confusion matrix",
        body: matrix(confusion, names),
        caption: wordsOfErrors(confusion, names, rowWord(study)),
        data: () => tableOfCounts(confusion, names),
      });
    },
  };
}

function matrix(confusion, given) {
  const names = given.every(name => /^class \S+$/.test(name)) ? given.map(name => name.slice(6)) : given;
  const shown = confusion.map((_, k) => k).slice(0, MOST_NAMES);
  const cell = (row, column) => {
    const rows = confusion[row][column], all = confusion[row].reduce((a, b) => a + b, 0);
    const share = all ? rows / all : 0;
    const kind = row === column ? "right" : rows ? "wrong" : "";
    return element("td", { class: kind, style: rows ? `--place:${Math.round(12 + 26 * Math.sqrt(share))}%` : null },
      rows ? rows.toLocaleString("en") : "");
  };
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Confusion matrix" },
    element("table", { class: "confusion" },
      element("thead", {},
        element("tr", {}, element("td", {}), element("th", { scope: "colgroup", colspan: shown.length }, "predicted"),
          element("td", {})),
        element("tr", {}, element("th", { scope: "col", class: "words" }, "true"),
          shown.map(k => element("th", { scope: "col", title: names[k] }, names[k])), element("th", { scope: "col" }, "right"))),
      element("tbody", {}, shown.map(row => element("tr", {},
        element("th", { scope: "row", class: "words", title: names[row] }, names[row]), shown.map(column => cell(row, column)),
        element("td", { class: "plain" }, recall(confusion, row)))))));
}

function recall(confusion, k) {
  const all = confusion[k].reduce((a, b) => a + b, 0);
  return all ? percentage(confusion[k][k] / all) : "–";
}

function errors(confusion) {
  return confusion.flatMap((line, row) => line.map((rows, column) => ({ row, column, rows })))
    .filter(({ row, column, rows }) => row !== column && rows).sort((a, b) => b.rows - a.rows);
}

function wordsOfErrors(confusion, names, word) {
  const wrong = errors(confusion);
  const all = confusion.flat().reduce((a, b) => a + b, 0);
  const missed = wrong.reduce((sum, one) => sum + one.rows, 0);
  if (!missed) return `All ${count(all, word)} are classified correctly.`;
  const { row, column, rows } = wrong[0], tied = wrong.length > 1 && wrong[1].rows === rows;
  const common = tied ? "" : ` Most common error: ${names[row]} taken for ${names[column]} (${count(rows, "row")}).`;
  return `${missed.toLocaleString("en")} of ${count(all, word)} are wrong.${common} Blue: right, red: wrong.`;
}

function tableOfCounts(confusion, names) {
  const rows = confusion.flatMap((line, row) => line.map((found, column) =>
    found && [names[row], names[column], found.toLocaleString("en")]));
  return { head: ["true", "predicted", "rows"], rows: rows.filter(Boolean) };
}

/** Return the figure of the calibration: `node` and `update(study)`. */
export function calibrationView() {
  const figure = makeFigure("calibration-figure");
  const view = { node: figure.node, update, study: null };
  whenResized(figure.body, () => view.study && draw());

  function update(study) {
    view.study = study;
    figure.node.hidden = !study.page.drawings.calibration;
    if (!figure.node.hidden) draw();
  }

  function draw() {
    const groups = view.study.page.drawings.calibration;
    if (!groups) return;
    const names = view.study.page.data.classes;
    const what = names.length === 2 ? `the probability of ${names[1]}` : "the probability of the predicted class";
    const rows = groups.reduce((sum, group) => sum + group[2], 0);
    const apart = groups.reduce((sum, group) => sum + group[2] * Math.abs(group[0] - group[1]), 0) / rows;
    const caption = `Groups of ${rowWord(view.study)}s by ${what}, and how often it was right. Mean distance from the `
      + `diagonal: ${percentage(apart)}. Vertical lines: 95 % confidence intervals.`;
    figure.show({
      title: "Calibration",
      body: calibrationPicture(groups, Math.min(figure.body.clientWidth || 360, 420), caption),
      caption,
      data: () => ({
        head: ["probability", "frequency", "rows", "from", "to"],
        rows: groups.map(([p, share, n, low, high]) =>
          [percentage(p), percentage(share), String(n), percentage(low), percentage(high)]),
      }),
    });
  }

  return view;
}

function calibrationPicture(groups, width, caption) {
  const height = Math.round(0.82 * width);
  const box = { left: 66, right: width - 12, top: 12, bottom: height - 42 };
  const x = linearScale([0, 1], [box.left, box.right]), y = linearScale([0, 1], [box.bottom, box.top]);
  const ticks = [0, 0.25, 0.5, 0.75, 1], format = value => percentage(value, 0);
  return makePicture(width, height, caption,
    makeAxes({ x, y, box, xTicks: ticks, yTicks: ticks, xName: "predicted probability",
      yName: "observed frequency", format: { x: format, y: format } }),
    svg("line", { class: "limit", x1: x.at(0), x2: x.at(1), y1: y.at(0), y2: y.at(1) }),
    groups.map(([p, , , low, high]) => svg("line", { class: "interval", x1: x.at(p), x2: x.at(p),
      y1: y.at(low), y2: y.at(high) })),
    groups.map(([p, share, n]) => svg("circle", { class: "dot held", cx: x.at(p), cy: y.at(share), r: 4.5 },
      svg("title", {}, `${format(p)} predicted, ${format(share)} observed, ${count(n, "row")}`))));
}
