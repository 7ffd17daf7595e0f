"""Draw the picture of the README: a sweep of learning rates, and decision boundaries.

    python examples/picture.py docs/_static/separatrix.svg

The SVG is written directly, without a plotting library.
"""

import sys
from itertools import combinations
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

from separatrix import GradientDescentClassifier, fit_many

WIDTH, HEIGHT = 900, 380
INK, GREY, RULE = "#1c2430", "#667080", "#e3e7ec"
CLASSES = ("#2f6fb0", "#d9822b", "#3a9a6b")
SLOW, FAST = np.array([205, 214, 226]), np.array([24, 60, 120])
EPOCHS = 1000
READINGS = (10, 100, 400, 3000)


class Panel:
    """A rectangle of the picture with its own scales; x may be logarithmic."""

    def __init__(self, left, top, width, height, x_range, y_range, log_x=False):
        self.box = (left, top, width, height)
        self.x_range, self.y_range, self.log_x = x_range, y_range, log_x

    def x(self, value):
        low, high = self.x_range
        if self.log_x:
            value, low, high = np.log(value), np.log(low), np.log(high)
        return self.box[0] + self.box[2] * (value - low) / (high - low)

    def y(self, value):
        low, high = self.y_range
        return self.box[1] + self.box[3] * (high - value) / (high - low)

    def path(self, points):
        return "M" + "L".join(f"{self.x(x):.1f} {self.y(y):.1f}" for x, y in points)

    def frame(self, title, x_name, y_name, x_ticks, y_ticks):
        left, top, width, height = self.box
        yield text(left, top - 32, title, size=15, fill=INK, weight=600)
        yield text(left, top - 12, y_name)
        for value in y_ticks:
            at = self.y(value)
            yield f'<path d="M{left} {at:.1f}h{width}" stroke="{RULE}"/>'
            yield text(left - 8, at + 4, f"{value:g}", anchor="end")
        for value in x_ticks:
            yield text(self.x(value), top + height + 18, f"{value:g}", anchor="middle")
        yield text(left + width, top + height + 36, x_name, anchor="end")


def text(x, y, words, *, size=12, fill=GREY, anchor="start", weight=400):
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" text-anchor="{anchor}" '
        f'font-weight="{weight}">{words}</text>'
    )


def sweep_panel(X, y):
    """Draw the training loss for many learning rates, trained by one call of fit_many."""
    rates = np.geomspace(1e-5, 0.08, 24)
    sweep = fit_many(
        [GradientDescentClassifier(learning_rate=rate, epochs=EPOCHS) for rate in rates], X, y
    )
    panel = Panel(54, 70, 360, 250, (1, EPOCHS), (0.0, 1.2), log_x=True)
    yield from panel.frame(
        f"{len(rates)} learning rates, trained together",
        "epoch",
        "training loss on Iris",
        (1, 10, 100, 1000),
        (0.0, 0.4, 0.8, 1.2),
    )
    epochs = np.unique(np.geomspace(1, EPOCHS, 120).astype(int))
    for k, model in enumerate(sweep):
        colour = "#{:02x}{:02x}{:02x}".format(
            *(SLOW + (FAST - SLOW) * k / (len(sweep) - 1)).astype(int)
        )
        curve = zip(epochs, model.history_["train_loss"][epochs - 1])
        yield f'<path d="{panel.path(curve)}" fill="none" stroke="{colour}" stroke-width="1.4"/>'
    for k in (0, len(sweep) - 1):
        end = panel.y(sweep[k].history_["train_loss"][-1])
        yield text(
            panel.x(EPOCHS) + 5, end + 4, f"rate {rates[k]:.0e}".replace("e-0", "e-"), fill=INK
        )


def boundary_panel(X, y):
    """Draw three classes in two features, and the boundaries at several epochs of one run."""
    X = X[:, 2:]
    models = fit_many(
        [
            GradientDescentClassifier(learning_rate=0.1, momentum=0.9, epochs=epochs)
            for epochs in READINGS
        ],
        X,
        y,
    )
    panel = Panel(510, 70, 330, 250, (0.6, 7.2), (0.0, 2.7))
    yield from panel.frame(
        f"One run at {len(READINGS)} epochs",
        "petal length (cm)",
        "petal width (cm), and the boundaries between the classes",
        range(1, 8),
        (0.0, 0.9, 1.8, 2.7),
    )
    for model, epochs in zip(models, READINGS):
        last = epochs == READINGS[-1]
        style = f'stroke="{INK}" stroke-width="2"' if last else f'stroke="{GREY}" opacity="0.55"'
        dash = "" if last else ' stroke-dasharray="4 3"'
        for start, stop in boundaries(model, panel):
            yield f'<path d="{panel.path([start, stop])}" fill="none" {style}{dash}/>'
            right = max(start, stop)
            if right[0] > panel.x_range[1] - 1e-9:
                yield text(panel.x(right[0]) + 5, panel.y(right[1]) + 4, epochs, fill=INK)
    rng = np.random.default_rng(0)
    for (length, width), label in zip(X + rng.uniform(-0.03, 0.03, X.shape), y):
        yield (
            f'<circle cx="{panel.x(length):.1f}" cy="{panel.y(width):.1f}" r="3.2" '
            f'fill="{CLASSES[label]}" fill-opacity="0.75" stroke="#fff" stroke-width="0.6"/>'
        )
    for label, (name, x, height) in enumerate(
        [("setosa", 2.1, 0.28), ("versicolor", 4.55, 0.78), ("virginica", 3.45, 2.36)]
    ):
        yield text(panel.x(x), panel.y(height), name, fill=CLASSES[label], weight=600)


def boundaries(model, panel):
    """Yield the segments in the panel on which two classes share the highest score."""
    coef, intercept = model.coef_, model.intercept_
    for j, k in combinations(range(len(coef)), 2):
        normal, offset = coef[j] - coef[k], intercept[j] - intercept[k]
        origin = -offset * normal / (normal @ normal)
        along = np.array([-normal[1], normal[0]])
        limits = [
            (np.array([1.0, 0.0]), -panel.x_range[0]),
            (np.array([-1.0, 0.0]), panel.x_range[1]),
            (np.array([0.0, 1.0]), -panel.y_range[0]),
            (np.array([0.0, -1.0]), panel.y_range[1]),
        ]
        limits += [(coef[j] - coef[i], intercept[j] - intercept[i]) for i in {0, 1, 2} - {j, k}]
        low, high = -np.inf, np.inf
        for direction, constant in limits:  # direction . point + constant >= 0
            slope, value = direction @ along, direction @ origin + constant
            if slope > 0:
                low = max(low, -value / slope)
            else:
                high = min(high, -value / slope)
        if low < high:
            yield tuple(origin + low * along), tuple(origin + high * along)


def main():
    X, y = load_iris(return_X_y=True)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" '
        'font-family="Helvetica, Arial, sans-serif">',
        f'<rect width="{WIDTH}" height="{HEIGHT}" rx="8" fill="#fff"/>',
        *sweep_panel(X, y),
        *boundary_panel(X, y),
        "</svg>",
    ]
    Path(sys.argv[1]).write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
