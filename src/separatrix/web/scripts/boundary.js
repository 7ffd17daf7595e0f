/** The boundary of the best configuration for data of two features, epoch by epoch. */

import { button, decoded, element, fill } from "./dom.js";
import { makeAxes, makeFigure, makePicture, whenResized } from "./figure.js";
import { classMark, classPoint } from "./sample.js";
import { count, linearScale, percentage, short } from "./scales.js";

const TIE = [90, 100, 115]; // colour of the lines where two classes tie
const STEP = 120; // milliseconds between two frames

/** Return the figure: `node` and `update(study)`. */
export function boundaryView(state) {
  const figure = makeFigure("boundary-figure");
  const stage = element("div", { class: "stage" });
  const shadow = element("canvas", { "aria-hidden": "true" });
  const now = element("output", { for: "epoch" });
  const slider = element("input", { type: "range", id: "epoch", min: 0, "aria-label": "Epoch",
    on: { input: () => { pause(); state.set({ frame: slider.value === slider.max ? "" : slider.value }); } } });
  const play = button("play", () => (timer ? pause() : run()));
  const view = { node: figure.node, update, study: null };
  let timer = null, plane = null;
  whenResized(figure.body, () => view.study && draw());

  function update(study) {
    view.study = study;
    const { boundary } = study.page.drawings;
    figure.node.hidden = !boundary;
    if (figure.node.hidden) return;
    slider.max = boundary.epochs.length - 1;
    draw();
  }

  function draw() {
    const { boundary } = view.study.page.drawings;
    if (!boundary) return;
    const width = Math.min(figure.body.clientWidth || 440, 560);
    plane = makePlane(boundary, view.study.page.data.classes, width);
    stage.style.maxWidth = `${width}px`; // the shade and the points scale together
    const moves = boundary.epochs.length > 1;
    fill(stage, shadow, plane.picture);
    figure.show({
      title: "Boundary",
      controls: moves ? [play, slider, now] : [],
      body: [stage, plane.legend],
      caption: plane.caption,
      data: () => ({
        head: ["epoch", "training rows right"],
        rows: boundary.epochs.map((epoch, k) => [String(epoch), percentage(plane.right(k))]),
      }),
    });
    showFrame();
  }

  /** Show the frame of the state; without one, the last. */
  function showFrame() {
    if (!plane) return;
    const last = Number(slider.max);
    const chosen = state.get("frame");
    const k = chosen === "" ? last : Math.min(Math.max(Number(chosen) || 0, 0), last);
    slider.value = k;
    const epoch = view.study.page.drawings.boundary.epochs[k];
    const words = `epoch ${epoch.toLocaleString("en")}: ${percentage(plane.right(k))} of the training rows right`;
    fill(now, words);
    slider.setAttribute("aria-valuetext", words);
    plane.shade(shadow, k);
  }

  function run() {
    if (slider.value === slider.max) state.set({ frame: "0" });
    fill(play, "pause");
    timer = setInterval(() => {
      const next = Number(slider.value) + 1;
      state.set({ frame: next >= Number(slider.max) ? "" : String(next) });
      if (next >= Number(slider.max)) pause();
    }, STEP);
  }

  function pause() {
    clearInterval(timer);
    timer = null;
    fill(play, "play");
  }

  view.showFrame = showFrame;
  return view;
}

function makePlane(boundary, classes, width) {
  const height = Math.round(0.74 * width);
  const box = { left: 50, right: width - 8, top: 8, bottom: height - 42 };
  const rows = decoded(boundary.rows), heldOut = decoded(boundary.held_out);
  const weights = decoded(boundary.weights), C = classes.length;
  const x = scaleOf([rows, heldOut], 0, [box.left, box.right]);
  const y = scaleOf([rows, heldOut], 1, [box.bottom, box.top]);
  const points = (values, labels, kind) => labels.map((label, i) =>
    classPoint(label, x.at(values[2 * i]), y.at(values[2 * i + 1]), 3.6, kind));
  const hasHeldOut = boundary.held_out_labels.length > 0;
  const caption = `${count(boundary.labels.length, "training row")}`
    + `${hasHeldOut ? ` (filled) and ${count(boundary.held_out_labels.length, "validation row")} (hollow)` : ""}. `
    + `${boundary.link ? "The shading grows with the probability of the predicted class."
      : "The shading shows the predicted class."} Lines: where two classes tie.`;
  const picture = makePicture(width, height, caption,
    makeAxes({ x, y, box, xTicks: x.ticks(5), yTicks: y.ticks(5), xName: boundary.names[0],
      yName: boundary.names[1], format: { x: short, y: short } }),
    points(boundary.held_out.length ? heldOut : [], boundary.held_out_labels, "hollow"),
    points(rows, boundary.labels, ""));
  const legend = element("div", { class: "legend" }, classes.map((name, k) =>
    element("span", {}, classMark(k), name)));

  function right(frame) {
    const hits = boundary.labels.filter((label, i) =>
      winner(scoresAt(weights, frame, C, rows[2 * i], rows[2 * i + 1])) === label);
    return hits.length / (boundary.labels.length || 1);
  }

  /** Shade every pixel by the predicted class and its probability; a tie is a dark line. */
  function shade(canvas, frame) {
    const w = Math.round(box.right - box.left), h = Math.round(box.bottom - box.top);
    canvas.width = w;
    canvas.height = h;
    Object.assign(canvas.style, { left: `${(100 * box.left) / width}%`, top: `${(100 * box.top) / height}%`,
      width: `${(100 * w) / width}%`, height: `${(100 * h) / height}%` });
    const colours = [...legend.querySelectorAll("path")].map(mark =>
      getComputedStyle(mark).fill.match(/[\d.]+/g).slice(0, 3).map(Number));
    const pixels = new ImageData(w, h), classOf = new Uint8Array(w * h);
    for (let j = 0; j < h; j++)
      for (let i = 0; i < w; i++) {
        const scores = scoresAt(weights, frame, C, x.from(box.left + i + 0.5), y.from(box.top + j + 0.5));
        const best = winner(scores), at = j * w + i;
        classOf[at] = best;
        const tie = (i > 0 && classOf[at - 1] !== best) || (j > 0 && classOf[at - w] !== best);
        const [r, g, b] = tie ? TIE : colours[best];
        pixels.data.set([r, g, b, tie ? 230 : opacity(scores, best, boundary.link)], 4 * at);
      }
    canvas.getContext("2d").putImageData(pixels, 0, 0);
  }

  return { picture, legend, caption, right, shade };
}

function scaleOf(arrays, offset, range) {
  let low = Infinity, high = -Infinity;
  for (const values of arrays)
    for (let k = offset; k < values.length; k += 2) {
      low = Math.min(low, values[k]);
      high = Math.max(high, values[k]);
    }
  const room = 0.06 * (high - low || 1);
  return linearScale([low - room, high + room], range);
}

function scoresAt(weights, frame, C, x, y) {
  const scores = new Array(C);
  for (let c = 0; c < C; c++) {
    const at = (frame * C + c) * 3;
    scores[c] = weights[at] * x + weights[at + 1] * y + weights[at + 2];
  }
  return scores;
}

function winner(scores) {
  let best = 0;
  for (let c = 1; c < scores.length; c++) if (scores[c] > scores[best]) best = c;
  return best;
}

/** Return the opacity of a pixel, which grows with the probability from 1 / C to 1. */
function opacity(scores, best, link) {
  if (!link) return 50;
  const parts = link === "sigmoid" ? scores.map(z => 1 / (1 + Math.exp(-z)))
    : scores.map(z => Math.exp(z - scores[best]));
  const probability = parts[best] / parts.reduce((a, b) => a + b, 0), least = 1 / scores.length;
  return 14 + 96 * Math.max((probability - least) / (1 - least), 0);
}
