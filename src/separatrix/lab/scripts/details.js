/** The numbers of the chosen model: measures, gradient, loss surface, and one point explained. */

import { getJson } from "./client.js";
import { element, fill } from "./dom.js";
import { measure } from "./epochs.js";
import { drawGraph } from "./graph.js";
import { percentage, short } from "./scales.js";
import { drawSurface } from "./surface.js";

/** Return the parts: `numbersNode`, `node`, and functions that fill them. */
export function makeDetails() {
  const numbersNode = element("div");
  const surface = element("canvas", { class: "chart square", role: "img" });
  const axisMenus = element("div", { class: "chips" });
  const surfacePart = element("div", { hidden: true },
    element("h2", {}, "Path of two weights over the objective"), axisMenus, surface,
    element("p", { class: "note" }, "Darker is lower, on a logarithmic scale. White: the start. " +
      "Green: this epoch. All other weights are those of this epoch."));
  const gradientPart = element("div"), pointPart = element("div", { "aria-live": "polite" });
  const node = element("div", {}, pointPart, surfacePart, gradientPart);
  let axes = [0, 1], shown = null;

  function numbers(play, row, model, verdict) {
    const value = name => measure(play, row, model, name);
    const gap = verdict && verdict.gap !== null
      ? `at most ${short(verdict.gap, 2)}` : verdict ? "no bound without a penalty" : "–";
    const rows = [
      ["training loss", short(value("train_loss"), 4)],
      ["training accuracy", percentage(value("train_accuracy"))],
      Number.isFinite(value("val_loss")) && ["validation loss", short(value("val_loss"), 4)],
      Number.isFinite(value("val_accuracy")) && ["validation accuracy", percentage(value("val_accuracy"))],
      ["gradient norm", short(value("gradient_norm"), 3)],
      ["objective above the optimum", gap],
    ].filter(Boolean);
    fill(numbersNode, element("table", {}, element("tbody", {}, rows.map(([name, text]) =>
      element("tr", {}, element("th", { scope: "row", class: "words" }, name), element("td", {}, text))))));
  }

  /** Load gradient and surface of a model at an epoch. */
  async function load(given) {
    shown = given;
    const { play, epoch, model } = given, base = `/api/play/${play.id}`;
    const step = await getJson(`${base}/step?model=${model}&epoch=${epoch}`);
    if (shown !== given) return;
    showStep(play, step, epoch);
    await showSurface(given);
  }

  function showStep(play, step, epoch) {
    const several = new Set(step.rows.map(r => r.output)).size > 1;
    const limit = step.safe_rate
      ? ` A rate below ${short(step.safe_rate, 2)} (2/L) is stable at all weights.` : "";
    fill(gradientPart, element("h2", {}, `The step after epoch ${epoch}, in numbers`),
      element("p", { class: "note" }, `${step.formula}, with g the gradient.${limit}`),
      step.objective && element("p", { class: "note" }, `Objective: ${step.objective}.`),
      element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "gradient" },
        element("table", {}, element("thead", {}, element("tr", {},
          ["weight of", "weight", "gradient", "change"].map((name, k) =>
            element("th", { scope: "col", class: k ? null : "words" }, name)))),
        element("tbody", {}, step.rows.slice(0, 30).map(r => element("tr", {},
          element("td", { class: "words" }, several ? `${r.name}, class ${play.classes[r.output]}` : r.name),
          ...[r.weight, r.gradient, r.change].map(v => element("td", {}, short(v, 4)))))))),
      step.rows.length > 30 && element("p", { class: "note" }, `and ${step.rows.length - 30} more`));
  }

  async function showSurface(given) {
    const { play, epochs, epoch, model, colours, paper } = given;
    const { outputs: K, offset } = play.models[model], d = play.features.length;
    const total = (d + 1) * K;
    axes = axes.map(a => Math.min(a, total - 1));
    if (axes[0] === axes[1]) axes = [0, Math.min(1, total - 1)];
    const parts = axes.map(a => `${Math.floor(a / K)},${a % K}`).join(",");
    const found = await getJson(
      `/api/play/${play.id}/surface?model=${model}&epoch=${epoch}&axes=${parts}`);
    if (shown !== given) return;
    surfacePart.hidden = false;
    fill(axisMenus, [0, 1].map(k => axisMenu(k, play, K, given)));
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

  function axisMenu(k, play, K, given) {
    const names = [...play.features.map(f => `weight of ${f}`), "bias"].flatMap(name =>
      K === 1 ? [name] : play.classes.slice(0, K).map(c => `${name}, class ${c}`));
    const select = element("select", { "aria-label": k ? "weight upwards" : "weight across", on: {
      change: () => {
        axes[k] = Number(select.value);
        showSurface(given);
      } } }, names.map((name, a) => element("option", { value: a, selected: axes[k] === a }, name)));
    return select;
  }

  /** Explain a point [x, y, class]. */
  async function explain(play, model, epoch, [x, y, label]) {
    try {
      const found = await getJson(
        `/api/play/${play.id}/point?model=${model}&epoch=${epoch}&x=${x}&y=${y}&label=${label}`);
      const P = found.probabilities;
      const shares = P ? ` Probabilities: ${P.map((p, c) => `${play.classes[c]} ${percentage(p)}`).join(", ")}.` : "";
      fill(pointPart, element("h2", {}, `Why: the point (${short(x)}, ${short(y)}) of class ${play.classes[label]}, epoch ${epoch}`),
        element("p", { class: "note" }, `Scores: ${found.scores.map(z => short(z, 4)).join(", ")}.${shares} ` +
          "In the boxes: values, and in blue the derivative of the loss. Read it from left to right " +
          "for the prediction, from right to left for the gradient."),
        drawGraph(found, play.features, play.classes));
      pointPart.scrollIntoView({ block: "nearest" });
    } catch (error) {
      fill(pointPart, element("p", { class: "problem", role: "alert" }, error.message));
    }
  }

  /** Remove what belongs to an earlier play. */
  function clear() {
    fill(pointPart);
  }

  return { numbersNode, node, numbers, load, explain, clear };
}
