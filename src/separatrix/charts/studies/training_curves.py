"""Training curves: loss, accuracy, objective or gradient norm by epoch."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, thinned
from separatrix.charts.drawing.labels import haloed
from separatrix.charts.drawing.positions import at_share, free_height, share, spread
from separatrix.charts.drawing.theme import CHOSEN, TRAINING, VALIDATION, WRONG, finish
from separatrix.charts.studies.curve_data import (
    CurveSource,
    TrainingCurve,
    best_curve,
    curves_of,
)
from separatrix.charts.studies.curve_words import (
    FEW,
    LONGEST,
    description,
    front_runs,
    labels_fit,
    panel_titles,
    subtitle,
)
from separatrix.charts.studies.run_shades import run_shades
from separatrix.matrix import Array

# For every measure: the fields of a history to draw, and the number format of the axis.
MEASURES = {
    "loss": ({"training": "train_loss", "validation": "val_loss"}, ".6~g"),
    "accuracy": ({"training": "train_accuracy", "validation": "val_accuracy"}, ".0%"),
    "objective": ({"training": "objective"}, ".6~g"),
    "gradient norm": ({"training": "gradient_norm"}, ".6~g"),
}
LAYOUTS = ("auto", "multiples", "overlaid")
PANELS = 24  # largest number of small charts
COLOURS = {
    "training": TRAINING,
    "validation": VALIDATION,
    "diverged": WRONG,
    "best epoch": CHOSEN,
}
# Largest and smallest number of points of one line, and largest number of points of a chart.
_POINTS, _LEAST, _ALL_POINTS = 200, 16, 24_000
_LABEL = 12.0  # pixels between two labels
_LETTER, _GAP = 6.0, 9.0  # pixels of a letter, and from the end of a line to its label
_SHADES = 4  # largest number of shades that are all in the key
_NARROW, _WIDE = 34, 50  # characters of a heading above a small and a large chart
# An axis ends at these multiples of the range of most runs, or of the best one. A few runs far
# outside leave the chart, so that the others are not compressed into a corner.
_HIGHER, _WIDER = 1.5, 2.0
# And a logarithmic one at this multiple of the last value of the best run: measures that oscillate
# fall far below it for single epochs.
_DEEPER = 1e-3


def curves(
    runs: CurveSource,
    measure: str = "loss",
    *,
    layout: str = "auto",
    log_x: bool = False,
    log_y: bool = False,
    chosen: Sequence[int] | None = None,
) -> Any:
    """Draw a measure of every run by epoch, for training and validation rows.

    Parameters
    ----------
    runs : the facts of a study, a history, or a dictionary of histories
    measure : "loss", "accuracy", "objective" or "gradient norm"
    layout : "multiples" (a small chart for every run, or for the best 24), "overlaid" (all runs in
        one chart) or "auto" ("multiples" for up to 12 runs)
    log_x, log_y : whether the axes are logarithmic
    chosen : numbers of the runs to draw in colour if there are more than 12; None means the best

    A ring marks the best epoch, which has the lowest validation loss. Diverged runs are red, with a
    triangle where they leave the chart, or a square where they end in it. Long lines are thinned
    but keep their minima and maxima.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GradientDescentClassifier, charts
    >>> model = GradientDescentClassifier(learning_rate=0.1).fit(*load_iris(return_X_y=True))
    >>> charts.curves(model.history_).to_dict()["description"]
    'Loss of 1 run by epoch. After 100 epochs: training 0.442.'
    """
    _require(measure, layout)
    all_runs = curves_of(runs)
    fields, form = MEASURES[measure]
    fields = {part: field for part, field in fields.items() if _measured(all_runs, field)}
    if layout == "auto":
        layout = "multiples" if len(all_runs) <= FEW else "overlaid"
    shown = all_runs
    if layout == "multiples" and len(all_runs) > PANELS:
        shown = sorted(all_runs, key=lambda run: (not run.best, run.merit))[:PANELS]
    sheet = _Sheet(measure, fields, form, shown, log_x, log_y)
    chart = _multiples(sheet) if layout == "multiples" else _overlaid(sheet, chosen)
    lines = subtitle(runs, all_runs, len(shown), layout == "overlaid", chosen)
    title = f"{measure.capitalize()} by epoch"
    return finish(chart, title, lines, description(measure, fields, all_runs))


class _Sheet:
    """The scales, the number of points and the data of a chart."""

    def __init__(
        self,
        measure: str,
        fields: dict[str, str],
        form: str,
        runs: Sequence[TrainingCurve],
        log_x: bool,
        log_y: bool,
    ) -> None:
        self.measure, self.fields, self.form, self.runs = measure, fields, form, runs
        self.log_x, self.log_y = log_x, log_y
        lines = len(fields) * sum(len(run.histories) for run in runs)
        self.points = min(max(_ALL_POINTS // max(lines, 1), _LEAST), _POINTS)
        self.epochs = max(history.epochs for run in runs for history in run.histories)
        self.span = self._span()
        self.rows: list[dict[str, Any]] = []
        self.shades: dict[str, str] = {}  # colours by name, of runs that are not in front

    def _span(self) -> tuple[float, float]:
        """Return the range of the vertical axis: that of the runs that did not diverge."""
        values = self._seen([run for run in self.runs if not run.diverged] or self.runs)
        if not len(values):
            return (0.1, 1.0)
        best = best_curve(self.runs)
        own = values if best is None else self._seen([best])
        low, high = float(values.min()), float(values.max())
        if self.log_y:
            ends = [] if best is None else [best.last(field) for field in self.fields.values()]
            low = max(low, _DEEPER * min((end for end in ends if end > 0.0), default=0.0))
            return (low / 1.1, max(high, low * 1.5) * 1.1)
        if self.measure == "accuracy":
            high = 1.0
            low = max(float(self._seen(self.runs).min()), high - _WIDER * (high - low))
        else:
            usual = max(np.quantile(values, 0.9), own.max(initial=-np.inf))
            high = min(high, _HIGHER * float(usual))
            low = 0.0 if 0.0 <= low < 0.5 * high else low
        pad = 0.04 * (high - low) or 0.1 * abs(high) or 0.1
        return (low if low == 0.0 else low - pad, high + pad)

    def _seen(self, runs: Sequence[TrainingCurve]) -> Array:
        """Return all finite values of some runs, and only positive ones on a logarithmic axis."""
        values = _values(runs, self.fields.values())
        return values[values > 0.0] if self.log_y else values

    def line(self, run: TrainingCurve, seed: int, part: str, points: int, **more: Any) -> Array:
        """Add one line and return all its values, including those that are not drawn."""
        values = self._until_it_leaves(run, run.histories[seed][self.fields[part]])
        usable = np.where(values > 0.0, values, np.nan) if self.log_y else values
        keep = [run.ring_epoch - 1] if run.ring_epoch else []
        at = thinned(usable, points, log=self.log_x, keep=keep)
        self.rows.append(
            {
                "layer": "line",
                "part": part,
                "run": f"{run.number} {seed}",
                "words": run.words,
                "epoch": at + 1,
                "value": values[at],
                **more,
            }
        )
        return values

    def _until_it_leaves(self, run: TrainingCurve, values: Array) -> Array:
        """Cut the line of a diverged run after the first value above the chart."""
        above = np.flatnonzero(~(values <= self.span[1]))
        return values[: above[0] + 1] if run.diverged and len(above) else values

    def point(self, layer: str, part: str, epoch: int, value: float, **more: Any) -> None:
        """Add a mark or a label."""
        row = {"layer": layer, "part": part, "epoch": [epoch], "value": [value], **more}
        self.rows.append(row)

    def layers(self, width: int, height: int, **title: Any) -> Any:
        """Return the lines, marks and labels of the rows."""
        x = alt.X("epoch:Q").title("epoch")
        low = 1.0 if self.log_x or self.epochs < 20 else 0.0
        x = x.scale(
            type="log" if self.log_x else "linear", domain=[low, max(self.epochs, 2)], nice=False
        )
        x = x.axis(format=",d", tickCount=4, grid=False)
        y = alt.Y("value:Q").title(self.measure)
        y = y.scale(type="log" if self.log_y else "linear", domain=list(self.span), nice=False)
        y = y.axis(format=self.form, tickCount=5)
        names = {row["colour"] for row in self.rows}
        present = {k: v for k, v in (COLOURS | self.shades).items() if k in names}
        own = [name for name in self.shades if name in names]
        # The first, the middle and the last of many ordered shades explain the others.
        told = set(own) if len(own) <= _SHADES else {own[k] for k in (0, len(own) // 2, -1)}
        legend = alt.Legend(
            orient="top",
            title=None,
            symbolType="stroke",
            symbolOpacity=1,
            symbolSize=200,
            columns=4,
            values=[name for name in present if name in COLOURS or name in told],
        )
        hue = alt.Color("colour:N").legend(legend)
        hue = hue.scale(domain=list(present), range=list(present.values()))
        tooltip = [
            alt.Tooltip("words:N", title="run"),
            alt.Tooltip("part:N", title="rows"),
            alt.Tooltip("epoch:Q"),
            alt.Tooltip("value:Q", title=self.measure, format=".4g"),
        ]
        base = alt.Chart().encode(x=x, y=y, color=hue)
        of = base.transform_filter
        lines = of(alt.datum.layer == "line").mark_line(clip=True, strokeJoin="round")
        crosses = of(alt.datum.layer == "cross")
        rings = of(alt.datum.layer == "ring")
        labels = of(alt.datum.layer == "label")
        return (
            alt.layer(
                lines.encode(
                    detail=["run:N", "part:N"],
                    strokeWidth=alt.StrokeWidth("width:Q").scale(None).legend(None),
                    opacity=alt.Opacity("opacity:Q").scale(None).legend(None),
                    tooltip=tooltip,
                ),
                crosses.mark_point(size=70, filled=True, opacity=1).encode(
                    shape=alt.Shape("shape:N").scale(None)
                ),
                rings.mark_point(shape="circle", size=60, strokeWidth=2.5, opacity=1).encode(
                    tooltip=tooltip
                ),
                *haloed(
                    labels.encode(text="text:N"),
                    align="left",
                    dx=9,
                    clip=False,
                    limit=7 * LONGEST,
                ),
            )
            .transform_flatten(["epoch", "value"])
            .properties(width=width, height=height)
        )


def _multiples(sheet: _Sheet) -> Any:
    """Draw a small chart for every run, with training and validation."""
    few = len(sheet.runs) <= 4
    titles = panel_titles(sheet.runs, _WIDE if few else _NARROW)
    for run, panel in zip(sheet.runs, titles):
        for part in sheet.fields:
            for seed in reversed(range(len(run.histories))):
                more = {"panel": panel, "colour": "diverged" if run.diverged else part}
                # If the lines coincide, the wider training line stays visible on both sides.
                width = 1.0 if seed else 1.3 if part == "validation" else 2.6
                faint = 0.3 if seed else 1.0
                values = sheet.line(
                    run, seed, part, sheet.points, width=width, opacity=faint, **more
                )
                if seed == 0:
                    _mark_end(sheet, run, part, values, panel=panel)
    columns = len(titles) if few else 4
    chart = sheet.layers(300 if few else 210, 200 if few else 130)
    facet = alt.Facet("panel:N").title(None).sort(titles)
    facet = facet.header(labelExpr="split(datum.label, '\\n')")
    return chart.facet(facet, columns=columns, data=data(sheet.rows), spacing=18)


def _overlaid(sheet: _Sheet, chosen: Sequence[int] | None) -> Any:
    """Draw all runs in one chart, with one panel for training and one for validation."""
    in_front = front_runs(sheet.runs, chosen)
    front, full = {run.number for run in in_front}, labels_fit(in_front)
    faint = float(np.clip(4.0 / len(sheet.runs) ** 0.6, 0.15, 0.9))
    labels = [run.words if full else run.label for run in in_front]
    of_run: dict[int, str] = {}
    if len(front) < len(sheet.runs):
        of_run, sheet.shades = run_shades(sheet.runs)
    width, height = 370 if max(map(len, labels), default=0) <= 12 else 310, 270
    for part in sheet.fields:
        ends = []
        for run in sorted(sheet.runs, key=lambda run: (run.number in front, run.best)):
            ahead = run.number in front
            hue = part if ahead else of_run[run.number]
            more = {
                "colour": "diverged" if run.diverged else hue,
                "width": 2.4 if run.best else 1.5 if ahead else 1.0,
                "opacity": 1.0 if run.best else 0.75 if ahead else faint,
            }
            points = _POINTS if ahead else sheet.points
            values = sheet.line(run, 0, part, points, **more)
            _mark_end(sheet, run, part, values, ring=run.best, cross=ahead or faint > 0.2)
            if ahead and not run.diverged:
                ends.append((run, float(values[-1]), values.size))
        _label_ends(sheet, part, ends, (width, height), full)
    chart = sheet.layers(width, height)
    column = alt.Column("part:N").title(None).sort(list(sheet.fields))
    return chart.facet(column=column, data=data(sheet.rows), spacing=20)


def _mark_end(
    sheet: _Sheet,
    run: TrainingCurve,
    part: str,
    values: Array,
    *,
    ring: bool = True,
    cross: bool = True,
    **more: Any,
) -> None:
    """Add a mark where a diverged run leaves the chart or ends, or a ring at the best epoch."""
    if run.diverged and cross:
        low, high = sheet.span
        beyond = np.flatnonzero(~(values <= high))
        at = int(beyond[0]) if len(beyond) else len(values) - 1
        height = min(max(float(np.nan_to_num(values[at], nan=np.inf)), low), high)
        more |= {"shape": "triangle-up" if len(beyond) else "square", "words": run.words}
        sheet.point("cross", part, at + 1, height, colour="diverged", **more)
    elif ring and run.ring_epoch and not run.diverged:
        at = run.ring_epoch - 1
        if at < len(values) and sheet.span[0] <= values[at] <= sheet.span[1]:
            height = float(values[at])
            sheet.point("ring", part, at + 1, height, colour="best epoch", words=run.words, **more)


def _label_ends(
    sheet: _Sheet,
    part: str,
    ends: Sequence[tuple[TrainingCurve, float, int]],
    size: tuple[int, int],
    full: bool,
) -> None:
    """Add the names of the lines at their ends, without overlaps and off the other lines."""
    height = size[1]
    by_epoch: dict[int, list[tuple[TrainingCurve, float]]] = {}
    for run, value, epoch in ends:
        if np.isfinite(value) and (value > 0.0 or not sheet.log_y):
            by_epoch.setdefault(epoch, []).append((run, value))
    for epoch, same in by_epoch.items():
        low, high = sheet.span
        inside = [min(max(value, low), high) for _, value in same]
        at = [height * share(value, sheet.span, sheet.log_y) for value in inside]
        names = [run.words if full else run.label for run, _ in same]
        letters = max(map(len, names))
        at = [
            free_height(place, _crossing(sheet, part, epoch, letters, size), height, _LABEL)
            for place in at
        ]
        for (run, _), words, place in zip(same, names, spread(at, _LABEL, height)):
            value = at_share(place / height, sheet.span, sheet.log_y)
            sheet.point("label", part, epoch, value, text=words, colour=part, words=run.words)


def _crossing(
    sheet: _Sheet, part: str, epoch: int, letters: int, size: tuple[int, int]
) -> list[tuple[float, float]]:
    """Return the lowest and highest height of every line over the width of a label, in pixels."""
    width, height = size
    span = (1.0 if sheet.log_x or sheet.epochs < 20 else 0.0, float(max(sheet.epochs, 2)))
    left = share(epoch, span, sheet.log_x) + _GAP / width
    ends = (left, left + _LETTER * letters / width)
    first, last = (at_share(end, span, sheet.log_x) for end in ends)
    out = []
    for row in sheet.rows:
        if row["layer"] != "line" or row["part"] != part or row["epoch"][-1] < first:
            continue
        inside = row["epoch"][(row["epoch"] > first) & (row["epoch"] < last)]
        values = np.interp(
            [first, *inside, min(last, row["epoch"][-1])], row["epoch"], row["value"]
        )
        values = np.clip(values, *sheet.span)
        heights = [height * share(float(value), sheet.span, sheet.log_y) for value in values]
        out.append((min(heights), max(heights)))
    return out


def _values(runs: Sequence[TrainingCurve], fields: Any) -> Array:
    found = [history[field] for run in runs for history in run.histories for field in fields]
    values = np.concatenate(found)
    return values[np.isfinite(values)]


def _measured(runs: Sequence[TrainingCurve], field: str) -> bool:
    return any(np.isfinite(run.histories[0][field]).any() for run in runs)


def _require(measure: str, layout: str) -> None:
    if measure not in MEASURES:
        known = ", ".join(repr(name) for name in MEASURES)
        raise ValueError(f"The 'measure' parameter must be one of {known}. Got {measure!r}.")
    if layout not in LAYOUTS:
        known = ", ".join(repr(name) for name in LAYOUTS)
        raise ValueError(f"The 'layout' parameter must be one of {known}. Got {layout!r} instead.")
