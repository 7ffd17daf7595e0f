/** The proof of a certified search: bounds on the error for every C, and the values that were trained. */

import { element, svg } from "./dom.js";
import { makeAxes, makeFigure, makePicture, whenResized } from "./figure.js";
import { linearScale, logScale, percentage, short } from "./scales.js";

const THIN = 0.2; // of epsilon: the proof is thin where the lower bound is this close to its goal
const KINDS = [["proven", "--train"], ["thin proof", "--validation"], ["not proven", "--wrong"]];

/** Return the figure: `node` and `update(study)`. It is hidden on the page of another search. */
export function proofView() {
  const figure = makeFigure("proof-figure");
  const view = { node: element("section", { class: "proof" }, figure.node), update };
  let proof = null;
  whenResized(figure.body, () => proof && draw());

  function update(study) {
    proof = study.page.certified || null;
    view.node.hidden = !proof;
    if (proof) draw();
  }

  function draw() {
    const caption = proof.sentences.join(" "), text = textOf(proof);
    figure.show({
      title: `${proof.measure === "error" ? "Error" : "Log-loss"} for every C`,
      body: [legend(), picture(Math.max(figure.body.clientWidth, 280), caption)],
      caption: `Shaded: bounds for every C. Points: the values of C that were trained. Dashed: the best minus `
        + `${text(proof.epsilon)}, below which the lower bound must not fall. ${caption}`,
      data: () => ({
        head: ["from C", "to C", "lower bound", "upper bound", "proof"],
        rows: proof.low.map((low, k) => [short(proof.edges[k]), short(proof.edges[k + 1]), text(low),
          proof.high[k] === null ? "none" : text(proof.high[k]), KINDS[kindOf(proof, low)][0]]),
      }),
    });
  }

  function picture(width, caption) {
    const height = width < 500 ? 280 : 340, box = { left: 62, right: width - 16, top: 14, bottom: height - 42 };
    const goal = proof.error - proof.epsilon, last = proof.edges[proof.edges.length - 1];
    const top = Math.max(...proof.errors) + 4 * proof.epsilon;
    const bottom = Math.max(Math.min(...proof.low, goal) - 0.5 * proof.epsilon, 0);
    const x = logScale([proof.edges[0], last], [box.left, box.right]);
    const y = linearScale([bottom, top], [box.bottom, box.top]);
    const at = value => y.at(Math.min(Math.max(value === null ? top : value, bottom), top));
    return makePicture(width, height, caption,
      makeAxes({ x, y, box, xTicks: x.ticks(Math.max(Math.floor(width / 110), 2)), yTicks: y.ticks(5), xName: "C",
        format: { x: value => short(value, 2), y: value => (proof.measure === "error" ? percentage(value, 1)
          : short(value)) } }),
      proof.low.map((low, k) => svg("rect", { x: x.at(proof.edges[k]), y: at(proof.high[k]),
        width: Math.max(x.at(proof.edges[k + 1]) - x.at(proof.edges[k]), 0.5),
        height: Math.max(at(low) - at(proof.high[k]), 0.5),
        style: `fill:var(${KINDS[kindOf(proof, low)][1]});fill-opacity:0.3` })),
      svg("line", { class: "goal", x1: box.left, x2: box.right, y1: at(goal), y2: at(goal),
        style: "stroke:var(--quiet);stroke-dasharray:5 4" }),
      proof.points.map((C, k) => svg("circle", { cx: x.at(C), cy: at(proof.errors[k]),
        r: C === proof.C ? 6 : 2.5, style: `fill:var(${C === proof.C ? "--chosen" : "--train"})` },
      svg("title", {}, `C ${short(C)}: ${textOf(proof)(proof.errors[k])}`))));
  }

  return view;
}

function kindOf({ error, epsilon }, low) {
  const goal = error - epsilon;
  if (low < goal) return 2;
  return low < goal + THIN * epsilon ? 1 : 0;
}

function textOf({ measure }) {
  return value => (measure === "error" ? percentage(value, 2) : short(value, 4));
}

function legend() {
  const item = ([word, colour]) => element("span", {}, element("span", { class: "key",
    style: `background:var(${colour})` }), word);
  return element("div", { class: "legend" }, KINDS.map(item), element("span", {}, element("span", { class: "key",
    style: "background:var(--chosen)" }), "best"));
}
