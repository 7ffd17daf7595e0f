/** The list of lessons: guided tours of the playground. */

import { getJson } from "./client.js";
import { element, fill } from "./dom.js";
import { hashOfStep } from "./lesson.js";
import { count } from "./scales.js";

const list = element("section", { class: "lessons", "aria-label": "Lessons" });
const where = element("p");

function card(lessons, lesson) {
  const link = (step, k) => element("li", {},
    element("a", { href: `/play${hashOfStep(lessons, lesson.name, k)}` }, step.title));
  return element("article", {}, element("h2", {}, lesson.title),
    lesson.introduction.map(text => element("p", {}, text)),
    element("ol", {}, lesson.steps.map(link)));
}

async function show() {
  const { lessons } = await getJson("/api/choices");
  where.textContent = count(lessons.length, "guided tour");
  fill(list, lessons.map(lesson => card(lessons, lesson)));
}

fill(document.getElementById("page"),
  element("header", {}, element("h1", {}, "Lessons"), where), element("main", {}, list));
show().catch(error => fill(list, element("p", { class: "error", role: "alert" }, error.message)));
