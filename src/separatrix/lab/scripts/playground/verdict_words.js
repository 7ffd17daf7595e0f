/** What the diagnosis says about a model: a word in a small plane, a sentence below the large one. */

import { element, fill } from "./dom.js";
import { hasDiverged, measure } from "./epochs.js";

const WORDS = { diverged: "diverged", oscillating: "oscillates", ended_higher: "rises" };
const TITLES = { diverged: "Diverged.", oscillating: "Oscillates.", ended_higher: "Rises.",
  overfitting: "Overfits.", separable: "Separable.", not_converged: "Not converged yet." };
const BAD = ["diverged", "oscillating", "ended_higher", "overfitting"];
const SETTLED = 0.02; // a swing of the objective that no longer matters, relative to the objective
const LATELY = [5, 40]; // fewest and most epochs in which it is looked for
const SAMPLED = 400; // earlier epochs among which the lowest objective is looked for

/** Return the diagnosis that matters most, or undefined. */
function firstDiagnosis(verdict) {
  return Object.keys(TITLES).map(kind => verdict?.diagnoses.find(d => d.kind === kind)).find(Boolean);
}

/**
 * Return the state of a model in a word: "" if nothing is wrong, and "swings" instead of
 * "oscillates" if the swing is small and dies out, as it does with momentum.
 */
export function shortVerdict({ play, epochs, epoch, verdict, model }) {
  if (hasDiverged(play, epochs, epochs.row(epoch), model)) return "diverged";
  const found = verdict?.diagnoses.find(d => d.kind in WORDS);
  if (found?.kind === "oscillating" && hasSettled(play, epochs, epoch, model)) return "swings";
  return found ? WORDS[found.kind] : "";
}

/** Whether the last epochs stay close to the lowest objective that the model ever had. */
function hasSettled(play, epochs, epoch, model) {
  const at = e => measure(play, epochs.row(e), model, "objective");
  const count = Math.min(Math.max(Math.ceil(epoch / 10), LATELY[0]), LATELY[1]);
  let lowest = Infinity, high = 0;
  for (let e = 0; e < epoch; e += Math.max(1, Math.ceil(epoch / SAMPLED))) lowest = Math.min(lowest, at(e));
  for (let e = Math.max(0, epoch - count); e <= epoch; e++) {
    lowest = Math.min(lowest, at(e));
    high = Math.max(high, at(e));
  }
  return high <= (1 + SETTLED) * lowest;
}

/** Whether a word of `shortVerdict` means that something is wrong. */
export const isBad = word => word !== "" && word !== "swings";

/** Whether all models minimise the same objective, so that the lowest is the best. */
export const areComparable = play => new Set(play.models.map(m => m.objective)).size === 1;

/**
 * Return the model with the lowest objective of those that train well; null if the models minimise
 * different objectives, or none is lower than another.
 */
export function bestModel(play, row, states) {
  if (!areComparable(play)) return null;
  const values = play.models.map((_, m) => isBad(states[m] ?? "") ? Infinity : measure(play, row, m, "objective"));
  const best = values.indexOf(Math.min(...values));
  return values.every(value => value === values[best]) ? null : best;
}

const CLOSE = 0.001; // a difference of objectives that is too small to prefer a model, relative to the lowest

/** Return how many other models that train well have nearly the objective of the best one. */
export function closeModels(play, row, states, best) {
  const value = m => measure(play, row, m, "objective");
  return play.models.filter((_, m) => m !== best && !isBad(states[m]) && value(m) <= (1 + CLOSE) * value(best)).length;
}

/** Return the sentence below the plane: `node`, `show(verdict, epoch, settled)` and `tell(words)`. */
export function makeSays() {
  const node = element("div", { class: "says", role: "status" });
  let shown = null;

  /** Change the sentence only if it is another one, since a screen reader reads every change. */
  function write(kind, title, words) {
    const next = JSON.stringify([kind, title, words]);
    if (next === shown) return;
    shown = next;
    node.className = `says ${kind}`;
    fill(node, title && element("b", {}, `${title} `), words);
  }

  return {
    node,
    tell: words => write("", "", words),
    show(verdict, epoch, settled) {
      const found = firstDiagnosis(verdict);
      if (epoch === 0) return write("good", "", "Press play, or the space bar.");
      if (!found) return write("good", "", "No problem found at this epoch.");
      const swings = settled && found.kind === "oscillating";
      const kind = BAD.includes(found.kind) && !swings ? "bad" : "";
      return swings ? write(kind, "Swings, and settles.", found.message)
        : write(kind, TITLES[found.kind], `${found.message} ${found.remedy}`);
    },
  };
}
