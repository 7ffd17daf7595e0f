/** The weights of the best configuration: the largest of each class, or images of all of them. */

import { decoded, element } from "./dom.js";
import { makeFigure } from "./figure.js";
import { quantile, short, significant } from "./scales.js";

const BLUE = [0, 114, 178], ORANGE = [230, 159, 0];

/** Return the figure: `node` and `update(study)`. */
export function weightsView() {
  const figure = makeFigure("weights-figure");
  return {
    node: figure.node,
    update(study) {
      const { weights } = study.page.drawings;
      figure.node.hidden = !weights;
      if (weights) figure.show(weights.shape ? asImages(weights) : asBars(weights));
    },
  };
}

function asBars({ classes, features, lists }) {
  const all = lists.flatMap(list => list.bars.map(bar => Math.abs(bar[1])));
  const largest = Math.max(...all, Number.MIN_VALUE);
  const bar = ([name, weight]) => element("tr", {},
    element("th", { scope: "row", class: "words", title: name }, name),
    element("td", { class: "length" }, element("span", { class: weight < 0 ? "negative" : "positive",
      style: `width:${(100 * Math.abs(weight)) / largest}%` })),
    element("td", {}, significant(weight)));
  const shown = lists[0]?.bars.length || 0;
  const left = classes.length - lists.length;
  const one = classes.length === 1;
  return {
    title: "Largest weights",
    body: element("div", { class: "bars" }, lists.map(list => element("table", { class: "weights" },
      element("caption", {}, one ? `towards ${list.class}` : list.class),
      element("tbody", {}, list.bars.map(bar))))),
    caption: `${shown < features ? `The ${shown} largest of ${features.toLocaleString("en")} weights`
      : "The weights"} of ${one ? "the score" : "each class"}. Blue: positive, orange: negative.`
      + `${left > 0 ? ` ${left} more classes are not shown.` : ""}`,
    data: () => ({ head: ["class", "feature", "weight"],
      rows: lists.flatMap(list => list.bars.map(([name, weight]) => [list.class, name, short(weight, 4)])) }),
  };
}

function asImages({ classes, shape: [height, width], values }) {
  const weights = decoded(values), size = height * width;
  const full = quantile(Float32Array.from(weights, Math.abs).sort(), 0.998) || 1;
  const image = (name, k) => {
    const own = weights.subarray(k * size, (k + 1) * size);
    return element("figure", {}, pixelImage(height, width, `Weights of ${name}`, j => {
      const [r, g, b] = own[j] > 0 ? BLUE : ORANGE;
      return [r, g, b, 255 * Math.min(Math.abs(own[j]) / full, 1)];
    }), element("figcaption", {}, name));
  };
  const extremes = classes.map((name, k) => {
    const own = weights.subarray(k * size, (k + 1) * size);
    return [name, short(Math.min(...own)), short(Math.max(...own))];
  });
  return {
    title: "Weights as images",
    body: element("div", { class: "images" }, classes.map(image)),
    caption: `Weights of every pixel (${height} × ${width}). Blue: positive, orange: negative.`,
    data: () => ({ head: ["class", "lowest weight", "highest weight"], rows: extremes }),
  };
}

/** Return a canvas of pixels; `colour(j)` has red, green, blue and opacity of pixel j. */
export function pixelImage(height, width, description, colour) {
  const canvas = element("canvas", { width, height, role: "img", "aria-label": description, class: "pixels" });
  const pixels = new ImageData(width, height);
  for (let j = 0; j < height * width; j++) pixels.data.set(colour(j), 4 * j);
  canvas.getContext("2d").putImageData(pixels, 0, 0);
  return canvas;
}
