/** The large plane: shade, boundary, margin, points, axes, and what the mouse does on it. */

import { element, fill } from "./dom.js";
import { drawBoundaries, drawPoints, fromPixels, makeShader, supportVectors, toPixels } from "./plane.js";
import { linearScale, short } from "./scales.js";

const SIZE = 616, PIXELS = 112;
const NEAR = 14; // pixels of the canvas within which a click means a point
const APART = 26; // pixels between two points that are drawn with one movement

/**
 * Return a view: `pick(point, model)` is called for a clicked point, `draw(place, class)` in draw
 * mode. `heading` is shown above the plane; without one, it is the model in words.
 */
export function makeView({ pick, draw, heading = null }) {
  const title = heading ?? element("h2", {}, "The model");
  const back = element("canvas", { width: SIZE, height: SIZE, "aria-hidden": "true" });
  const front = element("canvas", { width: SIZE, height: SIZE, class: "front", role: "img", tabindex: "0", "aria-label": "The plane" });
  const gone = element("p", { class: "gone", hidden: true }, "This model has diverged: its boundary before that is shown.");
  const stack = element("div", { class: "stack" }, back, front, gone);
  const across = element("div", { class: "axis across" }), up = element("div", { class: "axis up" });
  const node = element("div", { class: "view" }, title,
    element("div", { class: "framed" }, up, stack, across));
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
    const nearest = shown === null ? null : nearestPoint(place(event));
    if (nearest !== null) pick(play.points[nearest], shown);
  });
  let lastDrawn = null;
  front.addEventListener("pointermove", event => {
    if (!mode || !event.buttons || !lastDrawn) return;
    const [x, y] = place(event);
    if (Math.hypot(x - lastDrawn[0], y - lastDrawn[1]) > APART) add([x, y]);
  });
  front.addEventListener("pointerup", () => { lastDrawn = null; });
  front.addEventListener("keydown", event => {
    if (shown === null || mode || !["n", "p", "Enter"].includes(event.key)) return;
    if (event.key === "Enter") {
      if (at >= 0) pick(play.points[at], shown);
      return;
    }
    at = (at + (event.key === "n" ? 1 : -1) + play.points.length) % play.points.length;
    showPoints(null);
  });

  function add(pixel) {
    lastDrawn = pixel;
    const inside = pixel.map(v => Math.max(0, Math.min(SIZE, v))); // the pointer can leave the plane
    draw(fromPixels(inside, play.reach, SIZE), mode.colour);
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

  let rings = null;
  function showPoints(ringed) {
    rings = ringed ?? rings;
    above.clearRect(0, 0, SIZE, SIZE);
    drawPoints(above, play, play.points.length > 600 ? 4 : 6.5, `rgb(${paper.join(" ")})`, rings);
    outline();
  }

  /** Write the ticks and names of both axes, in the units of the data. */
  function showAxes() {
    [across, up].forEach((axis, k) => {
      const ends = [-1, 1].map(side => play.centre[k] + side * play.reach * play.scale[k]);
      const scale = linearScale(ends, [0, 100]), side = k ? "bottom" : "left";
      const ticks = scale.ticks(5).filter(t => scale.at(t) > 3 && scale.at(t) < 97);
      fill(axis, ticks.map(t => element("span", { style: `${side}: ${scale.at(t).toFixed(2)}%` }, short(t))),
        element("b", {}, play.axes[k]));
    });
  }

  return {
    node, PIXELS,
    setPlay(next, pixelFeatures, pointFeatures, nextPaper, nextColours) {
      [play, features, paper, colours] = [next, pointFeatures, nextPaper, nextColours];
      shader = makeShader(play, pixelFeatures, PIXELS, paper);
      at = -1;
      showAxes();
    },
    /** Show points [x, y, class] of which no model can be trained yet. */
    setPoints(points, nextPaper, nextColours) {
      [paper, colours, shown, at] = [nextPaper, nextColours, null, -1];
      play = { points: points.map(([x, y, c]) => [x, y, c, true]), reach: play?.reach ?? 3,
        colours: [...Array(10).keys()], centre: [0, 0], scale: [1, 1], axes: ["x", "y"] };
      showAxes();
      below.clearRect(0, 0, SIZE, SIZE);
      if (!heading) title.textContent = "Your points";
      gone.hidden = true;
      showPoints([]);
      front.setAttribute("aria-label", `The plane with ${points.length} points of yours, without a model.`);
    },
    drawMode(next) {
      mode = next;
      node.classList.toggle("drawing", Boolean(mode));
    },
    draw(row, model, diverged, words, epoch) {
      shown = model;
      if (!heading) title.textContent = words;
      gone.hidden = !diverged;
      const one = play.models[model];
      shader.draw(below, row, one);
      below.strokeStyle = colours.ink;
      below.lineWidth = 3;
      drawBoundaries(below, shader.scores, PIXELS, one.outputs);
      if (one.margin) {
        below.lineWidth = 2;
        drawBoundaries(below, shader.scores, PIXELS, one.outputs, one.margin);
      }
      const ringed = one.margin && !diverged ? supportVectors(play, features, row, one) : [];
      showPoints(ringed);
      const said = ringed.length ? ` ${ringed.filter(Boolean).length} support vectors are ringed.` : "";
      front.setAttribute("aria-label", `The plane at epoch ${epoch} with ${play.points.length} points ` +
        `and the model with ${words}.${said} Press n and p to go through the points, and Enter to explain one.`);
    },
  };
}
