/** The page of a comparison of models: verdict, table, and accuracies. */

import { element, fill } from "./dom.js";
import { modelPointsView } from "./model_points.js";
import { readRows } from "./ranked_rows.js";
import { aboutView, headerView, unfoldForPrint, verdictView } from "./sections.js";
import { createState } from "./state.js";
import { tableView } from "./table.js";

const DEFAULTS = { sort: "", order: "up", filter: "", page: "0", all: "", columns: "", select: "", colour: "" };

/** Draw the page of a comparison into `root`. `update` draws newer data. */
export function start(root, data) {
  const state = createState(DEFAULTS);
  const header = headerView(), verdict = verdictView(), table = tableView(state);
  const points = modelPointsView(state), about = aboutView("comparison");
  const views = [header, verdict, table, points, about];
  fill(root, header.node, element("main", {}, verdict.node, table.node,
    element("section", {}, points.node),
    element("section", { class: "data" }, element("h2", {}, "Data"), about.facts), about.node));
  let study = null;

  function update(page) {
    study = readRows(page, { thing: "model", head: "model", named: true,
      example: "validation > 90" });
    for (const view of views) view.update(study);
  }

  state.subscribe(changed => {
    const keys = ["filter", "sort", "order", "page", "all", "columns", "select"];
    if (keys.some(key => changed.includes(key))) table.update(study);
  });
  unfoldForPrint(root, table, () => study);
  update(data);
  return { update };
}
