/**
 * The settings of the playground, and the address bar that holds them.
 *
 * The hash is readable: `#data=moons&noise=0.2&rate=0.1`. Only values that differ from the defaults
 * are written. Drawn points are part of it; the contents of a file are not.
 */

export const DEFAULTS = {
  data: "moons", count: 200, noise: 0.2, classes: 3, seed: 0, points: [],
  file: null, columns: null,
  loss: "logistic", rule: "momentum", rate: 0.1, momentum: 0, batch: null, l1: 0, l2: 0,
  features: "squares", gamma: 1, init: "zeros",
  grid: true, across: "learning_rate", down: "momentum",
  acrossValues: ["0.01", "0.1", "0.3", "1", "3", "5"],
  downValues: ["0", "0.5", "0.8", "0.9", "0.95"],
  selected: null, compared: null, epoch: 0, speed: 20,
  axes: ["0", "1"], explained: null, lesson: null, step: 0,
};

/** Parameters that a grid can vary: the server's name, our name, words, and usual values. */
export const VARIED = {
  learning_rate: { own: "rate", words: "learning rate", values: ["0.01", "0.1", "0.3", "1", "3", "5"] },
  momentum: { own: "momentum", words: "momentum", values: ["0", "0.5", "0.8", "0.9", "0.95"] },
  l2: { own: "l2", words: "L2 penalty", values: ["0", "0.001", "0.01", "0.1", "1"] },
  l1: { own: "l1", words: "L1 penalty", values: ["0", "0.003", "0.01", "0.03", "0.1"] },
  batch_size: { own: "batch", words: "batch size", values: ["1", "5", "20", "all"] },
  loss: { own: "loss", words: "loss", values: ["logistic", "hinge", "squared_hinge", "perceptron"] },
  rule: { own: "rule", words: "rule", values: ["plain", "momentum", "nesterov", "adam"] },
};

const FROM_FILE = ["file", "columns"];

/** Return the settings that a hash stands for; what it cannot be is left at its default. */
export function readHash(hash) {
  const out = structuredClone(DEFAULTS);
  for (const [name, text] of new URLSearchParams(hash.replace(/^#/, ""))) {
    if (!(name in DEFAULTS) || FROM_FILE.includes(name)) continue;
    const value = parsed(name, text);
    if (value !== undefined) out[name] = value;
  }
  return out;
}

/** Return the hash of settings. */
export function writeHash(settings) {
  const parts = [];
  for (const [name, value] of Object.entries(settings)) {
    if (FROM_FILE.includes(name) || same(value, DEFAULTS[name])) continue;
    parts.push(`${name}=${encodeURIComponent(text(name, value))}`);
  }
  return parts.length ? `#${parts.join("&")}` : "";
}

function same(a, b) {
  return JSON.stringify(a) === JSON.stringify(b);
}

function text(name, value) {
  if (name === "points") return value.map(p => p.map(v => Number(v.toFixed(2))).join(",")).join(";");
  if (Array.isArray(value)) return value.join(",");
  return value === null ? "none" : String(value);
}

function parsed(name, text) {
  const like = DEFAULTS[name];
  if (name === "lesson") return text.slice(0, 60);
  if (name === "explained") {
    const point = text.split(",").map(Number);
    return point.length === 3 && point.every(Number.isFinite) ? point : undefined;
  }
  if (name === "points") {
    const points = text.split(";").map(p => p.split(",").map(Number));
    return points.every(p => p.length === 3 && p.every(Number.isFinite)) ? points : undefined;
  }
  if (Array.isArray(like)) return text.split(",").slice(0, 12);
  if (["selected", "compared", "batch"].includes(name)) {
    const value = text === "none" ? null : Number(text);
    return value === null || Number.isInteger(value) ? value : undefined;
  }
  if (typeof like === "boolean") return text === "true";
  if (typeof like === "number") return Number.isFinite(Number(text)) ? Number(text) : undefined;
  return text.slice(0, 60);
}

/** Return what the server wants to know to start a play. */
export function request(settings) {
  return {
    data: dataOf(settings), features: settings.features, gamma: settings.gamma, seed: settings.seed,
    models: cells(settings).map(cell => parametersOf(settings, cell)),
  };
}

function dataOf(settings) {
  if (settings.data === "drawn") return { kind: "drawn", points: settings.points };
  if (settings.data === "file")
    return { kind: "file", file: settings.file ? settings.file.key : "", columns: settings.columns };
  const { data: kind, count, noise, classes } = settings;
  return { kind, count, noise, classes };
}

/** Return the cells of the grid, row by row; one cell without values if there is no grid. */
export function cells(settings) {
  if (!settings.grid) return [{}];
  const out = [];
  for (const down of settings.downValues)
    for (const across of settings.acrossValues)
      out.push(settings.across === settings.down
        ? { [settings.across]: across } : { [settings.down]: down, [settings.across]: across });
  return out;
}

/** Return the parameters of the model of a cell, by the names of the server. */
export function parametersOf(settings, cell) {
  const out = {
    loss: settings.loss, rule: settings.rule, learning_rate: settings.rate,
    momentum: settings.momentum, batch_size: settings.batch, l1: settings.l1, l2: settings.l2,
    init: settings.init,
  };
  for (const [name, text] of Object.entries(cell)) out[name] = valueOf(name, text);
  return out;
}

function valueOf(name, text) {
  if (name === "loss" || name === "rule") return text.trim();
  if (name === "batch_size" && text.trim() === "all") return null;
  const value = Number(text);
  return text.trim() !== "" && Number.isFinite(value) ? value : text;
}

/** Return a model in words: "learning rate 0.1, momentum 0.9". */
export function modelWords(settings, cell) {
  const shown = { learning_rate: String(settings.rate), momentum: String(settings.momentum), ...cell };
  if (["plain", "adam"].includes(cell.rule ?? settings.rule) && !("momentum" in cell))
    delete shown.momentum;
  return Object.entries(shown).map(([name, value]) =>
    `${VARIED[name].words} ${String(value).replaceAll("_", " ")}`).join(", ");
}
