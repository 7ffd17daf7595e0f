/** The measurements of a fit by epoch or iteration: training in blue, validation in orange. */

import { curvePanel, domainOf } from "./curve_chart.js";
import { axisChoice, choice, decoded, element, fill } from "./dom.js";
import { makeFigure, whenResized } from "./figure.js";
import { capital, count, percentage, short } from "./scales.js";

/** Return the figure: `node` and `update(study)`. It is hidden if there are no curves. */
export function historyView(state) {
  const figure = makeFigure("history-figure");
  const tip = element("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const view = { node: figure.node, update, study: null };
  whenResized(figure.body, () => view.study && draw());

  function update(study) {
    view.study = study;
    figure.node.hidden = !study.page.history.measures.length;
    if (!figure.node.hidden) draw();
  }

  function draw() {
    const { unit, measures } = view.study.page.history;
    if (!measures.length) return;
    const measure = measures.find(one => one.name === state.get("measure")) || measures[0];
    const curves = measure.curves.map(({ part, epochs, values }) => ({
      key: part, part, epochs: decoded(epochs, Uint32Array), values: decoded(values), diverged: false,
    }));
    const isAccuracy = measure.name === "accuracy";
    const positive = curves.every(curve => curve.values.every(value => value > 0));
    const logY = !isAccuracy && positive && state.get("y") === "log", logX = state.get("x") === "log";
    const width = Math.max(figure.body.clientWidth, 280);
    const text = value => (isAccuracy ? percentage(value) : short(value, 4));
    const words = curves.map(({ part, values, epochs }) => `${capital(curves.length > 1 ? `${part} ` : "")}`
      + `${curves.length > 1 ? measure.name : capital(measure.name)}: ${text(values[0])} after ${unit} `
      + `${epochs[0]}, ${text(values[values.length - 1])} at the end.`).join(" ");
    const panel = curvePanel(curves, {
      name: "history", width, height: width < 500 ? 260 : 320, margin: 78,
      domain: domainOf(curves, { isAccuracy, logY }), logX, logY, isAccuracy, coloured: true,
      xName: unit, description: words,
    });
    panel.highlight(curves.map(curve => ({ ...curve, role: curve.part,
      label: curves.length > 1 ? curve.part : "" })));
    panel.node.addEventListener("pointermove", event => point(panel, event, curves, unit, text));
    panel.node.addEventListener("pointerleave", () => { tip.hidden = true; });
    const set = key => value => state.set({ [key]: value });
    figure.show({
      title: capital(`${measure.name} by ${unit}`),
      controls: [
        measures.length > 1 && choice("Measure", measures.map(one => [one.name, one.name]), measure.name,
          set("measure")),
        !isAccuracy && positive && axisChoice(measure.name, "Vertical axis", state.get("y"), set("y")),
        axisChoice(`${unit}s`, capital(`${unit}s`), state.get("x"), set("x")),
      ],
      body: [panel.node, tip],
      caption: `${words} ${count(curves[0].values.length, "measurement")}.`,
      data: () => ({
        head: [unit, ...curves.map(curve => (curves.length > 1 ? `${curve.part} ${measure.name}` : measure.name))],
        rows: [...curves[0].epochs].map((epoch, k) => [epoch.toLocaleString("en"),
          ...curves.map(curve => text(curve.values[k] ?? null))]),
      }),
    });
  }

  function point(panel, event, curves, unit, text) {
    const place = panel.node.getBoundingClientRect();
    const scale = panel.node.viewBox.baseVal.width / place.width;
    const found = panel.find((event.clientX - place.left) * scale, (event.clientY - place.top) * scale);
    tip.hidden = !found;
    if (!found) return;
    const at = curve => curve.values[curve.epochs.indexOf(found.epoch)] ?? null;
    fill(tip, element("b", {}, `${capital(unit)} ${found.epoch.toLocaleString("en")}`), element("dl", {},
      curves.flatMap(curve => [element("dt", {}, curve.part), element("dd", {}, text(at(curve)))])));
    const around = figure.body.getBoundingClientRect();
    tip.style.left = `${Math.max(0, Math.min(event.clientX - around.left + 14, around.width - tip.offsetWidth - 4))}px`;
    tip.style.top = `${event.clientY - around.top + 16}px`;
  }

  return view;
}
