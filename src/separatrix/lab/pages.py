"""The pages of the lab: one shell, and a script that fills it."""

from __future__ import annotations

import html
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template


@dataclass(frozen=True)
class Page:
    """A page: its path, its title, the module that fills it."""

    path: str
    title: str
    script: str


PAGES = (
    Page("/", "Studies", "home"),
    Page("/new", "New study", "new_study"),
    Page("/studies/{name}", "", "live_study"),
    Page("/play", "Playground", "playground"),
    Page("/lessons", "Lessons", "lessons"),
)
LINKS = {"/": "Studies", "/new": "New study", "/play": "Playground", "/lessons": "Lessons"}


def page_html(page: Page, name: str = "") -> str:
    """Return a page as HTML; `name` is that of its study.

    >>> page_html(PAGES[2], "<b>").count("&lt;b&gt;")
    1
    """
    links = "\n".join(
        f'<a href="{path}"{_current(page, path)}>{words}</a>' for path, words in LINKS.items()
    )
    title = f"{name or page.title} · Separatrix lab"
    return _shell().substitute(title=html.escape(title), links=links, script=page.script)


def _current(page: Page, path: str) -> str:
    if page.path == path:
        return ' aria-current="page"'
    return ' aria-current="true"' if path == "/" and page.path.startswith("/studies/") else ""


@cache
def _shell() -> Template:
    return Template(Path(__file__).with_name("shell.html").read_text(encoding="utf-8"))
