"""Formulas as MathML, which browsers show without JavaScript and without a network.

docutils, on which Sphinx rests, turns LaTeX into MathML. `html_math_renderer = "mathml"` takes its
result for the `$...$` and the `math` blocks of the pages, in place of MathJax from a server.
"""

import xml.etree.ElementTree as ET

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
CLOSING = {"|": "|", "‖": "‖", "⟨": "⟩", "{": "}", "⌊": "⌋", "⌈": "⌉"}

logger = logging.getLogger(__name__)
ET.register_namespace("", NAMESPACE)


def to_mathml(latex, display=False):
    """The MathML of a formula, inside a line or as a paragraph of its own.

    >>> to_mathml("x^2").partition('alttext=')[2]
    '"x^2"><msup><mi>x</mi><mn>2</mn></msup></math>'
    """
    root = ET.fromstring(tex2mathml(latex, as_block=display))
    root.set("alttext", " ".join(latex.split()))
    for row in root.iter():
        _keep_fences_small(row)
    for element in root.iter():  # the indentation
        if not (element.text or "").strip():
            element.text = None
        element.tail = None
    return ET.tostring(root, encoding="unicode")


def _keep_fences_small(row):
    """Give the fences of a row the height of a letter, as LaTeX does without \\left and \\right.

    A browser stretches them to the tallest part of the row. docutils says so of round and square
    brackets only. What stands between \\left and \\right is a row of its own, from fence to fence.
    """
    parts = list(row)
    if row.tag.endswith("mrow") and len(parts) > 1 and _is_fence(parts[0], parts[-1]):
        parts = parts[1:-1]
    opened = []
    for part in parts:
        text = part.text or ""
        if not part.tag.endswith("}mo") or part.get("minsize"):
            continue
        if opened and text == CLOSING[opened[-1]] and part.get("class") != "mathopen":
            opened.pop()
            part.attrib.update(form="postfix", stretchy="false")
        elif text in CLOSING:
            opened.append(text)
            part.attrib.update(form="prefix", stretchy="false")


def _is_fence(first, last):
    """Whether a row was written with \\left and \\right: with \\lvert, the first part is marked."""
    return all(part.tag.endswith("}mo") and not part.attrib for part in (first, last))


def visit_inline(writer, node):
    writer.body.append(_checked(node, display=False))
    raise SkipNode


def visit_block(writer, node):
    writer.body.append(f'<div class="math">{_checked(node, display=True)}</div>\n')
    raise SkipNode


def _checked(node, display):
    latex = node.astext()
    try:
        return to_mathml(latex, display)
    except MathError as error:
        logger.warning("formula %r: %s", latex, error, location=node)
        return ""


def setup(app):
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
