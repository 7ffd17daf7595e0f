/** The page of a study: its sections in order, and what is drawn again when something changes. */

import { boundaryView } from "./boundary.js";
import { element, fill } from "./dom.js";
import { curvesView } from "./curves.js";
import { failureView } from "./failure.js";
import { parameterMapView } from "./parameter_map.js";
import { calibrationView, confusionView } from "./predictions.js";
import { readStudy } from "./runs.js";
import { sampleView } from "./sample.js";
import { aboutView, headerView, unfoldForPrint, verdictView } from "./sections.js";
import { createState } from "./state.js";
import { explain, tableView } from "./table.js";
import { weightsView } from "./weights.js";

const DEFAULTS = {
  sort: "", order: "up", filter: "", page: "0", all: "", columns: "", select: "", colour: "", split: "",
  measure: "loss", part: "validation", x: "linear", y: "log", across: "", down: "", frame: "",
};

/** Draw the page of a study into `root`. `update` draws newer data of the same study. */
export function start(root, data) {
  const state = createState(DEFAULTS);
  const table = tableView(state), curves = curvesView(state), map = parameterMapView(state);
  const boundary = boundaryView(state), header = headerView(), verdict = verdictView();
  const failure = failureView(state), sample = sampleView(), about = aboutView("study"), best = bestView();
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

/** What was observed about the best configuration. */
function bestView() {
  const node = element("div", { class: "details" });
  return {
    node,
    update: ({ best, page }) => fill(node, best && explain(best),
      page.seeds > 1 && element("p", { class: "quiet" }, "The charts show its first seed.")),
  };
}
