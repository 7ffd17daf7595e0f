"""Formulas as MathML, which browsers show without JavaScript and without a network.

docutils, on which Sphinx rests, turns LaTeX into MathML. `html_math_renderer = "mathml"` takes its
result for the `$...$` and the `math` blocks of the pages, in place of MathJax from a server.
"""

import itertools
import xml.etree.ElementTree as ET

from docutils.nodes import SkipNode
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

NAMESPACE = "http://www.w3.org/1998/Math/MathML"
CLOSING = {"|": "|", "‖": "‖", "⟨": "⟩", "⌊": "⌋", "⌈": "⌉"}
FUNCTIONS = ("exp", "inf", "log", "max", "min", "sup", "Pr")
# After these a sign belongs to what follows, and after the first of them functions need no space.
OPENING = ("(", "[", "|", "‖", "⟨")
SEPARATING = (",", "=", "<", ">", "≤", "≥", "≠", "←")
SCRIPTS = ("}msub", "}msup", "}msubsup")
THIN_SPACE = "0.167em"
WORD_JOINER = "&#8288;"
APPLY_FUNCTION = "<mo>&ApplyFunction;</mo>"  # no XML, and invisible

logger = logging.getLogger(__name__)
ET.register_namespace("", NAMESPACE)


def to_mathml(latex, display=False):
    """The MathML of a formula, inside a line or as a paragraph of its own.

    >>> to_mathml("x^2").partition("alttext=")[2]
    '"x^2"><msup><mi>x</mi><mn>2</mn></msup></math>'
    """
    root = ET.fromstring(tex2mathml(latex, as_block=display).replace(APPLY_FUNCTION, ""))
    root.set("alttext", " ".join(latex.split()))
    for row in root.iter():
        _keep_fences_small(row)
        _space_functions(row)
        _space_signs(row)
        _put_index_beside(row)
        if row.get("class") == "ams-align":
            row.set("displaystyle", "true")
    for element in root.iter():
        if element.text == "'":
            element.text = "\N{PRIME}"
            element.attrib.update(lspace="0", rspace="0")
        # The indentation.
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
        fence = part[0] if part.tag.endswith(SCRIPTS) else part
        if not fence.tag.endswith("}mo") or fence.get("minsize"):
            continue
        if opened and fence.text == CLOSING[opened[-1].text] and fence.get("class") != "mathopen":
            opened.pop().attrib.update(form="prefix", stretchy="false")
            fence.attrib.update(form="postfix", stretchy="false")
        elif part.text in CLOSING:
            opened.append(part)


def _is_fence(first, last):
    """Whether a row was written with \\left and \\right: with \\lvert, the first part is marked."""
    return all(part.tag.endswith("}mo") and not part.attrib for part in (first, last))


def _space_functions(row):
    """Set the names of functions as LaTeX does: no space before a bracket or at the start."""
    for before, part, after in zip([None, *row], row, [*row[1:], None]):
        name = next((each for each in part.iter() if each.text in FUNCTIONS), None)
        if name is not None and name in (part, *part[:1]):
            name.tag = f"{{{NAMESPACE}}}mo"
            starts = before is None or _opens(before)
            bracket = after is not None and "".join(after.itertext()).strip()[:1] in ("(", "[")
            name.set("lspace", "0" if starts else THIN_SPACE)
            name.set("rspace", "0" if bracket else THIN_SPACE)


def _space_signs(row):
    """Let a minus after a comma, a bracket or an equals sign be a sign and not a difference."""
    for before, part in itertools.pairwise(row):
        if part.text in ("−", "+", "±") and (_opens(before) or before.text in SEPARATING):
            part.set("form", "prefix")


def _opens(part):
    return part.text in OPENING and part.get("form") != "postfix"


def _put_index_beside(part):
    """Set the index of a letter with a hat beside it; docutils sets it below, as that of a sum."""
    if part.tag.endswith("}mover") and len(part[1]) == 0:
        part.set("accent", "true")
    if part.tag.endswith("}munderover") and not part[0].tag.endswith("}mo"):
        letter, index, hat = part
        part.tag = part.tag.replace("munderover", "msub")
        part[:] = [ET.Element(f"{{{NAMESPACE}}}mover", accent="true"), index]
        part[0].extend([letter, hat])


def visit_inline(writer, node):
    after = node.parent[node.parent.index(node) + 1 :]
    # A browser may break the line behind any formula, even before a full stop.
    joined = after and after[0].astext().startswith((".", ",", ";", ":", ")"))
    writer.body.append(_checked(node, display=False) + (WORD_JOINER if joined else ""))
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
