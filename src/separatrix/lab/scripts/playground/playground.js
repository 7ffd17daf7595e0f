/** The playground: one play at a time, drawn epoch by epoch. */

import { getJson, getNumbers, postFile, postJson } from "./client.js";
import { readColours } from "./colours.js";
import { makeControls } from "./controls.js";
import { element, fill } from "./dom.js";
import { hasDiverged, makeEpochs, measure } from "./epochs.js";
import { makeDetails } from "./details.js";
import { keyOfCurves, keyOfPlane } from "./keys.js";
import { hashOfStep, makeLesson } from "./lesson.js";
import { drawLosses } from "./loss_chart.js";
import { makeMiniPlanes } from "./mini_planes.js";
import { count } from "./scales.js";
import { cells, modelWords, parametersOf, readHash, request, writeHash } from "./settings.js";
import { makeTransport } from "./transport.js";
import { areComparable, bestModels, bestSentence, isBad, makeSays, shortVerdict } from "./verdict_words.js";
import { makeView } from "./view.js";

const MOST_DRAWN = 2000; // points
const LAST_EPOCH = 10000; // that a link opens
const JUDGED_EVERY = 900; // milliseconds between two diagnoses while playing
const MARKED_EVERY = 150; // milliseconds between two updates of the numbers in the small planes
const CHARTED_EVERY = 60; // milliseconds between two drawings of the loss curves

let settings = readHash(location.hash), play = null, epochs = null;
let epoch = settings.epoch, playing = false, enlarged = null;
let fits = false; // whether the play has the present settings
let verdicts = null, states = [], problem = null, restarts = 0, judging = false, judgedAt = 0, markedAt = 0, chartedAt = 0;
let controls = null, lesson = null, ownFile = null;

const summary = element("p", { id: "summary", role: "status" }, "Loading…");
const main = element("main", { class: "playground" }), page = document.getElementById("page");
let colours = readColours();

const compareMenu = element("select", { "aria-label": "compared with",
  on: { change: () => choose(Number(compareMenu.value), true) } });
const view = makeView({ pick: explainPoint, draw: addPoint });
const other = makeView({ pick: explainPoint, draw: addPoint, heading: compareMenu });
const planes = makeMiniPlanes({ choose, enlarge });
const details = makeDetails({ chooseAxes(axes) {
  settings.axes = axes.map(String);
  remember();
  judge();
} });
const chart = element("canvas", { class: "chart", role: "img", "aria-label": "Objective by epoch" });
const says = makeSays();
const classKey = element("p", { class: "note classes" }), curveKey = element("p", { class: "note" });
const gridWords = element("p", { class: "note" }), bestWords = element("p", { id: "best-words" });
const gridPart = element("div", {}, element("h2", {}, "All settings at once"), planes.node, bestWords, gridWords);
const curvePart = element("div", {}, chart, curveKey);
const transport = makeTransport({
  toggle: () => playing ? stop() : start(), move, compare: toggleCompare,
  reset() { stop(); seek(0).then(remember); },
  seek(target) { stop(); seek(target).then(remember); },
  changeSpeed(value) { settings.speed = value; remember(); },
});

const paperNumbers = () => [1, 3, 5].map(k => parseInt(colours.paper.slice(k, k + 2), 16));

/** Start a new play with the present settings. */
async function restart() {
  const mine = ++restarts;
  if (settings.data === "drawn" && new Set(settings.points.map(p => p[2])).size < 2) return showUnfinished();
  if (settings.data === "file" && !settings.file) return fail(new Error("A link does not contain the file. Choose it again."));
  let next, parts;
  try {
    next = await postJson("/api/play", request(settings), true);
    const base = `/api/play/${next.id}`;
    parts = await Promise.all([
      getNumbers(`${base}/grid?size=${view.PIXELS}&reach=${next.reach}`),
      getNumbers(`${base}/grid?size=${planes.PIXELS}&reach=${next.reach}`),
      getNumbers(`${base}/points`),
    ]);
  } catch (error) {
    if (mine === restarts) fail(error);
    return null;
  }
  if (mine !== restarts) return null;
  problem = null;
  play = { ...next, named: settings.data === "file", parameters: cells(settings).map(cell => parametersOf(settings, cell)) };
  fits = true;
  epochs = makeEpochs(play);
  verdicts = null;
  states = [];
  details.clear();
  const models = play.models.length;
  if (settings.selected === null || settings.selected >= models) settings.selected = usualCell();
  if (settings.compared !== null && settings.compared >= models) settings.compared = null;
  for (const one of [view, other]) one.setPlay(play, parts[0], parts[2], paperNumbers(), colours);
  if (settings.grid) planes.setPlay(play, parts[1], settings, paperNumbers());
  controls.show(settings, play, problem);
  arrange();
  return seek(Math.min(epoch, LAST_EPOCH));
}

/** Show drawn points of fewer than two classes, with which no model can be trained. */
function showUnfinished() {
  stop();
  problem = null;
  transport.enable(false);
  view.setPoints(settings.points, paperNumbers(), colours);
  other.node.hidden = gridPart.hidden = curvePart.hidden = true;
  details.hide();
  fill(classKey);
  summary.textContent = count(settings.points.length, "point");
  says.tell(settings.points.length ? "Now draw points of another class: a classifier needs two."
    : "Choose a class on the left, then click or drag in the plane.");
  controls.show(settings, play, problem);
}

function fail(error) {
  problem = error;
  stop();
  controls.show(settings, play, problem);
  if (fits) return;
  summary.textContent = error.message;
  transport.enable(false);
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
  begin();
}

/** Apply changed settings: a new play from epoch 0. */
function change(next) {
  settings = { ...next, explained: null };
  epoch = 0;
  begin();
}

function begin() {
  fits = false;
  remember();
  transport.showSpeed(settings.speed);
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
    return fail(error);
  }
  if (mine !== epochs || !fits) return; // other settings have their own epoch
  epoch = Math.min(target, mine.last());
  draw();
  if (!playing) judge();
}

function start() {
  if (!fits) return;
  playing = true;
  transport.showPlaying(true);
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
    } else if (!epochs.ready(next)) epochs.fetch(next).catch(error => error.status === 404 ? restart() : fail(error));
    epochs.ahead(next);
    requestAnimationFrame(frame);
  };
  requestAnimationFrame(frame);
}

function stop() {
  const was = playing;
  playing = false;
  transport.showPlaying(false);
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
  transport.showEpoch(epoch);
  const row = epochs.row(epoch);
  const shown = enlarged ?? settings.selected, compared = settings.compared;
  const diverged = play.models.map((_, m) => hasDiverged(play, epochs, row, m));
  const sane = m => diverged[m] ? lastSane(m) : row;
  view.draw(sane(shown), shown, diverged[shown], words(shown), epoch);
  if (compared !== null) other.draw(sane(compared), compared, diverged[compared], words(compared), epoch);
  if (settings.grid) planes.draw(sane, diverged);
  const now = performance.now();
  if (!playing || now - markedAt > MARKED_EVERY) {
    markedAt = now;
    states = play.models.map((_, model) => shortVerdict({ play, epochs, epoch, verdict: verdicts?.[model], model }));
    if (settings.grid) markPlanes(row);
    if (verdicts) says.show({ verdict: verdicts[shown], model: shown, epoch, states, parameters: play.parameters });
  }
  if (!playing || now - chartedAt > CHARTED_EVERY) {
    chartedAt = now;
    drawChart(row, shown);
  }
  details.numbers(play, row, compared === null ? [shown] : [shown, compared], verdicts, words);
}

/** Write the numbers in the small planes, and below them which is the best. */
function markPlanes(row) {
  const best = bestOf(row);
  planes.mark({ row, states, best: best[0] ?? null, chosen: settings.selected, compared: settings.compared });
  fill(bestWords, bestSentence(best, words));
}

const bestOf = row => bestModels({ play, row, states, verdicts, parameters: play.parameters });

function drawChart(row, chosen) {
  drawLosses(chart, { play, epochs, epoch, chosen, compared: settings.compared, best: bestOf(row)[0] ?? null,
    bad: states.map(isBad), colours });
  chart.setAttribute("aria-label", `Training objective of ${play.models.length} models up to epoch ` +
    `${epoch}; that of ${words(chosen)} is ${measure(play, row, chosen, "objective").toPrecision(3)}.`);
}

/** Return the last epoch before a model diverged. */
function lastSane(model) {
  let at = epoch;
  while (at > 0 && hasDiverged(play, epochs, epochs.row(at), model)) at--;
  return epochs.row(at);
}

const words = model => modelWords(settings, cells(settings)[model] ?? {});

/** Ask for the diagnoses at this epoch, and for the numbers of the chosen model. */
async function judge() {
  if (judging || !fits) return;
  judging = true;
  judgedAt = performance.now();
  const mine = play, at = epoch, model = settings.selected, { axes } = settings;
  try {
    const found = await getJson(`/api/play/${mine.id}/verdicts?epoch=${at}`);
    if (mine === play && fits) {
      verdicts = found;
      draw();
      await details.load({ play, epochs, epoch: at, model, verdict: found[model], axes, colours, playing, paper: paperNumbers() });
      if (!playing && settings.explained) await details.explain(play, model, at, settings.explained, false);
    }
  } catch (error) {
    if (error.status === 404) restart();
  } finally {
    judging = false;
    if (!playing && (mine !== play || epoch !== at || settings.selected !== model || settings.axes !== axes)) judge();
  }
}

function choose(model, withShift) {
  if (withShift) settings.compared = settings.compared === model ? null : model;
  else settings.selected = model;
  enlarged = null;
  remember();
  arrange();
  draw();
  if (!playing) judge();
}

function enlarge(model) {
  enlarged = model;
  if (fits && epochs.ready(epoch)) draw();
}

function toggleCompare() {
  const models = play.models.length, others = [...bestOf(epochs.row(epoch)), (settings.selected + 1) % models];
  settings.compared = settings.compared !== null || models < 2 ? null : others.find(m => m !== settings.selected);
  remember();
  arrange();
  draw();
}

async function explainPoint(point, model) {
  if (!fits) return;
  stop();
  const [x, y, label] = point;
  settings.explained = [x, y, label];
  remember();
  await details.explain(play, model, epoch, point, true);
}

function addPoint(point, colour) {
  if (settings.points.length >= MOST_DRAWN) return;
  change({ ...settings, points: [...settings.points, point.map(v => Math.round(v * 100) / 100).concat(colour)] });
}

/** Read a file, with its label column if it was chosen. */
async function upload(file, label = null) {
  problem = null;
  try {
    const column = label === null ? "" : `&label=${encodeURIComponent(label)}`;
    const found = await postFile(`/api/files?name=${encodeURIComponent(file.name)}${column}`, file);
    ownFile = file;
    change({ ...settings, data: "file", columns: null,
      file: { ...found, choose: name => upload(ownFile, name) } });
  } catch (error) {
    fail(error);
  }
}

/** Show or hide the second view and the grid, and say what the page shows. */
function arrange() {
  const models = play.models.length, comparing = settings.compared !== null;
  lesson.show(settings.lesson, settings.step);
  main.classList.toggle("comparing", comparing);
  other.node.hidden = !comparing;
  curvePart.hidden = false;
  transport.enable(true);
  transport.showCompare(comparing, models > 1);
  fill(compareMenu, comparing && play.models.map((_, m) =>
    element("option", { value: m, selected: m === settings.compared }, words(m))));
  gridPart.hidden = !settings.grid;
  bestWords.hidden = !areComparable(play);
  summary.textContent = `${play.named ? `${settings.file.name} · ` : ""}${count(play.points.length, "point")} · ${count(models, "model", "models in one pass")}`;
  fill(gridWords, settings.grid ? `${models === 2 ? "Both" : `All ${models}`} models train together on the same points. ` +
    "Hover to look closer, click to choose one, shift-click to compare." : "");
  fill(classKey, keyOfPlane(play, play.models[settings.selected]));
  fill(curveKey, keyOfCurves(play, comparing));
}

async function load() {
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
  const middle = element("section", { class: "view-part", "aria-label": "The model" },
    element("div", { class: "views" }, view.node, other.node), classKey, transport.node, says.node, details.numbersNode);
  const models = element("section", { class: "models-part", "aria-label": "All models" }, gridPart, curvePart);
  const numbers = element("section", { class: "details-part", "aria-label": "Details of the model" }, details.node);
  fill(main, lesson.node, middle, models, controls.node, numbers);
  transport.showSpeed(settings.speed);
  controls.show(settings, play);
  addEventListener("keydown", pressed);
  addEventListener("hashchange", () => open(location.hash));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
    colours = readColours();
    restart();
  });
  addEventListener("resize", () => fits && epochs.ready(epoch) && draw());
  await restart();
}

function pressed(event) {
  const { tagName } = event.target;
  if (["INPUT", "SELECT", "TEXTAREA"].includes(tagName)) return;
  if (event.key === " " && tagName !== "BUTTON") playing ? stop() : start();
  else if (event.key === "ArrowRight") move(1);
  else if (event.key === "ArrowLeft") move(-1);
  else return;
  event.preventDefault();
}

fill(page, element("header", {}, element("h1", {}, "Playground"), summary), main);
load().catch(error => { summary.textContent = error.message; });
