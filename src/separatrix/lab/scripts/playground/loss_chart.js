/** Draw the losses of all models by epoch: the chosen model in colour, the others as thin lines. */

import { short, logScale, linearScale } from "./scales.js";
import { placeOf } from "./epochs.js";

const BOX = { left: 46, right: 8, top: 10, bottom: 24 };
const MOST_NUMBERS = 12000; // of all lines together
const LEAST_POINTS = 100; // of a line

/** Draw the chart up to an epoch. `chosen`, `compared` and `best` are numbers of models or null. */
export function drawLosses(canvas, { play, epochs, epoch, chosen, compared, best, bad, colours }) {
  const ratio = fit(canvas), width = canvas.width / ratio, height = canvas.height / ratio;
  const context = canvas.getContext("2d");
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "12px system-ui, sans-serif";
  const shown = epochNumbers(epoch, Math.max(LEAST_POINTS, MOST_NUMBERS / play.models.length));
  const rows = shown.map(e => epochs.row(e)), lines = new Map();
  const valuesAt = place => rows.map(row => row[place]);
  for (let m = 0; m < play.models.length; m++) lines.set(m, valuesAt(placeOf(play, m, "objective")));
  const start = lines.get(chosen).find(v => v > 0) ?? 1; // that of the perceptron begins at 0
  const held = valuesAt(placeOf(play, chosen, "val_loss"));
  const values = [...lines.values(), held].flat().filter(v => v > 0 && v <= 4 * start);
  const low = smallest(values, start * 0.9), high = -smallest(values.map(v => -v), -start * 1.1);
  const y = logScale([Math.max(low, high / 1e6), high], [height - BOX.bottom, BOX.top]);
  const x = linearScale([0, Math.max(epoch, 1)], [BOX.left, width - BOX.right]);
  axes(context, { x, y, width, height, epoch, colours });
  const line = (values, colour, thickness, alpha = 1, dash = []) => {
    context.beginPath();
    let pen = false;
    values.forEach((v, k) => {
      if (!Number.isFinite(v)) { pen = false; return; }
      const at = [x.at(shown[k]), Math.min(Math.max(y.at(v), 0), height - BOX.bottom)]; // 0 is at the bottom
      pen ? context.lineTo(...at) : context.moveTo(...at);
      pen = true;
    });
    Object.assign(context, { strokeStyle: colour, lineWidth: thickness, globalAlpha: alpha });
    context.setLineDash(dash);
    context.stroke();
    context.globalAlpha = 1;
    context.setLineDash([]);
  };
  context.save();
  context.beginPath();
  context.rect(BOX.left, BOX.top - 4, width - BOX.left, height - BOX.bottom - BOX.top + 6);
  context.clip();
  for (const [m, values] of lines)
    if (![chosen, compared, best].includes(m)) line(values, bad[m] ? colours.wrong : colours.quiet, 1, 0.35);
  if (best !== null && best !== chosen) line(lines.get(best), colours.chosen, 2);
  if (compared !== null && compared !== chosen) line(lines.get(compared), bad[compared] ? colours.wrong : colours.ink, 2, 1, bad[compared] ? [2, 2] : []);
  line(lines.get(chosen), bad[chosen] ? colours.wrong : colours.train, 2);
  if (held.some(Number.isFinite)) line(held, colours.validation, 2, 1, [6, 3]);
  context.restore();
}

/** Give a canvas the pixels of its place on the screen, and return how many there are per CSS pixel. */
function fit(canvas) {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio].map(Math.round);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
  return ratio;
}

const smallest = (values, first) => values.reduce((a, b) => b < a ? b : a, first);

/** Return the epochs to draw: all, or as many as there is room for. */
function epochNumbers(epoch, most) {
  const step = Math.max(1, Math.ceil(epoch / most)), out = [];
  for (let e = 0; e < epoch; e += step) out.push(e);
  return [...out, epoch];
}

function axes(context, { x, y, width, height, epoch, colours }) {
  Object.assign(context, { fillStyle: colours.quiet, strokeStyle: colours.line, lineWidth: 1 });
  context.textAlign = "right";
  for (const tick of y.ticks(5)) {
    const at = y.at(tick);
    context.beginPath();
    context.moveTo(BOX.left, at);
    context.lineTo(width - BOX.right, at);
    context.stroke();
    context.fillText(short(tick, 2), BOX.left - 6, at + 4);
  }
  context.textAlign = "center";
  const ticks = x.ticks(6).filter(Number.isInteger);
  for (const tick of epoch ? ticks : [0])
    context.fillText(tick, Math.min(x.at(tick), width - 14), height - 6);
}
