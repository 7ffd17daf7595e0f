/** The configurations of a study as the other modules use them: decoded curves, columns, colours. */

import { decoded, element } from "./dom.js";
import { percentage, short, significant } from "./scales.js";

export const MEASURE_WORDS = {
  train_loss: "training loss",
  train_accuracy: "training accuracy",
  val_loss: "validation loss",
  val_accuracy: "validation accuracy",
};
export const KIND_WORDS = {
  best: "best",
  tie: "tied with the best",
  same: "not significantly different from the best",
  worse: "",
  diverged: "diverged",
  waiting: "not finished",
};
const MARKS = { best: "●", tie: "●", same: "○", worse: "·", diverged: "×", waiting: "…" };

/** Decode the dictionary of `study_page.py`. */
export function readStudy(page) {
  const index = Object.keys(MEASURE_WORDS);
  const runs = page.rows.map(row => ({
    ...row,
    measure: name => row.last[index.indexOf(name)],
    atBest: name => row.best[index.indexOf(name)],
    curves: {},
  }));
  const byNumber = new Map(runs.map(run => [run.number, run]));
  for (const [name, packed] of Object.entries(page.curves.measures)) {
    const values = decoded(packed.values), epochs = decoded(packed.epochs, Uint32Array);
    const all = Uint32Array.from({ length: Math.max(0, ...packed.lengths) }, (_, k) => k + 1);
    let start = 0;
    page.curves.numbers.forEach((number, k) => {
      const end = start + packed.lengths[k];
      byNumber.get(number).curves[name] = {
        epochs: packed.epochs ? epochs.subarray(start, end) : all.subarray(0, end - start),
        values: values.subarray(start, end),
      };
      start = end;
    });
  }
  const validated = page.measures.includes("val_loss");
  const mainLoss = validated ? "val_loss" : "train_loss";
  return {
    page, runs, byNumber, validated,
    best: byNumber.get(page.best) || null,
    thing: "configuration", head: "run", example: "momentum = 0.9",
    merit: run => run.measure(mainLoss) ?? Infinity,
    columns: columnsOf(page, validated),
    exported: exportedColumns(page),
  };
}

/** Return the columns of the exported table: `name` and `get(run)`, with all digits. */
function exportedColumns(page) {
  const column = (name, get) => ({ name, get });
  return [
    ...page.parameters.map((one, k) => column(one.name, run => run.values[k])),
    ...page.measures.map(name => column(name, run => run.measure(name))),
    ...(page.rows.some(row => row.log_loss !== null) ? [column("val_log_loss", run => run.log_loss)] : []),
    column("best_epoch", run => run.best_epoch),
    ...page.measures.map(name => column(`best_${name}`, run => run.atBest(name))),
    ...["epochs", "stopped"].map(name => column(name, run => run[name])),
    column("mark", run => run.kind),
    column("observations", run => run.observations.join(" ")),
  ];
}

/** Return the name of a measure in words; a score of a search has its own name. */
export function measureWords(name) {
  return MEASURE_WORDS[name] ?? name;
}

/** Whether a higher value of a measure is better: losses are lower, accuracies and scores are not. */
export function isHigherBetter(name) {
  return !name.endsWith("loss") || !Object.hasOwn(MEASURE_WORDS, name);
}

/** Said of losses of different kinds instead of which one is the lowest. */
export const UNLIKE_LOSSES = "The loss functions differ: compare their values with themselves only.";

/** Format a measure: accuracies in per cent. */
export function measureText(name, value) {
  return name.endsWith("accuracy") ? percentage(value) : lossText(value);
}

function lossText(value) {
  if (value === null || value === undefined) return "–";
  return significant(value, 4);
}

/**
 * Return the columns of the table: `get(run)` sorts and filters, `text(run)` is shown. Columns with
 * `extra` are shown on request; `names` are the words that the filter accepts.
 */
function columnsOf(page, validated) {
  const parameters = page.parameters.map((parameter, k) => ({
    key: parameter.name,
    label: parameter.label,
    numeric: parameter.numeric,
    get: run => run.values[k],
    text: run => run.words[k],
    names: [parameter.name, parameter.label],
  }));
  const measure = (name, label, names, extra = false) => ({
    key: extra ? `best_${name}` : name,
    label,
    part: name.startsWith("val") ? "validation" : "training",
    numeric: true,
    accuracy: name.endsWith("accuracy"),
    higher: name.endsWith("accuracy"),
    get: run => (extra ? run.atBest(name) : run.measure(name)),
    text: run => measureText(name, extra ? run.atBest(name) : run.measure(name)),
    names,
    extra,
  });
  const main = name => (validated ? name.startsWith("val") : true);
  const measures = page.measures.map(name => {
    const [part, what] = MEASURE_WORDS[name].split(" ");
    const names = [MEASURE_WORDS[name], name, `${part.slice(0, part === "training" ? 5 : 3)} ${what}`];
    const label = what === "loss" ? MEASURE_WORDS[name] : what;
    return measure(name, label, main(name) ? [...names, what] : names);
  });
  const integer = (key, label, extra) => ({
    key, label, extra, numeric: true, names: [label],
    get: run => run[key],
    text: run => (run[key] === null ? "–" : String(run[key])), // as the parameter "epochs" beside it
  });
  const extras = validated
    ? [integer("best_epoch", "best epoch", false),
      measure("val_loss", "loss at best epoch", ["loss at best"], true),
      measure("val_accuracy", "accuracy at best epoch", ["accuracy at best"], true)]
    : [];
  const logLoss = {
    key: "log_loss", label: "validation log-loss", numeric: true,
    names: ["validation log-loss", "log-loss"],
    get: run => run.log_loss, text: run => measureText("val_loss", run.log_loss),
  };
  const varied = page.parameters.some(parameter => parameter.name === "epochs");
  return [
    ...parameters,
    ...measures,
    ...(page.rows.some(row => row.log_loss !== null) ? [logLoss] : []),
    ...extras,
    ...(varied ? [] : [integer("epochs", "epochs", true)]),
    {
      key: "stable_rate", label: "stable rate", numeric: true, extra: true, names: ["stable rate"],
      get: run => run.stable_rate, text: run => short(run.stable_rate),
    },
    {
      key: "seconds", label: "seconds", numeric: true, extra: true, names: ["seconds"],
      get: run => run.seconds, text: run => short(run.seconds),
    },
    {
      key: "converged", label: "converged", numeric: false, extra: true, names: ["converged"],
      get: run => run.converged, text: run => run.converged,
    },
    {
      key: "stopped", label: "stopped because", numeric: false, names: ["stopped because", "stopped"],
      get: run => run.stopped, text: stopText,
    },
  ];
}

/** Return why a run stopped, and what kept it from converging. */
export function stopText(run) {
  return run.problem ? `${run.stopped}, ${run.problem}` : run.stopped;
}

/** Sort configurations by a column; values that are missing come last. */
export function sortRuns(runs, column, descending) {
  const sign = descending ? -1 : 1;
  const missing = value => value === null || value === undefined || value === "";
  return [...runs].sort((a, b) => {
    const x = column.get(a), y = column.get(b);
    if (missing(x) || missing(y)) return missing(x) - missing(y) || a.number - b.number;
    if (typeof x === "number" && typeof y === "number") return sign * (x - y) || a.number - b.number;
    return sign * String(x).localeCompare(String(y), "en", { numeric: true }) || a.number - b.number;
  });
}

const PALETTE = 6; // colours of categories in the stylesheet
const DASHES = ["", "7 3", "2 3", "9 3 2 3"];

/**
 * Return the colours of curves by the values of a parameter: `of(run)` has a CSS colour and a dash,
 * `legend` has every value with its colour. Numbers are shades of blue, other values are hues.
 */
export function coloursBy(study, name) {
  const k = study.page.parameters.findIndex(parameter => parameter.name === name);
  if (k < 0) return null;
  const numeric = study.page.parameters[k].numeric;
  const words = new Map(study.runs.map(run => [run.words[k], run.values[k]]));
  const values = [...words].sort((a, b) => (numeric ? a[1] - b[1] : 0));
  const shades = new Map(values.map(([word], place) => [word, numeric
    ? { colour: shade(values.length > 1 ? place / (values.length - 1) : 1), dash: "" }
    : { colour: `var(--hue-${place % PALETTE})`, dash: DASHES[Math.floor(place / PALETTE) % 4] }]));
  return {
    of: run => shades.get(run.words[k]),
    legend: values.map(([word]) => ({ word, ...shades.get(word) })),
  };
}

/** Return a shade of blue for a place from 0 (light) to 1 (dark). */
export function shade(place) {
  return `color-mix(in oklab, var(--ramp-high) ${Math.round(100 * place)}%, var(--ramp-low))`;
}

/** Return the mark of a configuration in the table: a shape, and its meaning in words. */
export function markOf(run) {
  return element("span", { class: `mark ${run.kind}`, "aria-hidden": "true" }, MARKS[run.kind]);
}

/** Return the lowest or highest known value of a measure, and its configuration. */
export function bestBy(runs, name) {
  const sign = isHigherBetter(name) ? -1 : 1;
  const known = runs.filter(run => run.kind !== "diverged" && run.measure(name) !== null);
  return known.sort((a, b) => sign * (a.measure(name) - b.measure(name)))[0] || null;
}
