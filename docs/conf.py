"""Sphinx settings. The pages are Markdown; the API page is made from the docstrings."""

import re
from importlib.metadata import version as installed_version

project = "Separatrix"
author = "Separatrix contributors"
copyright = "2026, Separatrix contributors"
version = release = installed_version("separatrix")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3

autodoc_member_order = "bysource"
autodoc_typehints = "none"
default_role = "code"

html_theme = "furo"
html_title = "Separatrix"

QUOTED = re.compile(r"(``.+?``|:\w+:`[^`]+`|`[^`]+`)")
MARKUP = re.compile(r"[|*\\]|_(?!\w)")
FIELD = re.compile(r"\s*\*{0,2}\w+(, \w+)* : ")  # "coef_ : array", which napoleon escapes itself


def escaped(line):
    field = FIELD.match(line)
    start = field[0] if field else ""
    parts = QUOTED.split(line.removeprefix(start))
    parts[::2] = [MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
    return start + "".join(parts)


def show_formulas_as_written(app, what, name, obj, options, lines):
    """Docstrings are plain text: |W|_1 and coef_ are formulas and names, not Sphinx markup.

    An indented block after an empty line is shown as it stands; elsewhere the characters that
    reStructuredText would interpret are escaped, except between backquotes.
    """
    shown = []
    literal = None  # the indentation of the text above the block being shown as it stands
    session = False  # inside a >>> example
    above = ""
    for number, line in enumerate(lines):
        text = line.lstrip()
        indent = len(line) - len(text)
        base = len(above) - len(above.lstrip())
        session = bool(text) and (session or text.startswith(">>>"))
        if literal is not None and text and indent <= literal:
            literal = None
        if text and number > 0 and not lines[number - 1].strip():
            plain = not text.startswith((">>>", "- ", "* "))
            if literal is None and plain and indent > base:
                literal = base
                shown += [" " * base + "::", ""]
            elif indent == 0 < base and not FIELD.match(line):
                shown.append("")  # two empty lines end a list of parameters
        shown.append(line if session or literal is not None else escaped(line))
        above = line if text else above
    lines[:] = shown


def setup(app):
    # Before napoleon, which has the priority 500.
    app.connect("autodoc-process-docstring", show_formulas_as_written, priority=400)
