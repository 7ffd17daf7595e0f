/** The playground: one play at a time, drawn epoch by epoch. */

import { getJson, getNumbers, postFile, postJson } from "./client.js";
import { makeControls } from "./controls.js";
import { button, element, fill } from "./dom.js";
import { hasDiverged, makeEpochs, measure } from "./epochs.js";
import { makeDetails } from "./details.js";
import { hashOfStep, makeLesson } from "./lesson.js";
import { drawLosses } from "./loss_chart.js";
import { makeMiniPlanes, shortVerdict } from "./mini_planes.js";
import { cells, modelWords, readHash, request, writeHash } from "./settings.js";
import { makeView } from "./view.js";

const FIRST_LAST = 500; // the end of the slider at first
const SPEEDS = [2, 5, 10, 20, 60, 200]; // epochs per second
const JUDGED_EVERY = 900; // milliseconds between two diagnoses while playing
const MARKED_EVERY = 150; // milliseconds between two updates of the numbers in the small planes
const CHARTED_EVERY = 60; // milliseconds between two drawings of the loss curves

let settings = readHash(location.hash), play = null, epochs = null, pointFeatures = null;
let epoch = settings.epoch, playing = false, shownLast = FIRST_LAST, enlarged = null;
let fits = false; // whether the play has the present settings
let verdicts = null, problem = "", restarts = 0, judging = false, judgedAt = 0, markedAt = 0, chartedAt = 0;

const summary = element("p", { id: "summary", role: "status" }, "Loading…");
const main = element("main", { class: "playground" }), page = document.getElementById("page");
const css = getComputedStyle(document.documentElement);
let colours = readColours();

const view = makeView({ pick: explainPoint, draw: addPoint });
const other = makeView({ pick: explainPoint, draw: addPoint });
const planes = makeMiniPlanes({ choose, enlarge });
const details = makeDetails();
const chart = element("canvas", { class: "chart", role: "img" });
const says = element("div", { class: "says", role: "status" });
const key = element("p", { class: "note" });
const slider = element("input", { type: "range", min: 0, max: FIRST_LAST, value: 0, "aria-label": "epoch",
  on: { input: () => { stop(); seek(Number(slider.value)); } } });
const epochWords = element("output");
const playButton = button("▶ play", () => playing ? stop() : start(), { class: "go" });
const speed = element("select", { "aria-label": "speed", on: { change: () => {
  settings.speed = Number(speed.value);
  remember();
} } }, SPEEDS.map(s => element("option", { value: s, selected: s === settings.speed }, `${s} epochs/s`)));
const compareButton = button("compare", toggleCompare, { "aria-pressed": "false" });
let controls = null, lesson = null;

function readColours() {
  const names = ["ink", "paper", "quiet", "line", "train", "validation", "chosen", "wrong"];
  return Object.fromEntries(names.map(name => [name, css.getPropertyValue(`--${name}`).trim()]));
}

const paperNumbers = () => [1, 3, 5].map(k => parseInt(colours.paper.slice(k, k + 2), 16));

/** Start a new play with the present settings. */
async function restart() {
  const mine = ++restarts;
  let next, parts;
  try {
    next = await postJson("/api/play", request(settings));
    const base = `/api/play/${next.id}`;
    parts = await Promise.all([
      getNumbers(`${base}/grid?size=${view.PIXELS}&reach=${next.reach}`),
      getNumbers(`${base}/grid?size=${planes.PIXELS}&reach=${next.reach}`),
      getNumbers(`${base}/points`),
    ]);
  } catch (error) {
    if (mine !== restarts) return;
    problem = error.message;
    stop();
    controls.show(settings, play, problem);
    return;
  }
  if (mine !== restarts) return;
  problem = "";
  play = next;
  fits = true;
  epochs = makeEpochs(play);
  pointFeatures = parts[2];
  verdicts = null;
  details.clear();
  const count = play.models.length;
  if (settings.selected === null || settings.selected >= count) settings.selected = usualCell();
  if (settings.compared !== null && settings.compared >= count) settings.compared = null;
  for (const one of [view, other]) one.setPlay(play, parts[0], pointFeatures, paperNumbers(), colours);
  if (settings.grid) planes.setPlay(play, parts[1], settings, paperNumbers());
  controls.show(settings, play, problem);
  arrange();
  await seek(Math.min(epoch, 10000));
}

/** Return the cell whose values are nearest to the single model's settings. */
function usualCell() {
  const list = cells(settings);
  const own = { learning_rate: settings.rate, momentum: settings.momentum, l1: settings.l1, l2: settings.l2 };
  const found = list.findIndex(cell => Object.entries(cell).every(([name, text]) =>
    !(name in own) || Number(text) === own[name]));
  return Math.max(found, 0);
}

/** Show the settings of a hash. */
function open(hash) {
  settings = { ...readHash(hash), file: settings.file, columns: settings.columns };
  epoch = settings.epoch;
  fits = false;
  history.replaceState(null, "", location.pathname + writeHash(settings));
  controls.show(settings, play, problem);
  restart();
}

/** Apply changed settings: a new play from epoch 0. */
function change(next) {
  settings = next;
  epoch = 0;
  fits = false;
  remember();
  controls.show(settings, play, problem);
  restart();
}

function remember() {
  settings.epoch = playing ? settings.epoch : epoch;
  history.replaceState(null, "", location.pathname + writeHash(settings));
}

async function seek(target) {
  if (!epochs) return;
  const mine = epochs;
  try {
    await mine.fetch(target);
    if (mine !== epochs) return;
    await mine.fetch(0);
    for (let e = 0; e < target; e += 100) await mine.fetch(e);
  } catch (error) {
    if (error.status === 404) return restart();
    problem = error.message;
    stop();
    controls.show(settings, play, problem);
    return;
  }
  if (mine !== epochs) return;
  epoch = Math.min(target, mine.last());
  draw();
  if (!playing) judge();
}

function start() {
  if (!fits) return;
  playing = true;
  fill(playButton, "❚❚ pause");
  let last = performance.now(), share = 0;
  const frame = now => {
    if (!playing) return;
    share += Math.max(0, Math.min(now - last, 250)) / 1000 * settings.speed; // a frame's time can be before the click
    last = now;
    let next = epoch + Math.floor(share);
    share -= Math.floor(share);
    if (next > epochs.last()) {
      next = epochs.last();
      stop();
    }
    if (next !== epoch && epochs.ready(next)) {
      epoch = next;
      draw();
      if (now - judgedAt > JUDGED_EVERY) judge();
    } else if (!epochs.ready(next)) epochs.fetch(next).catch(error => { problem = error.message; stop(); });
    epochs.ahead(next);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

function stop() {
  const was = playing;
  playing = false;
  fill(playButton, "▶ play");
  if (was) {
    remember();
    judge();
  }
}

function move(by) {
  stop();
  seek(Math.max(0, epoch + by)).then(remember);
}

/** Draw the present epoch everywhere. */
function draw() {
  if (!fits) return;
  if (epoch > shownLast) shownLast *= 2;
  slider.max = shownLast;
  slider.value = epoch;
  slider.setAttribute("aria-valuetext", `epoch ${epoch}`);
  epochWords.textContent = `${epoch.toLocaleString("en")} of ${shownLast.toLocaleString("en")}`;
  const first = epochs.row(0), row = epochs.row(epoch);
  const chosen = enlarged ?? settings.selected, compared = settings.compared;
  const diverged = play.models.map((_, m) => hasDiverged(play, first, row, m));
  const best = bestModel(row, diverged);
  const sane = m => diverged[m] ? lastSane(m, first) : row;
  view.draw(sane(chosen), chosen, diverged[chosen], words(chosen), epoch);
  if (compared !== null) other.draw(sane(compared), compared, diverged[compared], words(compared), epoch);
  if (settings.grid) {
    planes.draw(sane, diverged);
    if (!playing || performance.now() - markedAt > MARKED_EVERY) {
      markedAt = performance.now();
      planes.mark({ first, row, verdicts, best, chosen: settings.selected, compared });
    }
  }
  const now = performance.now();
  if (!playing || now - chartedAt > CHARTED_EVERY) {
    chartedAt = now;
    fitCanvas(chart);
    drawLosses(chart, { play, epochs, epoch, chosen, best: best ?? chosen, diverged, colours });
    chart.setAttribute("aria-label", `Training objective of ${play.models.length} models up to epoch ` +
      `${epoch}; that of ${words(chosen)} is ${measure(play, row, chosen, "objective").toPrecision(3)}.`);
  }
  details.numbers(play, row, chosen, verdicts?.[chosen]);
}

/** Return the last epoch before a model diverged. */
function lastSane(model, first) {
  let at = epoch;
  while (at > 0 && hasDiverged(play, first, epochs.row(at), model)) at--;
  return epochs.row(at);
}

/** Return the model with the lowest objective of those that train well, if all minimise the same one. */
function bestModel(row, diverged) {
  if (new Set(play.models.map(m => m.objective)).size > 1) return null;
  let best = null;
  play.models.forEach((_, m) => {
    if (diverged[m] || shortVerdict(verdicts?.[m])) return;
    const value = measure(play, row, m, "objective");
    if (best === null || value < measure(play, row, best, "objective")) best = m;
  });
  return best;
}

const words = model => modelWords(settings, cells(settings)[model] ?? {});

function fitCanvas(canvas) {
  const ratio = devicePixelRatio || 1;
  const [width, height] = [canvas.clientWidth * ratio, canvas.clientHeight * ratio].map(Math.round);
  if (canvas.width !== width || canvas.height !== height) Object.assign(canvas, { width, height });
}

/** Ask for the diagnoses at this epoch, and for the numbers of the chosen model if paused. */
async function judge() {
  if (judging || !fits) return;
  judging = true;
  judgedAt = performance.now();
  const mine = play, at = epoch, model = settings.selected;
  try {
    const found = await getJson(`/api/play/${mine.id}/verdicts?epoch=${at}`);
    if (mine === play && fits) {
      verdicts = found;
      say(found[model], model);
      draw();
      if (!playing) await details.load({ play, epochs, epoch: at, model, colours, paper: paperNumbers() });
    }
  } catch (error) {
    if (error.status === 404) restart();
  } finally {
    judging = false;
    if (!playing && mine === play && (epoch !== at || settings.selected !== model)) judge();
  }
}

/** Say what is the matter with the chosen model. */
function say(verdict) {
  const serious = ["diverged", "oscillating", "ended_higher", "overfitting", "separable", "not_converged"];
  const titles = { diverged: "Diverged.", oscillating: "Oscillates.", ended_higher: "Rises.",
    overfitting: "Overfits.", separable: "Separable.", not_converged: "Not converged yet." };
  const found = serious.map(kind => verdict.diagnoses.find(d => d.kind === kind)).find(Boolean);
  const bad = found && ["diverged", "oscillating", "ended_higher", "overfitting"].includes(found.kind);
  says.className = `says ${bad ? "bad" : found ? "" : "good"}`;
  if (found) fill(says, element("b", {}, titles[found.kind]), ` ${found.message} `, found.remedy);
  else fill(says, epoch === 0 ? "Press play, or the space bar." : "No problem found at this epoch.");
}

function choose(model, withShift) {
  if (withShift) settings.compared = settings.compared === model ? null : model;
  else settings.selected = model;
  enlarged = null;
  remember();
  arrange();
  draw();
  if (verdicts) say(verdicts[settings.selected], settings.selected);
  if (!playing) judge();
}

function enlarge(model) {
  enlarged = model;
  if (play && epochs.ready(epoch)) draw();
}

function toggleCompare() {
  const count = play.models.length;
  settings.compared = settings.compared !== null || count < 2 ? null : (settings.selected + 1) % count;
  remember();
  arrange();
  draw();
}

async function explainPoint(point, model) {
  if (!play) return;
  stop();
  await details.explain(play, model ?? settings.selected, epoch, point);
}

function addPoint(point, colour) {
  if (settings.points.length >= 2000) return;
  change({ ...settings, points: [...settings.points, point.map(v => Math.round(v * 100) / 100).concat(colour)] });
}

async function upload(file) {
  problem = "";
  try {
    const found = await postFile(`/api/files?name=${encodeURIComponent(file.name)}`, file);
    change({ ...settings, data: "file", file: found, columns: null });
  } catch (error) {
    problem = error.message;
    controls.show(settings, play, problem);
  }
}

/** Show or hide the second view and the grid, and say what the page shows. */
function arrange() {
  lesson.show(settings.lesson, settings.step);
  other.node.hidden = settings.compared === null;
  compareButton.setAttribute("aria-pressed", String(settings.compared !== null));
  compareButton.disabled = play.models.length < 2;
  gridPart.hidden = !settings.grid;
  const count = play.models.length, [across, down] = settings.grid ? planes.names() : [];
  summary.textContent = `${play.points.length.toLocaleString("en")} points · ` +
    `${count} model${count === 1 ? "" : "s in one pass"}`;
  fill(gridWords, settings.grid ? `Across: ${across}. Down: ${down}. All ${count} models train together ` +
    "on the same points. Hover to look closer, click to choose one, shift-click to compare." : "");
  fill(key, "Objective by epoch:", line("train"), "chosen model",
    line("validation"), "its validation loss",
    ...(count > 1 ? [line("best"), "lowest without oscillation", line("wrong"), "diverged"] : []));
}

const line = kind => element("i", { class: kind });
const gridWords = element("p", { class: "note" });
const gridPart = element("div", {}, element("h2", {}, "All settings at once"), planes.node, gridWords);

async function begin() {
  const choices = await getJson("/api/choices");
  controls = makeControls({ choices, change, upload, drawMode: mode => {
    for (const one of [view, other]) one.drawMode(mode);
  } });
  lesson = makeLesson(choices.lessons, (name, step) => {
    stop();
    open(name ? hashOfStep(choices.lessons, name, step) : "");
  });
  if (choices.file && !location.hash) settings = { ...settings, data: "file", file: choices.file };
  else settings.file = choices.file;
  const buttons = element("div", { class: "play" }, playButton,
    button("◀", () => move(-1), { "aria-label": "one epoch back" }),
    button("step", () => move(1)),
    button("reset", () => { stop(); seek(0).then(remember); }), compareButton);
  const middle = element("section", { class: "view-part", "aria-label": "The model" },
    element("div", { class: "views" }, view.node, other.node), buttons,
    element("label", { class: "field" }, element("span", { class: "line" }, "epoch", epochWords), slider),
    element("label", { class: "field" }, "speed", speed), says, details.numbersNode);
  const right = element("section", { "aria-label": "All models and details" },
    gridPart, chart, key, details.node);
  fill(main, lesson.node, controls.node, middle, right);
  controls.show(settings, play);
  addEventListener("keydown", pressed);
  addEventListener("hashchange", () => open(location.hash));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours = readColours();
    restart();
  });
  addEventListener("resize", () => play && epochs.ready(epoch) && draw());
  await restart();
}

function pressed(event) {
  if (["INPUT", "SELECT", "BUTTON", "TEXTAREA"].includes(event.target.tagName)) return;
  if (event.key === " ") playing ? stop() : start();
  else if (event.key === "ArrowRight") move(1);
  else if (event.key === "ArrowLeft") move(-1);
  else return;
  event.preventDefault();
}

fill(page, element("header", {}, element("h1", {}, "Playground"), summary), main);
begin().catch(error => { summary.textContent = error.message; });
