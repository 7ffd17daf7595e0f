"""Explain one training step that starts from the weights of a model, for one row."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from separatrix.explain.computation_graph.nodes import MOST_LINES
from separatrix.explain.predictions import read_row
from separatrix.explain.steps import Step, step
from separatrix.explain.text_tables import to_builtin
from separatrix.explain.weights import Weights, weights_of
from separatrix.text import counted, named_class


def step_of(model: Any, row: Any, label: Any = None, *, learning_rate: float = 0.01) -> Step:
    """Explain one step of gradient descent from the weights of a model, for one row.

    Parameters
    ----------
    model, row, label : as in `explain.prediction`. The true class must be known
    learning_rate : the learning rate of the step

    The step uses the loss of the row without the penalty of the model. Features that are 0 in the
    row are left out, because the step does not change their weights. If the model was trained on
    standardised features, the values are standardised.

    >>> from separatrix import explain
    >>> words = ["always 1", "positive word", "negative word"]
    >>> model = explain.weights([-1, 2, -3], names=words, classes=["bad", "good"])
    >>> found = explain.step_of(model, [1, 1, 0], "good", learning_rate=0.1)
    >>> print(found.legend)
    True class y: good. Score: z for good. Features: x_1 always 1, x_2 positive word. 1 feature is \
0 in this row and left out: the step does not change its weights.
    >>> [round(w, 4) for w in found.weights], round(found.after, 4), found.graph.agrees
    ([-0.9731, 2.0269], 0.2991, True)
    """
    seen = weights_of(model)
    x, _, own = read_row(model, seen, row, [])
    label = own if label is None else to_builtin(label)
    if label is None:
        raise ValueError(
            "A step needs the true class of the row. Pass label=, one of "
            f"{', '.join(map(str, seen.classes))}, or a source with labels."
        )
    number = seen.number_of(label)
    kept = np.flatnonzero(x[0])
    kept = kept if len(kept) else np.arange(1)
    one = len(seen.W) == 1
    W, b = (seen.W[0, kept], seen.b[0]) if one else (seen.W[:, kept], seen.b)
    bias = b if seen.b.any() or getattr(seen.estimator, "fit_intercept", False) else None
    found = step(x[0, kept], number, W, bias, loss=seen.loss, learning_rate=learning_rate)
    names = tuple(seen.names[j] for j in kept)
    return replace(found, names=names, legend=_legend(seen, label, names))


def _legend(seen: Weights, label: Any, names: tuple[str, ...]) -> str:
    """Explain the variables of the graph in sentences."""
    outputs = seen.classes[-len(seen.W) :]
    several = len(outputs) > 1
    scores = [f"z{f'_{k}' * several} for {named_class(c)}" for k, c in enumerate(outputs, 1)]
    values = [f"x_{k} {name}" for k, name in enumerate(names[:MOST_LINES], 1)]
    if len(names) > len(values):
        values.append(f"and {len(names) - len(values):,} more")
    legend = (
        f"True class y: {label}. Score{'s' * several}: {', '.join(scores)}. "
        f"Feature{'s' * (len(names) > 1)}: {', '.join(values)}."
    )
    gone = len(seen.names) - len(names)
    if not gone:
        return legend
    are, their = ("is", "its") if gone == 1 else ("are", "their")
    what = f"{counted(gone, 'feature')} {are} 0 in this row and left out"
    return f"{legend} {what}: the step does not change {their} weights."
