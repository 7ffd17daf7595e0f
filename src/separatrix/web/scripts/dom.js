/**
 * Make elements, copy text and download files.
 *
 * All texts become text nodes and attributes, never HTML, so no name from a file can become code.
 */

const SVG = "http://www.w3.org/2000/svg";

/** Return an element. `attributes.on` maps events to functions; children are texts and nodes. */
export function element(tag, attributes = {}, ...children) {
  return furnish(document.createElement(tag), attributes, children);
}

/** Return an SVG element. */
export function svg(tag, attributes = {}, ...children) {
  return furnish(document.createElementNS(SVG, tag), attributes, children);
}

/** Replace the children of a node; nothing, false and empty texts are left out. */
export function fill(node, ...children) {
  const shown = child => child === 0 || Boolean(child);
  node.replaceChildren(...children.flat().filter(shown));
  return node;
}

function furnish(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name === "on")
      for (const [event, listener] of Object.entries(value)) node.addEventListener(event, listener);
    else if (name === "style") node.style.cssText = value; // the lab's policy refuses the attribute
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined)
      node.setAttribute(name, String(value));
  }
  return fill(node, ...children);
}

/** Return a button. */
export function button(label, click, attributes = {}) {
  return element("button", { type: "button", on: { click }, ...attributes }, label);
}

/** Return a labelled menu; `options` are pairs of value and label. */
export function menu(label, options, value, change) {
  const choices = options.map(([key, words]) =>
    element("option", { value: key, selected: key === value }, words));
  const select = element("select", { on: { change: () => change(select.value) } }, choices);
  return element("label", { class: "menu" }, `${label} `, select);
}

/** Return a button that switches between two or more named values. */
export function choice(label, options, value, change) {
  return element("span", { class: "choice", role: "group", "aria-label": label },
    options.map(([key, words]) =>
      button(words, () => change(key), { "aria-pressed": String(key === value) })));
}

/** Return a button that makes an axis linear or logarithmic, with the name of the axis before it. */
export function axisChoice(name, label, value, change) {
  return element("span", { class: "axis" }, `${name} `,
    choice(label, [["linear", "linear"], ["log", "log"]], value, change));
}

/** Return a button that copies text and says so. If copying is refused, `node` is selected. */
export function copyButton(label, text, node = null) {
  const copy = button(label, async () => {
    try {
      await navigator.clipboard.writeText(text());
      copy.textContent = "copied";
      setTimeout(() => { copy.textContent = label; }, 1500);
    } catch {
      if (node) getSelection().selectAllChildren(node);
      copy.textContent = node ? "selected: press Ctrl+C" : "copying was refused";
    }
  });
  return copy;
}

/** Let the browser save text as a file. */
export function download(name, text, type) {
  const address = URL.createObjectURL(new Blob([text], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 1000);
}

/** Return the numbers of base64 text, as written by `packed_arrays.py`. */
export function decoded(text, Kind = Float32Array) {
  const bytes = atob(text);
  const out = new Uint8Array(bytes.length);
  for (let k = 0; k < bytes.length; k++) out[k] = bytes.charCodeAt(k);
  return new Kind(out.buffer);
}
