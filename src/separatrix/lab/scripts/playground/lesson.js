/** A lesson above the playground: a step's question, what to look at, and the folded answer. */

import { button, element, fill } from "./dom.js";

/** Return the part: `node`, and `show(lesson name, step)`; `go(name, step)` is called by its buttons. */
export function makeLesson(lessons, go) {
  const node = element("section", { class: "lesson", "aria-label": "Lesson", hidden: true });

  function show(name, number) {
    const lesson = lessons.find(each => each.name === name);
    if (!lesson) {
      node.hidden = true;
      return;
    }
    node.hidden = false;
    const k = Math.max(0, Math.min(number, lesson.steps.length - 1)), step = lesson.steps[k];
    const paragraphs = text => text.split("\n").map(part => element("p", {}, part));
    fill(node, element("div", { class: "line-of-lesson" }, element("h2", {}, `${lesson.title} · ${k + 1} of ${lesson.steps.length}: ${step.title}`),
      element("div", { class: "chips" },
        button("back", () => go(name, k - 1), { disabled: k === 0 }),
        button("next", () => go(name, k + 1), { disabled: k === lesson.steps.length - 1 }),
        button("set up again", () => go(name, k)),
        button("leave the lesson", () => go(null, 0)),
        element("a", { href: "/lessons" }, "all lessons"))),
      k === 0 && lesson.introduction.map(text => element("p", { class: "note" }, text)),
      element("p", {}, element("b", {}, step.question)),
      element("p", {}, `Look at ${step.look_at}`),
      element("details", {}, element("summary", {}, "Answer"), paragraphs(step.answer)));
  }

  return { node, show };
}

/** Return the hash that sets a step of a lesson up. */
export function hashOfStep(lessons, name, number) {
  const lesson = lessons.find(each => each.name === name);
  const step = lesson && lesson.steps[Math.max(0, Math.min(number, lesson.steps.length - 1))];
  return step ? `${step.settings}&lesson=${encodeURIComponent(name)}&step=${number}` : "";
}
