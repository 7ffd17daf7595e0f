/**
 * Filters of the table, such as "momentum = 0.9, loss < 0.2".
 *
 * Conditions are separated by commas or "and". A condition compares a column with a value or a range
 * (0.01..0.1). Any other text must occur in the name or the stop reason of a configuration.
 */

import { KIND_WORDS, stopText } from "./runs.js";

const CONDITION = /^(.+?)\s*(<=|>=|!=|==|=|<|>)\s*(.+)$/;

/** Return `{ test, error }` for the text of a filter; `error` is a sentence, or "". */
export function parseFilter(text, columns) {
  const tests = [];
  for (const part of text.split(/,|;|\band\b/i).map(one => one.trim()).filter(Boolean)) {
    const [, name, sign, value] = CONDITION.exec(part) || [];
    if (!name) {
      const wanted = part.toLowerCase();
      tests.push(run => wordsOf(run).includes(wanted));
      continue;
    }
    const column = findColumn(name, columns);
    if (!column) {
      const known = columns.map(one => one.names[0].replaceAll("_", " ")).join(", ");
      return { test: () => true, error: `There is no column “${name}”. The columns: ${known}.` };
    }
    const test = comparison(column, sign, value.trim());
    if (!test)
      return { test: () => true, error: `“${part}” needs a number after “${sign}”.` };
    tests.push(test);
  }
  return { test: run => tests.every(test => test(run)), error: "" };
}

function wordsOf(run) {
  return [run.name, stopText(run), KIND_WORDS[run.kind], run.kind].join(" ").toLowerCase();
}

function findColumn(name, columns) {
  const wanted = plain(name);
  const exact = columns.find(column => column.names.some(one => plain(one) === wanted));
  if (exact) return exact;
  const near = columns.filter(column => column.names.some(one => plain(one).includes(wanted)));
  const shown = near.filter(column => !column.extra);
  return [shown, near].find(found => found.length === 1)?.[0];
}

function plain(name) {
  return name.toLowerCase().replaceAll("_", " ").replace(/\s+/g, " ").trim();
}

function comparison(column, sign, text) {
  const [low, high] = text.split("..").map(part => numberOf(part, column));
  const same = sign === "=" || sign === "==";
  if (text.includes("..")) {
    if (Number.isNaN(low) || Number.isNaN(high) || !same) return null;
    return run => between(column.get(run), low, high);
  }
  if (same || sign === "!=") {
    const wanted = text.toLowerCase();
    const equal = run => String(column.text(run)).toLowerCase() === wanted
      || (!Number.isNaN(low) && close(column.get(run), low));
    return same ? equal : run => !equal(run);
  }
  if (Number.isNaN(low)) return null;
  const holds = {
    "<": value => value < low, "<=": value => value <= low,
    ">": value => value > low, ">=": value => value >= low,
  }[sign];
  return run => typeof column.get(run) === "number" && holds(column.get(run));
}

/** Read a number; accuracies may be given in per cent. */
function numberOf(text, column) {
  const value = Number(text.replace("%", "").trim() || NaN);
  return column.accuracy && (value > 1 || text.includes("%")) ? value / 100 : value;
}

function between(value, low, high) {
  return typeof value === "number" && value >= low && value <= high;
}

function close(value, wanted) {
  return typeof value === "number" && Math.abs(value - wanted) <= 1e-9 * Math.abs(wanted);
}
