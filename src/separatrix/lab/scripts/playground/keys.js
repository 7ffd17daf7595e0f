/** What the colours, lines and points of the playground mean. */

import { element } from "./dom.js";
import { classColour } from "./plane.js";
import { areComparable } from "./verdict_words.js";

/** Return the key of the plane: classes, kinds of points, and lines of a model. */
export function keyOfPlane(play, model) {
  const dot = (style, kind = "") => element("i", { class: `dot ${kind}`, style });
  const entry = (mark, words) => element("span", {}, mark, words);
  const classes = play.classes.map((name, c) =>
    entry(dot(`background: ${classColour(play.colours[c])}`), play.named ? name : `class ${name}`));
  return [...classes,
    play.points.some(point => !point[3]) && entry(dot("", "hollow"), "validation"),
    model.margin && entry(dot("", "ringed"), "support vector"),
    model.margin && entry(element("i", { class: "margin" }), "margin")];
}

/** Return the key of the loss curves of a play. */
export function keyOfCurves(play, comparing) {
  const several = play.models.length > 1;
  const line = (kind, words) => element("span", {}, element("i", { class: kind }), words);
  return ["Objective by epoch:", line("train", "chosen model (thick)"),
    play.points.some(point => !point[3]) && line("validation", "its validation loss"),
    comparing && line("compared", "compared (dotted if it fails)"),
    several && areComparable(play) && line("best", "best"),
    several && line("wrong", "oscillates or diverges")];
}
