/** All settings at once: a grid of small planes that move together. */

import { button, element, fill } from "./dom.js";
import { drawPoints, makeShader } from "./plane.js";
import { percentage, short } from "./scales.js";
import { measure } from "./epochs.js";
import { VARIED, cells, modelWords } from "./settings.js";
import { isBad } from "./verdict_words.js";

const PIXELS = 22; // along a side of a small plane
const SIZE = 96; // of the canvas of its points
const SMALL = 0.01; // a loss that is written with fewer digits
const WIDE = 4; // columns that have room for the accuracy beside the loss
const MANY = 7; // columns from which losses are written in small print

/** Return the grid: `node`, `setPlay(...)`, `draw(epoch)` and `mark(...)`. */
export function makeMiniPlanes({ choose, enlarge }) {
  const node = element("div", { class: "planes", role: "group", "aria-label": "All settings at once" });
  let parts = [], play = null, shader = null, settings = null;

  function build() {
    const across = settings.across === settings.down ? [""] : null;
    const columns = settings.acrossValues.length;
    node.style.setProperty("--columns", columns);
    node.classList.toggle("many", columns > MANY);
    const down = across ? "" : `, down: ${VARIED[settings.down].words}`;
    const head = [element("span", { class: "names" }, `across: ${VARIED[settings.across].words}${down}`),
      element("span", { class: "corner" }),
      ...settings.acrossValues.map(v => element("span", { class: "head" }, words(v)))];
    const list = cells(settings);
    parts = list.map((cell, k) => {
      const canvas = element("canvas", { width: PIXELS, height: PIXELS, "aria-hidden": "true" });
      const dots = element("canvas", { width: SIZE, height: SIZE, "aria-hidden": "true" });
      const mark = element("small"), state = element("small", { class: "state" });
      const label = modelWords(settings, cell);
      const one = button("", event => choose(k, event.shiftKey), { class: "plane", "aria-label": label });
      fill(one, canvas, dots, state, " ", mark); // the words are also read aloud
      one.addEventListener("pointerenter", () => enlarge(k));
      one.addEventListener("focus", () => enlarge(k));
      one.addEventListener("pointerleave", () => enlarge(null));
      one.addEventListener("blur", () => enlarge(null));
      return { node: one, context: canvas.getContext("2d"), dots: dots.getContext("2d"), mark, state, label };
    });
    const rows = across ? [""] : settings.downValues;
    fill(node, head, rows.flatMap((v, r) => [
      element("span", { class: "side" }, words(v)),
      ...parts.slice(r * columns, (r + 1) * columns).map(p => p.node),
    ]));
  }

  const words = value => String(value).replaceAll("_", " ");

  return {
    node, PIXELS,
    /** Show a new play; `features` are those of PIXELS x PIXELS pixels. */
    setPlay(nextPlay, features, nextSettings, paper) {
      play = nextPlay;
      settings = nextSettings;
      build();
      shader = makeShader(play, features, PIXELS, paper);
      const pale = `rgb(${paper.join(" ")})`;
      for (const part of parts) drawPoints(part.dots, play, 1.6, pale);
    },
    /** Draw all planes; `sane` returns the row of a model, that before it diverged if it has. */
    draw(sane, diverged) {
      parts.forEach((part, k) => {
        if (!diverged[k] || !part.gone) shader.drawPixels(part.context, sane(k), play.models[k]);
        part.gone = diverged[k];
      });
    },
    /** Write the losses and marks; `states` are words by model, `best` and `chosen` numbers. */
    mark({ row, states, best, chosen, compared }) {
      parts.forEach((part, k) => {
        const state = states[k];
        const value = measure(play, row, k, "objective");
        const loss = short(value, settings.acrossValues.length > MANY || value < SMALL ? 2 : 3);
        const right = percentage(measure(play, row, k, "train_accuracy"), 0);
        const numbers = settings.acrossValues.length > WIDE ? loss : `${loss} · ${right}`;
        part.mark.textContent = state === "diverged" ? "" : numbers;
        const shown = [state, part.mark.textContent].filter(Boolean).join(" ");
        part.state.textContent = state;
        part.node.classList.toggle("bad", isBad(state));
        part.node.classList.toggle("best", k === best);
        part.node.classList.toggle("compared", k === compared);
        part.node.setAttribute("aria-pressed", String(k === chosen));
        const lowest = k === best ? ", the best" : "";
        part.node.setAttribute("aria-label", `${part.label}: ${shown}${lowest}`);
        part.node.title = `${part.label}: loss ${loss}, training accuracy ${right}`;
      });
    },
  };
}
