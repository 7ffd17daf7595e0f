"""Computation graphs, with values above the nodes and derivatives below them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from separatrix.charts.drawing.chart_data import data
from separatrix.charts.drawing.graph_layout import Layered, layered
from separatrix.charts.drawing.positions import turned
from separatrix.charts.drawing.theme import TRAINING, finish
from separatrix.explain import Graph, Node, Step
from separatrix.explain.text_tables import change, cut, wrapped

MOST = 60  # largest number of nodes in a readable graph
_LINES, _ACROSS = 6, 4  # largest numbers of lines and columns of numbers at a node
_DIGITS = 4
_LETTER, _LINE = 6.3, 14.0  # width of a character and height of a line, in pixels
_LONGEST = 32  # characters of a formula
_LEGEND = 5  # lines of the legend of the variables
_BOX, _EDGE, _GAP = 36.0, 8.0, 62.0  # height of a box, padding, and space between columns
_TIP = 5.0  # size of an arrowhead


def graph(found: Graph | Step) -> Any:
    """Draw a computation graph from left to right: values above the nodes, derivatives below.

    `found` is a result of `explain.graph`, `explain.scores`, `explain.step` or `explain.step_of`.
    If the nodes are numbers, the arrows show local derivatives. The derivative of a node is a sum
    over its outgoing arrows: the local derivative times the derivative at the end of the arrow.

    >>> from separatrix import charts, explain
    >>> found = explain.graph("1/(1+exp(-w*x))", w=0.5, x=2.0)
    >>> charts.graph(found).to_dict()["description"][:63]
    'Computation of L = 0.7311 in 7 nodes. Derivatives: w 0.3932, x '
    """
    drawn = found.graph if isinstance(found, Step) else found
    if len(drawn.nodes) > MOST:
        raise ValueError(
            f"A graph of {len(drawn.nodes)} nodes is too large to draw: at most {MOST} are "
            "allowed. Print it with to_text(), or use a smaller expression."
        )
    cards = {node.name: _Card(node) for node in drawn}
    # All input boxes have the same width, so that arrows start beside the numbers below them.
    given = [card for card in cards.values() if card.given]
    for card in given:
        card.width = max(each.width for each in given)
    placed = layered({name: card.size for name, card in cards.items()}, drawn.edges, _GAP)
    chart = _chart(cards, placed, _locals(drawn))
    output = drawn.output.name
    legend = f"Above a node: its value. Below, in blue: the derivative of {output}."
    if any(node.partials for node in drawn):
        legend += " On the arrows: local derivatives."
    subtitle = [legend]
    told = _told(found, drawn)
    subtitle += [told] if told else []
    if isinstance(found, Step) and found.legend:
        lines = wrapped(found.legend, 100)
        subtitle += lines if len(lines) <= _LEGEND else [*lines[: _LEGEND - 1], "…"]
    return finish(chart, _title(found, drawn), subtitle, _words(found, drawn))


class _Card:
    """The text of a node and its size."""

    def __init__(self, node: Node) -> None:
        self.name = node.name
        self.formula = cut(node.formula or "input", _LONGEST)
        self.above = _lines(node.value)
        self.below = [] if node.derivative is None else _lines(node.derivative)
        self.given = not node.formula
        letters = max(map(len, [self.name, self.formula, *self.above, *self.below]))
        self.width = max(letters * _LETTER + 2.0 * _EDGE, 44.0)
        # The same space above and below, because arrows meet the middle of the box.
        self.half = _BOX / 2.0 + _LINE * max(len(self.above), len(self.below)) + 2.0

    @property
    def size(self) -> tuple[float, float]:
        """The width and the height."""
        return self.width, 2.0 * self.half


def _lines(value: Any) -> list[str]:
    """Write a number, a vector in brackets, or a matrix with one line per row."""
    if not isinstance(value, tuple):
        return [_number(value)]
    if value and isinstance(value[0], tuple):
        rows = [f"({', '.join(_cells(row))})" for row in value[:_LINES]]
        return rows if len(value) <= _LINES else [*rows[:-1], f"and {len(value) - _LINES + 1} more"]
    if len(value) <= _ACROSS:
        return [f"({', '.join(map(_number, value))})"]
    pieces = [value[k : k + _ACROSS] for k in range(0, len(value), _ACROSS)]
    shown = pieces if len(pieces) <= _LINES else pieces[: _LINES - 1]
    lines, left = _lines(tuple(shown)), len(value) - sum(map(len, shown))
    return [*lines, f"and {left} more"] if left else lines


def _cells(row: Sequence[Any]) -> list[str]:
    cells = [_number(value) for value in row]
    return cells if len(cells) <= _ACROSS else [*cells[: _ACROSS - 1], "…"]


def _number(value: Any) -> str:
    if isinstance(value, float):
        return "–" if math.isnan(value) else f"{value:.{_DIGITS}g}".replace("-", "−")
    return str(value)


def _locals(drawn: Graph) -> dict[tuple[str, str], float]:
    """Return the local derivative of every edge. Edges between the same nodes are summed."""
    out: dict[tuple[str, str], float] = {}
    for node in drawn:
        for start, partial in zip(node.inputs, node.partials):
            out[start, node.name] = out.get((start, node.name), 0.0) + partial
    return out


def _chart(cards: dict[str, _Card], placed: Layered, partials: dict[tuple[str, str], float]) -> Any:
    x = alt.X("x:Q").axis(None).scale(domain=[0.0, placed.width], nice=False)
    y = alt.Y("y:Q").axis(None).scale(domain=[placed.height, 0.0], nice=False)
    boxes, words, lines, tips, labels = [], [], [], [], []
    for name, card in cards.items():
        across, down = placed.places[name]
        half = card.width / 2.0
        boxes.append(
            {
                "x": across - half,
                "x2": across + half,
                "y": down - _BOX / 2.0,
                "y2": down + _BOX / 2.0,
                "kind": "given" if card.given else "made",
            }
        )
        words += _texts(card, across, down)
    for (start, end), corners in placed.edges.items():
        lines += [
            {"edge": f"{start} {end}", "order": k, "x": a, "y": b}
            for k, (a, b) in enumerate(corners)
        ]
        (a, b), (c, d) = corners[-2:]
        tips.append({"x": c - _TIP / 2.0, "y": d, "angle": turned(c - a, b - d)})
        if (start, end) in partials:
            told = _number(partials[start, end])
            wide, high = len(told) * _LETTER / 2.0 + 2.0, _LINE / 2.0
            # Near the ends, crossing arrows are easier to distinguish than in the middle.
            part = 0.5 if abs(d - b) < 2.0 * _LINE else 0.66
            mid, level = a + part * (c - a) - 2.0, b + part * (d - b)
            labels.append(
                {
                    "x": mid - wide,
                    "x2": mid + wide,
                    "y": level - high,
                    "y2": level + high,
                    "mid": mid,
                    "level": level,
                    "text": told,
                }
            )
    box, tag = alt.Chart(data(boxes)), alt.Chart(data(labels))
    given, made = (box.transform_filter(alt.datum.kind == kind) for kind in ("given", "made"))
    frame = {"x": x, "y": y, "x2": "x2:Q", "y2": "y2:Q"}
    arrow = alt.Angle("angle:Q").scale(None)
    text = alt.Chart(data(words))
    written: dict[str, dict[str, Any]] = {
        "name": {"style": "ink", "fontWeight": "bold", "fontSize": 12},
        "formula": {"style": "quiet"},
        "value": {"style": "ink", "fontWeight": "bold"},
        "slope": {"style": "accent", "fontWeight": "bold"},
    }
    return alt.layer(
        alt.Chart(data(lines))
        .mark_line(style="quiet", strokeWidth=1.2)
        .encode(x=x, y=y, detail="edge:N", order="order:Q"),
        alt.Chart(data(tips))
        .mark_point(shape="triangle-up", filled=True, size=46, opacity=1, style="quiet")
        .encode(x=x, y=y, angle=arrow),
        tag.mark_rect(style="paper").encode(**frame),
        tag.mark_text(style="quiet", fontSize=10).encode(
            x=alt.X("mid:Q").axis(None), y=alt.Y("level:Q").axis(None), text="text:N"
        ),
        given.mark_rect(fillOpacity=0.0, strokeWidth=1.2, style="outline").encode(**frame),
        made.mark_rect(
            fill=TRAINING, fillOpacity=0.12, stroke=TRAINING, strokeWidth=1.2, cornerRadius=6
        ).encode(**frame),
        *(
            text.transform_filter(alt.datum.kind == kind)
            .mark_text(**look)
            .encode(x=x, y=y, text="text:N")
            for kind, look in written.items()
        ),
    ).properties(width=math.ceil(placed.width), height=math.ceil(placed.height))


def _texts(card: _Card, across: float, down: float) -> list[dict[str, Any]]:
    """Return the texts of a node with their positions."""
    rows = [
        {"x": across, "y": down - 7.0, "text": card.name, "kind": "name"},
        {"x": across, "y": down + 8.0, "text": card.formula, "kind": "formula"},
    ]
    first = down - _BOX / 2.0 - 2.0 - _LINE * (len(card.above) - 0.5)
    for k, text in enumerate(card.above):
        rows.append({"x": across, "y": first + k * _LINE, "text": text, "kind": "value"})
    for k, text in enumerate(card.below):
        level = down + _BOX / 2.0 + 3.0 + _LINE * (k + 0.5)
        rows.append({"x": across, "y": level, "text": text, "kind": "slope"})
    return rows


def _title(found: Graph | Step, drawn: Graph) -> str:
    if isinstance(found, Step):
        return f"One gradient descent step with the '{found.loss}' loss"
    return f"Computation of {drawn.output.name} and its derivatives"


def _told(found: Graph | Step, drawn: Graph) -> str:
    """Describe the step and any wrong derivatives. Correct derivatives are not mentioned."""
    wrong = "" if drawn.agrees else drawn.verdict
    if not isinstance(found, Step):
        return wrong
    way = "fell" if found.after < found.before else "did not fall"
    before, after = (told.replace("-", "−") for told in change(found.before, found.after, _DIGITS))
    return (
        f"The step adds −{_number(found.learning_rate)} times the derivative to the weights. The "
        f"objective {way} from {before} to {after}. {wrong}"
    ).strip()


def _words(found: Graph | Step, drawn: Graph) -> str:
    output = drawn.output
    slopes = ", ".join(
        f"{node.name} {', '.join(_lines(node.derivative))}"
        for node in drawn
        if not node.formula and node.derivative is not None
    )
    return (
        f"Computation of {output.name} = {_number(output.value)} in {len(drawn.nodes)} nodes. "
        f"Derivatives: {slopes}. {_told(found, drawn)}"
    ).strip()
