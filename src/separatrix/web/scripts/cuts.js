/** Thresholds of a class against the rest, and what follows from the counts at each of them. */

import { decoded } from "./dom.js";

/** Decode the thresholds of a class: the largest first, with what is measured at each. */
export function readCuts(given) {
  const [values, hits, alarms] = ["values", "true_positives", "false_positives"]
    .map(name => decoded(given[name], Float64Array));
  const cuts = [...values].map((value, k) => {
    const tp = hits[k], fp = alarms[k], fn = given.positives - tp, tn = given.negatives - fp;
    return {
      k, value, tp, fp, fn, tn,
      precision: tp + fp > 0 ? tp / (tp + fp) : null,
      recall: tp / given.positives,
      falseRate: fp / given.negatives,
      f1: 2 * tp / (2 * tp + fp + fn),
    };
  });
  return { ...given, cuts };
}

/** Return the number of the threshold that is shown: the chosen one, the model's own, or the best F1. */
export function cutOf(one, state) {
  const chosen = state.get("cut"), last = one.cuts.length - 1;
  if (chosen !== "" && Number.isInteger(Number(chosen))) return Math.min(Math.max(Number(chosen), 0), last);
  return one.chosen ?? bestCut(one, cut => cut.f1).k;
}

/** Return the class whose thresholds are shown. */
export function classOf(study, state) {
  return study.classes[Number(state.get("class"))] || study.classes[0];
}

/** Return the threshold with the highest value; of equal ones, the first. */
export function bestCut(one, value, allowed = () => true) {
  return one.cuts.filter(allowed).reduce((best, cut) => (best && value(best) >= value(cut) ? best : cut), null);
}

/** Return the costs of a false positive and a false negative; 1 where the text is not a number. */
export function costsOf(state) {
  const read = name => {
    const cost = Number(state.get(name));
    return state.get(name) !== "" && cost >= 0 && Number.isFinite(cost) ? cost : 1;
  };
  return { positive: read("cost_fp"), negative: read("cost_fn") };
}

/** Return the cost of a threshold. */
export function costAt(cut, costs) {
  return costs.positive * cut.fp + costs.negative * cut.fn;
}
