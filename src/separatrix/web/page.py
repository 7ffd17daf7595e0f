"""The shell of every page: head, stylesheet, data and scripts in one file that loads nothing.

A page is a dictionary of plain values and a script module that draws it. The modules in `scripts/`
are ES modules, which a browser can load one by one. Here they are joined into one script:

- An import is one line, `import { a, b } from "./other.js";`. It is removed, and the other module
  comes first.
- An export is the word `export` before a function or a constant, and the word is removed.
- All modules share one scope, so a name is used at the top level of one module only.
- The entry module exports `start(root, data)`, which the joined script calls.
"""

from __future__ import annotations

import html
import re
from functools import cache
from pathlib import Path
from string import Template
from typing import Any

from separatrix.safe_html import content_policy, json_for_script

SCRIPTS = Path(__file__).with_name("scripts")
IMPORT = re.compile(r'^import \{ [\w, ]+ \} from "\./(\w+)\.js";\n', re.MULTILINE)
_START = """\
const given = document.getElementById("data").textContent;
start(document.getElementById("page"), JSON.parse(given));"""
EXPORT = re.compile(r"^export (?=(?:async )?function |const )", re.MULTILINE)


def make_page(title: str, data: dict[str, Any], entry: str, summary: list[str]) -> str:
    """Return a page as HTML.

    `entry` is the name of the module that draws `data`. `summary` are sentences that are shown if
    scripts are switched off.

    >>> page = make_page("</title>", {"name": "</script>"}, "study_page", ["a < b"])
    >>> page.count("</title>"), page.count("</script>"), "<p>a &lt; b</p>" in page
    (1, 2, True)
    """
    script = joined_script(entry)
    return _shell().substitute(
        title=html.escape(title),
        policy=html.escape(content_policy(script)),
        style=_near("style.css"),
        summary="\n".join(f"<p>{html.escape(sentence)}</p>" for sentence in summary),
        data=json_for_script(data),
        script=script,
    )


@cache
def joined_script(entry: str) -> str:
    """Return the entry module and all modules that it needs as one script."""
    parts = [EXPORT.sub("", IMPORT.sub("", _module(name))).strip() for name in in_order(entry)]
    return "\n".join(['(() => {\n"use strict";', *parts, _START, "})();"])


def in_order(entry: str) -> list[str]:
    """Return the names of a module and of all modules that it needs, the needed ones first.

    >>> in_order("scales")
    ['scales']
    """
    found: dict[str, None] = {}

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            raise ValueError(f"The script modules import each other: {' -> '.join((*path, name))}.")
        if name not in found:
            for needed in IMPORT.findall(_module(name)):
                visit(needed, (*path, name))
            found[name] = None

    visit(entry, ())
    return list(found)


@cache
def _module(name: str) -> str:
    return (SCRIPTS / f"{name}.js").read_text(encoding="utf-8")


@cache
def _shell() -> Template:
    return Template(_near("shell.html"))


def _near(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")
