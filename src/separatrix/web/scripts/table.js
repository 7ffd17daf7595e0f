/** The table of configurations: sort, filter, pages, chosen rows on top, copy and download. */

import { button, copyButton, download, element, fill } from "./dom.js";
import { parseFilter } from "./filter.js";
import { KIND_WORDS, coloursBy, markOf, sortRuns } from "./runs.js";
import { capital, count } from "./scales.js";

const PAGE = 8; // rows of a page
const ALL = 12; // a table with at most this many rows has no pages

/** Return the configurations that pass the filter, and the error of the filter. */
export function filteredRuns(study, state) {
  const { test, error } = parseFilter(state.get("filter"), study.columns);
  return { runs: study.runs.filter(test), error };
}

/** Return the section with the table: `node` and `update(study)`. */
export function tableView(state) {
  const input = element("input", {
    type: "search", id: "filter",
    "aria-describedby": "filter-note",
    on: { input: () => state.set({ filter: input.value, page: "0" }) },
  });
  const note = element("span", { id: "filter-note", "aria-live": "polite" });
  const more = button("more columns", () => state.set({ columns: state.get("columns") ? "" : "all" }));
  const copy = copyButton("copy", () => text("\t"));
  const save = button("CSV", () => download(`${view.study.page.name}.csv`, text(","), "text/csv"));
  const scroll = element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Table" });
  const pager = element("div", { class: "bar" }), key = element("p", { class: "legend" });
  const details = element("div", { class: "details" });
  const node = element("section", {},
    element("div", { class: "bar" },
      element("label", { for: "filter", class: "hidden" }, "Filter"), input, note,
      element("span", { class: "space" }), more, copy, save),
    scroll, key, pager, details);
  const view = { node, update, study: null, print: false };

  function text(separator) {
    const { runs } = filteredRuns(view.study, state);
    return asText(view.study, sorted(view.study, runs, state), separator);
  }

  function update(study) {
    view.study = study;
    node.setAttribute("aria-label", `${capital(study.thing)}s`);
    input.placeholder = `filter, such as ${study.example}`;
    const { runs, error } = filteredRuns(study, state);
    if (input.value !== state.get("filter")) input.value = state.get("filter");
    input.setAttribute("aria-invalid", String(Boolean(error)));
    note.className = error ? "error" : "";
    fill(note, error || `${runs.length.toLocaleString("en")} of ${count(study.runs.length, study.thing)}`);
    more.hidden = !study.columns.some(column => column.extra);
    more.setAttribute("aria-pressed", String(Boolean(state.get("columns"))));
    const chosen = state.chosen();
    const top = [study.best, ...chosen.map(number => study.byNumber.get(number))]
      .filter((run, k, all) => run && all.indexOf(run) === k);
    const rest = sorted(study, runs, state).filter(run => !top.includes(run));
    const paged = !view.print && !state.get("all") && rest.length + top.length > ALL;
    const pages = Math.ceil(rest.length / PAGE);
    const page = Math.min(Number(state.get("page")) || 0, Math.max(pages - 1, 0));
    const visible = paged ? rest.slice(page * PAGE, (page + 1) * PAGE) : rest;
    fill(scroll, makeTable(study, state, [...top, ...visible], top.length));
    showPager(page, pages, paged, rest.length > visible.length || state.get("all"));
    fill(key, ["tie", "same"].filter(kind => study.runs.some(run => run.kind === kind)).map(kind =>
      element("span", {}, markOf({ kind }), ` ${KIND_WORDS[kind]}`)));
    fill(details, top.filter(run => chosen.includes(run.number)).slice(0, 3).map(explain));
  }

  function showPager(page, pages, paged, useful) {
    const turn = (label, to, off) => button(label, () => state.set({ page: String(to) }), { disabled: off });
    fill(pager, ...(useful || paged ? [
      paged && turn("previous", page - 1, page === 0),
      paged && element("span", {}, `page ${page + 1} of ${pages}`),
      paged && turn("next", page + 1, page >= pages - 1),
      button(paged ? "show all" : "show pages", () => state.set({ all: paged ? "1" : "" })),
    ] : []));
  }

  state.onPoint(number => {
    for (const row of scroll.querySelectorAll("tbody tr"))
      row.classList.toggle("pointed", number !== null && row.dataset.number === String(number));
  });
  return view;
}

function sorted(study, runs, state) {
  const column = study.columns.find(one => one.key === state.get("sort"));
  return column ? sortRuns(runs, column, state.get("order") === "down") : byMerit(study, runs);
}

/**
 * Sort as good as the best first, then by merit, of which less is better; failures come last. Runs in
 * training come after them, in the order of the grid, so that they keep their places.
 */
export function byMerit(study, runs) {
  const rank = { best: 0, tie: 1, same: 2, worse: 3, diverged: 4, waiting: 5 };
  const merit = run => run.kind === "waiting" ? 0 : study.merit(run);
  return [...runs].sort((a, b) =>
    rank[a.kind] - rank[b.kind] || merit(a) - merit(b) || a.number - b.number);
}

function makeTable(study, state, runs, top) {
  const columns = study.columns.filter(column => !column.extra || state.get("columns"));
  const colours = coloursBy(study, state.get("colour"));
  return element("table", { class: "runs" },
    element("caption", {}, study.page.caption),
    element("thead", {}, element("tr", {}, element("th", { scope: "col", class: "words" }, study.head),
      columns.map(column => headCell(column, state)))),
    element("tbody", {}, runs.map((run, k) => makeRow(study, run, columns, colours, state, k === top - 1))));
}

function headCell(column, state) {
  const active = state.get("sort") === column.key;
  const down = state.get("order") === "down";
  const sort = active ? (down ? "descending" : "ascending") : null;
  // Three clicks: best values first, the other way round, and back to the order of merit.
  const first = column.higher ? "down" : "up";
  const next = !active ? { sort: column.key, order: first }
    : state.get("order") === first ? { order: first === "up" ? "down" : "up" } : { sort: "", order: "up" };
  const kind = column.part || (column.numeric ? null : "words");
  return element("th", { scope: "col", class: kind, "aria-sort": sort },
    button(column.label, () => state.set({ ...next, page: "0" }),
      { "aria-label": column.names[0].replaceAll("_", " ") }),
  // Browsers do not print buttons of a heading that is repeated on the next page.
  element("span", { class: "printed" }, column.label));
}

function makeRow(study, run, columns, colours, state, isLastOnTop) {
  const chosen = state.chosen().includes(run.number);
  const swatch = colours && run.kind !== "diverged" && run.kind !== "waiting"
    && element("span", { class: "swatch", style: `background:${colours.of(run).colour}` });
  const words = [KIND_WORDS[run.kind], run.name].filter(Boolean).join(": ");
  const mark = button([markOf(run), swatch, study.named ? ` ${run.name}` : run.kind === "best" && " best"], event => {
    event.stopPropagation();
    state.toggle(run.number);
  }, { class: "choose", "aria-pressed": String(chosen), "aria-label": `Highlight ${words}`, title: words });
  const kind = [run.kind, chosen && "chosen", isLastOnTop && "last-on-top"].filter(Boolean).join(" ");
  return element("tr", {
    class: kind, "data-number": run.number,
    on: {
      click: () => getSelection().isCollapsed && state.toggle(run.number),
      mouseenter: () => state.point(run.number), mouseleave: () => state.point(null),
    },
  }, element("td", { class: "words" }, mark), columns.map(column =>
    element("td", { class: column.numeric ? null : "words" }, column.text(run))));
}

/** Return the name of a configuration and what was observed about it. */
export function explain(run) {
  return element("div", {},
    element("p", {}, element("b", { class: run.kind }, run.name),
      KIND_WORDS[run.kind] && run.kind !== "worse" ? ` (${KIND_WORDS[run.kind]})` : ""),
    run.observations.map(sentence => element("p", {}, sentence)));
}

/** Return the table as text with all digits, one line for every configuration. */
export function asText(study, runs, separator) {
  const lines = [study.exported.map(one => one.name), ...runs.map(run => study.exported.map(one => one.get(run)))];
  return lines.map(line => line.map(value => cellText(value, separator)).join(separator))
    .join("\n").concat("\n");
}

function cellText(value, separator) {
  const text = value === null || value === undefined ? "" : String(value);
  if (separator === "\t") return text.replace(/[\t\r\n]/g, " ");
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
