/** The numbers of the chosen model: measures, gradient, loss surface, and one point explained. */

import { getJson } from "./client.js";
import { element, fill } from "./dom.js";
import { measure } from "./epochs.js";
import { drawGraph } from "./graph.js";
import { count, percentage, short } from "./scales.js";
import { drawSurface } from "./surface.js";
import { roundedDown } from "./verdict_words.js";

const NOISE = 1e-12; // share of the largest gradient below which another one is rounding error
const ROUNDING = 1e-15; // a gradient below this is rounding error

/** Write a coordinate in the units of the data, to a thousandth of their scale. */
function place({ centre, scale }, axis, value) {
  const unit = scale[axis] / 1000;
  return short(Math.round((centre[axis] + value * scale[axis]) / unit) * unit);
}

/** Return the parts: `numbersNode`, `node`, and functions that fill them. */
export function makeDetails({ chooseAxes }) {
  const numbersNode = element("div");
  const surface = element("canvas", { class: "chart square", role: "img", "aria-label": "Path of two weights" });
  const axisMenus = element("div", { class: "chips" });
  const surfacePart = element("div", { hidden: true },
    element("h2", {}, "Path of two weights over the objective"), axisMenus, surface,
    element("p", { class: "note" }, "Darker is lower. White: the start. Green: this epoch. All other weights are those of this epoch."));
  const gradientPart = element("div"), pointPart = element("div", { "aria-live": "polite" });
  const node = element("div", {}, pointPart, surfacePart, gradientPart);
  let shown = null;

  /** Show the measures of models in a row; with two of them, `words` name the columns. */
  function numbers(play, row, models, verdicts, words) {
    const value = (name, m) => measure(play, row, m, name);
    const gap = m => {
      const verdict = verdicts?.[m];
      if (!verdict || verdict.diagnoses.some(d => d.kind === "diverged")) return "–";
      return verdict.gap === null ? "unknown (no penalty)" : `at most ${short(verdict.gap, 2)}`;
    };
    const measured = (name, format) => m => format(value(name, m));
    const held = Number.isFinite(value("val_loss", models[0]));
    const rows = [
      ["training loss", measured("train_loss", v => short(v, 4))],
      ["training accuracy", measured("train_accuracy", percentage)],
      held && ["validation loss", measured("val_loss", v => short(v, 4))],
      held && ["validation accuracy", measured("val_accuracy", percentage)],
      ["gradient norm", measured("gradient_norm", v => short(v < ROUNDING ? 0 : v))],
      ["objective above the optimum", gap],
    ].filter(Boolean);
    const head = models.length > 1 && element("thead", {}, element("tr", {}, element("td"),
      models.map(m => element("th", { scope: "col" }, words(m)))));
    fill(numbersNode, element("table", {}, head, element("tbody", {}, rows.map(([name, text]) =>
      element("tr", {}, element("th", { scope: "row", class: "words" }, name),
        models.map(m => element("td", {}, text(m))))))));
  }

  /** Load gradient and surface of a model at an epoch. */
  async function load(given) {
    shown = given;
    const { play, epoch, model, verdict } = given, base = `/api/play/${play.id}`;
    const step = await getJson(`${base}/step?model=${model}&epoch=${epoch}`);
    if (shown !== given) return;
    showStep(given, step);
    await showSurface(given);
  }

  function showStep({ play, epoch, verdict, playing }, step) {
    const several = new Set(step.rows.map(r => r.output)).size > 1;
    const weights = step.rows.filter(r => r.name !== "bias"), zeros = weights.filter(r => r.weight === 0).length;
    const largest = Math.max(...step.rows.map(r => Math.abs(r.gradient)));
    const clean = v => Math.abs(v) < Math.max(NOISE * largest, ROUNDING) ? 0 : v;
    const limit = verdict.safe_rate
      ? ` Rates up to ${roundedDown(verdict.safe_rate)} are certain to be stable.` : "";
    fill(gradientPart, element("h2", {}, `The weights at epoch ${epoch.toLocaleString("en")}, and the next step`),
      playing && element("p", { class: "note" }, "While playing, this table follows about once a second."),
      zeros > 0 && epoch > 0 && element("p", {}, `${zeros} of ${count(weights.length, "weight")} are exactly 0.`),
      element("p", { class: "note" }, `${step.formula}${limit}`),
      step.objective && element("p", { class: "note" }, `Objective: ${step.objective}.`),
      /^k1$/.test(step.rows[0]?.name) && element("p", { class: "note" },
        "k1, k2, …: the features of the kernel, which grow the closer a point is to some of the training points."),
      play.named && element("p", { class: "note" }, `The model sees ${play.axes.join(" and ")} standardised: ` +
        "minus the mean, divided by the standard deviation."),
      element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "gradient" },
        element("table", {}, element("thead", {}, element("tr", {},
          ["weight of", "weight", "gradient", "change"].map((name, k) =>
            element("th", { scope: "col", class: k ? null : "words" }, name)))),
        element("tbody", {}, step.rows.slice(0, 30).map(r => element("tr", {},
          element("td", { class: "words" }, several ? `${r.name}, class ${play.classes[r.output]}` : r.name),
          ...[r.weight, clean(r.gradient), clean(r.change)].map(v => element("td", {}, short(v, 4)))))))),
      step.rows.length > 30 && element("p", { class: "note" }, `and ${step.rows.length - 30} more`));
  }

  async function showSurface(given) {
    const { play, epochs, epoch, model, colours, paper } = given;
    const { outputs: K, offset } = play.models[model], d = play.features.length;
    const total = (d + 1) * K;
    let axes = given.axes.map(Number).map(a => Number.isInteger(a) && a >= 0 && a < total ? a : 0);
    if (axes[0] === axes[1]) axes = [0, Math.min(K, total - 1)];
    const parts = axes.map(a => `${Math.floor(a / K)},${a % K}`).join(",");
    const found = await getJson(
      `/api/play/${play.id}/surface?model=${model}&epoch=${epoch}&axes=${parts}`);
    if (shown !== given) return;
    surfacePart.hidden = false;
    fill(axisMenus, [0, 1].map(k => axisMenu(k, axes, play, K)));
    const path = [];
    for (let e = 0; e <= epoch; e++) {
      const row = epochs.row(e);
      path.push(axes.map(a => row[offset + a]));
    }
    const ratio = devicePixelRatio || 1;
    surface.width = Math.round(surface.clientWidth * ratio);
    surface.height = Math.round(surface.clientHeight * ratio);
    drawSurface(surface, found, path, colours, paper);
    const end = path[path.length - 1];
    surface.setAttribute("aria-label", `Objective over ${found.names.join(" and ")}. The path leads from ` +
      `${path[0].map(v => short(v)).join(", ")} to ${end.map(v => short(v)).join(", ")}.`);
  }

  function axisMenu(k, axes, play, K) {
    const names = [...play.features.map(f => `weight of ${f}`), "bias"].flatMap(name =>
      K === 1 ? [name] : play.classes.slice(0, K).map(c => `${name}, class ${c}`));
    const select = element("select", { "aria-label": k ? "weight upwards" : "weight across", on: {
      change: () => chooseAxes(axes.map((a, j) => j === k ? Number(select.value) : a)) } }, names.map((name, a) => element("option", { value: a, selected: axes[k] === a }, name)));
    return select;
  }

  /** Explain a point [x, y, class]. */
  async function explain(play, model, epoch, [x, y, label], scroll) {
    try {
      if (!(label < play.classes.length)) throw new Error("There is no such class.");
      const found = await getJson(
        `/api/play/${play.id}/point?model=${model}&epoch=${epoch}&x=${x}&y=${y}&label=${label}`);
      const P = found.probabilities;
      const shares = P ? ` Probabilities: ${P.map((p, c) => `${play.classes[c]} ${percentage(p)}`).join(", ")}.` : "";
      const at = [x, y].map((v, k) => `${play.axes[k]} ${place(play, k, v)}`).join(", ");
      fill(pointPart, element("h2", {}, `Why: the point (${at}) of class ${play.classes[label]}, epoch ${epoch}`),
        element("p", { class: "note" }, `Scores: ${found.scores.map(z => short(z, 4)).join(", ")}.${shares} ` +
          "In the boxes: values, and in blue the derivative of the loss. Read it from left to right " +
          "for the prediction, from right to left for the gradient."),
        drawGraph(found, play.features, play.classes));
      if (scroll) pointPart.scrollIntoView({ block: "nearest" });
    } catch (error) {
      fill(pointPart, element("p", { class: "problem", role: "alert" }, error.message));
    }
  }

  /** Remove what belongs to an earlier play. */
  function clear() {
    fill(pointPart);
  }

  /** Show nothing, as there is no model. */
  function hide() {
    clear();
    shown = null;
    surfacePart.hidden = true;
    fill(gradientPart);
    fill(numbersNode);
  }

  return { numbersNode, node, numbers, load, explain, clear, hide };
}
