/** The frame of every chart: title, controls, picture, caption, and a table of its data. */

import { element, fill, svg } from "./dom.js";

const ROWS = 20; // of a table behind "Data"
export const LETTER = 7.4; // width of a letter at 13 px

const fits = []; // a function for every picture, which draws it again if its width changed

/**
 * Return a figure: `node`, and `show({ title, controls, body, caption, data })`.
 *
 * `caption` is a text summary of the picture. `data` returns `{ head, rows }` when it is asked for.
 */
export function makeFigure(name) {
  const title = element("h3"), controls = element("div", { class: "controls" });
  const body = element("div", { class: "picture" }), caption = element("figcaption");
  const table = element("div", { class: "scroll", tabindex: "0", role: "group" });
  let data = null;
  const details = element("details", { on: { toggle: () => details.open && showData() } },
    element("summary", {}, "Data"), table);
  const node = element("figure", { class: name }, title, controls, body, caption, details);

  function showData() {
    if (!data) return;
    const { head, rows } = data();
    const left = rows.length - ROWS;
    table.setAttribute("aria-label", `Data: ${title.textContent}`);
    fill(table, dataTable(head, rows.slice(0, ROWS)),
      left > 0 && element("p", { class: "quiet" }, `${left.toLocaleString("en")} more rows.`));
  }

  return {
    node, body,
    show(parts) {
      fill(title, parts.title);
      if (parts.controls) fill(controls, ...parts.controls);
      if (parts.body) fill(body, ...[parts.body].flat());
      fill(caption, parts.caption);
      data = parts.data || null;
      details.hidden = !data;
      if (details.open) showData();
    },
  };
}

/** Return a plain table. Numbers are right-aligned. */
export function dataTable(head, rows) {
  const number = text => /^[-–\d.,]+(e-?\d+)?( %)?$/.test(text);
  const cell = text => element("td", { class: number(String(text)) ? null : "words" }, String(text));
  return element("table", { class: "data" },
    element("thead", {}, element("tr", {}, head.map((name, k) =>
      element("th", { scope: "col", class: number(String(rows[0]?.[k] ?? "")) ? null : "words" }, name)))),
    element("tbody", {}, rows.map(row => element("tr", {}, row.map(cell)))));
}

/** Return an SVG picture with its description. */
export function makePicture(width, height, description, ...children) {
  return svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": description,
    style: `max-width:${width}px` }, ...children);
}

/** Return the axes of a picture: thin lines at the ticks, numbers, and the names of the axes. */
export function makeAxes({ x, y, box, xTicks, yTicks, xName, yName = "", format }) {
  const { left, right, top, bottom } = box;
  const out = yTicks.map(tick => [
    svg("line", { class: "grid", x1: left, x2: right, y1: y.at(tick), y2: y.at(tick) }),
    svg("text", { class: "tick", x: left - 6, y: y.at(tick) + 4, "text-anchor": "end" }, format.y(tick)),
  ]);
  xTicks.forEach(tick => {
    const text = format.x(tick), furthest = right + 10 - LETTER * text.length / 2;
    out.push(svg("text", { class: "tick", x: Math.min(x.at(tick), furthest), y: bottom + 17,
      "text-anchor": "middle" }, text));
  });
  if (xName)
    out.push(svg("text", { class: "tick", x: (left + right) / 2, y: bottom + 34, "text-anchor": "middle" },
      clippedText(xName, right - left)));
  if (yName) {
    const place = `translate(12 ${(top + bottom) / 2}) rotate(-90)`;
    out.push(svg("text", { class: "tick", transform: place, "text-anchor": "middle" },
      clippedText(yName, bottom - top)));
  }
  return svg("g", {}, ...out.flat());
}

/** Return text that fits into `room` pixels; longer text ends in an ellipsis. */
export function clippedText(text, room) {
  const letters = Math.max(Math.floor(room / LETTER), 4);
  return text.length > letters ? `${text.slice(0, letters - 1)}…` : text;
}

/** Call `draw(width)` now and whenever the width of a node changes. */
export function whenResized(node, draw) {
  let last = 0;
  const fit = () => {
    const width = Math.round(node.clientWidth);
    if (width && Math.abs(width - last) > 2) {
      last = width;
      draw(width);
    }
  };
  new ResizeObserver(fit).observe(node);
  fits.push(fit);
}

/** Fit all pictures to their present width at once, without waiting for the next layout. */
export function fitPictures() {
  for (const fit of fits) fit();
}
