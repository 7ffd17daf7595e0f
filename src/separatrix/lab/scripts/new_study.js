/** The form of a new study: data, model, values of the grid; how many runs and how long; start. */

import { getJson, postFile, postJson } from "./client.js";
import { button, element, fill } from "./dom.js";
import { LOSS_WORDS } from "./loss_words.js";
import { count } from "./scales.js";

const WAIT = 350; // milliseconds after the last change until the plan is asked for
const LABELS = {
  learning_rate: "learning rates", momentum: "momenta", epochs: "epochs", batch_size: "batch sizes",
  l2: "L2 penalties", l1: "L1 penalties", C: "C, the inverse strength of the penalty",
};
const HINTS = {
  learning_rate: "such as 0.01, 0.1 or 1e-3..1/7 for seven values",
  momentum: "from 0 to 1; 0 is plain gradient descent",
  epochs: "only the largest affects the time",
  batch_size: "rows per step, or all",
  l2: "keeps weights small; 0 is none",
  l1: "makes weights exactly zero; 0 is none",
  C: "small values regularise more",
};
const L1_SHARE = "0 is L2 alone, 1 is L1 alone"; // of models trained to the optimum
const FILES = ".csv,.tsv,.txt,.parquet,.npz,.npy,.svm,.libsvm";

const NO_FILE = "or drop a file here, or click to choose one: CSV, Parquet, svmlight, NumPy";

const form = { source: null, label: null, model: "gradient", values: {}, seeds: 1, name: "" };
let choices = null, described = null, planned = 0, asked = 0, timer = null, dropZone = null;

const dataPart = element("div"), modelPart = element("div"), gridPart = element("div");
const problem = element("p", { class: "error", role: "alert" });
const plan = element("p", { class: "plan", role: "status" });
const nameInput = element("input", { type: "text", id: "study-name", maxlength: 100, "aria-describedby": "problem-name",
  on: { input: () => { form.name = nameInput.value; } } });
const go = button("start the study", begin, { class: "go", disabled: true });
const errors = new Map(); // by parameter: the place beside its field

/** Return the place of errors of a parameter. */
function errorPlace(parameter) {
  const place = element("span", { class: "error", role: "alert", id: `problem-${parameter}` });
  errors.set(parameter, place);
  return place;
}

function showError(error) {
  for (const place of [problem, ...errors.values()]) place.textContent = "";
  if (error) (errors.get(error.parameter) ?? problem).textContent = error.message;
}

function sourceSection() {
  const select = element("select", { "aria-label": "named data", on: { change: () => {
    fill(dropZone, NO_FILE);
    choose({ name: select.value });
  } } },
    element("option", { value: "", disabled: true, selected: true }, "choose built-in data"),
    choices.sources.map(one => element("option", { value: one.name },
      `${one.name}: ${count(one.rows, "row")}, ${count(one.features, "feature")}, ${count(one.classes, "class", "classes")}`)));
  const input = element("input", { type: "file", accept: FILES, id: "file", class: "hidden",
    on: { change: () => input.files[0] && drop(input.files[0]) } });
  const zone = element("label", { class: "drop", for: "file" }, NO_FILE);
  dropZone = zone;
  zone.addEventListener("dragover", event => { event.preventDefault(); zone.classList.add("over"); });
  zone.addEventListener("dragleave", () => zone.classList.remove("over"));
  zone.addEventListener("drop", event => {
    event.preventDefault();
    zone.classList.remove("over");
    if (event.dataTransfer.files[0]) drop(event.dataTransfer.files[0]);
  });
  return element("div", {}, element("div", { class: "sources" }, select, input, zone), errorPlace("source"),
    errorPlace("file"), errorPlace("label"), dataPart);
}

async function drop(file) {
  showError(null);
  try {
    const { file: key } = await postFile(`/api/new/file?name=${encodeURIComponent(file.name)}`, file);
    document.querySelector("[aria-label='named data']").value = "";
    fill(dropZone, element("b", {}, file.name), " is chosen. Drop another file here, or click to choose one.");
    await choose({ file: key });
  } catch (error) {
    showError(error);
  }
}

async function choose(source, label = null) {
  const mine = ++asked;
  form.source = source;
  form.label = label;
  fill(dataPart, element("p", { class: "quiet" }, "Reading the data…"));
  await describe(mine);
}

/** Ask for the first rows and for usual values of the chosen data and model. */
async function describe(mine) {
  showError(null);
  go.disabled = true;
  try {
    const found = await postJson("/api/new/data", form);
    if (mine !== asked) return;
    described = found;
    form.values = { ...found.values };
    form.name = nameInput.value = found.name;
  } catch (error) {
    if (mine !== asked) return;
    described = null;
    fill(dataPart);
    fill(gridPart);
    fill(plan);
    showError(error);
    return;
  }
  fill(dataPart, ...dataTable());
  showModel();
  showGrid();
  askPlan();
}

function dataTable() {
  const { columns, rows, labels, names, label, words, notes, more, total } = described;
  const select = names.length > 0 && element("select", { "aria-label": "label column",
    on: { change: () => choose(form.source, select.value) } },
  names.map(name => element("option", { value: name, selected: name === label }, name)));
  const head = (name, kind) => element("th", { scope: "col", class: kind === "numbers" ? null : "words" },
    name, element("small", {}, kind));
  return [
    element("p", {}, words),
    select && element("label", { class: "menu" }, "label column ", select),
    element("div", { class: "scroll", tabindex: "0", role: "group", "aria-label": "First rows" },
      element("table", { class: "first-rows" },
        element("caption", {}, `The first ${rows.length} of ${count(total, "row")}`
          + (more ? `, without ${count(more, "more column")}` : "")),
        element("thead", {}, element("tr", {}, head(label ?? "label", "label"), columns.map(one => head(one.name, one.kind)))),
        element("tbody", {}, rows.map((row, k) => element("tr", {},
          element("td", { class: "words" }, element("b", {}, labels[k])),
          row.map((text, j) => element("td", { class: columns[j].kind === "numbers" ? null : "words" }, text))))))),
    notes.length > 0 && element("details", {}, element("summary", {}, "What was decided about the data"),
      notes.map(note => element("p", { class: "quiet" }, note))),
  ].filter(Boolean);
}

const modelOf = name => choices.models.find(one => one.name === name);

function showModel() {
  const select = element("select", { "aria-label": "model", on: { change: () => {
    form.model = select.value;
    describe(++asked);
  } } }, choices.models.map(one => element("option", { value: one.name, selected: one.name === form.model }, one.name)));
  const losses = form.model === "gradient" ? choices.losses : choices.svm_losses;
  const chosen = (form.values.loss ?? "").split(",").map(one => one.trim()).filter(Boolean);
  const toggle = loss => {
    const next = chosen.includes(loss) ? chosen.filter(one => one !== loss) : [...chosen, loss];
    form.values.loss = losses.filter(one => next.includes(one)).join(", ");
    showModel();
    askPlan();
  };
  const shown = chosen.length ? chosen : [form.model === "gradient" ? "auto" : "squared_hinge"];
  fill(modelPart, element("label", { class: "menu" }, "model ", select),
    element("p", { class: "quiet" }, modelOf(form.model).about, "."), errorPlace("model"),
    modelOf(form.model).parameters.includes("loss") && element("div", {},
      element("div", { class: "chips", role: "group", "aria-label": "losses" }, losses.map(loss =>
        button(loss.replaceAll("_", " "), () => toggle(loss), { "aria-pressed": String(shown.includes(loss)) }))),
      shown.map(loss => element("p", { class: "quiet" }, element("b", {}, loss.replaceAll("_", " ")), `: ${LOSS_WORDS[loss]}`)),
      errorPlace("loss")));
}

function showGrid() {
  const fields = modelOf(form.model).parameters.filter(name => !["loss", "rule"].includes(name)).map(name => {
    const input = element("input", { type: "text", id: `values-${name}`, value: form.values[name] ?? "",
      "aria-describedby": `hint-${name} problem-${name}`, on: { input: () => { form.values[name] = input.value; askPlan(); } } });
    const hint = name === "l1" && form.model !== "gradient" ? L1_SHARE : HINTS[name];
    const words = name === "l1" && form.model !== "gradient" ? "share of L1" : LABELS[name];
    return element("div", { class: "row-of-form" }, element("label", { for: `values-${name}` }, words), input,
      element("span", { class: "quiet", id: `hint-${name}` }, hint), errorPlace(name));
  });
  const seeds = element("input", { type: "number", min: 1, max: 100, value: form.seeds, id: "seeds",
    on: { input: () => { form.seeds = Number(seeds.value); askPlan(); } } });
  const rules = modelOf(form.model).parameters.includes("rule") && element("div", { class: "row-of-form" },
    element("label", { for: "rule" }, "step"), element("select", { id: "rule", on: { change: event => {
      form.values.rule = event.target.value;
      askPlan();
    } } }, choices.rules.map(rule => element("option", { value: rule, selected: rule === (form.values.rule || "momentum") },
      rule.replaceAll("_", " ")))), element("span", { class: "quiet" }, "how the gradient becomes a change of the weights"),
    errorPlace("rule"));
  fill(gridPart, fields, rules, element("div", { class: "row-of-form" },
    element("label", { for: "seeds" }, "repeats"), seeds,
    element("span", { class: "quiet" }, "with different random seeds"), errorPlace("seeds")),
  described.reasons.length > 0 && element("details", {}, element("summary", {}, "Why these values"),
    described.reasons.map(reason => element("p", { class: "quiet" }, reason))));
}

function askPlan() {
  clearTimeout(timer);
  go.disabled = true;
  const mine = ++planned;
  timer = setTimeout(async () => {
    try {
      const { runs, seconds } = await postJson("/api/new/plan", form);
      if (mine !== planned) return;
      showError(null);
      fill(plan, element("b", {}, count(runs, "run")), `, about ${secondsWords(seconds)}.`);
      go.disabled = false;
    } catch (error) {
      if (mine !== planned) return;
      fill(plan);
      showError(error);
    }
  }, WAIT);
}

function secondsWords(seconds) {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  return seconds < 5400 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

async function begin() {
  go.disabled = true;
  try {
    const { name } = await postJson("/api/new", form);
    location.assign(`/studies/${encodeURIComponent(name)}`);
  } catch (error) {
    showError(error);
    go.disabled = false;
  }
}

async function open() {
  const section = (title, ...children) => element("section", {}, element("h2", {}, title), ...children);
  const root = document.getElementById("page"), header = element("header", {}, element("h1", {}, "New study"),
    element("p", {}, "A study trains all combinations of the values below, keeps them, and compares them."));
  try {
    choices = await getJson("/api/new");
  } catch (error) {
    fill(root, header, element("main", {}, element("p", { class: "error", role: "alert" }, error.message)));
    return;
  }
  fill(root, header, element("main", { class: "form" },
    section("Data", sourceSection()), section("Model", modelPart), section("Values", gridPart),
    element("section", { "aria-label": "Start" }, problem,
      element("div", { class: "row-of-form" }, element("label", { for: "study-name" }, "name"), nameInput,
        element("span", {}), errorPlace("name")),
      plan, go)));
  for (const part of [modelPart, gridPart])
    fill(part, element("p", { class: "quiet" }, "Choose the data first."));
}

open();
