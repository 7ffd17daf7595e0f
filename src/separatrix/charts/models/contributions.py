"""The contributions of the features to a prediction, as bars or as images."""

from __future__ import annotations

import json
from typing import Any

import altair as alt
import numpy as np

from separatrix.charts.drawing.chart_data import data, short
from separatrix.charts.drawing.png_image import colour
from separatrix.charts.drawing.theme import OTHERS, TRAINING, VALIDATION, finish
from separatrix.charts.models.weight_images import full_shade, images, signed
from separatrix.explain import Prediction, Template
from separatrix.explain.text_tables import cut
from separatrix.text import counted, named_class

MOST = 20  # largest number of bars
_WIDTH, _SIDE = 300, 190
_LONGEST = 34  # characters of a feature's name
_KINDS = {"for": TRAINING, "against": VALIDATION, "sum": OTHERS}


def contributions(found: Prediction) -> Any:
    """Draw the contributions of the features to a prediction: bars, or images for an image.

    `found` is a result of `explain.prediction`. The bars include the smaller features, the bias and
    the threshold, and add up to the margin: the score of the predicted class minus the score of the
    runner-up. For an image, the chart shows the pixels, the weights and their product.

    >>> from separatrix import charts, explain
    >>> model = explain.weights([-1, 2, -3], names=["always 1", "positive word", "negative word"])
    >>> chart = charts.contributions(explain.prediction(model, [1, 1, 1]))
    >>> chart.to_dict()["description"].partition("Largest contributions: ")[2]
    'negative word (3), positive word (-2), always 1 (1).'
    """
    chart = _bars(found) if found.template is None else _images(found.template)
    what = "bars" if found.template is None else "pixels"
    decision, other = (named_class(label) for label in (found.decision, found.runner_up))
    colours = f"Blue {what} favour {decision}, orange {what} favour {other}."
    parts = found.contributions[:3]
    largest = ", ".join(f"{part.feature} ({short(part.towards)})" for part in parts)
    most = f" Largest contributions: {largest}." if largest else ""
    title = f"Why the prediction is {cut(decision, _LONGEST)}"
    lines = [found.verdict, colours]
    return finish(chart, title, lines, f"{found.verdict}{most}")


def _bars(found: Prediction) -> Any:
    """Return bars for the largest contributions, the sum of the others, the bias and the margin."""
    shown = found.contributions[:MOST]
    rows: list[dict[str, Any]] = [
        {
            "feature": cut(part.feature, _LONGEST),
            "told": f"{cut(part.feature, _LONGEST)} = {short(part.shown)}",
            "towards": part.towards,
        }
        for part in shown
    ]
    ends = [("bias", found.bias_towards), ("threshold", found.threshold_towards)]
    others = found.hidden + len(found.contributions) - len(shown)
    if others:
        ends.insert(0, (counted(others, "smaller contribution"), found.smaller(len(shown))))
    ends = [(name, value) for name, value in ends if value or name == "bias"]
    rows += [{"feature": name, "told": name, "towards": value} for name, value in ends]
    for k, row in enumerate(rows):
        row |= {"place": k, "kind": "for" if row["towards"] >= 0.0 else "against"}
    margin = {"feature": "margin", "told": "margin (the sum)", "towards": found.margin}
    rows.append(margin | {"place": len(rows), "kind": "sum"})
    return _bar_chart(rows)


def _bar_chart(rows: list[dict[str, Any]]) -> Any:
    for row in rows:
        row["text"] = f"{row['towards']:+.4g}".replace("-", "−")
    values = [row["towards"] for row in rows]
    low, high = min(*values, 0.0), max(*values, 0.0)
    room = 0.22 * (high - low) or 1.0  # for the numbers at the ends of the bars
    span = [low - room if low < 0.0 else 0.0, high + room]
    labels = json.dumps({str(row["place"]): row["told"] for row in rows})
    x = alt.X("towards:Q").title("contribution to the margin").scale(domain=span, nice=False)
    y = alt.Y("place:O").title(None)
    y = y.axis(domain=False, ticks=False, labelLimit=260, labelExpr=f"{labels}[datum.label]")
    base = alt.Chart(data(rows)).encode(x=x.axis(tickCount=5, format=".6~g"), y=y)
    hue = alt.Color("kind:N").legend(None)
    hue = hue.scale(domain=list(_KINDS), range=list(_KINDS.values()))
    right, left = (base.transform_filter(f"datum.towards {sign} 0") for sign in (">=", "<"))
    return alt.layer(
        base.mark_bar().encode(
            color=hue,
            tooltip=[
                alt.Tooltip("told:N", title="feature"),
                alt.Tooltip("towards:Q", title="contribution"),
            ],
        ),
        right.mark_text(align="left", dx=4).encode(text="text:N"),
        left.mark_text(align="right", dx=-4).encode(text="text:N"),
    ).properties(width=_WIDTH, height=alt.Step(21))


def _images(template: Template) -> Any:
    """Return the image, the difference of the weights of the two classes, and their product.

    The product uses the prepared pixels. After standardisation, blank pixels are not zero.
    """
    pixels = np.array(template.pixels)
    least, most = float(pixels.min()), float(pixels.max())
    shade = np.empty((*pixels.shape, 4))
    shade[..., :3] = colour(OTHERS)
    shade[..., 3] = (pixels - least) / ((most - least) or 1.0)
    weights, products = np.array(template.weights), np.array(template.products)
    prepared = not np.allclose(products, pixels * weights, rtol=1e-6, atol=1e-9)
    what = "prepared image × weights" if prepared else "image × weights"
    panels = {
        "image": shade,
        "weights": signed(weights, full_shade(weights)),
        what: signed(products, full_shade(products)),
    }
    return images(panels, _SIDE, columns=3)
