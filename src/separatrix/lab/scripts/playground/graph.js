/** The computation of one point's loss: a graph with values above the nodes and derivatives below. */

import { element, svg } from "./dom.js";
import { short } from "./scales.js";

const LINE = 15, GAP_X = 12, GAP_Y = 22, MOST_LINES = 6;
const MOST_LETTERS = 32; // of a formula
const LETTER = 6.9, EDGE = 7, APART = 9; // widths in pixels: of a letter, of a box's edge, between two numbers

/** Return the graph as an SVG picture inside a scrolling box, with a table of its numbers. */
export function drawGraph(found, names, classes) {
  const nodes = found.graph.nodes.map(node => ({ ...node, lines: linesOf(node, names, classes) }));
  const column = columnsOf(nodes);
  const byColumn = [];
  for (const node of nodes) (byColumn[column.get(node.name)] ??= []).push(node);
  const heightOf = node => (node.lines.length + 1) * LINE + (node.formula ? LINE : 0) + 10;
  const tallest = Math.max(...byColumn.map(list =>
    list.reduce((sum, node) => sum + heightOf(node) + GAP_Y, -GAP_Y)));
  const widths = byColumn.map(list => Math.max(...list.map(widthOf))), lefts = [6];
  for (const own of widths) lefts.push(lefts[lefts.length - 1] + own + GAP_X);
  const place = new Map();
  byColumn.forEach((list, c) => {
    let y = (tallest - list.reduce((sum, node) => sum + heightOf(node) + GAP_Y, -GAP_Y)) / 2 + 6;
    for (const node of list) {
      place.set(node.name, { x: lefts[c], y, width: widths[c], height: heightOf(node) });
      y += heightOf(node) + GAP_Y;
    }
  });
  const width = lefts[lefts.length - 1] - GAP_X + 6, height = tallest + 12;
  const last = nodes[nodes.length - 1];
  const words = `Computation graph: ${nodes.map(n => n.name).join(", ")}; ` +
    `the loss is ${short(last.value, 4)}.`;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img",
    "aria-label": words, class: "graph" },
  found.graph.edges.map(([from, to]) => edge(place.get(from), place.get(to))),
  nodes.map(node => box(node, place.get(node.name))));
  return element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": words }, picture);
}

/** Return the column of every node: one more than the last column of its inputs. */
function columnsOf(nodes) {
  const out = new Map();
  for (const node of nodes)
    out.set(node.name, Math.max(-1, ...node.inputs.map(name => out.get(name))) + 1);
  return out;
}

/** Return the width of a node's box: that of its longest line. */
function widthOf({ name, formula, lines }) {
  const lengths = lines.map(({ label, value, slope, more }) => {
    if (more) return LETTER * 12;
    const words = `${label ? `${label} ` : ""}${short(value, 4)}`.length;
    return LETTER * words + (hasSlope(slope) ? APART + LETTER * short(slope, 4).length : 0);
  });
  return 2 * EDGE + Math.max(LETTER * name.length, LETTER * (formula ?? "").slice(0, MOST_LETTERS).length, ...lengths);
}

const hasSlope = slope => slope !== undefined && slope !== null;

/** Return the numbers of a node, entry by entry: name, value and derivative. */
function linesOf(node, names, classes) {
  const values = [node.value].flat(Infinity), slopes = [node.derivative ?? []].flat(Infinity);
  const label = k => {
    if (values.length === 1) return "";
    if (!["x", "w", "W"].includes(node.name)) return values.length === classes.length ? classes[k] : String(k);
    const own = classes[Math.floor(k / names.length)];
    return values.length > names.length ? `${names[k % names.length]}, ${own}` : names[k];
  };
  const lines = values.map((v, k) => ({ label: label(k), value: v, slope: slopes[k] }));
  return lines.length > MOST_LINES
    ? [...lines.slice(0, MOST_LINES), { more: lines.length - MOST_LINES }] : lines;
}

function box(node, { x, y, width, height }) {
  const text = (words, dx, line, attributes = {}) =>
    svg("text", { x: x + dx, y: y + LINE * line, ...attributes }, words);
  const out = [
    svg("rect", { x, y, width, height, rx: 6, class: node.inputs.length ? "made" : "given" }),
    text(node.name, EDGE, 1, { class: "name" }),
  ];
  let line = 2;
  if (node.formula) out.push(text(node.formula.slice(0, MOST_LETTERS), EDGE, line++, { class: "formula" }));
  for (const { label, value, slope, more } of node.lines) {
    if (more) out.push(text(`and ${more} more`, EDGE, line++));
    else {
      out.push(text(`${label ? `${label} ` : ""}${short(value, 4)}`, EDGE, line));
      if (hasSlope(slope))
        out.push(text(short(slope, 4), width - EDGE, line, { "text-anchor": "end", class: "slope" }));
      line++;
    }
  }
  return svg("g", {}, out);
}

function edge(from, to) {
  const x1 = from.x + from.width, y1 = from.y + from.height / 2, x2 = to.x, y2 = to.y + to.height / 2;
  const bend = (x2 - x1) / 2;
  return svg("path", { class: "edge", d: `M${x1} ${y1} C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}` });
}
