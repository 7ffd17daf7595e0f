/** Coefficients with confidence intervals, sorted by size, or a sentence on why there are none. */

import { element, fill, menu, svg } from "./dom.js";
import { LETTER, makeAxes, makeFigure, makePicture, whenResized } from "./figure.js";
import { linearScale, short } from "./scales.js";

const MOST = 24; // coefficients in the picture; the table has all
const HEIGHT = 22; // of a coefficient

/** Return the section: `node` and `update(study)`. */
export function intervalsView(state) {
  const figure = makeFigure("intervals-figure"), reason = element("p");
  const node = element("section", {}, element("h2", {}, "Coefficients"), reason, figure.node);
  const view = { node, update, study: null };
  whenResized(figure.body, () => view.study && draw());

  function update(study) {
    view.study = study;
    const { intervals } = study.page;
    fill(reason, intervals.reason);
    reason.hidden = !intervals.reason;
    figure.node.hidden = Boolean(intervals.reason);
    draw();
  }

  function draw() {
    const { intervals } = view.study.page;
    if (intervals.reason) return;
    const { outputs } = intervals, k = Math.min(Number(state.get("output")) || 0, outputs.length - 1);
    const sorted = [...outputs[k].rows].sort((a, b) => Math.abs(b[1]) - Math.abs(a[1]));
    const clear = sorted.filter(([, , low, high]) => low > 0 || high < 0).length;
    const caption = `${intervals.how} ${clear} of ${sorted.length} intervals do not contain 0 (filled points).`
      + `${sorted.length > MOST ? ` The ${MOST} largest are drawn.` : ""}`;
    const tested = sorted[0].length > 4;
    figure.show({
      title: `Coefficients towards ${outputs[k].name}`,
      controls: [outputs.length > 1 && menu("class", outputs.map((one, i) => [String(i), one.name]), String(k),
        chosen => state.set({ output: chosen === "0" ? "" : chosen }))],
      body: picture(sorted.slice(0, MOST), Math.max(figure.body.clientWidth, 280), caption),
      caption,
      data: () => ({
        head: ["coefficient", "estimate", "lower", "upper", ...(tested ? ["p-value"] : [])],
        rows: sorted.map(([name, ...values]) => [name, ...values.map(value => short(value, 4))]),
      }),
    });
  }

  return view;
}

function picture(rows, width, caption) {
  const longest = Math.max(...rows.map(([name]) => name.length));
  const left = Math.min(18 + LETTER * longest, 0.42 * width);
  const letters = Math.max(Math.floor((left - 18) / LETTER), 4);
  const clip = name => (name.length > letters ? `${name.slice(0, letters - 1)}…` : name);
  const height = HEIGHT * rows.length + 56;
  const box = { left, right: width - 22, top: 6, bottom: height - 44 };
  const low = Math.min(0, ...rows.map(row => row[2])), high = Math.max(0, ...rows.map(row => row[3]));
  const x = linearScale([low, high], [box.left + 8, box.right - 6]);
  const at = k => box.top + HEIGHT * (k + 0.5);
  return makePicture(width, height, caption,
    makeAxes({ x, y: { at }, box, xTicks: x.ticks(width < 500 ? 4 : 8), yTicks: rows.map((_, k) => k),
      xName: "coefficient", format: { x: short, y: k => clip(rows[k][0]) } }),
    svg("line", { class: "limit", x1: x.at(0), x2: x.at(0), y1: box.top, y2: box.bottom }),
    rows.map(([name, estimate, lower, upper], k) => svg("g", { class: "coefficient" },
      svg("title", {}, `${name}: ${short(estimate, 4)}, from ${short(lower, 4)} to ${short(upper, 4)}`),
      svg("line", { class: "reach", x1: x.at(lower), x2: x.at(upper), y1: at(k), y2: at(k) }),
      svg("circle", { class: `estimate ${lower > 0 || upper < 0 ? "clear" : ""}`, cx: x.at(estimate), cy: at(k),
        r: 4.5 }))));
}
