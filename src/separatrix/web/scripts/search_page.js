/** The page of a search: verdict, table of candidates, scores by parameter, and the chosen model. */

import { element, fill } from "./dom.js";
import { diagnosesView, metricsView } from "./metrics.js";
import { parameterMapView } from "./parameter_map.js";
import { calibrationView, confusionView } from "./predictions.js";
import { proofView } from "./proof.js";
import { readRows } from "./ranked_rows.js";
import { sampleView } from "./sample.js";
import { scoresView } from "./scores.js";
import { aboutView, headerView, unfoldForPrint, verdictView } from "./sections.js";
import { createState } from "./state.js";
import { tableView } from "./table.js";
import { weightsView } from "./weights.js";

const DEFAULTS = { sort: "", order: "up", filter: "", page: "0", all: "", columns: "", select: "", colour: "",
  across: "", down: "" };

/** Draw the page of a search into `root`. `update` draws newer data. */
export function start(root, data) {
  const state = createState(DEFAULTS);
  const header = headerView(), verdict = verdictView(), table = tableView(state), scores = scoresView(state);
  const proof = proofView();
  const map = parameterMapView(state), diagnoses = diagnosesView(), metrics = metricsView();
  const sample = sampleView(), about = aboutView("search");
  const model = [confusionView(), calibrationView(), weightsView()];
  const views = [header, verdict, proof, table, scores, diagnoses, metrics, ...model, sample, about];
  fill(root, header.node, element("main", {}, verdict.node, data.certified && proof.node, table.node,
    element("section", { class: "figures wide-first" }, scores.node, map.node), diagnoses.node,
    element("section", { class: "best-figures" }, element("h2", {}, "The model of the best parameters"),
      metrics.node, element("div", { class: "figures" }, model.map(view => view.node))),
    element("section", { class: "data" }, element("h2", {}, "Data and objective"), about.facts, sample.node),
    about.node));
  let study = null;

  function update(page) {
    study = readRows(page, { thing: "candidate", head: "candidate", example: "C >= 1, mean > 0.9" });
    study.score = `mean ${page.scoring}`;
    for (const view of views) view.update(study);
    map.node.hidden = page.parameters.length < 2;
    if (!map.node.hidden) map.update(study);
  }

  state.subscribe(changed => {
    const any = (...keys) => keys.some(key => changed.includes(key));
    if (any("filter", "sort", "order", "page", "all", "columns", "select")) table.update(study);
    if (any("across")) scores.update(study);
    if (any("filter", "across", "down") && !map.node.hidden) map.update(study);
  });
  unfoldForPrint(root, table, () => study);
  update(data);
  return { update };
}
