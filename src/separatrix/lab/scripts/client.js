/**
 * Requests to the lab's server. An error has the server's sentence as its message.
 *
 * If the server does not answer, a line on the page says so. Requests that change nothing are
 * repeated until it answers, so the page goes on where it was.
 */

import { element } from "./dom.js";

const AGAIN = 1500; // milliseconds until the next attempt
const UNANSWERED = "The lab does not answer. Is 'separatrix lab' still running in the terminal?";
const lost = element("p", { class: "lost", role: "status" });
let waiting = 0; // requests that are repeated

async function ask(path, options = {}, repeats = true) {
  const response = await answered(path, options, repeats);
  if (response.ok) return response;
  const text = await response.text();
  let found = { error: text.trim() };
  try {
    found = JSON.parse(text);
  } catch { /* not JSON: a plain sentence */ }
  throw Object.assign(new Error(found.error), { status: response.status, parameter: found.parameter });
}

async function answered(path, options, repeats) {
  for (let first = true; ; first = false) {
    try {
      const response = await fetch(path, options);
      if (!first) say(-1);
      return response;
    } catch {
      if (!repeats) throw new Error(UNANSWERED);
      if (first) say(1);
      await new Promise(done => setTimeout(done, AGAIN));
    }
  }
}

function say(change) {
  waiting += change;
  if (!lost.isConnected) document.body.prepend(lost);
  lost.textContent = waiting ? "The connection to the lab is lost. Trying again…" : "";
}

/** Return the JSON that a path answers with. */
export async function getJson(path) {
  return (await ask(path)).json();
}

/** Return the float32 numbers that a path answers with. */
export async function getNumbers(path) {
  return new Float32Array(await (await ask(path)).arrayBuffer());
}

/** Send a JSON value and return the JSON answer; `repeats` if sending it twice does no harm. */
export async function postJson(path, value, repeats = false) {
  return (await ask(path, { method: "POST", body: JSON.stringify(value) }, repeats)).json();
}

/** Send a file and return the JSON answer. */
export async function postFile(path, file) {
  return (await ask(path, { method: "POST", body: file }, false)).json();
}
