/** The home page: the studies of the store, and what else there is to do. */

import { getJson, postJson } from "./client.js";
import { button, element, fill } from "./dom.js";
import { count, short } from "./scales.js";
import { sparkline } from "./sparkline.js";

const EVERY = 1500; // milliseconds between two looks at the list while a study runs

const where = element("p"), problem = element("p", { class: "error", role: "alert" });
const list = element("section", { "aria-label": "Studies" });
const rows = new Map(); // by name: the cells that change, and the state that they show

/** Say how long ago a time in UTC was. */
function age(created) {
  const seconds = Math.max(0, (Date.now() - Date.parse(created)) / 1000);
  const units = [["second", 60], ["minute", 60], ["hour", 24], ["day", 365], ["year", Infinity]];
  let value = seconds;
  for (const [unit, most] of units) {
    if (value < most) return unit === "second" ? "just now" : `${count(Math.floor(value), unit)} ago`;
    value /= most;
  }
  return "";
}

async function runIris() {
  problem.textContent = "";
  try {
    const { name } = await postJson("/api/new", { source: { name: "iris" }, name: "iris" });
    location.assign(`/studies/${encodeURIComponent(name)}`);
  } catch (error) {
    problem.textContent = error.message;
  }
}

function empty() {
  fill(list, element("div", { class: "empty" },
    element("h2", {}, "There are no studies yet."),
    element("p", {}, "A study trains many configurations of a classifier together, keeps them and compares them."),
    element("div", { class: "bar" },
      button("Run the Iris study now", runIris, { class: "go" }),
      element("a", { href: "/new" }, "start another study"))));
}

const runsWords = one => one.done === one.runs ? one.runs.toLocaleString("en")
  : `${one.done.toLocaleString("en")} of ${one.runs.toLocaleString("en")}`;

function makeRow(one) {
  const cells = Object.fromEntries(["runs", "best", "curve", "age", "state"].map(name =>
    [name, element("td", { class: name === "runs" ? null : "words" })]));
  const link = element("a", { href: `/studies/${encodeURIComponent(one.name)}` }, one.name);
  const node = element("tr", {}, element("th", { scope: "row", class: "words" }, link),
    element("td", { class: "words" }, one.data), ...Object.values(cells));
  return { node, cells, state: "" };
}

function update(studies) {
  if (!studies.length) return empty();
  const body = element("tbody");
  for (const one of studies) {
    if (!rows.has(one.name)) rows.set(one.name, makeRow(one));
    const row = rows.get(one.name), state = JSON.stringify([one.created, one.done, one.state, one.seconds]);
    fill(row.cells.runs, runsWords(one));
    fill(row.cells.age, age(one.created));
    fill(row.cells.state, one.state === "finished" ? `${short(one.seconds, 2)} s` : one.state);
    row.cells.state.className = `words ${one.state}`;
    if (row.state !== state) showCard(one.name, row);
    row.state = state;
    body.append(row.node);
  }
  if (!list.querySelector("table"))
    fill(list, element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "Studies" },
      element("table", { class: "studies" },
        element("thead", {}, element("tr", {},
          [["study", 1], ["data", 1], ["runs", 0], ["best", 1], ["its loss", 1], ["started", 1], ["time", 1]]
            .map(([words, left]) => element("th", { scope: "col", class: left ? "words" : null }, words)))),
        element("tbody"))));
  list.querySelector("tbody").replaceWith(body);
  return null;
}

async function showCard(name, { cells }) {
  try {
    const card = await getJson(`/api/studies/${encodeURIComponent(name)}/card`);
    fill(cells.best, card.best ?? "–");
    fill(cells.curve, sparkline(card.curve, `loss by epoch of the best configuration of ${name}`));
  } catch (error) {
    fill(cells.best, error.message);
  }
}

async function refresh() {
  let again = EVERY;
  try {
    const { store, studies } = await getJson("/api/studies");
    problem.textContent = "";
    where.textContent = `${count(studies.length, "study", "studies")} in ${store}`;
    if (!document.getSelection().toString() && !list.contains(document.activeElement) || !rows.size) update(studies);
    if (!studies.some(one => one.state === "running")) again *= 4;
  } catch (error) {
    problem.textContent = error.message;
  }
  setTimeout(() => document.hidden
    ? document.addEventListener("visibilitychange", refresh, { once: true }) : refresh(), again);
}

fill(document.getElementById("page"),
  element("header", {}, element("h1", {}, "Studies"), where),
  element("main", {},
    element("section", { class: "ways", "aria-label": "What would you like to do?" },
      element("a", { href: "/new" }, element("b", {}, "Start a study"),
        "Train a whole grid of settings on your data, and compare them."),
      element("a", { href: "/play" }, element("b", {}, "Play"),
        "See in the plane what a learning rate, a loss or a penalty does."),
      element("a", { href: "/lessons" }, element("b", {}, "Learn"),
        "Short guided tours: a setting, a question, and the answer.")),
    problem, list));
refresh();
