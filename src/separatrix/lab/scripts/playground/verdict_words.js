/** What the diagnosis says about a model: a word in a small plane, a sentence below the large one. */

import { element, fill } from "./dom.js";
import { hasDiverged, measure } from "./epochs.js";
import { count, short } from "./scales.js";

const WORDS = { diverged: "diverged", oscillating: "oscillates", ended_higher: "rises" };
const TITLES = { diverged: "Diverged.", oscillating: "Oscillates.", ended_higher: "Rises.",
  overfitting: "Overfits.", separable: "Separable.", not_converged: "Not converged yet." };
const BAD = ["diverged", "oscillating", "ended_higher", "overfitting"];
const ABOUT_RATES = ["diverged", "oscillating", "ended_higher", "not_converged"]; // diagnoses that advise a rate
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

const EQUAL = 1e-4; // objectives that differ by less, relative to the lowest, are equal, as in studies

/**
 * Return the models with the lowest objective of those that train well, the simplest first: settled
 * and converged before others, then a smaller learning rate, then less momentum. Empty if the models
 * minimise different objectives, or all have the same value.
 */
export function bestModels({ play, row, states, verdicts, parameters }) {
  if (!areComparable(play)) return [];
  const values = play.models.map((_, m) => isBad(states[m] ?? "") ? Infinity : measure(play, row, m, "objective"));
  const lowest = Math.min(...values);
  if (lowest === Infinity || values.every(value => value === lowest)) return [];
  const moves = m => states[m] === "swings" || verdicts?.[m].diagnoses.some(d => d.kind === "not_converged");
  const key = m => [moves(m) ? 1 : 0, parameters[m].learning_rate, parameters[m].momentum, m];
  const order = (a, b) => a.map((value, k) => value - b[k]).find(Boolean) ?? 0;
  return values.flatMap((value, m) => value <= (1 + EQUAL) * lowest ? [key(m)] : []).sort(order).map(k => k.at(-1));
}

/** Return which model is the best, given all that are equal to it, in a sentence or two. */
export function bestSentence(models, words) {
  if (!models.length) return "";
  const tie = models.length === 1 ? "" : ` A tie: ${count(models.length - 1, "other model")} ${models.length === 2 ? "has" : "have"} ` +
    "the same objective to within 0.01 %. The simplest one is chosen: settled, then a smaller rate, then less momentum.";
  return `Best at this epoch (green): ${words(models[0])}.${tie}`;
}

/** Write a rate with two digits, rounded down: what is said to be stable is stable. */
export function roundedDown(rate) {
  const unit = 10 ** (Math.floor(Math.log10(rate) + 1e-9) - 1);
  return short(Math.floor(rate / unit + 1e-9) * unit, 2);
}

/** Say that rates above the one that is certain to be stable can be so, if models of the grid show it. */
function beyondLimit({ verdict, model, parameters, states }) {
  const own = { ...parameters[model], learning_rate: null };
  const rates = parameters.filter((one, m) => states[m] === "" &&
    JSON.stringify({ ...one, learning_rate: null }) === JSON.stringify(own)).map(one => one.learning_rate);
  const most = Math.max(...rates);
  if (verdict.safe_rate === null || verdict.safe_rate >= most) return "";
  return ` The limit ${roundedDown(verdict.safe_rate)} is certain, from every start; ` +
    `a larger rate can be stable, too, as ${short(most)} is here so far.`;
}

/** Return the sentence below the plane: `node`, `show(...)` and `tell(words)`. */
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
    /** Show the verdict of a model, given the words of `shortVerdict` and the parameters of all models. */
    show({ verdict, model, epoch, states, parameters }) {
      const found = firstDiagnosis(verdict);
      if (epoch === 0) return write("good", "", "Press play, or the space bar.");
      if (!found) return write("good", "", "No problem found at this epoch.");
      const swings = states[model] === "swings" && found.kind === "oscillating";
      const kind = BAD.includes(found.kind) && !swings ? "bad" : "";
      // At kinks and with mini-batches no rate is certain to be stable, and swings do not die out.
      const settles = swings && verdict.safe_rate !== null;
      return settles ? write(kind, "Swings, and settles.", found.message)
        : swings ? write(kind, "Swings a little.", `${found.message} ${found.remedy}`)
        : write(kind, TITLES[found.kind], `${found.message} ${found.remedy}` +
          (ABOUT_RATES.includes(found.kind) ? beyondLimit({ verdict, model, parameters, states }) : ""));
    },
  };
}
