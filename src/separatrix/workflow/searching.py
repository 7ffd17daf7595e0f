"""The search of a penalty by cross-validation, and the chosen model on all rows but the test's."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from separatrix.arrays import Array
from separatrix.estimators import GridSearchCV
from separatrix.sources import Source
from separatrix.sources.preparation import Preparation, Settings
from separatrix.workflow.families import OptionError, Options, build, family_of
from separatrix.workflow.fitting import Trained, bundle_of, facts_of, model_facts, require_labels
from separatrix.workflow.judging import metrics_of, verdict_of, warnings_as_sentences
from separatrix.workflow.preparing import in_words, require_usable, settings_for

GRID = (0.01, 0.1, 1.0, 10.0, 100.0)


class PreparedRows(TransformerMixin, BaseEstimator):
    """Turns row numbers (n, 1) of a source into a matrix, by a preparation of the rows of `fit`.

    So every fold is prepared by what its own training rows show.
    """

    def __init__(self, source: Source, settings: Settings) -> None:
        self.source = source
        self.settings = settings

    def __sklearn_clone__(self) -> PreparedRows:
        return PreparedRows(self.source, self.settings)  # the same table, not a copy

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from these rows."""
        part = self.source.rows(np.ravel(X))
        names = None if hasattr(part.table, "kinds") else self.source.feature_names
        self.preparation_ = Preparation.fit(part.table, self.settings, feature_names=names)
        return self

    def transform(self, X: Any) -> Any:
        """The matrix of these rows."""
        return self.preparation_.transform(self.source.rows(np.ravel(X)).table, [])


def search_source(
    source: Source,
    model: str = "auto",
    options: Options | None = None,
    settings: Settings | None = None,
    *,
    Cs: Sequence[float] = GRID,
    l1s: Sequence[float] | None = None,
    folds: int = 5,
    scoring: str = "accuracy",
) -> Trained:
    """Try penalties on stratified folds of training and validation rows; measure the best.

    The best is trained once more on all these rows, and measured on the test rows.

    >>> from separatrix import load
    >>> facts = search_source(load("iris"), Cs=[0.01, 1.0], folds=3).facts
    >>> facts["best"], [round(trial["mean"], 3) for trial in facts["trials"]]
    ({'C': 1.0}, [0.88, 0.968])
    """
    require_labels(source)
    assert source.y is not None
    options = Options() if options is None else options
    settings = settings_for(source.table) if settings is None else settings
    require_usable(source, settings)
    family = family_of(model, len(np.unique(source.y)))
    grid: dict[str, list[float]] = {"C": list(Cs)} | ({"l1_ratio": list(l1s)} if l1s else {})
    if "C" not in family.takes:
        raise OptionError(f"The model '{family.name}' has no penalty to search for.")
    rows = np.sort(np.concatenate([source.splits["train"], source.splits["validation"]]))
    y = source.y[rows]
    estimator = build(family, options)
    prepare = PreparedRows(source, settings)
    began = time.perf_counter()
    with warnings_as_sentences() as told:
        search, prepare, best = _searched(prepare, estimator, grid, rows, y, folds, scoring)
    seconds = time.perf_counter() - began
    preparation = prepare.preparation_
    metrics = {"train": metrics_of(best, prepare.transform(rows), y)}
    test = source.splits["test"]
    if len(test):
        metrics["test"] = metrics_of(best, prepare.transform(test), source.y[test])
    facts = {
        "source": facts_of(source, preparation, best),
        "notes": [*source.notes, *in_words(preparation, settings)],
        "model": model_facts(family, best),
        "folds": folds,
        "scoring": scoring,
        "trials": _trials(search, folds),
        "warnings": told,
        "best": _plain(search.best_params_),
        "advice": _advice(grid, _plain(search.best_params_)),
        "verdict": verdict_of(best) | {"seconds": seconds},
        "metrics": metrics,
    }
    return Trained(bundle_of(source, preparation, best, metrics, ("test",)), facts)


def _searched(
    prepare: PreparedRows,
    estimator: Any,
    grid: dict[str, list[float]],
    rows: Array,
    y: Array,
    folds: int,
    scoring: str,
) -> tuple[Any, PreparedRows, Any]:
    """The search, and of its best candidate the preparation and the model."""
    options = {"cv": folds, "scoring": scoring, "error_score": "raise"}
    if learns_nothing(prepare.source.table, prepare.settings):
        prepare.fit(rows)  # one matrix for all folds, which makes one batch
        search = GridSearchCV(estimator, grid, **options).fit(prepare.transform(rows), y)
        return search, prepare, search.best_estimator_
    pipeline = Pipeline([("prepare", prepare), ("model", estimator)])
    prefixed = {f"model__{name}": values for name, values in grid.items()}
    search = GridSearchCV(pipeline, prefixed, **options).fit(rows[:, None], y)
    prepare, best = (step for _, step in search.best_estimator_.steps)
    return search, prepare, best


def learns_nothing(table: Any, settings: Settings) -> bool:
    """Whether a preparation is the same whatever its rows are.

    >>> import scipy.sparse as sp
    >>> learns_nothing(sp.csr_array(np.eye(2)), Settings())
    True
    >>> learns_nothing(np.eye(2), Settings(standardise=True))
    False
    """
    if hasattr(table, "kinds") or settings.standardise:
        return False
    whole = not isinstance(table, np.ndarray) or table.dtype.kind != "f"
    return whole or bool(np.isfinite(table).all())


def _trials(search: Any, folds: int) -> list[dict[str, Any]]:
    """A row for every candidate: its parameters, and its score on every fold."""
    table = search.cv_results_
    scores: Array = np.array([table[f"split{k}_test_score"] for k in range(folds)])
    return [
        {
            "parameters": _plain(given),
            "mean": float(table["mean_test_score"][k]),
            "deviation": float(table["std_test_score"][k]),
            "two_deviations": 2 * float(table["std_test_score"][k]),
            "scores": scores[:, k].tolist(),
        }
        for k, given in enumerate(table["params"])
    ]


def _plain(given: dict[str, Any]) -> dict[str, float]:
    """Parameters by the names of a user's options."""
    names = {name: name.removeprefix("model__") for name in given}
    return {
        "l1" if names[name] == "l1_ratio" else names[name]: float(value)
        for name, value in given.items()
    }


def _advice(grid: dict[str, list[float]], best: dict[str, float]) -> str | None:
    """What a best value at the end of the grid says."""
    Cs, chosen = sorted(grid["C"]), best["C"]
    if len(Cs) > 1 and chosen == Cs[-1]:
        return f"The best C is the largest tried: extend the grid upwards, to {10 * chosen:g}."
    if len(Cs) > 1 and chosen == Cs[0]:
        return f"The best C is the smallest tried: extend the grid downwards, to {chosen / 10:g}."
    return None
