/**
 * Draw a model in the plane: probabilities as shade, its boundary, its margin, and the points.
 *
 * A model is linear in the features of the pixels, which the server sends once. So shading an epoch
 * takes one product of the features with the weights.
 */

import { levelLines } from "./level_lines.js";

const COLOURS = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#8f7a00", "#56b4e9", "#7a4a12", "#5b6573",
  "#6a3d9a", "#b2182b"];
const DASH = 3; // pixels of the shade from one dash of a line to the next
const RGB = COLOURS.map(c => [1, 3, 5].map(k => parseInt(c.slice(k, k + 2), 16)));

/** Return the colour of a class. */
export function classColour(number) {
  return COLOURS[number % COLOURS.length];
}

/** Compute the scores of all pixels (size * size, outputs) into `out`. */
function score(features, d, row, { offset, outputs: K }, out) {
  const n = features.length / d, bias = offset + d * K;
  for (let i = 0; i < n; i++)
    for (let k = 0; k < K; k++) {
      let z = row[bias + k];
      for (let j = 0; j < d; j++) z += features[i * d + j] * row[offset + j * K + k];
      out[i * K + k] = z;
    }
}

/** Write the colour of a pixel: `share` of a colour on the paper. */
function paint(image, i, colour, share, paper) {
  for (let h = 0; h < 3; h++)
    image[4 * i + h] = paper[h] + (colour[h] - paper[h]) * share;
  image[4 * i + 3] = 255;
}

/** How strongly a class is shaded: 0.12 where classes are equal, 0.6 where one is certain. */
const strength = p => 0.12 + 0.48 * Math.max(0, Math.min(1, 2 * p - 1));

const sigmoid = z => 1 / (1 + Math.exp(-z));

/** Return a shader of `size` x `size` pixels: `draw(context, row, model)` fills a whole canvas. */
export function makeShader(play, features, size, paper) {
  const canvas = document.createElement("canvas");
  canvas.width = canvas.height = size;
  const context = canvas.getContext("2d"), image = context.createImageData(size, size);
  const d = play.features.length, n = size * size;
  const scores = new Float32Array(n * Math.max(...play.models.map(m => m.outputs)));
  const rgb = play.colours.map(c => RGB[c % RGB.length]);

  function shade(row, model) {
    const K = model.outputs;
    score(features, d, row, model, scores);
    for (let i = 0; i < n; i++) {
      if (K === 1) {
        const z = scores[i];
        const p = model.probability ? 1 / (1 + Math.exp(-Math.abs(z)))
          : 0.5 + 0.5 * Math.min(1, Math.abs(z));
        paint(image.data, i, rgb[z > 0 ? 1 : 0], strength(p), paper);
        continue;
      }
      let best = 0;
      for (let k = 1; k < K; k++) if (scores[i * K + k] > scores[i * K + best]) best = k;
      const p = share(model, i * K, scores[i * K + best]);
      paint(image.data, i, rgb[best], strength((K * p - 1) / (2 * (K - 1)) + 0.5), paper);
    }
  }

  /** Return the probability of the best class, whose score is `top`. */
  function share(model, first, top) {
    const alone = model.probability === "one-vs-rest";
    let sum = 0;
    for (let k = first; k < first + model.outputs; k++)
      sum += alone ? sigmoid(scores[k]) : Math.exp(scores[k] - top);
    return (alone ? sigmoid(top) : 1) / sum;
  }

  return {
    scores,
    /** Fill a canvas of `size` pixels, which the page scales. */
    drawPixels(target, row, model) {
      shade(row, model);
      target.putImageData(image, 0, 0);
    },
    draw(target, row, model) {
      shade(row, model);
      context.putImageData(image, 0, 0);
      target.imageSmoothingEnabled = true;
      target.drawImage(canvas, 0, 0, target.canvas.width, target.canvas.height);
    },
  };
}

/**
 * Draw the boundary of every class, or the lines on which the score of a class is a margin above
 * that of every other class. One score `z` of two classes stands for the scores 0 and `z`.
 */
export function drawBoundaries(target, scores, size, K, level = 0) {
  if (K === 1) {
    for (const value of level ? [-level, level] : [0]) drawLevel(target, scores, size, value);
    return;
  }
  const lead = new Float32Array(size * size);
  for (let k = 0; k < K; k++) {
    for (let i = 0; i < lead.length; i++) {
      let other = -Infinity;
      for (let j = 0; j < K; j++) if (j !== k) other = Math.max(other, scores[i * K + j]);
      lead[i] = scores[i * K + k] - other;
    }
    drawLevel(target, lead, size, level);
  }
}

/** Draw the lines on which numbers (size * size) have a value; lines of another value than 0 are dashed. */
function drawLevel(target, numbers, size, level) {
  const scale = target.canvas.width / size;
  target.beginPath();
  levelLines((i, j) => numbers[j * size + i] - level, size, size, (x1, y1, x2, y2) => {
    // The parts of a line come in no order, so their places decide about the gaps.
    const along = Math.abs(x2 - x1) > Math.abs(y2 - y1) ? x1 + x2 : y1 + y2;
    if (level && Math.floor(along / 2) % DASH === 0) return;
    target.moveTo((x1 + 0.5) * scale, (y1 + 0.5) * scale);
    target.lineTo((x2 + 0.5) * scale, (y2 + 0.5) * scale);
  });
  target.stroke();
}

/** Return a point of the plane in pixels of a canvas. */
export function toPixels([x, y], reach, width) {
  return [(x + reach) / (2 * reach) * width, (reach - y) / (2 * reach) * width];
}

/** Return the point of the plane at a pixel. */
export function fromPixels([x, y], reach, width) {
  return [2 * reach * x / width - reach, reach - 2 * reach * y / width];
}

/** Draw points; `colours` are those of the classes. Validation points are hollow, points in `ringed` get a ring. */
export function drawPoints(target, { points, reach, colours }, radius, paper, ringed = null) {
  points.forEach(([x, y, c, train], k) => {
    const [px, py] = toPixels([x, y], reach, target.canvas.width);
    target.beginPath();
    target.arc(px, py, radius, 0, 7);
    const own = classColour(colours[c]);
    target.fillStyle = train ? own : paper;
    target.fill();
    target.lineWidth = radius / 3;
    target.strokeStyle = train ? paper : own;
    target.stroke();
    if (ringed && ringed[k]) {
      target.beginPath();
      target.arc(px, py, 1.8 * radius, 0, 7);
      target.strokeStyle = own;
      target.stroke();
    }
  });
}

/** Return which points are support vectors: training points on the wrong side of their margin. */
export function supportVectors(play, pointFeatures, row, model) {
  const d = play.features.length, K = model.outputs;
  const scores = new Float32Array(play.points.length * K);
  score(pointFeatures, d, row, model, scores);
  return play.points.map(([, , c, train], i) => {
    if (!train) return false;
    const own = scores[i * K + (K === 1 ? 0 : c)];
    if (K === 1) return (c === 1 ? own : -own) <= model.margin * (1 + 1e-3);
    let other = -Infinity;
    for (let k = 0; k < K; k++) if (k !== c) other = Math.max(other, scores[i * K + k]);
    return own - other <= model.margin * (1 + 1e-3);
  });
}
