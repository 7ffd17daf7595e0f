/** The buttons below the plane: play, step, back, reset, compare, speed, and the slider of epochs. */

import { button, element, fill } from "./dom.js";

const FIRST_LAST = 500; // the end of the slider at first
const SPEEDS = [2, 5, 10, 20, 60, 200]; // epochs per second

/** Return the part: `node`, and functions that show a state. The arguments are what the buttons do. */
export function makeTransport({ toggle, move, reset, seek, compare, changeSpeed }) {
  const playButton = button("▶ play", toggle, { class: "go" });
  const compareButton = button("compare", compare, { "aria-pressed": "false" });
  const speed = element("select", { "aria-label": "speed", on: { change: () => changeSpeed(Number(speed.value)) } },
    SPEEDS.map(s => element("option", { value: s }, `${s} epochs/s`)));
  const slider = element("input", { type: "range", min: 0, max: FIRST_LAST, value: 0, "aria-label": "epoch",
    on: { input: () => seek(Number(slider.value)) } });
  const words = element("output");
  const node = element("div", {},
    element("div", { class: "play" }, playButton,
      button("◀", () => move(-1), { "aria-label": "one epoch back", title: "one epoch back (left arrow)" }),
      button("step", () => move(1), { title: "one epoch on (right arrow)" }),
      button("reset", reset, { title: "back to epoch 0" }), compareButton, speed),
    element("label", { class: "field" }, element("span", { class: "line" }, "epoch", words), slider));
  let last = FIRST_LAST;

  return {
    node,
    /** Enable the controls, or disable them if there is nothing to play. */
    enable: can => { for (const one of node.querySelectorAll("button, select, input")) one.disabled = !can; },
    showPlaying: playing => fill(playButton, playing ? "❚❚ pause" : "▶ play"),
    showSpeed: value => { speed.value = value; },
    showCompare(comparing, possible) {
      compareButton.setAttribute("aria-pressed", String(comparing));
      compareButton.hidden = !possible;
    },
    showEpoch(epoch) {
      while (epoch > last) last *= 2;
      slider.max = last;
      slider.value = epoch;
      slider.setAttribute("aria-valuetext", `epoch ${epoch}`);
      words.textContent = `${epoch.toLocaleString("en")} of ${last.toLocaleString("en")}`;
    },
  };
}
