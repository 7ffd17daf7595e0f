/** The colours of the style sheet, light or dark, for pictures on a canvas. */

const NAMES = ["ink", "paper", "quiet", "line", "train", "validation", "chosen", "wrong"];

/** Return the present colours by name. */
export function readColours() {
  const css = getComputedStyle(document.documentElement);
  return Object.fromEntries(NAMES.map(name => [name, css.getPropertyValue(`--${name}`).trim()]));
}
