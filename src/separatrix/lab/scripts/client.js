/** Requests to the lab's server. An error has the server's sentence as its message. */

async function ask(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    throw new Error("The lab does not answer. Is 'separatrix lab' still running in the terminal?");
  }
  if (response.ok) return response;
  const text = await response.text();
  let found = { error: text.trim() };
  try {
    found = JSON.parse(text);
  } catch { /* not JSON: a plain sentence */ }
  throw Object.assign(new Error(found.error), { status: response.status, parameter: found.parameter });
}

/** Return the JSON that a path answers with. */
export async function getJson(path) {
  return (await ask(path)).json();
}

/** Return the float32 numbers that a path answers with. */
export async function getNumbers(path) {
  return new Float32Array(await (await ask(path)).arrayBuffer());
}

/** Send a JSON value and return the JSON answer. */
export async function postJson(path, value) {
  return (await ask(path, { method: "POST", body: JSON.stringify(value) })).json();
}

/** Send a file and return the JSON answer. */
export async function postFile(path, file) {
  return (await ask(path, { method: "POST", body: file })).json();
}
