/** Thresholds: a slider, the confusion at the threshold, costs, and a table of useful thresholds. */

import { bestCut, classOf, costAt, costsOf, cutOf } from "./cuts.js";
import { button, element, fill, menu } from "./dom.js";
import { percentage, short } from "./scales.js";

const RECALLS = [0.5, 0.8, 0.9, 0.95, 0.99];

/** Return the section: `node` and `update(study)`. It is hidden if the rows have one class. */
export function thresholdsView(state) {
  const heading = element("h2"), controls = element("div", { class: "controls" });
  const now = element("output", { for: "cut" });
  const slider = element("input", { type: "range", id: "cut", min: 0, "aria-label": "Threshold",
    on: { input: () => state.set({ cut: String(slider.max - slider.value) }) } });
  const costs = { cost_fp: costInput("cost_fp", "cost of a false positive"),
    cost_fn: costInput("cost_fn", "cost of a false negative") };
  const confusion = element("div", { class: "at-threshold scroll", tabindex: "0", role: "group",
    "aria-label": "Rows at this threshold" });
  const table = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Useful thresholds" });
  const note = element("p", { class: "quiet" });
  const node = element("section", { class: "thresholds" }, heading, controls,
    element("div", { class: "controls" }, slider, now),
    element("div", { class: "beside narrow-first" }, confusion, element("div", {}, table, note)));
  return { node, update };

  function costInput(name, label) {
    const input = element("input", { type: "number", min: 0, step: "any", id: name,
      on: { input: () => state.set({ [name]: input.value }) } });
    return { label: element("label", { for: name }, `${label} `, input), input };
  }

  function update(study) {
    node.hidden = !study.classes.length;
    if (node.hidden) return;
    const one = classOf(study, state), price = costsOf(state), k = cutOf(one, state);
    fill(heading, "Thresholds");
    if (!controls.contains(costs.cost_fp.label) || controls.dataset.class !== one.name) {
      controls.dataset.class = one.name;
      fill(controls, study.classes.length > 1 && menu("class", study.classes.map((each, i) => [String(i), each.name]),
        String(study.classes.indexOf(one)), chosen => state.set({ class: chosen === "0" ? "" : chosen, cut: "" })),
      costs.cost_fp.label, costs.cost_fn.label);
    }
    for (const [name, { input }] of Object.entries(costs))
      if (document.activeElement !== input) input.value = state.get(name) || "1";
    slider.max = one.cuts.length - 1;
    slider.value = one.cuts.length - 1 - k;
    const words = wordsOfCut(study, one, one.cuts[k], price);
    fill(now, words);
    slider.setAttribute("aria-valuetext", words);
    fill(confusion, atThreshold(one, one.cuts[k]));
    fill(table, usefulCuts(study, one, k, price, cut => state.set({ cut: String(cut.k) })));
    fill(note, one.cuts.length < one.all
      ? `${one.cuts.length} of ${one.all.toLocaleString("en")} thresholds, evenly chosen.` : "");
  }
}

/** Return the rule at a threshold, such as "spam if score > 0.3". */
function ruleOf(study, one, cut) {
  return `${one.name} if ${study.page.score_name} ${one.sign > 0 ? ">" : "<"} ${short(cut.value, 4)}`;
}

function wordsOfCut(study, one, cut, price) {
  const precision = cut.precision === null ? "no row is positive" : `precision ${percentage(cut.precision)}`;
  return `${ruleOf(study, one, cut)}: ${precision}, recall ${percentage(cut.recall)}, F1 ${percentage(cut.f1)}, `
    + `cost ${short(costAt(cut, price), 4)}`;
}

function atThreshold(one, cut) {
  const rows = one.positives + one.negatives;
  const cell = (value, kind) => element("td", { class: value ? kind : "",
    style: value ? `--place:${Math.round(12 + 26 * Math.sqrt(value / rows))}%` : null }, short(value, 7));
  return element("table", { class: "confusion" }, element("caption", {}, "Rows at this threshold"),
    element("thead", {}, element("tr", {}, element("th", { scope: "col", class: "words" }, "true"),
      element("th", { scope: "col" }, `predicted ${one.name}`), element("th", { scope: "col" }, "predicted other"))),
    element("tbody", {},
      element("tr", {}, element("th", { scope: "row", class: "words" }, one.name), cell(cut.tp, "right"),
        cell(cut.fn, "wrong")),
      element("tr", {}, element("th", { scope: "row", class: "words" }, "other"), cell(cut.fp, "wrong"),
        cell(cut.tn, "right"))));
}

/** Return the table of thresholds: the model's own, the best F1, the lowest cost, and some recalls. */
function usefulCuts(study, one, k, price, choose) {
  const found = [
    one.chosen !== null && ["the model's threshold", one.cuts[one.chosen]],
    ["highest F1", bestCut(one, cut => cut.f1)],
    ["lowest cost", bestCut(one, cut => -costAt(cut, price))],
    ...RECALLS.map(recall => [`recall at least ${percentage(recall, 0)}`,
      bestCut(one, cut => cut.precision ?? 0, cut => cut.recall >= recall - 1e-9)]),
  ].filter(Boolean);
  const head = ["threshold", "", "precision", "recall", "F1", "false positive rate", "cost"];
  return element("table", { class: "cuts" },
    element("thead", {}, element("tr", {}, head.map((name, i) => (name || i ? element("th", { scope: "col",
      class: i === 0 ? "words" : null }, name || study.page.score_name) : null)))),
    element("tbody", {}, found.map(([name, cut]) => element("tr", { class: cut.k === k ? "chosen" : null },
      element("td", { class: "words" }, button(name, () => choose(cut), { class: "choose",
        "aria-pressed": String(cut.k === k) })),
      [short(cut.value, 4), cut.precision === null ? "–" : percentage(cut.precision), percentage(cut.recall),
        percentage(cut.f1), percentage(cut.falseRate), short(costAt(cut, price), 4)]
        .map(text => element("td", {}, text))))));
}
