/** The data at a glance: rows of every class, and a scatter matrix or a few images of a sample. */

import { decoded, element, svg } from "./dom.js";
import { clippedText, makeFigure, makePicture, whenResized } from "./figure.js";
import { count, linearScale, quantile } from "./scales.js";
import { pixelImage } from "./weights.js";

const HUES = 10; // colours of classes in the stylesheet
const GAP = 10, EDGE = 22;

/** Return the figure: `node` and `update(study)`. */
export function sampleView() {
  const figure = makeFigure("sample-figure");
  const view = { node: figure.node, update, study: null };
  whenResized(figure.body, () => view.study && draw());

  function update(study) {
    view.study = study;
    figure.node.hidden = !study.page.drawings.sample;
    if (!figure.node.hidden) draw();
  }

  function draw() {
    const { sample } = view.study.page.drawings, { classes } = view.study.page.data;
    if (!sample) return;
    const rows = element("div", { class: "legend" }, classes.slice(0, 12).map((name, k) =>
      element("span", {}, classMark(k), `${name} (${count(sample.class_rows[k], "row")})`)),
    classes.length > 12 && element("span", {}, `and ${classes.length - 12} more`));
    const data = () => ({ head: ["class", "training rows"],
      rows: classes.map((name, k) => [name, sample.class_rows[k].toLocaleString("en")]) });
    if (sample.images) {
      figure.show({ title: "Some of the training rows", body: [images(sample, classes)],
        caption: `${count(sample.labels.length, "training row")} as images, as the models see them.`, data });
      return;
    }
    const caption = wordsOfSample(sample);
    const all = sample.class_rows.reduce((sum, n) => sum + n, 0);
    figure.show({ title: `${sample.labels.length < all ? "A sample of the" : "The"} training rows`, caption, data,
      body: [rows, scatterMatrix(sample, Math.min(figure.body.clientWidth || 400, 560), caption)] });
  }

  return view;
}

function wordsOfSample({ names, features, labels }) {
  const which = features > names.length
    ? ` The ${names.length} features that separate the classes best, of ${features.toLocaleString("en")}.` : "";
  return `${count(labels.length, "training row")}, as the models see them.${which}`;
}

function images({ shape: [height, width], images: packed, labels }, classes) {
  const values = decoded(packed), size = height * width;
  return element("div", { class: "images small" }, labels.map((label, k) => {
    const own = values.subarray(k * size, (k + 1) * size), sorted = Float32Array.from(own).sort();
    const low = quantile(sorted, 0.02), room = quantile(sorted, 0.98) - low || 1; // ranges of images differ
    return element("figure", {},
      pixelImage(height, width, classes[label], j => [90, 98, 108,
        255 * Math.min(Math.max((own[j] - low) / room, 0), 1)]),
      element("figcaption", {}, classes[label]));
  }));
}

function scatterMatrix({ names, rows, labels }, width, caption) {
  const values = decoded(rows), f = names.length;
  if (f === 1) return strip(values, labels, names[0], width, caption);
  const cells = f - 1, side = (width - EDGE) / cells - GAP;
  const column = j => Float32Array.from(labels, (_, i) => values[i * f + j]);
  const columns = names.map((_, j) => column(j));
  const scale = (own, range) => {
    const sorted = Float32Array.from(own).sort();
    return linearScale([sorted[0], sorted[sorted.length - 1]], range);
  };
  const panels = [];
  for (let row = 1; row < f; row++)
    for (let across = 0; across < row; across++) {
      const left = EDGE + across * (side + GAP), top = (row - 1) * (side + GAP);
      const x = scale(columns[across], [left + 5, left + side - 5]);
      const y = scale(columns[row], [top + side - 5, top + 5]);
      panels.push(svg("rect", { class: "frame", x: left, y: top, width: side, height: side }));
      labels.forEach((label, i) => panels.push(classPoint(label, x.at(columns[across][i]),
        y.at(columns[row][i]), 2.6)));
    }
  const height = cells * (side + GAP) + 12;
  const down = names.slice(1).map((name, k) => svg("text", { class: "tick", "text-anchor": "middle",
    transform: `translate(13 ${k * (side + GAP) + side / 2}) rotate(-90)` }, clippedText(name, side)));
  const along = names.slice(0, -1).map((name, k) => svg("text", { class: "tick", "text-anchor": "middle",
    x: EDGE + k * (side + GAP) + side / 2, y: height - 4 }, clippedText(name, side)));
  return makePicture(width, height, caption, ...panels, ...down, ...along);
}

/** Draw one feature: a line of points for every class. */
function strip(values, labels, name, width, caption) {
  const lines = Math.max(...labels) + 1, height = 30 * lines + 30;
  const sorted = Float32Array.from(values).sort();
  const x = linearScale([sorted[0], sorted[sorted.length - 1]], [12, width - 12]);
  return makePicture(width, height, caption,
    labels.map((label, i) => classPoint(label, x.at(values[i]), 15 + 30 * label, 3)),
    svg("text", { class: "tick", x: width / 2, y: height - 6, "text-anchor": "middle" },
      clippedText(name, width - 24)));
}

const SHAPES = [
  r => `M${-r} 0a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0`,
  r => `M${-0.9 * r} ${-0.9 * r}h${1.8 * r}v${1.8 * r}h${-1.8 * r}z`,
  r => `M0 ${-1.2 * r}l${1.15 * r} ${2 * r}h${-2.3 * r}z`,
  r => `M0 ${-1.3 * r}l${1.3 * r} ${1.3 * r}l${-1.3 * r} ${1.3 * r}l${-1.3 * r} ${-1.3 * r}z`,
];

/** Return a point in the colour and the shape of its class. */
export function classPoint(label, x, y, radius, kind = "") {
  return svg("path", { class: `point class-${label % HUES} ${kind}`,
    transform: `translate(${x.toFixed(1)} ${y.toFixed(1)})`, d: SHAPES[label % SHAPES.length](radius) });
}

/** Return the mark of a class for a legend. */
export function classMark(label) {
  return svg("svg", { viewBox: "-6 -6 12 12", class: "key-point", "aria-hidden": "true" },
    classPoint(label, 0, 0, 4));
}
