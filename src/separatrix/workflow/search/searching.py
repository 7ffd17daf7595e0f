"""Choice of the penalty by cross-validation, and training of the best candidate."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
import sklearn
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from separatrix.cluster import Cluster
from separatrix.data import BlockRows
from separatrix.errors import Message, OptionError, Parameter
from separatrix.estimators import fit_many
from separatrix.features.preparation import Preparation
from separatrix.features.settings import Settings
from separatrix.matrix import Array
from separatrix.model_files.bundle import Bundle
from separatrix.model_selection import GridSearchCV
from separatrix.model_selection.certified import SearchProgress, certified_search
from separatrix.readers import Columns, Source
from separatrix.readers.streams.stored_source import StoredSource
from separatrix.training.recording.callbacks import OnProgress, renumbered
from separatrix.workflow.facts import (
    collect_convergence_warnings,
    measure_model,
    model_facts,
    source_facts,
    verdict_facts,
)
from separatrix.workflow.fitting import make_bundle
from separatrix.workflow.model_families import (
    ModelFamily,
    ModelOptions,
    build_estimator,
    find_family,
    provable_family,
)
from separatrix.workflow.placing import OWN_COLUMNS, note_of, place_on
from separatrix.workflow.preparing import (
    choose_settings,
    describe_preparation,
    require_labelled,
    require_learnable,
)
from separatrix.workflow.search.search_candidates import (
    SearchedCandidates,
    best_candidates,
    candidate_facts,
)
from separatrix.workflow.search.search_folds import make_folds
from separatrix.workflow.search.search_scorers import (
    PROVEN_SCORES,
    make_search_scorer,
    needs_probabilities,
    require_provable,
)
from separatrix.workflow.stored_preparation import preparation_of, settings_of

DEFAULT_CS = (0.01, 0.1, 1.0, 10.0, 100.0)
DEFAULT_INTERVAL = (1e-3, 1e3)
ONE_PREPARATION = (
    "The rows were prepared once for all folds, because a proof needs the same columns in each."
)


class PrepareRows(TransformerMixin, BaseEstimator):
    """Transformer from row numbers (n, 1) of a source to a matrix; `fit` fits the preparation.

    In a pipeline it prepares every fold with a preparation fitted to the fold's training rows.
    """

    def __init__(self, source: Source, settings: Settings) -> None:
        self.source = source
        self.settings = settings

    def __sklearn_clone__(self) -> PrepareRows:
        return PrepareRows(self.source, self.settings)  # shares the table, without a copy

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the preparation to these rows."""
        if isinstance(self.source, StoredSource):
            self.preparation_ = preparation_of(self.source.table)
            return self
        part = self.source.rows(np.ravel(X))
        names = None if hasattr(part.table, "kinds") else self.source.feature_names
        self.preparation_ = Preparation.fit(part.table, self.settings, feature_names=names)
        return self

    def transform(self, X: Any) -> Any:
        """Return the matrix of these rows."""
        table = self.source.rows(np.ravel(X)).table
        return table if isinstance(table, BlockRows) else self.preparation_.transform(table, [])


@dataclass(frozen=True, eq=False)
class SearchedSource:
    """The facts of a search as plain values, and the best model; None if it was interrupted."""

    bundle: Bundle | None
    facts: dict[str, Any]


def search_source(
    source: Source,
    model: str = "auto",
    options: ModelOptions | None = None,
    settings: Settings | None = None,
    *,
    Cs: Sequence[float] | None = None,
    l1s: Sequence[float] | None = None,
    folds: int = 5,
    scoring: str = "accuracy",
    certify: float | None = None,
    on_progress: OnProgress | None = None,
    on_proof: Callable[[SearchProgress], None] | None = None,
    cluster: Cluster | None = None,
) -> SearchedSource:
    """Choose the penalty on stratified folds of the training and validation rows.

    The best candidate is then trained on all of these rows and evaluated on the test rows. With
    `certify`, `Cs` are the ends of an interval (by default 0.001 and 1000), and the search ends
    when no C of the interval is better by more than `certify`. The candidates are the values of C
    that it trained, and `on_proof` is called as by `certified_search`.

    `on_progress` is called as by `GridSearchCV.fit`; the final model has the number after the
    fits of the cross-validation. If it raises `Interrupted`, the facts cover the fits completed
    so far. With `cluster`, all models are trained on its workers.

    >>> from separatrix import load
    >>> facts = search_source(load("iris"), Cs=[0.01, 1.0], folds=3).facts
    >>> facts["best"], [round(candidate["mean"], 3) for candidate in facts["candidates"]]
    ({'C': 1.0}, [0.88, 0.968])
    """
    require_labelled(source)
    assert source.y is not None
    options = ModelOptions() if options is None else options
    stored = isinstance(source, StoredSource)
    if isinstance(source, StoredSource):
        settings = settings_of(preparation_of(source.table))
    else:
        settings = choose_settings(source.table) if settings is None else settings
        require_learnable(source, settings)
    rows = np.sort(
        np.concatenate(
            [source.splits[part] for part in ("train", "validation") if part in source.splits]
        )
    )
    y = source.y[rows]
    classes, counts = np.unique(y, return_counts=True)
    family = find_family(model, len(classes))
    if certify is not None:
        require_provable(scoring, bool(l1s), stored, cluster is not None)
        family = provable_family(model, len(classes), certify, needs_probabilities(scoring))
    Cs = (DEFAULT_CS if certify is None else DEFAULT_INTERVAL) if Cs is None else Cs
    grid: dict[str, list[float]] = {"C": list(Cs)} | ({"l1_ratio": list(l1s)} if l1s else {})
    if "C" not in family.takes:
        raise OptionError(f"The model '{family.name}' has no penalty to search for.", "model")
    own_folds, note = make_folds(source, rows, folds)
    if not note:
        _require_rows(folds, counts)
    scorer = make_search_scorer(scoring, classes)
    estimator = _estimator(family, options, scoring)
    began = time.perf_counter()
    prepare = PrepareRows(source, settings).fit(rows)
    preparation = prepare.preparation_
    with collect_convergence_warnings() as told:
        # This one is reported as a note.
        warnings.filterwarnings("ignore", "The least populated class", UserWarning)
        warnings.filterwarnings("ignore", category=UndefinedMetricWarning)  # counts as 0
        if certify is None:
            chosen = prepare, estimator, grid, rows, y, own_folds, scorer, on_progress
            search = _search(*chosen, cluster)
            done = SearchedCandidates.of(search, folds)
        else:
            done = _prove(prepare, estimator, Cs, rows, y, own_folds, scoring, certify, on_proof)
    candidates, equal = done.candidates, best_candidates(done.candidates, folds)
    facts: dict[str, Any] = {
        "source": source_facts(source, preparation, classes),
        "notes": [
            *source.notes,
            *([note] if note else _rare(folds, classes, counts)),
            *([] if stored else describe_preparation(preparation, settings)),
            *done.notes,
            *note_of(cluster),
        ],
        "folds": folds,
        "scoring": scoring,
        "candidates": candidates,
        "interrupted": done.interrupted,
        "batches": done.batches,
        "passes": done.passes,
        "warnings": [*told, *done.warnings],
        "best": equal[0] if equal else None,
        "ties": equal[1:],
        "certified": done.certified,
    }
    if done.interrupted:
        about = {"name": family.name, "about": family.about_for(len(classes))}
        return SearchedSource(None, facts | {"model": about})
    best = build_estimator(family, replace(options, **facts["best"]))
    heard = renumbered(on_progress, [len(candidates) * folds])
    with collect_convergence_warnings():  # the verdict has the same diagnoses
        weights = source.rows(rows).weights
        placed = place_on(cluster, prepare.transform(rows), y, weights)
        fit_many([best], placed, y, weights, on_progress=heard)
    best.diagnoses_ = [d.with_names(preparation.feature_names_out) for d in best.diagnoses_]
    metrics = {"train": measure_model(best, prepare.transform(rows), y, weights)}
    test = source.splits.get("test", rows[:0])
    if len(test):
        weights = source.rows(test).weights
        metrics["test"] = measure_model(best, prepare.transform(test), source.y[test], weights)
    facts |= {
        "model": model_facts(family, best),
        "advice": _advice(grid["C"], facts["best"]["C"], "grid" if certify is None else "interval"),
        "verdict": verdict_facts(best) | {"seconds": time.perf_counter() - began},
        "metrics": metrics,
    }
    return SearchedSource(make_bundle(source, preparation, best, metrics, ("test",)), facts)


def _estimator(family: ModelFamily, options: ModelOptions, scoring: str) -> Any:
    """Return the estimator to search with; calibrated only if the score needs probabilities."""
    if needs_probabilities(scoring):
        estimator = build_estimator(family, options)
        if not hasattr(estimator, "predict_proba"):
            raise OptionError(
                Message(
                    "{scoring} needs probabilities, and the model '{model}' has them only with "
                    "{probability}. Give this option, or choose another model.",
                    scoring=Parameter("scoring", scoring),
                    model=family.name,
                    probability=Parameter("probability", 5),
                )
            )
        return estimator
    return build_estimator(family, replace(options, probability=None))


def _require_rows(folds: int, counts: Array) -> None:
    if folds > counts.max():
        raise OptionError(
            Message(
                "{folds} is more than the number of rows of any class: the most frequent class has "
                "{most} training and validation rows. Use fewer folds.",
                folds=Parameter("folds", folds),
                most=counts.max(),
            )
        )


def _rare(folds: int, classes: Array, counts: Array) -> list[str]:
    if counts.min() >= folds:
        return []
    return [
        f"The class {classes[counts.argmin()]} has only {counts.min()} training and validation "
        f"rows: some of the {folds} folds do not test it."
    ]


def _search(
    prepare: PrepareRows,
    estimator: Any,
    grid: dict[str, list[float]],
    rows: Array,
    y: Array,
    folds: int | list[tuple[Array, Array]],
    scorer: Any,
    on_progress: OnProgress | None,
    cluster: Cluster | None,
) -> Any:
    weights = prepare.source.rows(rows).weights
    if learns_only_scales(prepare.source.table, prepare.settings):
        X, steps = _unscaled(prepare, rows)
        X = place_on(cluster, X, y, weights)
    elif cluster is not None:
        raise OptionError(OWN_COLUMNS.format(prepare.source.name), "dask")
    else:
        X, steps = rows[:, None], [("prepare", prepare)]
    with sklearn.config_context(enable_metadata_routing=weights is not None):
        given = {}
        if weights is not None:  # the model and its score use them, and the preparation does not
            given["sample_weight"] = weights
            scorer = get_scorer(scorer).set_score_request(sample_weight=True)
            estimator = estimator.set_fit_request(sample_weight=True)
            for _, step in steps:
                if hasattr(step, "partial_fit"):
                    step.set_fit_request(sample_weight=False)
        search = GridSearchCV(
            Pipeline([*steps, ("model", estimator)]),
            {f"model__{name}": values for name, values in grid.items()},
            cv=folds,
            scoring=scorer,
            error_score="raise",
            refit=False,
        )
        return search.fit(X, y, on_progress=on_progress, **given)


def _prove(
    prepare: PrepareRows,
    estimator: Any,
    C: Sequence[float],
    rows: Array,
    y: Array,
    folds: int | list[tuple[Array, Array]],
    scoring: str,
    epsilon: float,
    on_proof: Callable[[SearchProgress], None] | None,
) -> SearchedCandidates:
    """Search the interval of C with a proof."""
    own = learns_only_scales(prepare.source.table, prepare.settings)
    X, steps = _unscaled(prepare, rows) if own else (prepare.transform(rows), [])
    if steps and steps[0][1].with_mean and not estimator._has_free_bias():
        own, X, steps = False, prepare.transform(rows), []
    found = certified_search(
        X,
        y,
        Pipeline([*steps, ("model", estimator)]) if steps else estimator,
        C=list(C),
        epsilon=epsilon,
        cv=folds,
        measure=PROVEN_SCORES[scoring],
        sample_weight=prepare.source.rows(rows).weights,
        on_progress=on_proof,
    )
    top = 1.0 if scoring == "accuracy" else 0.0
    return SearchedCandidates(
        [
            candidate_facts({"C": float(C)}, top - scores)
            for C, scores in zip(found.points, found.fold_errors)
        ],
        found.interrupted,
        found.n_batches,
        found.n_passes,
        notes=[] if own else [ONE_PREPARATION],
        warnings=[] if found.complete else [found.sentences()[1]],
        certified=found.facts(),
    )


def _unscaled(prepare: PrepareRows, rows: Array) -> tuple[Any, list[tuple[str, Any]]]:
    """Return one matrix for all folds and candidates, and the scaler as a pipeline step.

    GridSearchCV expresses a StandardScaler by penalty factors, computed for every fold from its
    training rows. So all folds and candidates share X and can be trained in one batch.
    """
    settings = replace(prepare.settings, standardise=False)
    X = PrepareRows(prepare.source, settings).fit(rows).transform(rows)
    sparse = X.sparse if isinstance(X, BlockRows) else sp.issparse(X)
    scaler = StandardScaler(with_mean=not sparse)
    return X, [("scale", scaler)] if prepare.settings.standardise else []


def learns_only_scales(table: Any, settings: Settings) -> bool:
    """Return whether a preparation learns only the scales of the features from the rows.

    Replacements for missing values, categories and words would differ from fold to fold.

    >>> learns_only_scales(np.eye(2), Settings(standardise=True))
    True
    >>> learns_only_scales(np.array([[1.0], [np.nan]]), Settings())
    False
    """
    if isinstance(table, BlockRows):  # all else was learnt when they were stored
        return True
    if settings.constant:  # the constant column must not be scaled
        return False
    if isinstance(table, Columns):
        numbers = all(kind == "numbers" for kind in table.kinds.values())
        return (
            numbers and not settings.categories and not any(_has_gap(table[name]) for name in table)
        )
    return sp.issparse(table) or not _has_gap(table)


def _has_gap(values: Any) -> bool:
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _advice(Cs: list[float], chosen: float, of: str) -> str | None:
    """Return advice to extend the grid or interval if the best C is its smallest or largest."""
    Cs = sorted(Cs)
    if len(Cs) > 1 and chosen == Cs[-1]:
        return f"The best C is the largest in the {of}: try larger values, up to {10 * chosen:g}."
    if len(Cs) > 1 and chosen == Cs[0]:
        return (
            f"The best C is the smallest in the {of}: try smaller values, down to {chosen / 10:g}."
        )
    return None
