"""Sphinx settings. The pages are Markdown; the API page is generated from the docstrings."""

import sys
from importlib.metadata import version as installed_version
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "Separatrix"
author = "Separatrix contributors"
copyright = "2026, Separatrix contributors"
version = release = installed_version("separatrix")

extensions = ["myst_parser", "sphinx.ext.autodoc", "mathml", "offline"]
exclude_patterns = ["_build"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
myst_fence_as_directive = ["math"]  # ```math, as on GitHub
html_math_renderer = "mathml"

autodoc_member_order = "bysource"
autodoc_typehints = "none"

html_theme = "furo"
html_title = "Separatrix"
html_static_path = ["_static"]
html_css_files = ["wide.css", "maths.css"]


def show_as_written(app, what, name, obj, options, lines):
    """Show docstrings as plain text: |W|_1 and coef_ are not Sphinx markup."""
    if lines:
        lines[:] = [".. code-block:: text", "", *("   " + line for line in lines), ""]


def setup(app):
    app.connect("autodoc-process-docstring", show_as_written)
