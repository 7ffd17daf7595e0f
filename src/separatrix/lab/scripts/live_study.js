/** The page of a study while it runs: the report, which fills, and above it the progress. */

import { getJson, postJson } from "./client.js";
import { button, element, fill } from "./dom.js";
import { count } from "./scales.js";
import { start } from "./study_page.js";

const AGAIN = 1500; // milliseconds until the next attempt to connect
const name = decodeURIComponent(location.pathname.slice("/studies/".length));
const path = `/api/studies/${encodeURIComponent(name)}`;

const root = element("div"), top = progressView();
let view = null, source = null, waiting = null, over = false;

/** The progress above the page. Its height stays the same, so that nothing below it moves. */
function progressView() {
  const state = element("b"), counts = element("span"), left = element("span");
  const bar = element("progress", { max: 1, value: 0, "aria-label": "Finished share" });
  const best = element("p", { class: "best-so-far" });
  const lost = element("span", { class: "error", role: "status" });
  const problem = element("p", { class: "error", role: "alert" });
  const stop = button("stop", () => ask("stop"), { hidden: true });
  const resume = button("resume", () => ask("resume"), { hidden: true });
  const node = element("section", { class: "progress", "aria-label": "Progress" },
    element("div", { class: "line-of-progress" }, state, counts, left,
      element("span", { class: "space" }), lost, stop, resume), bar, best, problem);

  async function ask(what) {
    problem.textContent = "";
    try {
      await postJson(`${path}/${what}`, {});
      connect();
    } catch (error) {
      problem.textContent = error.message;
    }
  }

  const words = { starting: "Starting", running: "Running", stopped: "Stopped", finished: "Finished",
    failed: "Failed" };

  function update(progress) {
    fill(state, words[progress.state]);
    node.dataset.state = progress.state;
    bar.value = progress.share;
    if (progress.state === "starting")
      fill(counts, progress.planned ? `${count(progress.planned.runs, "run")}. ` : "", "Reading and preparing the data.");
    else if (progress.runs)
      fill(counts, `${progress.finished.toLocaleString("en")} of ${count(progress.runs, "run")} finished` +
        (progress.alive ? `, ${progress.alive.toLocaleString("en")} in training` : "") +
        (progress.diverged ? `, ${progress.diverged.toLocaleString("en")} diverged` : ""));
    fill(left, timeWords(progress));
    fill(best, progress.state === "running" && progress.best || "");
    stop.hidden = !progress.stoppable;
    resume.hidden = progress.state !== "stopped" || !progress.resumable;
    problem.textContent = progress.problem ?? "";
  }

  return { node, update, say: text => { lost.textContent = text; } };
}

function timeWords({ state, left, seconds, planned }) {
  if (state === "starting" && planned) return `about ${duration(planned.seconds)}`;
  if (state === "running" && left !== null) return `about ${duration(left)} left`;
  if (state === "finished") return `in ${duration(seconds)}`;
  return "";
}

function duration(seconds) {
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

/** Draw the study, but not under the hand of the reader: an open menu would close. */
function show(snapshot) {
  top.update(snapshot.progress);
  if (!snapshot.page) {
    showPlan(snapshot.progress);
    return;
  }
  if (root.contains(document.activeElement) && document.activeElement.tagName === "SELECT") {
    if (!waiting) document.activeElement.addEventListener("blur", () => show(waiting), { once: true });
    waiting = snapshot;
    return;
  }
  waiting = null;
  keepFocus(() => {
    if (view) view.update(snapshot.page);
    else view = start(root, snapshot.page);
  });
}

/** Show what is known of a study before it runs. */
function showPlan({ state, planned }) {
  if (state !== "starting" || !planned) return;
  fill(root, element("header", {}, element("h1", {}, `Separatrix · ${name}`), element("p", {}, count(planned.runs, "run"))),
    element("main", {}, element("section", { class: "plan-of-study", "aria-label": "Plan" },
      element("p", {}, planned.data),
      planned.grid.length > 0 && element("p", {}, "All combinations of"),
      element("ul", {}, planned.grid.map(words => element("li", {}, words))),
      element("p", { class: "quiet" }, "The table and the curves appear here after the first epochs."))));
}

/** Do work that replaces parts of the page, and return the focus to the same control. */
function keepFocus(work) {
  const before = document.activeElement, inside = root.contains(before);
  const like = node => `${node.tagName} ${node.getAttribute("aria-label") ?? node.textContent}`;
  const wanted = inside ? like(before) : "";
  work();
  if (!inside || before.isConnected) return;
  [...root.querySelectorAll(before.tagName)].find(node => like(node) === wanted)?.focus({ preventScroll: true });
}

function connect() {
  source?.close();
  over = false;
  const mine = source = new EventSource(`${path}/events`);
  mine.onmessage = event => {
    if (mine !== source) return;
    top.say("");
    const snapshot = JSON.parse(event.data);
    show(snapshot);
    if (snapshot.progress.state === "finished") {
      over = true;
      mine.close();
    }
  };
  mine.onerror = async () => {
    if (mine !== source || over) return;
    top.say("The connection to the lab is lost. Trying again…");
    if (mine.readyState !== EventSource.CLOSED) return; // the browser tries again by itself
    try {
      await getJson(path);
    } catch (error) {
      top.say(error.message);
      if (error.status) return;
    }
    setTimeout(() => mine === source && connect(), AGAIN);
  };
}

// A hidden page needs no connection: browsers allow only a few to one server.
document.addEventListener("visibilitychange", () => {
  if (document.hidden) source?.close();
  else if (!over) connect();
});

fill(root, element("header", {}, element("h1", {}, `Separatrix · ${name}`))); // until there is a page
fill(document.getElementById("page"), top.node, root);
connect();
