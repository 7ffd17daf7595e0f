/** The page of an evaluation: verdict, metrics, ranking, thresholds, calibration and coefficients. */

import { readCuts } from "./cuts.js";
import { element, fill } from "./dom.js";
import { intervalsView } from "./intervals.js";
import { metricsView } from "./metrics.js";
import { calibrationView, confusionView } from "./predictions.js";
import { rankCurveView } from "./rank_curves.js";
import { aboutView, headerView, unfoldForPrint, verdictView } from "./sections.js";
import { createState } from "./state.js";
import { thresholdsView } from "./thresholds.js";

const DEFAULTS = { class: "", cut: "", cost_fp: "", cost_fn: "", output: "", select: "" };

/** Draw the page of an evaluation into `root`. `update` draws newer data. */
export function start(root, data) {
  const state = createState(DEFAULTS);
  const header = headerView(), verdict = verdictView(), metrics = metricsView();
  const curves = [rankCurveView(state, "roc"), rankCurveView(state, "precision")];
  const thresholds = thresholdsView(state), intervals = intervalsView(state), about = aboutView("evaluation");
  const predictions = [confusionView(), calibrationView()];
  const views = [header, verdict, metrics, ...curves, thresholds, intervals, ...predictions, about];
  const figures = list => element("div", { class: "figures" }, list.map(view => view.node));
  const ranking = element("section", {}, element("h2", {}, "Ranking"), figures(curves));
  fill(root, header.node, element("main", {}, verdict.node, ranking, thresholds.node,
    element("section", { class: "best-figures" }, element("h2", {}, "Predictions"),
      element("div", { class: "figures" }, element("div", {}, predictions[0].node, metrics.node),
        predictions[1].node)), intervals.node,
    element("section", { class: "data" }, element("h2", {}, "Data and objective"), about.facts), about.node));
  let study = null;

  function update(page) {
    study = { page, classes: page.thresholds.map(readCuts) };
    ranking.hidden = !study.classes.length;
    for (const view of views) view.update(study);
  }

  state.subscribe(changed => {
    if (changed.includes("output")) intervals.update(study);
    else for (const view of [...curves, thresholds]) view.update(study);
  });
  unfoldForPrint(root);
  update(data);
  return { update };
}
