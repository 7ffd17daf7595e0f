/** The sections of every page: header, verdict, data and how to repeat the work; and printing. */

import { button, copyButton, element, fill } from "./dom.js";
import { fitPictures } from "./figure.js";

const SHOWN = 4; // objectives and notes; the others are folded

/**
 * For printing, show all rows of a table, open all details and fit the pictures to the paper;
 * afterwards, restore them.
 */
export function unfoldForPrint(root, table = null, study = null) {
  let opened = null;
  const drawTable = print => {
    if (!table) return;
    table.print = print;
    table.update(study());
  };
  const unfold = () => {
    if (opened) return;
    drawTable(true);
    opened = [...root.querySelectorAll("details:not([open])")];
    for (const details of opened) {
      details.open = true;
      details.dispatchEvent(new Event("toggle")); // now: the browser's own event comes too late
    }
    root.classList.add("on-paper");
    fitPictures();
  };
  const fold = () => {
    for (const details of opened || []) details.open = false;
    opened = null;
    root.classList.remove("on-paper");
    drawTable(false);
    fitPictures();
  };
  matchMedia("print").addEventListener("change", event => (event.matches ? unfold() : fold()));
  addEventListener("beforeprint", unfold);
  addEventListener("afterprint", fold);
}

export function headerView() {
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
export function verdictView() {
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

/** Data, objective, and how to repeat the study. */
export function aboutView(what) {
  const facts = element("dl", { class: "facts" }), reproduce = element("div");
  const node = element("section", {}, element("h2", {}, `Reproduce this ${what}`), reproduce);

  function update({ page }) {
    const line = (name, sentences) => {
      const hidden = sentences.slice(SHOWN);
      return [...sentences.slice(0, SHOWN), hidden.length && element("details", {},
        element("summary", {}, `${hidden.length} more`), hidden.map(sentence => element("p", {}, sentence)))]
        .filter(Boolean).flatMap((sentence, k) =>
          [element("dt", {}, k === 0 ? name : ""), element("dd", {}, sentence)]);
    };
    fill(facts, line("Data", [page.data.words]), line("Fingerprint", [page.data.fingerprint].filter(Boolean)),
      line(page.objective.length > 1 ? "Objectives" : "Objective", page.objective), line("Notes", page.data.notes));
    fill(reproduce, page.reproduce.flatMap(({ label, text }) => {
      const code = element("pre", { tabindex: "0" }, text);
      return [element("p", { class: "bar" }, label, copyButton("copy", () => text, code)), code];
    }), element("p", { class: "quiet" }, `Versions: ${page.versions}`));
  }

  return { node, update, facts };
}
