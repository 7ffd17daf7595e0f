"""Lessons: guided tours of the playground, written as Markdown files.

A lesson is a file `NAME.md`:

    # Title

    One or more paragraphs of introduction.

    ## Title of a step

    Settings: #data=moons&features=squares

    Question: What happens to the boundary when the learning rate is raised to 3?

    Look at: the loss curve and the planes on the right.

    Answer: It oscillates, because ...

The settings are the part of the playground's address from `#` on. Texts are shown as plain text.
Lessons are sorted by the name of their file.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

BUILT_IN = Path(__file__).with_name("lessons")
PARTS = {"Settings": "settings", "Question": "question", "Look at": "look_at", "Answer": "answer"}
MOST_BYTES = 200_000


@dataclass(frozen=True)
class Step:
    """One step of a lesson."""

    title: str
    settings: str
    question: str
    look_at: str
    answer: str


@dataclass(frozen=True)
class Lesson:
    """A guided tour."""

    name: str
    title: str
    introduction: tuple[str, ...]
    steps: tuple[Step, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return the lesson as JSON values."""
        return asdict(self)


def read_lessons(folder: Path | None = None) -> list[Lesson]:
    """Read all lessons of a folder; without one, the built-in lessons.

    >>> [len(lesson.steps) >= 3 for lesson in read_lessons()]
    [True, True, True, True, True]
    """
    place = BUILT_IN if folder is None else folder
    if not place.is_dir():
        raise ValueError(f"There is no folder of lessons at '{place}'. Name an existing folder.")
    paths = sorted(place.glob("*.md"))
    if not paths:
        raise ValueError(
            f"The folder '{place}' has no lessons. A lesson is a Markdown file whose name ends in "
            ".md; copy one of the built-in lessons to begin with: " + str(BUILT_IN)
        )
    return [_lesson(path) for path in paths]


def _lesson(path: Path) -> Lesson:
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"'{path}' is too large for a lesson: at most {MOST_BYTES:,} bytes.")
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"'{path}' is not UTF-8 text: {error}.") from None
    title, introduction, steps = "", [], []
    step: dict[str, str] | None = None
    for line, paragraph in _paragraphs(text):
        where = f"'{path}', line {line}"
        if paragraph.startswith("## "):
            if step is not None:
                steps.append(_step(step, where))
            step = {"title": paragraph[3:].strip()}
        elif paragraph.startswith("# "):
            title = paragraph[2:].strip()
        elif step is None:
            introduction.append(paragraph)
        else:
            _add_part(step, paragraph, where)
    if step is not None:
        steps.append(_step(step, f"'{path}'"))
    if not title or not steps:
        raise ValueError(
            f"'{path}' is not a lesson: it needs a title ('# ...') and at least one step "
            "('## ...')."
        )
    return Lesson(path.stem, title, tuple(introduction), tuple(steps))


def _paragraphs(text: str) -> list[tuple[int, str]]:
    """Return the paragraphs of a text, each with the number of its first line, on one line."""
    found: list[tuple[int, list[str]]] = []
    open_ = False
    for number, line in enumerate(text.splitlines(), 1):
        heading = line.startswith("#") and line.lstrip("#").startswith(" ")
        if not line.strip():
            open_ = False
        elif heading or not open_:
            found.append((number, [line.strip()]))
            open_ = not heading
        else:
            found[-1][1].append(line.strip())
    return [(number, " ".join(lines)) for number, lines in found]


def _names(parts: Iterable[str]) -> str:
    return ", ".join(f"'{name}:'" for name in parts)


def _add_part(step: dict[str, str], paragraph: str, where: str) -> None:
    name, colon, rest = paragraph.partition(":")
    if colon and name in PARTS:
        key = PARTS[name]
        if key in step:
            raise ValueError(f"{where}: this step has two parts '{name}:'. Keep one of them.")
        step[key] = rest.strip()
        return
    last = [key for key in step if key not in ("title", "settings")]
    if not last:
        raise ValueError(
            f"{where}: a paragraph of a step begins with one of {_names(PARTS)}. Got "
            f"{paragraph[:40]!r}."
        )
    step[last[-1]] += f"\n{paragraph}"  # a second paragraph of the same part


def _step(parts: dict[str, str], where: str) -> Step:
    missing = [name for name, key in PARTS.items() if key not in parts]
    if missing:
        raise ValueError(f"{where}: the step '{parts['title']}' before it lacks {_names(missing)}.")
    if not parts["settings"].startswith("#"):
        raise ValueError(
            f"{where}: the settings of the step '{parts['title']}' must begin with '#', as in the "
            f"address of the playground. Got {parts['settings'][:40]!r}."
        )
    return Step(**parts)
