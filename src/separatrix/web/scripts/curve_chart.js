/** One panel of curves. It knows pixels and curves, and nothing about the page around it. */

import { svg } from "./dom.js";
import { makeAxes, makePicture } from "./figure.js";
import { linearScale, logScale, percentage, quantile, short } from "./scales.js";

const TOP_TIMES = { linear: 4, log: 40 }; // an axis ends at this multiple of a typical first value
const BELOW_ENDS = 10; // and a logarithmic one at this fraction of the lowest last value
const INK = 3; // widths of a picture above which a line is fainter: it goes up and down in a comb
const NEAR = 24; // pixels within which the pointer finds a curve
const LABELS = 4; // names at the end of chosen curves, and reasons at a cross
const NAME_WIDTH = 90; // room for the words next to the last cross

/**
 * Return the range of the axes for curves (`{ epochs, values, diverged }`).
 *
 * Curves that diverged do not count: they leave the picture instead of stretching it.
 */
export function domainOf(curves, { isAccuracy, logY }) {
  const sane = curves.filter(curve => !curve.diverged && curve.values.length);
  const used = sane.length ? sane : curves.filter(curve => curve.values.length);
  const last = Math.max(2, ...used.map(curve => curve.epochs[curve.epochs.length - 1]));
  let low = Infinity, high = -Infinity, lowestEnd = Infinity;
  const firsts = [];
  for (const { values } of used) {
    const sorted = Float32Array.from(values).sort();
    low = Math.min(low, logY ? sorted.find(value => value > 0) ?? Infinity : sorted[0]);
    high = Math.max(high, values[0], quantile(sorted, 0.98));
    firsts.push(values[0]);
    const end = Math.min(quantile(sorted, 0.5), values[values.length - 1]);
    if (end > 0) lowestEnd = Math.min(lowestEnd, end);
  }
  if (logY && Number.isFinite(lowestEnd)) low = Math.max(low, lowestEnd / BELOW_ENDS);
  if (!Number.isFinite(low) || !Number.isFinite(high)) [low, high] = [logY ? 0.1 : 0, 1];
  if (isAccuracy) return { x: [1, last], y: [Math.max(low - 0.02, 0), Math.min(high + 0.01, 1)] };
  const typical = Math.max(quantile(firsts.sort((a, b) => a - b), 0.5), low, 1e-9);
  high = Math.min(high, TOP_TIMES[logY ? "log" : "linear"] * typical);
  if (logY) return { x: [1, last], y: [low / 1.15, Math.max(high * 1.15, low * 1.5)] };
  const room = 0.05 * (high - low || Math.abs(high) || 1);
  return { x: [1, last], y: [low >= 0 ? Math.max(low - room, 0) : low - room, high + room] };
}

/**
 * Return a panel: `node`, `highlight(curves)` and `find(x, y)`.
 *
 * A curve has `{ key, epochs, values, diverged, reason, colour, dash }`. `options` has the range of the axes
 * (`domain`), `logX`, `logY`, `isAccuracy`, the size, the names of the axes and a description.
 */
export function curvePanel(curves, options) {
  const { width, height, domain, logX, logY, isAccuracy } = options;
  const box = { left: 52, right: width - options.margin, top: 12, bottom: height - 40 };
  const x = (logX ? logScale : linearScale)(domain.x, [box.left, box.right]);
  const y = (logY ? logScale : linearScale)(domain.y, [box.bottom, box.top]);
  const clip = `clip-${options.name}`;
  const drawn = new Map(curves.map(curve => [curve.key, trace(curve, x, y, box)]));
  const faded = Math.min(Math.max((options.coloured ? 40 : 14) / curves.length, 0.09), 0.85);
  const base = svg("g", { "clip-path": `url(#${clip})`, class: "curves", "stroke-opacity": faded },
    curves.filter(curve => !curve.diverged).map(curve => path(curve, drawn)));
  const failed = curves.filter(curve => curve.diverged);
  const marks = svg("g", { "clip-path": `url(#${clip})`, class: "curves failed",
    "stroke-opacity": Math.min(Math.max(12 / (failed.length || 1), 0.07), 0.9) },
  failed.map(curve => path(curve, drawn)));
  const exits = svg("g", {}, exitMarks(failed, drawn, box));
  const over = svg("g", {});
  const ticks = { x: x.ticks(Math.max(Math.floor(width / 110), 2)).filter(Number.isInteger), y: y.ticks(5) };
  const node = makePicture(width, height, options.description,
    svg("defs", {}, svg("clipPath", { id: clip }, svg("rect", {
      x: box.left - 2, y: box.top - 2, width: box.right - box.left + 4, height: box.bottom - box.top + 4,
    }))),
    makeAxes({
      x, y, box, xTicks: ticks.x, yTicks: ticks.y, xName: options.xName,
      format: { x: value => short(value), y: value => (isAccuracy ? percentage(value, 0) : short(value)) },
    }), marks, base, over, exits);

  /** Draw some curves on top; a curve with a `label` is named at its end. */
  function highlight(chosen) {
    const lines = chosen.filter(curve => curve.values.length).map(curve => {
      const at = drawn.get(curve.key) || trace(curve, x, y, box);
      return { curve, at };
    });
    over.replaceChildren(
      svg("g", { "clip-path": `url(#${clip})` }, lines.flatMap(({ curve, at }) => [
        svg("path", { class: "halo", d: at.d }),
        svg("path", { class: `line ${curve.role}`, d: at.d, "stroke-dasharray": curve.dash || null,
          style: curve.colour ? `stroke:${curve.colour}` : null }),
      ])),
      ...lines.filter(({ curve }) => curve.exits).map(({ at }) => cross(at, "chosen")),
      ...labels(lines.filter(({ curve }) => curve.label).slice(0, LABELS), box));
  }

  /** Return the key of the curve that is nearest to a point, and the epoch there. */
  function find(px, py) {
    let best = null, distance = NEAR;
    for (const curve of curves) {
      const at = drawn.get(curve.key);
      const found = at.distance(px, py);
      if (found < distance) [best, distance] = [curve.key, found];
    }
    return best === null ? null : { key: best, epoch: Math.max(1, Math.round(x.from(px))) };
  }

  return { node, highlight, find };
}

function path(curve, drawn) {
  const { d, ink } = drawn.get(curve.key);
  const style = [curve.colour && `stroke:${curve.colour}`, ink < 1 && `opacity:${ink.toFixed(2)}`];
  return svg("path", { d, "stroke-dasharray": curve.dash || null, style: style.filter(Boolean).join(";") || null });
}

/** Convert a curve to pixels, with at most two points in a column; a failed one ends at the top. */
function trace(curve, x, y, box) {
  const xs = [], ys = [];
  let column = null, low = 0, high = 0, left = false;
  const flush = () => {
    if (column === null) return;
    xs.push(column);
    ys.push(low);
    if (high !== low) { xs.push(column); ys.push(high); }
  };
  for (let k = 0; k < curve.values.length && !left; k++) {
    const px = x.at(curve.epochs[k]);
    const py = Math.min(Math.max(y.at(curve.values[k]), box.top - 400), box.bottom + 400);
    left = curve.diverged && py < box.top;
    const place = curve.values.length > 400 && !left ? Math.round(px) : px;
    if (place !== column) { flush(); [column, low, high] = [place, py, py]; }
    else { low = Math.max(low, py); high = Math.min(high, py); }
  }
  flush();
  const at = xs.map((px, k) => `${px.toFixed(1)} ${ys[k].toFixed(1)}`);
  const n = xs.length;
  let exit = n ? [xs[n - 1], Math.max(ys[n - 1], box.top)] : [box.left, box.top];
  if (left && n > 1) {
    const share = (box.top - ys[n - 2]) / (ys[n - 1] - ys[n - 2]);
    exit = [xs[n - 2] + share * (xs[n - 1] - xs[n - 2]), box.top];
  }
  let length = 0;
  for (let k = 1; k < n; k++) length += Math.hypot(xs[k] - xs[k - 1], ys[k] - ys[k - 1]);
  return {
    ink: Math.min(Math.max(INK * (box.right - box.left) / Math.max(length, 1), curve.diverged ? 0.5 : 0.35), 1),
    d: n === 1 ? `M${at[0]}h0.1` : n ? `M${at.join("L")}` : "",
    end: n ? [xs[n - 1], ys[n - 1]] : null,
    exit,
    distance: (px, py) => distanceTo(xs, ys, px, py, curve.diverged ? exit : null),
  };
}

function distanceTo(xs, ys, px, py, exit) {
  const far = exit ? Math.hypot(px - exit[0], py - exit[1]) : Infinity;
  const n = xs.length;
  if (!n || px < xs[0] - 6 || px > xs[n - 1] + 6) return far;
  let low = 0, high = n - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= px) low = middle; else high = middle;
  }
  const share = xs[high] > xs[low] ? Math.min(Math.max((px - xs[low]) / (xs[high] - xs[low]), 0), 1) : 0;
  return Math.min(far, Math.abs(py - (ys[low] + share * (ys[high] - ys[low]))));
}

/**
 * Return a cross where each failed curve left the picture, with its `reason`, and how many failed.
 * Crosses at the same place are one.
 */
function exitMarks(failed, drawn, box) {
  const places = new Map();
  for (const curve of failed) {
    const at = drawn.get(curve.key), key = at.exit.map(Math.round).join(" ");
    if (!places.has(key)) places.set(key, { at, reasons: [] });
    places.get(key).reasons.push(curve.reason);
  }
  const found = [...places.values()];
  const [last, height] = found.map(({ at }) => at.exit).reduce((a, b) => (b[0] > a[0] ? b : a), [-Infinity, 0]);
  const named = found.length && last < box.right - NAME_WIDTH;
  return [
    ...found.map(({ at, reasons }) => cross(at, "", reasons.slice(0, LABELS).join("\n"))),
    named && svg("text", { class: "label diverged", x: last + 9, y: height + 5 }, `${failed.length} diverged`),
  ];
}

function cross({ exit: [px, py] }, kind, reason = "") {
  return svg("path", { class: `cross ${kind}`, d: `M${px - 4} ${py - 4}l8 8m0 -8l-8 8` },
    reason && svg("title", {}, reason));
}

/** Return names at the end of lines, moved apart. */
function labels(lines, box) {
  const sorted = lines.filter(({ at }) => at.end).sort((a, b) => a.at.end[1] - b.at.end[1]);
  let above = -Infinity;
  return sorted.map(({ curve, at }) => {
    const place = Math.min(Math.max(at.end[1], above + 14, box.top), box.bottom);
    above = place;
    return svg("text", { class: `label ${curve.role}`, x: Math.min(at.end[0], box.right) + 6, y: place + 4 },
      curve.label);
  });
}
