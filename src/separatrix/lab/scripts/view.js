/** The large plane: shade, boundary, margin, points, and what the mouse does on it. */

import { element } from "./dom.js";
import { drawLevel, drawPoints, fromPixels, makeShader, supportVectors, toPixels } from "./plane.js";

const SIZE = 616, PIXELS = 112;
const NEAR = 14; // pixels of the canvas within which a click means a point

/** Return a view: `pick(point, model)` is called for a clicked point, `draw(place, class)` in draw mode. */
export function makeView({ pick, draw }) {
  const title = element("h2");
  const back = element("canvas", { width: SIZE, height: SIZE, "aria-hidden": "true" });
  const front = element("canvas", { width: SIZE, height: SIZE, class: "front", role: "img", tabindex: "0" });
  const gone = element("p", { class: "gone", hidden: true }, "This model has diverged: its boundary before that is shown.");
  const stack = element("div", { class: "stack" }, back, front, gone);
  const node = element("div", { class: "view" }, title, stack);
  const below = back.getContext("2d"), above = front.getContext("2d");
  let play = null, shader = null, features = null, paper = null, colours = null, mode = null;
  let shown = null, at = -1;

  const place = event => {
    const box = front.getBoundingClientRect();
    return [(event.clientX - box.left) / box.width * SIZE, (event.clientY - box.top) / box.height * SIZE];
  };
  front.addEventListener("pointerdown", event => {
    if (!play) return;
    if (mode) {
      front.setPointerCapture(event.pointerId);
      add(place(event));
      return;
    }
    const nearest = nearestPoint(place(event));
    if (nearest !== null) pick(play.points[nearest], shown);
  });
  let lastDrawn = null;
  front.addEventListener("pointermove", event => {
    if (!mode || !event.buttons || !lastDrawn) return;
    const [x, y] = place(event);
    if (Math.hypot(x - lastDrawn[0], y - lastDrawn[1]) > 26) add([x, y]);
  });
  front.addEventListener("pointerup", () => { lastDrawn = null; });
  front.addEventListener("keydown", event => {
    if (!play || mode || !["n", "p", "Enter"].includes(event.key)) return;
    if (event.key === "Enter") {
      if (at >= 0) pick(play.points[at], shown);
      return;
    }
    at = (at + (event.key === "n" ? 1 : -1) + play.points.length) % play.points.length;
    outline();
  });

  function add(pixel) {
    lastDrawn = pixel;
    draw(fromPixels(pixel, play.reach, SIZE), mode.colour);
  }

  function nearestPoint([x, y]) {
    let best = null, distance = NEAR;
    play.points.forEach((point, k) => {
      const [px, py] = toPixels(point, play.reach, SIZE);
      const away = Math.hypot(px - x, py - y);
      if (away < distance) [best, distance] = [k, away];
    });
    return best;
  }

  function outline() {
    if (at < 0 || at >= play.points.length) return;
    const [x, y] = toPixels(play.points[at], play.reach, SIZE);
    above.strokeStyle = colours.ink;
    above.lineWidth = 3;
    above.strokeRect(x - 12, y - 12, 24, 24);
  }

  return {
    node, PIXELS,
    setPlay(next, pixelFeatures, pointFeatures, nextPaper, nextColours) {
      [play, features, paper, colours] = [next, pointFeatures, nextPaper, nextColours];
      shader = makeShader(play, pixelFeatures, PIXELS, paper);
      at = -1;
    },
    drawMode(next) {
      mode = next;
      node.classList.toggle("drawing", Boolean(mode));
    },
    draw(row, model, diverged, words, epoch) {
      shown = model;
      title.textContent = words;
      gone.hidden = !diverged;
      const one = play.models[model];
      shader.draw(below, row, one);
      below.strokeStyle = colours.ink;
      if (one.outputs === 1) {
        below.lineWidth = 3;
        drawLevel(below, shader.scores, PIXELS, 0);
        if (one.margin) {
          below.lineWidth = 2;
          below.setLineDash([8, 6]);
          for (const level of [-one.margin, one.margin]) drawLevel(below, shader.scores, PIXELS, level);
          below.setLineDash([]);
        }
      }
      above.clearRect(0, 0, SIZE, SIZE);
      const ringed = one.margin && !diverged ? supportVectors(play, features, row, one) : null;
      const pale = `rgb(${paper.join(" ")})`;
      drawPoints(above, play.points, play.reach, play.points.length > 600 ? 4 : 6.5, pale, ringed);
      outline();
      const rings = ringed ? ` ${ringed.filter(Boolean).length} support vectors are ringed.` : "";
      front.setAttribute("aria-label", `The plane at epoch ${epoch} with ${play.points.length} points ` +
        `and the model with ${words}.${rings} Press n and p to go through the points, and Enter to explain one.`);
    },
  };
}
