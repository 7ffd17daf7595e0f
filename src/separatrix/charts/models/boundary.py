"""Decision boundaries in two dimensions, also as an animation over the epochs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from separatrix.charts.drawing.saving import FRAME
from separatrix.charts.drawing.theme import finish
from separatrix.charts.models.boundary_scene import Frame, Scene
from separatrix.charts.models.model_words import last_step, model_words
from separatrix.estimators import fit_many
from separatrix.text import counted, percent, quoted

_WIDTH, _HEIGHT = 420, 340
_FRAMES = 24


def boundary(
    estimator: Any,
    X: Any,
    y: Any,
    names: Sequence[str] | None = None,
    *,
    features: Sequence[int | str] | None = None,
) -> Any:
    """Draw the decision boundary and the regions of a fitted classifier over two features.

    Parameters
    ----------
    estimator : a classifier of separatrix or scikit-learn, or a pipeline that ends in one
    X, y : (n, d) and (n,), the rows to draw
    names : names of the d features
    features : the two features of the axes, by number or name. None means the two that separate the
        classes best. All other features are held at their means over the rows

    The shading shows the probability of the predicted class if the classifier has probabilities.
    If the loss has a margin and there are two classes, dashed lines show the margin. Rings mark
    the support vectors, the rows where the gradient of the loss is not zero.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import LinearSVC, charts
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LinearSVC(loss="hinge", tol=1e-8).fit(X[:100, 2:], y[:100])
    >>> charts.boundary(model, X[:100, 2:], y[:100]).to_dict()["description"]
    'Decision boundary of LinearSVC for 2 classes. Accuracy 100.0 % on 100 rows. 2 support vectors.'
    """
    _require_classifier(estimator)
    scene = Scene.of(X, y, names, features)
    frame = scene.frame(estimator, 0)
    chart = alt.layer(*scene.layers([frame])).properties(width=_WIDTH, height=_HEIGHT)
    subtitle = f"Accuracy {percent(frame.accuracy)} on {counted(len(scene.y), 'row')}."
    if frame.rings:
        subtitle += f" Rings: {counted(len(frame.rings), 'support vector')}."
    if frame.least is None:
        subtitle += " Shades: predicted class."
    title = f"Decision boundary of {model_words(estimator)}"
    return finish(chart, title, [subtitle, *scene.notes], _description(estimator, scene, frame))


def boundary_frames(
    estimator: Any,
    X: Any,
    y: Any,
    epochs: Sequence[int] | None = None,
    names: Sequence[str] | None = None,
) -> Any:
    """Train a classifier of two features and draw its decision boundary at several epochs.

    Parameters
    ----------
    estimator : a classifier with the parameter `epochs`, or a pipeline that ends in one
    X, y : (n, 2) and (n,)
    epochs : the epochs to draw. None means 24 epochs, most of them near the start
    names : names of the two features

    An HTML file has a slider for the frames, a .gif is animated, and .png and .svg files show the
    last epoch.

    >>> from sklearn.datasets import load_iris
    >>> from separatrix import GradientDescentClassifier, charts
    >>> X, y = load_iris(return_X_y=True)
    >>> chart = charts.boundary_frames(GradientDescentClassifier(epochs=50), X[:, 2:], y, [1, 50])
    >>> chart.to_dict()["params"][0]["bind"]["max"]
    1
    """
    last = last_step(estimator)
    if not hasattr(last, "epochs"):
        raise ValueError(
            "The frames need a classifier with the parameter 'epochs', such as "
            f"GradientDescentClassifier or Perceptron. Got {type(last).__name__} instead."
        )
    if epochs is None:
        epochs = np.unique(np.geomspace(1, last.epochs, _FRAMES).round().astype(int)).tolist()
    if not epochs:
        raise ValueError("There are no epochs to draw. Give at least one.")
    scene = Scene.of(X, y, names, None, two=True)
    frames = [
        scene.frame(model, k, f"epoch {e:,}")
        for k, (model, e) in enumerate(zip(_models(estimator, X, y, epochs), epochs))
    ]
    slider = alt.binding_range(min=0, max=len(frames) - 1, step=1, name="frame ")
    chosen = alt.param(name=FRAME, value=len(frames) - 1, bind=slider)
    chart = alt.layer(*scene.layers(frames)).add_params(chosen)
    chart = chart.properties(width=_WIDTH, height=_HEIGHT)
    description = (
        f"Decision boundary at {counted(len(frames), 'epoch')} from {epochs[0]:,} to "
        f"{epochs[-1]:,}. Accuracy on {counted(len(scene.y), 'row')}: "
        f"{percent(frames[0].accuracy)} at the first, {percent(frames[-1].accuracy)} at the last."
    )
    subtitle = [f"{model_words(last)}.", *scene.notes]
    return finish(chart, "Decision boundary by epoch", subtitle, description)


def _models(estimator: Any, X: Any, y: Any, epochs: Sequence[int]) -> list[Any]:
    """Return the classifier after every number of epochs, with the steps before it."""
    last, rows = last_step(estimator), X
    before: list[Any] = []
    if hasattr(estimator, "steps") and len(estimator) > 1:
        head = clone(estimator[:-1])
        rows, before = head.fit_transform(X, y), head.steps
    # The models differ only in the number of epochs, so fit_many trains them as one run.
    models = fit_many([clone(last).set_params(epochs=int(e)) for e in epochs], rows, y)
    return [Pipeline([*before, ("model", model)]) if before else model for model in models]


def _description(estimator: Any, scene: Scene, frame: Frame) -> str:
    rings = f" {counted(len(frame.rings), 'support vector')}." if frame.rings else ""
    sentences = "".join(f" {note}" for note in scene.notes)
    return (
        f"Decision boundary of {type(last_step(estimator)).__name__} for "
        f"{len(estimator.classes_)} classes. Accuracy {percent(frame.accuracy)} on "
        f"{counted(len(scene.y), 'row')}.{rings}{sentences}"
    )


def _require_classifier(estimator: Any) -> None:
    """Raise unless it is a fitted classifier."""
    if not hasattr(estimator, "predict") or isinstance(estimator, type):
        raise TypeError(
            "The estimator must be a fitted classifier of separatrix or scikit-learn, or a "
            f"pipeline that ends in one. Got {quoted(estimator)} instead."
        )
    check_is_fitted(estimator)
    if not (hasattr(estimator, "classes_") and hasattr(estimator, "decision_function")):
        raise TypeError(
            f"{type(last_step(estimator)).__name__} has no classes_ or no decision_function, which "
            "the decision boundary needs. Give a classifier with both, such as "
            "LogisticRegression or KernelClassifier."
        )
