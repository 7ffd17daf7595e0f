/** The page of a study: its sections in order, and what is drawn again when something changes. */

import { boundaryView } from "./boundary.js";
import { button, copyButton, element, fill } from "./dom.js";
import { curvesView } from "./curves.js";
import { failureView } from "./failure.js";
import { parameterMapView } from "./parameter_map.js";
import { calibrationView, confusionView } from "./predictions.js";
import { readStudy } from "./runs.js";
import { sampleView } from "./sample.js";
import { createState } from "./state.js";
import { explain, tableView } from "./table.js";
import { weightsView } from "./weights.js";

const DEFAULTS = {
  sort: "", order: "up", filter: "", page: "0", all: "", columns: "", select: "", colour: "", split: "",
  measure: "loss", part: "validation", x: "linear", y: "log", across: "", down: "", frame: "",
};

const SHOWN = 4; // objectives and notes; the others are folded

/** Draw the page of a study into `root`. `update` draws newer data of the same study. */
export function start(root, data) {
  const state = createState(DEFAULTS);
  const table = tableView(state), curves = curvesView(state), map = parameterMapView(state);
  const boundary = boundaryView(state), header = headerView(), verdict = verdictView();
  const failure = failureView(state), sample = sampleView(), about = aboutView(), best = bestView();
  const ofTheBest = [boundary, confusionView(), calibrationView(), weightsView()];
  const views = [header, verdict, table, curves, map, failure, best, ...ofTheBest, sample, about];
  const winner = element("section", { class: "best-figures" }, element("h2", {}, "The best configuration"),
    best.node, element("div", { class: "figures" }, ofTheBest.map(view => view.node)));
  const main = element("main", {}, verdict.node, table.node,
    element("section", { class: "figures wide-first" }, curves.node, map.node),
    failure.node, winner,
    element("section", { class: "data" }, element("h2", {}, "Data and objective"), about.facts, sample.node),
    about.node);
  fill(root, header.node, main);
  let study = null;

  function update(page) {
    study = readStudy(page);
    for (const view of views) view.update(study);
    winner.hidden = !study.best;
  }

  state.subscribe(changed => {
    const any = (...keys) => keys.some(key => changed.includes(key));
    const drawn = ["filter", "measure", "part", "x", "y", "colour", "split"];
    if (any("filter", "sort", "order", "page", "all", "columns", "select", "colour")) table.update(study);
    if (any(...drawn)) curves.update(study);
    else if (any("select")) curves.highlight();
    if (any("filter", "measure", "part", "across", "down")) map.update(study);
    if (any("frame")) boundary.showFrame();
  });
  unfoldForPrint(root, table, () => study);
  for (const theme of ["print", "(prefers-color-scheme: dark)"])
    matchMedia(theme).addEventListener("change", boundary.showFrame); // its pixels have no variables
  update(data);
  return { update };
}

/** For printing, show all rows and open all details; afterwards, restore them. */
function unfoldForPrint(root, table, study) {
  let opened = [];
  const unfold = () => {
    if (table.print) return;
    table.print = true;
    table.update(study());
    opened = [...root.querySelectorAll("details:not([open])")];
    for (const details of opened) {
      details.open = true;
      details.dispatchEvent(new Event("toggle")); // now: the browser's own event comes too late
    }
  };
  const fold = () => {
    table.print = false;
    for (const details of opened) details.open = false;
    table.update(study());
  };
  matchMedia("print").addEventListener("change", event => (event.matches ? unfold() : fold()));
  addEventListener("beforeprint", unfold);
  addEventListener("afterprint", fold);
}

function headerView() {
  const name = element("h1"), facts = element("p");
  return {
    node: element("header", {}, name, facts),
    update({ page }) {
      fill(name, `Separatrix · ${page.name}`);
      fill(facts, page.heading);
    },
  };
}

/** The verdict: the same sentences as in the terminal, and the numbers that matter. */
function verdictView() {
  const words = element("div", { class: "words" }), numbers = element("dl", { class: "numbers" });
  const node = element("section", { class: "verdict", "aria-label": "Verdict" }, words, numbers);

  function update({ page }) {
    const [first, ...rest] = page.verdict;
    const why = page.drawings.failure && button("show why", () =>
      document.getElementById("why").scrollIntoView({ behavior: "auto" }));
    const linked = rest.find(one => one.kind === "failure");
    fill(words, element("h2", { class: first.kind }, first.text), rest.map(one =>
      element("p", { class: one.kind || null }, one.text, one === linked && why ? " " : "", one === linked && why)));
    fill(numbers, page.numbers.map(({ value, label }) =>
      element("div", {}, element("dt", {}, label), element("dd", {}, value))));
  }

  return { node, update };
}

/** What was observed about the best configuration. */
function bestView() {
  const node = element("div", { class: "details" });
  return {
    node,
    update: ({ best, page }) => fill(node, best && explain(best),
      page.seeds > 1 && element("p", { class: "quiet" }, "The charts show its first seed.")),
  };
}

/** Data, objective, and how to repeat the study. */
function aboutView() {
  const facts = element("dl", { class: "facts" }), reproduce = element("div");
  const node = element("section", {}, element("h2", {}, "Reproduce this study"), reproduce);

  function update({ page }) {
    const line = (name, sentences) => {
      const hidden = sentences.slice(SHOWN);
      return [...sentences.slice(0, SHOWN), hidden.length && element("details", {},
        element("summary", {}, `${hidden.length} more`), hidden.map(sentence => element("p", {}, sentence)))]
        .filter(Boolean).flatMap((sentence, k) =>
          [element("dt", {}, k === 0 ? name : ""), element("dd", {}, sentence)]);
    };
    fill(facts, line("Data", [page.data.words]), line("Fingerprint", [page.data.fingerprint]),
      line(page.objective.length > 1 ? "Objectives" : "Objective", page.objective), line("Notes", page.data.notes));
    fill(reproduce, page.reproduce.flatMap(({ label, text }) => {
      const code = element("pre", { tabindex: "0" }, text);
      return [element("p", { class: "bar" }, label, copyButton("copy", () => text, code)), code];
    }), element("p", { class: "quiet" }, `Versions: ${page.versions}`));
  }

  return { node, update, facts };
}
