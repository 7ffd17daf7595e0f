"""HTML of fits and studies for notebooks: named facts and small charts.

Text inherits the colour of the page. The colours of the lines are visible on light and dark pages,
and the lines also differ in their dashes. The HTML loads nothing and runs no script.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from separatrix.matrix import Array
from separatrix.text import counted
from separatrix.verdict.certificate import Certificate
from separatrix.verdict.diagnosis import Diagnosis

COLOURS = {"training": ("#2f7fd0", ""), "validation": ("#d9730d", "4 2")}  # colour, dashes
WIDTH, HEIGHT, TOP, BOTTOM = 260, 110, 34, 92  # size of a chart and range of its lines, in pixels
POINTS = 200  # largest number of points of a line
LOG_RATIO = 20.0  # ratio of largest to smallest value above which the axis is logarithmic
_CARD = (
    "color:inherit;font:13px/1.45 system-ui,sans-serif;border:1px solid rgba(128,128,128,.45);"
    "border-radius:6px;padding:.6em .9em;margin:.3em 0;max-width:60em;overflow-x:auto"
)
_CELL = (
    "text-align:right;padding:.05em .5em;background:none;color:inherit;border:none;font-size:13px"
)
_NAME = "padding-right:1em;opacity:.7;white-space:nowrap;vertical-align:top;text-align:left"


def card(headline: str, facts: Sequence[tuple[str, str]], *more: str) -> str:
    """Return a box with a bold headline, a list of named facts and more HTML.

    >>> card("Best: C < 1.", [("Data", "iris")]).count("&lt;")
    1
    """
    cell = _CELL.replace("right", "left")
    rows = "".join(
        f'<tr style="background:none"><td style="{cell};{_NAME}">{escape(name)}</td>'
        f'<td style="{cell}">{escape(text)}</td></tr>'
        for name, text in facts
    )
    listed = f'<table style="border:none;margin:.3em 0">{rows}</table>' if rows else ""
    return f'<div style="{_CARD}"><b>{escape(headline)}</b>{listed}{"".join(more)}</div>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]], bold: int | None = None) -> str:
    """Return a table of numbers; the row with the index `bold` is bold."""

    def line(cells: Sequence[str], style: str) -> str:
        shown = "".join(f'<td style="{_CELL};{style}">{escape(cell)}</td>' for cell in cells)
        return f'<tr style="background:none">{shown}</tr>'

    lines = [line(row, "font-weight:bold" if k == bold else "") for k, row in enumerate(rows)]
    return (
        '<table style="border:none;margin:.3em 0;font-variant-numeric:tabular-nums">'
        f"{line(head, 'opacity:.7')}{''.join(lines)}</table>"
    )


def history_curves(history: Mapping[str, Array]) -> str:
    """Return charts of the loss and the accuracy on training and validation rows by epoch."""
    charts = [
        curves(what, {part: history[f"{short}_{what}"] for part, short in _PARTS.items()})
        for what in ("loss", "accuracy")
    ]
    return f'<div style="display:flex;flex-wrap:wrap;gap:.5em">{"".join(charts)}</div>'


_PARTS = {"training": "train", "validation": "val"}


def curves(title: str, lines: Mapping[str, Array]) -> str:
    """Return a small chart of lines over the epochs with their last values; "" without values.

    If the values differ by a large factor, the axis is logarithmic, and the title says so.
    """
    known = {name: np.asarray(v, float) for name, v in lines.items() if np.isfinite(v).any()}
    if not known:
        return ""
    values = np.concatenate([v[np.isfinite(v)] for v in known.values()])
    low, high = float(values.min()), float(values.max())
    log = low > 0.0 and high > LOG_RATIO * low
    if log:
        low, high = math.log10(low), math.log10(high)
    epochs = max(map(len, known.values()))
    paths, labels = [], []
    for k, (name, v) in enumerate(known.items()):
        colour, dashes = COLOURS[name]
        with np.errstate(divide="ignore", invalid="ignore"):
            heights = ((np.log10(v) if log else v) - low) / ((high - low) or 1.0)
        paths.append(
            f'<path d="{_path(heights, epochs)}" fill="none" stroke="{colour}" stroke-width="1.6"'
            f' stroke-dasharray="{dashes}"/>'
        )
        last = v[np.isfinite(v)][-1]
        labels.append(f'<text x="{4 + 128 * k}" y="28" fill="{colour}">{name} {last:.4g}</text>')
    head = f"{title} (logarithmic scale)" if log else title
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" role="img"'
        f' aria-label="{escape(head)}" style="font:11px system-ui,sans-serif">'
        f'<text x="4" y="13" fill="currentColor" opacity=".7">{escape(head)}</text>'
        f"{''.join(labels)}{''.join(paths)}"
        f'<path d="M4 {BOTTOM + 2}H{WIDTH - 4}" stroke="currentColor" opacity=".35"/>'
        f'<text x="4" y="{HEIGHT - 4}" fill="currentColor" opacity=".7">1</text>'
        f'<text x="{WIDTH - 4}" y="{HEIGHT - 4}" fill="currentColor" opacity=".7"'
        f' text-anchor="end">epoch {epochs:,}</text></svg>'
    )


def _path(heights: Array, epochs: int) -> str:
    """Return an SVG path through at most `POINTS` points, which include the last one."""
    at = np.unique(np.linspace(0, len(heights) - 1, POINTS).round().astype(int))
    at = at[np.isfinite(heights[at])] if np.isfinite(heights[at]).any() else at[:0]
    x = 4 + (WIDTH - 8) * at / max(epochs - 1, 1)
    y = BOTTOM - (BOTTOM - TOP) * np.clip(heights[at], 0.0, 1.0)
    if len(at) == 1:  # draw a single point as a dash
        x, y = np.array([x[0], x[0] + 4]), np.repeat(y, 2)
    return "M" + "L".join(f"{a:.1f} {b:.1f}" for a, b in zip(x, y))


def fit_card(
    name: str,
    *,
    stop_reason: str,
    kept_epoch: int,
    certificate: Certificate,
    diagnoses: Sequence[Diagnosis],
    objective: str,
    history: Mapping[str, Array],
    detail: str | None = None,
) -> str:
    """Return the verdict of one fit: stop reason, certificate, diagnoses and curves."""
    epochs = len(history["train_loss"])
    ended = f"{stop_reason}, after {counted(epochs, 'epoch')}"
    if kept_epoch != epochs:
        ended += f"; the weights of epoch {kept_epoch:,} were kept"
    if detail is not None:
        ended += f". {detail}"
    facts = [
        ("Stop reason", ended),
        ("Certificate", str(certificate)),
        ("Objective", objective),
        *((_kind_in_words(d.kind), f"{d.message} {d.remedy}") for d in diagnoses),
    ]
    headline = f"{name}: {_headline(stop_reason, certificate, diagnoses)}"
    return card(headline, facts, history_curves(history))


def _headline(stop_reason: str, certificate: Certificate, diagnoses: Sequence[Diagnosis]) -> str:
    kinds = {d.kind for d in diagnoses}
    if "diverged" in kinds or stop_reason == "diverged":
        return "diverged."
    if certificate.certified:
        return f"converged, relative duality gap {certificate.relative_gap:.1e}."
    if "separable" in kinds:
        return "no finite optimum, since the classes are linearly separable."
    if kinds & {"not_converged", "noisy", "oscillating", "ended_higher"}:
        return "did not converge."
    if stop_reason == "no mistakes":
        return "converged, an epoch without mistakes."
    return "stopped without a certificate."


def _kind_in_words(kind: str) -> str:
    return kind.replace("_", " ").capitalize()
