"""A training step as a computation graph: scores, probabilities, loss, gradients, update."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from separatrix.estimators.checks.validation import require_number
from separatrix.explain.computation_graph.expressions import judged
from separatrix.explain.computation_graph.finite_differences import Slope, slope
from separatrix.explain.computation_graph.nodes import MOST_LINES, Graph, Node, entries
from separatrix.explain.input_checks import loss_of, numbers_of, require_class_numbers
from separatrix.explain.loss_nodes import loss_node
from separatrix.explain.text_tables import change, facts, number, table, to_builtin, wrapped
from separatrix.losses import Loss, OneVsRest
from separatrix.matrix import Array
from separatrix.penalty import ElasticNet

MOST_CHECKED = 60  # largest number of gradient entries compared with finite differences


@dataclass(frozen=True)
class Step:
    """One step of gradient descent, number by number.

    Attributes
    ----------
    graph : the computation graph from the rows to the objective
    loss, learning_rate, l1 : of the step
    gradient, bias_gradient : the derivatives at the nodes "W" and "b" of the graph
    weights, bias : after the step
    before, after : the objective before and after the step
    names : the names of the features, if they are known
    legend : an explanation of y, z and x
    """

    graph: Graph
    loss: str
    learning_rate: float
    l1: float
    gradient: Any
    bias_gradient: Any
    weights: Any
    bias: Any
    before: float
    after: float
    names: tuple[str, ...] = ()
    legend: str = ""

    def to_text(self, width: int = 80) -> str:
        """Format the graph, the update, and the change of the objective."""
        lines = [*wrapped(self.legend, width), ""] if self.legend else []
        lines += [self.graph.to_text(width), ""]
        rows = entries("W", self.graph["W"].value, self.gradient, self.weights)
        if self.bias is not None:
            rows += entries("b", self.graph["b"].value, self.bias_gradient, self.bias)
        more = len(rows) - MOST_LINES
        lines += table(("", "before", "gradient", "after"), rows[:MOST_LINES], width)
        lines += [f"and {more} more"] if more > 0 else []
        rule = f"after = before - {number(self.learning_rate)} * gradient"
        if self.l1:
            rule += f", then the weights shrink by {number(self.learning_rate * self.l1)} towards 0"
        before, after = change(self.before, self.after)
        effect = f"The objective fell from {before} to {after}."
        if not self.after < self.before:
            effect = f"The objective did not fall: {before} before the step, {after} after it."
        return "\n".join([*lines, "", *wrapped(f"{rule}. {effect}", width)])

    def to_dict(self) -> dict[str, Any]:
        """Return all values as JSON values."""
        return facts(self) | {"graph": self.graph.to_dict()}


def step(
    X: Any,
    y: Any,
    weights: Any,
    bias: Any = None,
    *,
    loss: str | Loss = "logistic",
    learning_rate: float = 0.01,
    l1: float = 0.0,
    l2: float = 0.0,
) -> Step:
    """Explain one step of gradient descent, for any loss.

    Parameters
    ----------
    X, y : a row (d,) and its class number, or rows (n, d) and class numbers (n,). The losses of
        several rows are averaged
    weights, bias : (d,) and a number, or (K, d) and (K,) as in `coef_` and `intercept_`. None means
        no bias
    loss : a name in LOSSES, or a Loss
    learning_rate : the learning rate of the step
    l1, l2 : the penalties. As in the solver, an L1 penalty shrinks the weights towards 0 after the
        step

    The gradients are computed by the loss and compared with finite differences of its value. Of
    large gradients, the 60 largest entries are compared.

    >>> found = step([1, 0.82], 1, [0.04, 0.5], learning_rate=0.01)
    >>> print(found.to_text())
    node  formula                          value  dL/d(node)
    x_1   given                                1
    x_2                                     0.82
    W_1   given                             0.04    -0.38936
    W_2                                      0.5    -0.31928
    z     W x                               0.45    -0.38936
    a     sigmoid(z)                     0.61064     -1.6376
    L     -y log a - (1 - y) log(1 - a)  0.49325           1
    <BLANKLINE>
    Finite differences agree with 2 derivatives (largest difference ...).
    <BLANKLINE>
         before  gradient     after
    W_1    0.04  -0.38936  0.043894
    W_2     0.5  -0.31928   0.50319
    <BLANKLINE>
    after = before - 0.01 * gradient. The objective fell from 0.49325 to 0.49072.
    """
    require_number("learning_rate", learning_rate, open_low=True)
    require_number("l1", l1)
    require_number("l2", l2)
    problem = _Problem.of(X, y, weights, bias, loss, l2)
    GW, gb = problem.gradients()
    shrink = ElasticNet(float(l1), float(l2)).shrink_l1
    W = shrink((problem.W - learning_rate * GW)[:, None, :], learning_rate)[:, 0]
    b = None if gb is None else problem.b - learning_rate * gb
    after = replace(problem, W=W, b=problem.b if b is None else b)
    sizes = [float(l1) * float(np.abs(each.W).sum()) for each in (problem, after)]
    return Step(
        graph=problem.graph(GW, gb),
        loss=problem.loss.name,
        learning_rate=float(learning_rate),
        l1=float(l1),
        gradient=problem.shown_weights(GW),
        bias_gradient=None if gb is None else problem.shown_outputs(gb),
        weights=problem.shown_weights(W),
        bias=None if b is None else problem.shown_outputs(b),
        before=problem.value() + sizes[0],
        after=after.value() + sizes[1],
    )


def scores(Z: Any, y: Any, *, loss: str | Loss = "softmax") -> Graph:
    """Return the computation graph from scores to a loss, if the features are not known.

    Z (K,) and a class number y, or Z (n, K) and y (n,). The losses of several rows are averaged.

    >>> cats = [[5.6, 6.4, -4.6], [-1.8, 10.2, 3.5], [2.0, 5.4, -8.6]]
    >>> found = scores(cats, [0, 1, 2], loss="perceptron")
    >>> [round(each, 1) for each in found["loss"].value], round(found.output.value, 2)
    ([0.8, 0.0, 24.6], 8.47)
    """
    Z = numbers_of("Z", Z)
    one = Z.ndim < 2
    rows = Z.reshape(1, -1) if one else Z
    # With the identity matrix as X, the scores are the weights.
    problem = _Problem.of(np.eye(len(rows)), np.reshape(y, -1), rows.T, None, loss, 0.0)
    problem = replace(problem, one_row=one)
    found = problem.graph(*problem.gradients())
    numeric = problem.shown_rows(np.asarray(found["W"].numeric).T)
    first = [node.name for node in found].index("z")
    z, *rest = found.nodes[first:]
    return replace(found, nodes=(replace(z, formula="", inputs=(), numeric=numeric), *rest))


@dataclass(frozen=True, eq=False)
class _Problem:
    """Rows, labels and weights of one step: X (n, d), y (n,), W (d, K), b (K,)."""

    X: Array
    y: Array
    W: Array
    b: Array
    loss: Loss
    l2: float
    with_bias: bool
    one_row: bool
    one_output: bool

    @classmethod
    def of(cls, X: Any, y: Any, weights: Any, bias: Any, loss: str | Loss, l2: float) -> _Problem:
        X, W = numbers_of("X", X), numbers_of("weights", weights)
        one_row, one_output = X.ndim == 1, W.ndim == 1
        rows, coef = np.atleast_2d(X), np.atleast_2d(W)
        labels = np.atleast_1d(np.asarray(y))
        b = np.zeros(len(coef)) if bias is None else np.atleast_1d(numbers_of("bias", bias))
        _require_shapes(rows, labels, coef, b)
        made = loss_of(loss)
        require_class_numbers(labels, classes_of(made, len(coef)))
        return cls(
            rows, labels.astype(np.int32), coef.T, b, made, float(l2), bias is not None,
            one_row, one_output,
        )  # fmt: skip

    def scores(self) -> Array:
        return (self.X @ self.W + self.b)[:, None, :]

    def value(self) -> float:
        """Return the mean loss plus the L2 term."""
        losses = self.loss.value(self.y, self.scores())
        return float(losses.mean()) + 0.5 * self.l2 * float((self.W**2).sum())

    def gradients(self) -> tuple[Array, Array | None]:
        G = self.loss.gradient(self.y, self.scores())[:, 0] / len(self.y)
        return self.X.T @ G + self.l2 * self.W, G.sum(axis=0) if self.with_bias else None

    def graph(self, GW: Array, gb: Array | None) -> Graph:
        """Build the graph, and compare the largest gradient entries with finite differences."""
        slopes = {k: self._slope("W", k) for k in _largest(GW)}
        biases = {} if gb is None else {k: self._slope("b", k) for k in _largest(gb)}
        pairs = [(float(GW[k]), found) for k, found in slopes.items()]
        pairs += [] if gb is None else [(float(gb[k]), found) for k, found in biases.items()]
        by_weights = self.shown_weights(_filled(GW.shape, slopes))
        by_bias = None if gb is None else self.shown_outputs(_filled(gb.shape, biases))
        return Graph(tuple(self.nodes(GW, gb, by_weights, by_bias)), *judged(pairs))

    def _slope(self, which: str, place: tuple[int, ...]) -> Slope:
        start = self.W if which == "W" else self.b

        def f(value: float) -> float:
            moved = start.copy()
            moved[place] = value
            other = replace(self, W=moved) if which == "W" else replace(self, b=moved)
            return other.value()

        return slope(f, float(start[place]))

    def nodes(self, GW: Array, gb: Array | None, by_weights: Any, by_bias: Any) -> list[Node]:
        n, Z = len(self.y), self.scores()
        G = self.loss.gradient(self.y, Z)
        x = "x" if self.one_row else "X"
        product = "W x" if self.one_row else "X W'"
        nodes = [
            Node(x, "", (), to_builtin(self.X[0] if self.one_row else self.X)),
            Node("W", "", (), self.shown_weights(self.W), self.shown_weights(GW), by_weights),
        ]
        made_of: tuple[str, ...] = (x, "W")
        if gb is not None:
            b, slopes = self.shown_outputs(self.b), self.shown_outputs(gb)
            nodes.append(Node("b", "", (), b, slopes, by_bias))
            made_of, product = (*made_of, "b"), f"{product} + b"
        nodes.append(Node("z", product, made_of, self.shown_scores(Z), self.shown_scores(G / n)))
        inner = loss_node(self.loss, self.y, Z, G)
        if inner is not None:
            value, slopes = (self.shown_rows(a[:, 0]) for a in (inner.value, inner.derivative / n))
            nodes.append(Node(inner.name, inner.formula, ("z",), value, slopes))
        return [*nodes, *self._ends("z" if inner is None else inner.name, inner)]

    def _ends(self, before: str, inner: Any) -> list[Node]:
        """Return the nodes of the losses of the rows, their mean, and the objective."""
        losses = self.loss.value(self.y, self.scores())[:, 0]
        n, mean = len(losses), float(losses.mean())
        formula = f"{self.loss.name}(y, z)" if inner is None else inner.loss
        nodes = []
        if not self.one_row:
            nodes.append(Node("loss", formula, (before,), to_builtin(losses), (1.0 / n,) * n))
            before, formula = "loss", f"mean of {n}"
        nodes.append(Node("L", formula, (before,), mean, 1.0))
        if self.l2:
            P = self.value()
            nodes.append(Node("P", f"L + {self.l2:g}/2 |W|^2", ("L", "W"), P, 1.0))
        return nodes

    def shown_weights(self, W: Array) -> Any:
        return to_builtin(W[:, 0] if self.one_output else W.T)

    def shown_outputs(self, b: Array) -> Any:
        return to_builtin(b[0] if self.one_output else b)

    def shown_scores(self, Z: Array) -> Any:
        return self.shown_rows(Z[:, 0, 0] if self.one_output else Z[:, 0])

    def shown_rows(self, a: Array) -> Any:
        return to_builtin(a[0] if self.one_row else a)


def _filled(shape: tuple[int, ...], slopes: dict[tuple[int, ...], Slope]) -> Array:
    """Return an array with the slopes at their positions, and NaN elsewhere."""
    out = np.full(shape, np.nan)
    for place, found in slopes.items():
        out[place] = found.value
    return out


def _largest(G: Array) -> list[tuple[int, ...]]:
    order = np.argsort(-np.abs(G), axis=None, kind="stable")[:MOST_CHECKED]
    return [tuple(int(i) for i in np.unravel_index(k, G.shape)) for k in order]


def _require_shapes(X: Array, y: Array, coef: Array, b: Array) -> None:
    n, d = X.shape if X.ndim == 2 else (0, 0)
    if X.ndim != 2 or not X.size or len(y) != n or y.ndim != 1:
        raise ValueError(
            "X and y must be a row (d,) and its class number, or rows (n, d) and numbers (n,). "
            f"Got shapes {X.shape} and {y.shape} instead."
        )
    if coef.ndim != 2 or coef.shape[1] != d or b.shape != (len(coef),):
        raise ValueError(
            f"The rows have {d} features: weights must have shape ({d},) or (K, {d}), and the "
            f"bias must be a number or have shape (K,). Got {coef.shape} and {b.shape} instead."
        )
    for name, a in (("X", X), ("weights", coef), ("bias", b)):
        if not np.isfinite(a).all():
            raise ValueError(f"All entries of {name} must be finite.")


def classes_of(loss: Loss, n_outputs: int) -> int:
    """Return the number of classes for which a loss has the given number of outputs.

    >>> classes_of(loss_of("softmax_reference"), 2)
    3
    """
    if isinstance(loss, OneVsRest):
        return n_outputs
    for n_classes in dict.fromkeys((n_outputs, n_outputs + 1)):
        if n_classes >= 2 and _outputs(loss, n_classes) == n_outputs:
            return n_classes
    if n_outputs == 2:  # two classes with a score each
        return 2
    raise ValueError(
        f"Loss '{loss.name}' does not take {n_outputs} outputs. Change the shape of the weights, "
        "or choose another loss."
    )


def _outputs(loss: Loss, n_classes: int) -> int:
    try:
        return loss.n_outputs(n_classes)
    except ValueError:
        return 0
