"""Why a row was given its class: what every feature adds, as bars or as images."""

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
from separatrix.explain.text_tables import cut, wrapped
from separatrix.text import counted

MOST = 20  # bars
_WIDTH, _SIDE = 300, 190
_LONGEST = 34  # letters of a feature's name
_KINDS = {"for": TRAINING, "against": VALIDATION, "sum": OTHERS}


def contributions(found: Prediction) -> Any:
    """Draw what the features of a row add to its decision: bars, or images for an image.

    `found` is of `explain.prediction`. The bars, those of smaller features, the bias and the
    threshold included, add up to the margin: the score of the decision less that of the runner-up.
    Of an image there are its pixels, the weights, and the one times the other.

    >>> from separatrix import charts, explain
    >>> model = explain.weights([-1, 2, -3], names=["always 1", "positive word", "negative word"])
    >>> chart = charts.contributions(explain.prediction(model, [1, 1, 1]))
    >>> chart.to_dict()["description"]
    '0, 2 ahead of 1, at a distance of 0.53452 from the plane. Largest: negative word 3, positive \
word -2, always 1 1.'
    """
    chart = _bars(found) if found.template is None else _images(found.template)
    what = "Bars" if found.template is None else "Pixels"
    blue = f"{what} in blue speak for {found.decision}, those in orange for {found.runner_up}."
    largest = ", ".join(f"{part.feature} {short(part.towards)}" for part in found.contributions[:3])
    description = f"{found.verdict} Largest: {largest}." if largest else found.verdict
    title = f"Why {cut(str(found.decision), _LONGEST)}"
    return finish(chart, title, [*wrapped(found.verdict, 84), blue], description)


def _bars(found: Prediction) -> Any:
    """The largest contributions, the others as one, the bias, and the sum."""
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
        ends.insert(0, (counted(others, "smaller one"), found.smaller(len(shown))))
    ends = [(name, value) for name, value in ends if value or name == "bias"]
    rows += [{"feature": name, "told": name, "towards": value} for name, value in ends]
    for k, row in enumerate(rows):
        row |= {"place": k, "kind": "for" if row["towards"] >= 0.0 else "against"}
    margin = {"feature": "margin", "told": "margin: the sum", "towards": found.margin}
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
    x = alt.X("towards:Q").title("towards the decision").scale(domain=span, nice=False)
    y = alt.Y("place:O").title(None)
    y = y.axis(domain=False, ticks=False, labelLimit=260, labelExpr=f"{labels}[datum.label]")
    base = alt.Chart(data(rows)).encode(x=x.axis(tickCount=5, format=".6~g"), y=y)
    hue = alt.Color("kind:N").legend(None)
    hue = hue.scale(domain=list(_KINDS), range=list(_KINDS.values()))
    right, left = (base.transform_filter(f"datum.towards {sign} 0") for sign in (">=", "<"))
    return alt.layer(
        base.mark_bar().encode(color=hue, tooltip=["told:N", "towards:Q"]),
        right.mark_text(align="left", dx=4).encode(text="text:N"),
        left.mark_text(align="right", dx=-4).encode(text="text:N"),
    ).properties(width=_WIDTH, height=alt.Step(21))


def _images(template: Template) -> Any:
    """The image, the weights of the decision less the runner-up's, and their products.

    The products are of the pixels as the model sees them: standardised, a blank one counts, too.
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
        "the image": shade,
        "the weights": signed(weights, full_shade(weights)),
        what: signed(products, full_shade(products)),
    }
    return images(panels, _SIDE, columns=3)
