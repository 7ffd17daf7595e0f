/** The left column: data, model, and what the grid varies. Every change calls `change(settings)`. */

import { button, element, fill } from "./dom.js";
import { LOSS_WORDS } from "./loss_words.js";
import { classColour } from "./plane.js";
import { VARIED } from "./settings.js";


const WORDS = { xor: "exclusive or", rbf: "kernel (rbf)", linear: "x and y", squares: "+ squares", cubes: "+ cubes" };
const PENALTIES = [0, 1e-4, 1e-3, 3e-3, 0.01, 0.03, 0.1, 0.3, 1];
const RATES = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 0.5, 1, 2, 3, 5, 10, 30];
const BATCHES = [1, 2, 5, 10, 20, 50, 100, null];
const WITH_MOMENTUM = ["momentum", "nesterov"];

/** Return the column: `node`, and `show(settings, play, problem)`; a problem is shown at its field. */
export function makeControls({ choices, change, upload, drawMode }) {
  const node = element("section", { class: "settings-part", "aria-label": "Settings" });
  let drawing = false, colour = 0, last = null;

  function show(settings, play, problem = null) {
    last = [settings, play, problem];
    const set = values => change({ ...settings, ...values });
    const varied = name => settings.grid && [settings.across, settings.down].includes(name);
    fill(node,
      element("h2", {}, "Data"), ...dataPart(settings, set),
      !ownField(settings, problem) && problemWords(problem),
      element("h2", {}, "Features"),
      chips(choices.features, settings.features, name => set({ features: name }),
        name => name === "linear" && settings.data === "file" ? "both axes" : WORDS[name]),
      settings.features === "rbf" && slider("width of the kernel (gamma)",
        [0.1, 0.3, 0.5, 1, 2, 5, 10], settings.gamma, gamma => set({ gamma })),
      element("h2", {}, "Loss"),
      chips(choices.losses, varied("loss") ? null : settings.loss, name =>
        set({ loss: name, ...without(settings, "loss") })),
      LOSS_WORDS[settings.loss] && !varied("loss") && element("p", { class: "note" }, LOSS_WORDS[settings.loss]),
      element("h2", {}, "Training"),
      chips(choices.rules, varied("rule") ? null : settings.rule, name =>
        set({ rule: name, ...withoutMomentum(name, without(settings, "rule")) })),
      !varied("learning_rate") && slider("learning rate", RATES, settings.rate, rate => set({ rate })),
      !varied("momentum") && WITH_MOMENTUM.includes(settings.rule) &&
        slider("momentum", [0, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.99], settings.momentum,
          momentum => set({ momentum })),
      !varied("batch_size") && slider("batch size", BATCHES, settings.batch, batch => set({ batch }),
        value => value === null ? "all points" : String(value)),
      !varied("l2") && slider("L2 penalty", PENALTIES, settings.l2, l2 => set({ l2 })),
      !varied("l1") && slider("L1 penalty", PENALTIES, settings.l1, l1 => set({ l1 })),
      chips(["zeros", "random"], settings.init, init => set({ init }), name => `start: ${name}`),
      element("h2", {}, "Models"),
      chips([true, false], settings.grid, grid => set({ grid, selected: null, compared: null }),
        grid => grid ? "all settings at once" : "one model"),
      ...(settings.grid ? gridPart(settings, set, problem) : []));
  }

  function dataPart(settings, set) {
    const parts = [
      element("div", { class: "chips" },
        ...choices.data.map(name => chip(WORDS[name] ?? name, settings.data === name, () => {
          drawing = false;
          drawMode(null);
          set({ data: name });
        })),
        chip("draw…", settings.data === "drawn", startDrawing),
        chip(settings.file ? settings.file.name : "my file…", settings.data === "file", () => picker.click())),
    ];
    if (settings.data === "drawn") return [...parts, ...drawPart(settings, set)];
    if (settings.data === "file") return settings.file ? [...parts, ...filePart(settings, set)] : parts;
    return [...parts,
      slider("noise", [0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4, 0.5], settings.noise, noise => set({ noise })),
      slider("points", [30, 50, 100, 200, 500, 1000, 2000], settings.count, count => set({ count })),
      settings.data === "blobs" &&
        slider("classes", [2, 3, 4, 5], settings.classes, classes => set({ classes })),
      element("div", { class: "chips" },
        button("new random points", () => set({ seed: (settings.seed + 1) % 1000 })))];
  }

  function startDrawing() {
    const [settings, play] = last;
    drawing = true;
    const points = settings.data === "drawn" || !play ? settings.points
      : play.points.slice(0, 2000).map(([x, y, c]) => [round(x), round(y), c]);
    drawMode({ colour });
    change({ ...settings, data: "drawn", points });
  }

  function drawPart(settings, set) {
    const pick = number => {
      drawing = !(drawing && colour === number);
      colour = number;
      drawMode(drawing ? { colour } : null);
      show(...last);
    };
    const classes = element("div", { class: "chips", role: "group", "aria-label": "class of new points" },
      [0, 1, 2, 3, 4].map(number => {
        const one = chip(`class ${number}`, drawing && colour === number, () => pick(number));
        one.style.borderColor = classColour(number);
        one.style.borderWidth = "2px";
        return one;
      }));
    return [
      element("p", { class: "note" }, "Choose a class, then click or drag in the plane. " +
        "If no class is chosen, a click explains a point."),
      classes,
      element("div", { class: "chips" },
        button("remove the last", () => set({ points: settings.points.slice(0, -1) }),
          { disabled: !settings.points.length }),
        button("remove all", () => set({ points: [] }), { disabled: !settings.points.length })),
    ];
  }

  function filePart(settings, set) {
    const { columns } = settings.file;
    const both = settings.columns;
    const name = element("select", { "aria-label": "columns shown", on: {
      change: () => set({ columns: name.value === "pca" ? null : columns.slice(0, 2) }) } },
    element("option", { value: "pca", selected: !both }, "principal components PC1, PC2"),
    columns.length > 1 && element("option", { value: "two", selected: Boolean(both) }, "two columns"));
    const one = at => {
      const select = element("select", { "aria-label": at ? "upwards" : "across", on: { change: () => {
        const next = [...both];
        next[at] = select.value;
        set({ columns: next });
      } } }, columns.map(c => element("option", { value: c, selected: both[at] === c }, c)));
      return element("label", { class: "field" }, at ? "upwards" : "across", select);
    };
    const { names, label, choose } = settings.file;
    const labels = choose && names.length > 1 && element("select", { on: { change: () => choose(labels.value) } },
      names.map(c => element("option", { value: c, selected: c === label }, c)));
    return [labels && element("label", { class: "field" }, "label column", labels),
      element("label", { class: "field" }, "shown", name), both && one(0), both && one(1),
      element("details", {}, element("summary", {}, "What was decided about the file"),
        settings.file.notes.map(note => element("p", { class: "note" }, note)))];
  }

  /** Return settings without momentum in the grid if a rule ignores it: L2 penalties instead. */
  function withoutMomentum(rule, found) {
    const next = { ...last[0], ...found };
    if (!next.grid || WITH_MOMENTUM.includes(rule)) return found;
    const key = ["across", "down"].find(name => next[name] === "momentum");
    return key ? { ...found, [key]: "l2", [`${key}Values`]: VARIED.l2.values, selected: null, compared: null } : found;
  }

  function gridPart(settings, set, problem) {
    const part = (title, key, values) => {
      const select = element("select", { on: { change: () => set({
        [key]: select.value, [values]: VARIED[select.value].values, selected: null, compared: null }) } },
      Object.entries(VARIED).map(([name, { words }]) =>
        element("option", { value: name, selected: settings[key] === name }, words)));
      const input = element("input", { type: "text", value: settings[values].join(", "),
        "aria-label": `values ${title}`, on: { change: () => set({ [values]: listed(input.value),
          selected: null, compared: null }) } });
      return element("div", {}, element("label", { class: "field" }, title, select, input),
        key === ownField(settings, problem) && problemWords(problem));
    };
    return [part("across", "across", "acrossValues"), part("down", "down", "downValues")];
  }

  const picker = element("input", { type: "file", class: "hidden",
    accept: ".csv,.tsv,.txt,.parquet,.npz,.npy,.svm,.libsvm",
    on: { change: () => picker.files[0] && upload(picker.files[0]) } });
  return { node, show };
}

const problemWords = problem => problem && element("p", { class: "problem", role: "alert" }, problem.message);

/** Return the axis of the grid whose values are the problem, or undefined. */
const ownField = (settings, problem) =>
  ["across", "down"].find(key => problem && settings.grid && settings[key] === problem.parameter);

const listed = text => {
  const values = text.split(/[,\s]+/).filter(Boolean).slice(0, 10);
  return values.length ? values : ["0"];
};

const round = value => Math.round(value * 100) / 100;

/** A parameter that the grid varies and that gets one value: the grid varies momentum instead. */
function without(settings, name) {
  if (!settings.grid || ![settings.across, settings.down].includes(name)) return {};
  const key = settings.across === name ? "across" : "down";
  const other = key === "across" ? settings.down : settings.across;
  const instead = other === "learning_rate" ? "momentum" : "learning_rate";
  return { [key]: instead, [`${key}Values`]: VARIED[instead].values, selected: null, compared: null };
}

function chip(words, on, click) {
  return button(words, click, { "aria-pressed": String(on) });
}

function chips(options, value, choose, words = name => WORDS[name] ?? String(name).replaceAll("_", " ")) {
  return element("div", { class: "chips" },
    options.map(option => chip(words(option), option === value, () => choose(option))));
}

/** A slider over a list of values. The value itself is shown beside the name. */
function slider(name, values, value, choose, words = String) {
  const all = values.includes(value) ? values : [...values, value].sort((a, b) => a - b);
  const output = element("output", {}, words(value));
  const input = element("input", { type: "range", min: 0, max: all.length - 1, step: 1,
    value: all.indexOf(value), "aria-label": name, "aria-valuetext": words(value), on: {
      input: () => { output.textContent = words(all[input.value]); },
      change: () => choose(all[input.value]) } });
  return element("label", { class: "field" },
    element("span", { class: "line" }, element("span", {}, name), output), input);
}
