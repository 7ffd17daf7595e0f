/** Tables of metrics: one row for every part of the data, and one for every class. */

import { element, fill } from "./dom.js";
import { dataTable } from "./figure.js";
import { capital } from "./scales.js";

const MANY = 12; // classes above which their table is folded

/** Return the section with both tables: `node` and `update(study)`. */
export function metricsView() {
  const node = element("section", { class: "metrics figures" });
  return {
    node,
    update({ page }) {
      fill(node, page.parts && titled("Metrics", page.parts),
        page.by_class && titled(capital(`${page.by_class.part} rows by class`), page.by_class));
    },
  };
}

function titled(title, { head, rows }) {
  const table = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": title },
    dataTable(head, rows));
  return element("div", {}, element("h3", {}, title), rows.length <= MANY ? table
    : element("details", {}, element("summary", {}, `${rows.length} classes`), table));
}

/** Return the section of what is wrong with a fit, and what to do. It is hidden if nothing is. */
export function diagnosesView() {
  const node = element("section", { class: "diagnoses" });
  return {
    node,
    update({ page }) {
      const found = page.diagnoses || [];
      node.hidden = !found.length;
      fill(node, element("h2", {}, found.length === 1 ? "Diagnosis" : "Diagnoses"),
        found.map(({ message, remedy }) => element("div", { class: "diagnosis" },
          element("p", {}, message), element("p", {}, element("b", {}, "What to do: "), remedy))));
    },
  };
}
