/** Curves of all configurations by epoch: axes, colours, small multiples, linked with the table. */

import { axisChoice, choice, element, fill, menu } from "./dom.js";
import { curvePanel, domainOf } from "./curve_chart.js";
import { makeFigure, whenResized } from "./figure.js";
import { MEASURE_WORDS, UNLIKE_LOSSES, bestBy, coloursBy, measureText, stopText } from "./runs.js";
import { capital, count } from "./scales.js";
import { filteredRuns } from "./table.js";

const NAMES = { loss: { training: "train_loss", validation: "val_loss" },
  accuracy: { training: "train_accuracy", validation: "val_accuracy" } };
const SHORT_PARTS = { training: "train", validation: "valid." }; // as in the table of the terminal
const MOST_PANELS = 12;
const MOST_KEYS = 12; // values of a parameter in the legend; of more numbers, five that span them

/** Return the figure of the curves: `node` and `update(study)`. */
export function curvesView(state) {
  const figure = makeFigure("curves-figure");
  const box = element("div", { class: "panels" });
  const tip = element("div", { class: "tip", hidden: true, "aria-hidden": "true" });
  const view = { node: figure.node, update, study: null };
  let panels = [], shown = [], pointed = null;
  whenResized(figure.body, () => view.study && draw());

  function update(study) {
    view.study = study;
    figure.node.hidden = !study.page.curves.numbers.length;
    if (!figure.node.hidden) draw();
  }

  function draw() {
    const study = view.study, choose = chosenView(study, state);
    const curves = curvesOf(study, filteredRuns(study, state).runs, choose, state);
    const logX = state.get("x") === "log", logY = state.get("y") === "log" && choose.what === "loss";
    const isAccuracy = choose.what === "accuracy";
    const measure = MEASURE_WORDS[choose.main];
    const split = study.page.parameters.find(one => one.name === state.get("split"));
    const groups = split ? groupsBy(study, curves, split) : [{ title: "", curves }];
    const width = Math.max(figure.body.clientWidth, 280);
    const across = split ? Math.min(Math.max(Math.floor(width / 300), 1), groups.length) : 1;
    const domain = domainOf(curves, { isAccuracy, logY });
    const summary = describeCurves(study, curves, choose, groups.length, domain);
    shown = curves;
    panels = groups.map((group, k) => ({
      ...group,
      ...curvePanel(group.curves, {
        name: `curves${k}`, width: Math.floor((width - 16 * (across - 1)) / across),
        height: split ? 220 : width < 500 ? 280 : 360, margin: split ? 20 : 44,
        domain, logX, logY, isAccuracy, coloured: Boolean(state.get("colour")), xName: "epoch",
        description: group.title ? `${group.title}: ${summary}` : summary,
      }),
    }));
    fill(box, panels.map(panel => element("div", {}, panel.title
      && element("h4", {}, panel.title), panel.node)));
    box.style.setProperty("--across", across);
    panels.forEach(listen);
    figure.show({
      title: capital(`${measure} by epoch`),
      controls: controlsOf(study, state, choose),
      body: [legendOf(study, state, choose), box, tip],
      caption: summary,
      data: () => dataOf(curves, choose),
    });
    highlight();
  }

  /** Draw the best, the chosen and the pointed configuration on top. */
  function highlight() {
    const study = view.study, choose = chosenView(study, state);
    const colours = coloursBy(study, state.get("colour"));
    const wanted = [...new Set([study.page.best, ...state.chosen(), pointed])];
    for (const panel of panels) {
      const inside = new Set(panel.curves.map(curve => curve.key));
      panel.highlight(wanted.filter(number => number !== null && inside.has(number)).flatMap(number =>
        linesOf(study.byNumber.get(number), choose, colours, number === pointed, !panel.title)));
    }
  }

  function listen(panel) {
    panel.node.addEventListener("pointermove", event => point(panel, event));
    panel.node.addEventListener("pointerleave", () => { state.point(null); });
    panel.node.addEventListener("click", event => {
      const found = find(panel, event);
      if (found) state.toggle(found.key);
    });
  }

  function find(panel, event) {
    const place = panel.node.getBoundingClientRect();
    const scale = panel.node.viewBox.baseVal.width / place.width;
    return panel.find((event.clientX - place.left) * scale, (event.clientY - place.top) * scale);
  }

  function point(panel, event) {
    const found = find(panel, event);
    panel.node.classList.toggle("found", Boolean(found));
    state.point(found ? found.key : null);
    if (!found) return;
    const around = figure.body.getBoundingClientRect();
    fill(tip, tipOf(view.study, view.study.byNumber.get(found.key), found.epoch));
    tip.hidden = false;
    const left = event.clientX - around.left, room = around.width - tip.offsetWidth - 4;
    tip.style.left = `${Math.max(0, Math.min(left + 14, room))}px`;
    tip.style.top = `${event.clientY - around.top + 16}px`;
  }

  state.onPoint(number => {
    if (number === pointed || !view.study || !shown.length) return;
    pointed = number;
    if (number === null) tip.hidden = true;
    highlight();
  });
  view.highlight = () => view.study && shown.length && highlight();
  return view;
}

/** Return which measure is drawn: `main` for all curves, and `parts` for the highlighted ones. */
export function chosenView(study, state) {
  const what = state.get("measure");
  const part = study.validated ? state.get("part") : "training";
  const main = NAMES[what][part === "both" ? "validation" : part];
  return { what, part, main, parts: part === "both" ? Object.values(NAMES[what]) : [main] };
}

function curvesOf(study, runs, choose, state) {
  const colours = coloursBy(study, state.get("colour"));
  return runs.filter(run => run.curves[choose.main]).map(run => ({
    key: run.number, run, diverged: run.kind === "diverged", reason: `${run.name}: ${stopText(run)}`,
    ...run.curves[choose.main],
    ...(colours && run.kind !== "diverged" ? colours.of(run) : {}),
  }));
}

/** Return the highlighted lines of a configuration: training in blue, validation in orange. */
function linesOf(run, choose, colours, isPointed, named) {
  const failed = run.kind === "diverged";
  return choose.parts.filter(name => run.curves[name]).map(name => {
    const part = name.startsWith("val") ? "validation" : "training";
    const role = failed ? "diverged" : choose.part === "both" ? part : run.kind === "best" ? "best" : "chosen";
    const own = colours && !failed && choose.part !== "both" && run.kind !== "best" ? colours.of(run) : {};
    return {
      key: choose.part === "both" ? `${run.number} ${name}` : run.number,
      ...run.curves[name], ...own, diverged: failed, exits: failed,
      role: `${role}${isPointed ? " pointed" : ""}`,
      label: !named ? "" : run.kind === "best" ? (choose.part === "both" ? SHORT_PARTS[part] : "best") : "",
    };
  });
}

function groupsBy(study, curves, parameter) {
  const k = study.page.parameters.indexOf(parameter);
  const words = new Map();
  for (const curve of curves) {
    const word = curve.run.words[k];
    if (!words.has(word)) words.set(word, []);
    words.get(word).push(curve);
  }
  const groups = [...words].map(([word, own]) => ({ title: `${parameter.label} ${word}`, curves: own, word }));
  const sorted = groups.sort((a, b) => a.word.localeCompare(b.word, "en", { numeric: true }));
  if (parameter.numeric) sorted.sort((a, b) => a.curves[0].run.values[k] - b.curves[0].run.values[k]);
  return sorted.slice(0, MOST_PANELS);
}

function controlsOf(study, state, choose) {
  const names = study.page.parameters.map(one => [one.name, one.label]);
  const set = key => value => state.set({ [key]: value });
  return [
    choice("Measure", [["loss", "loss"], ["accuracy", "accuracy"]], choose.what, set("measure")),
    study.validated && choice("Rows", [["training", "training"], ["validation", "validation"],
      ["both", "both"]], choose.part, set("part")),
    choose.what === "loss" && axisChoice("loss", "Vertical axis", state.get("y"), set("y")),
    axisChoice("epochs", "Epochs", state.get("x"), set("x")),
    names.length > 0 && menu("colour by", [["", "outcome"], ...names], state.get("colour"), set("colour")),
    names.length > 0 && menu("split by", [["", "nothing"], ...names], state.get("split"), set("split")),
  ];
}

function legendOf(study, state, choose) {
  const colours = coloursBy(study, state.get("colour"));
  const item = (style, words) =>
    element("span", {}, element("span", { class: "key", style }), words);
  const kinds = new Set(study.runs.map(run => run.kind));
  const failed = kinds.has("diverged") && item("background:var(--wrong)", "diverged ×");
  if (choose.part === "both")
    return element("div", { class: "legend" }, item("background:var(--train)", "training"),
      item("background:var(--validation)", "validation"),
      item("background:var(--other)", "validation, not chosen"), failed);
  const best = study.best && item("background:var(--chosen)", "best");
  const others = [...kinds].some(kind => kind !== "best" && kind !== "diverged");
  if (!colours)
    return element("div", { class: "legend" }, best,
      others && item("background:var(--other)", "not chosen"), failed);
  const parameter = study.page.parameters.find(one => one.name === state.get("colour"));
  const { legend } = colours, last = legend.length - 1;
  const keys = legend.length <= MOST_KEYS ? legend
    : parameter.numeric ? [0, 1, 2, 3, 4].map(k => legend[Math.round(k * last / 4)]) : legend.slice(0, MOST_KEYS);
  return element("div", { class: "legend" }, element("span", {}, parameter.label),
    keys.map(({ word, colour }) => item(`background:${colour}`, word)),
    keys.length < legend.length && element("span", {}, `${keys.length} of ${legend.length} values`), best, failed);
}

function tipOf(study, run, epoch) {
  const lines = study.page.parameters.map((one, k) => [one.label, run.words[k]]);
  for (const name of study.page.measures) {
    const found = valueAt(run.curves[name], epoch);
    if (found) lines.push([MEASURE_WORDS[name], measureText(name, found.value)]);
  }
  return [element("b", { class: run.kind }, `Epoch ${epoch.toLocaleString("en")}`),
    element("dl", {}, lines.map(([name, value]) => [element("dt", {}, name), element("dd", {}, value)]).flat()),
    element("p", {}, stopText(run))];
}

/** Return the value of a curve at the epoch that is nearest to the given one. */
function valueAt(curve, epoch) {
  if (!curve || !curve.epochs.length) return null;
  let low = 0, high = curve.epochs.length - 1;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (curve.epochs[middle] <= epoch) low = middle; else high = middle;
  }
  const near = Math.abs(curve.epochs[high] - epoch) < Math.abs(curve.epochs[low] - epoch) ? high : low;
  return { epoch: curve.epochs[near], value: curve.values[near] };
}

function describeCurves(study, curves, choose, panels, domain) {
  const measure = MEASURE_WORDS[choose.main];
  const failed = curves.filter(curve => curve.diverged).length;
  const best = bestBy(curves.map(curve => curve.run), choose.main);
  const words = [`${capital(measure)} of ${count(curves.length, "configuration")}.`];
  if (study.page.unlike_losses && choose.what === "loss") words.push(UNLIKE_LOSSES);
  else if (best)
    words.push(`${choose.what === "loss" ? "Lowest" : "Highest"} at the end: `
      + `${measureText(choose.main, best.measure(choose.main))} (${best.name}).`);
  if (failed)
    words.push(`${failed} diverged: drawn in red up to the cross, where ${failed === 1 ? "it" : "they"} left `
      + "the picture.");
  const [low, high] = domain.y;
  const cut = curves.filter(curve => !curve.diverged && curve.values.some(value => value < low || value > high)).length;
  if (cut) words.push(`Parts of ${count(cut, "other curve")} are outside the picture.`);
  if (study.page.seeds > 1) words.push("Each curve is the mean over the seeds still in training.");
  if (study.page.curves.thinned)
    words.push(`Curves are thinned to about ${study.page.curves.thinned} points that keep the extremes.`);
  if (panels === MOST_PANELS) words.push(`At most ${MOST_PANELS} panels are shown.`);
  return words.join(" ");
}

function dataOf(curves, choose) {
  const order = { best: 0, same: 1, worse: 2, diverged: 3 };
  const sorted = [...curves].sort((a, b) => order[a.run.kind] - order[b.run.kind]);
  const sign = choose.what === "loss" ? 1 : -1;
  const rows = sorted.map(({ run, epochs, values }) => {
    let best = 0;
    values.forEach((value, k) => { if (sign * value < sign * values[best]) best = k; });
    const text = k => (values.length ? measureText(choose.main, values[k]) : "–");
    return [run.name, text(0), text(best), values.length ? epochs[best].toLocaleString("en") : "–",
      text(values.length - 1), stopText(run)];
  });
  return { head: ["configuration", "first", choose.what === "loss" ? "lowest" : "highest", "at epoch",
    "last", "stopped because"], rows };
}
