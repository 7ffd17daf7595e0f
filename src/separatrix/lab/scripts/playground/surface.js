/** Draw the objective over two weights, and the path of the weights up to an epoch. */

import { levelLines } from "./level_lines.js";
import { linearScale, short } from "./scales.js";

const BOX = { right: 8, top: 8, bottom: 36 };
const NAME = 26; // pixels of the name of the upward axis and of the space beside its numbers
const LINES = 12; // lines of equal height
const DARKEST = 0.62; // share of the colour at the lowest point
const STEEPNESS = 200; // of the logarithmic scale of heights
const COLOUR = [0, 114, 178];

/** Draw a surface as the server describes it, and a path of points [x, y]. */
export function drawSurface(canvas, surface, path, colours, paper) {
  const context = canvas.getContext("2d"), ratio = canvas.width / canvas.clientWidth || 1;
  const width = canvas.width / ratio, height = canvas.height / ratio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  const y = linearScale(surface.y, [height - BOX.bottom, BOX.top]), numbers = y.ticks(4).map(t => short(t, 3));
  const left = NAME + Math.max(...numbers.map(text => context.measureText(text).width));
  const x = linearScale(surface.x, [left, width - BOX.right]);
  const shares = heights(surface);
  const [rows, columns] = surface.shape; // the outermost values are on the edge of the box
  context.drawImage(shaded(surface, shares, paper), 0.5, 0.5, columns - 1, rows - 1,
    left, BOX.top, width - left - BOX.right, height - BOX.top - BOX.bottom);
  drawContours(context, surface, shares, x, y, colours);
  context.fillStyle = colours.quiet;
  context.textAlign = "center";
  x.ticks(5).forEach(t => context.fillText(short(t, 3), x.at(t), height - BOX.bottom + 15));
  context.fillText(surface.names[0], (left + width) / 2, height - 4);
  context.textAlign = "right";
  y.ticks(4).forEach((t, k) => context.fillText(numbers[k], left - 5, y.at(t) + 4));
  context.save();
  context.translate(11, (height - BOX.bottom) / 2);
  context.rotate(-Math.PI / 2);
  context.textAlign = "center";
  context.fillText(surface.names[1], 0, 0);
  context.restore();
  drawPath(context, path.filter(p => p.every(Number.isFinite)), x, y, colours);
}

function drawPath(context, path, x, y, colours) {
  if (!path.length) return;
  context.beginPath();
  path.forEach(([a, b], k) => context[k ? "lineTo" : "moveTo"](x.at(a), y.at(b)));
  Object.assign(context, { strokeStyle: colours.ink, lineWidth: 1.5 });
  context.stroke();
  const dot = ([a, b], radius, fill) => {
    context.beginPath();
    context.arc(x.at(a), y.at(b), radius, 0, 7);
    context.fillStyle = fill;
    context.fill();
    context.stroke();
  };
  const step = Math.max(1, Math.floor(path.length / 60));
  path.forEach((point, k) => k % step || dot(point, 1.5, colours.ink));
  dot(path[0], 4, colours.paper);
  dot(path[path.length - 1], 5, colours.chosen);
}

/** Return the heights (rows * columns) as shares of the depth, on a logarithmic scale. */
function heights({ values }) {
  const finite = values.filter(v => v !== null), low = Math.min(...finite);
  const spread = Math.max(Math.max(...finite) - low, 1e-12);
  return values.map(v => v === null ? 1 : Math.log1p(STEEPNESS * (v - low) / spread) / Math.log1p(STEEPNESS));
}

/** Return the surface as a picture, one pixel a value: darker is lower. */
function shaded({ shape: [rows, columns] }, shares, paper) {
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      const i = 4 * ((rows - 1 - r) * columns + c), depth = DARKEST * (1 - shares[r * columns + c]);
      for (let h = 0; h < 3; h++) image.data[i + h] = paper[h] + (COLOUR[h] - paper[h]) * depth;
      image.data[i + 3] = 255;
    }
  context.putImageData(image, 0, 0);
  return canvas;
}

/** Draw lines of equal height, evenly spaced on the scale of the shade. */
function drawContours(context, { x: [left, right], y: [low, high], shape: [rows, columns] }, shares, x, y, colours) {
  const place = (c, r) => [x.at(left + (right - left) * c / (columns - 1)), y.at(low + (high - low) * r / (rows - 1))];
  Object.assign(context, { strokeStyle: colours.quiet, lineWidth: 0.7, globalAlpha: 0.5 });
  context.beginPath();
  for (let level = 1; level < LINES; level++)
    levelLines((c, r) => shares[r * columns + c] - level / LINES, columns, rows, (c1, r1, c2, r2) => {
      context.moveTo(...place(c1, r1));
      context.lineTo(...place(c2, r2));
    });
  context.stroke();
  context.globalAlpha = 1;
}
