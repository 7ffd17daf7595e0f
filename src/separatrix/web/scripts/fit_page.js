/** The page of a fit: verdict, diagnoses, metrics, curves, predictions, weights and data. */

import { boundaryView } from "./boundary.js";
import { element, fill } from "./dom.js";
import { historyView } from "./history.js";
import { diagnosesView, metricsView } from "./metrics.js";
import { calibrationView, confusionView } from "./predictions.js";
import { sampleView } from "./sample.js";
import { aboutView, headerView, unfoldForPrint, verdictView } from "./sections.js";
import { createState } from "./state.js";
import { weightsView } from "./weights.js";

/** Draw the page of a fit into `root`. `update` draws newer data. */
export function start(root, data) {
  const state = createState({ measure: "", x: "linear", y: "log", frame: "", select: "" });
  const header = headerView(), verdict = verdictView(), diagnoses = diagnosesView(), metrics = metricsView();
  const history = historyView(state), boundary = boundaryView(state), sample = sampleView();
  const about = aboutView("fit");
  const model = [confusionView(), calibrationView(), weightsView()];
  const views = [header, verdict, diagnoses, metrics, history, boundary, ...model, sample, about];
  const training = element("section", {}, element("h2", {}, "Training"), history.node);
  fill(root, header.node, element("main", {}, verdict.node, diagnoses.node, metrics.node,
    training,
    element("section", { class: "best-figures" }, element("h2", {}, "The model"),
      element("div", { class: "figures" }, [boundary, ...model].map(view => view.node))),
    element("section", { class: "data" }, element("h2", {}, "Data and objective"), about.facts, sample.node),
    about.node));
  let shown = null;

  function update(page) {
    shown = page;
    for (const view of views) view.update({ page });
    training.hidden = !page.history.measures.length; // a single iteration has no curve
  }

  state.subscribe(changed => {
    if (changed.some(key => ["measure", "x", "y"].includes(key))) history.update({ page: shown });
    if (changed.includes("frame")) boundary.showFrame();
  });
  unfoldForPrint(root);
  for (const theme of ["print", "(prefers-color-scheme: dark)"])
    matchMedia(theme).addEventListener("change", boundary.showFrame); // its pixels have no variables
  update(data);
  return { update };
}
