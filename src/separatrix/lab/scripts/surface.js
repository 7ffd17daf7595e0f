/** Draw the objective over two weights, and the path of the weights up to an epoch. */

import { linearScale, short } from "./scales.js";

const BOX = { left: 46, right: 8, top: 8, bottom: 36 };
const BANDS = 14;

/** Draw a surface as the server describes it, and a path of points [x, y]. */
export function drawSurface(canvas, surface, path, colours, paper) {
  const context = canvas.getContext("2d"), ratio = canvas.width / canvas.clientWidth || 1;
  const width = canvas.width / ratio, height = canvas.height / ratio;
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  const x = linearScale(surface.x, [BOX.left, width - BOX.right]);
  const y = linearScale(surface.y, [height - BOX.bottom, BOX.top]);
  context.imageSmoothingEnabled = false;
  context.drawImage(shaded(surface, paper), BOX.left, BOX.top,
    width - BOX.left - BOX.right, height - BOX.top - BOX.bottom);
  context.font = "12px system-ui, sans-serif";
  context.fillStyle = colours.quiet;
  context.textAlign = "center";
  x.ticks(5).forEach(t => context.fillText(short(t, 3), x.at(t), height - BOX.bottom + 15));
  context.fillText(surface.names[0], (BOX.left + width) / 2, height - 4);
  context.textAlign = "right";
  y.ticks(4).forEach(t => context.fillText(short(t, 3), BOX.left - 5, y.at(t) + 4));
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

/** Return the surface as a picture: darker bands are lower, on a logarithmic scale. */
function shaded(surface, paper) {
  const [rows, columns] = surface.shape;
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d"), image = context.createImageData(columns, rows);
  const values = surface.values.map(v => v === null ? Infinity : v);
  const finite = values.filter(Number.isFinite);
  const low = Math.min(...finite), high = Math.max(...finite);
  const spread = Math.max(high - low, 1e-12), colour = [0, 114, 178];
  for (let r = 0; r < rows; r++)
    for (let c = 0; c < columns; c++) {
      const share = Math.log1p(200 * (values[r * columns + c] - low) / spread) / Math.log1p(200);
      const band = Number.isFinite(share) ? Math.floor(share * BANDS) / BANDS : 1;
      const i = 4 * ((rows - 1 - r) * columns + c), depth = 0.62 * (1 - band);
      for (let h = 0; h < 3; h++) image.data[i + h] = paper[h] + (colour[h] - paper[h]) * depth;
      image.data[i + 3] = 255;
    }
  context.putImageData(image, 0, 0);
  return canvas;
}
