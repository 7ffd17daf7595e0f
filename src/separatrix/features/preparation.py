"""From a raw table to the matrix that a model sees; kept with the model, and never a pickle.

    Preparation.fit(table, Settings(...))    on training rows only
    .transform(table)                        (n, d): CSR where that pays, else a dense matrix
    .feature_names_out                       d names: 'age', 'job=clerk', 'word:free'

Columns are found by name. What had to be decided, filled or left out is told: by `notes` for the
training rows, later in the list given to `transform`, or else by a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

import numpy as np
import scipy.sparse as sp

from separatrix.errors import Message, Parameter
from separatrix.features.steps import Categories, Constant, Numbers, State, Step, WordLists
from separatrix.features.stored import Stored, refusal
from separatrix.features.values import require_values
from separatrix.features.vectorise import LONGEST_NGRAM, MOST_HASHES, WAYS, Vectoriser, tell_missing
from separatrix.matrix import Array
from separatrix.readers.columns import KINDS, Columns, Kind, require_column
from separatrix.readers.frames import is_frame

STEPS: tuple[type[Any], ...] = (Constant, Numbers, Categories, Vectoriser, WordLists)

_FORMAT = 1
_SPARSE_PAYS = 0.25  # of the entries not zero: twelve bytes each against eight for all
_PIXEL = 255.0
Missing = Literal["mean", "median", "refuse"]


@dataclass(frozen=True)
class Settings:
    """How a table becomes a matrix.

    - `standardise`: numbers less their mean, over their standard deviation
    - `missing`: numbers are filled by 'mean' or 'median', categories by the most frequent one, and
      texts are taken as empty; 'refuse' refuses all of them
    - `categories`: columns of numbers that are codes, to be taken as categories
    - `text`: 'tfidf', 'counts' or 'hashing'; 'none' leaves the words to `word_lists`
    - `word_lists`: for each name a list of words; does the text contain one of them?
    - `ngrams`: the shortest and the longest sequence of words that is a feature
    - `min_documents`: a word must be in so many training documents
    - `most_words`: the number of words kept, the most frequent ones; None for all
    - `n_hashes`: the columns of 'hashing'
    - `constant`: a first column that is always 1 (models here have a bias of their own)
    - `divide`: what the entries of a matrix are divided by; None: 255 for bytes, as in images, and
      1 for others
    """

    standardise: bool = False
    missing: Missing = "mean"
    categories: Collection[str] = ()
    text: str = "tfidf"
    word_lists: Mapping[str, Collection[str]] = field(default_factory=dict)
    ngrams: tuple[int, int] = (1, 1)
    min_documents: int = 1
    most_words: int | None = None
    n_hashes: int = 1 << 18
    constant: bool = False
    divide: float | None = None

    def __post_init__(self) -> None:
        low, high = self.ngrams
        _require("missing", self.missing, self.missing in get_args(Missing), get_args(Missing))
        _require("text", self.text, self.text in (*WAYS, "none"), (*WAYS, "none"))
        good = 1 <= low <= high <= LONGEST_NGRAM
        _require("ngrams", self.ngrams, good, f"1 <= low <= high <= {LONGEST_NGRAM}")
        _require("min_documents", self.min_documents, self.min_documents >= 1, ">= 1")
        good = self.most_words is None or self.most_words >= 1
        _require("most_words", self.most_words, good, ">= 1 or None")
        good = 1 <= self.n_hashes <= MOST_HASHES
        _require("n_hashes", self.n_hashes, good, f"from 1 to {MOST_HASHES}")
        good = self.divide is None or 0 < self.divide < np.inf
        _require("divide", self.divide, good, "> 0 and finite, or None")


@dataclass(frozen=True)
class Preparation:
    """Steps from a table to a matrix, fitted.

    >>> table = Columns({"age": [39, 50, None], "job": ["clerk", "smith", "clerk"]})
    >>> preparation = Preparation.fit(table)
    >>> preparation.feature_names_out
    ['age', 'job=clerk', 'job=smith']
    >>> preparation.transform(table, notes=[])
    array([[39. ,  1. ,  0. ],
           [50. ,  0. ,  1. ],
           [44.5,  1. ,  0. ]])
    >>> preparation.notes
    ["Column 'age': 1 value missing, filled: 44.5."]
    >>> notes = []
    >>> preparation.transform(Columns({"job": ["baker"], "age": [20]}), notes)
    array([[20.,  0.,  0.]])
    >>> notes
    ["Column 'job': 1 value not seen in training ('baker'), taken as none of the known."]
    """

    columns: dict[str, Kind] | None  # None: the table is a matrix
    steps: list[Step]
    sparse: bool
    refuse: bool
    notes: list[str]

    @classmethod
    def fit(
        cls,
        table: Any,
        settings: Settings | None = None,
        *,
        feature_names: Sequence[str] | None = None,
    ) -> Preparation:
        """Learn from training rows: Columns, a frame, or a matrix of these feature names."""
        settings = settings or Settings()
        table = _table(table)
        notes: list[str] = []
        refuse = settings.missing == "refuse"
        require_values(table, feature_names, refuse=refuse)
        if not isinstance(table, Columns):
            return cls._fit_matrix(table, settings, feature_names, notes)
        kinds = table.kinds
        for name in settings.categories:
            require_column(name, kinds, "a category")
            kinds[name] = "categories"
        steps = _steps_of(table, kinds, settings, notes)
        for name, kind in kinds.items():
            if kind == "text":
                tell_missing(table, name, notes)
        return cls(dict(kinds), steps, _sparse_pays(steps), refuse, notes)

    @classmethod
    def _fit_matrix(
        cls, X: Any, settings: Settings, given: Sequence[str] | None, notes: list[str]
    ) -> Preparation:
        d = X.shape[1]
        names = [f"feature {j}" for j in range(1, d + 1)] if given is None else list(given)
        if len(names) != d:
            raise ValueError(f"The matrix has {d} columns. Got {len(names)} feature names instead.")
        step = Numbers.fit(X, names, settings.missing, settings.standardise, notes)
        divide = settings.divide
        if divide is None and X.dtype == np.uint8 and not settings.standardise:
            divide = _PIXEL
            notes.append("Bytes were divided by 255.")
        if divide is not None and not settings.standardise:  # which would undo it
            step = replace(step, scale=np.full(d, float(divide)))
        steps: list[Step] = [Constant(), step] if settings.constant else [step]
        return cls(None, steps, sp.issparse(X), settings.missing == "refuse", notes)

    @property
    def feature_names_out(self) -> list[str]:
        """A name for every column of the matrix."""
        return [name for step in self.steps for name in step.names]

    @property
    def matrix_names(self) -> list[str] | None:
        """The names of the columns of a matrix, as it comes in; None for a table."""
        if self.columns is not None:
            return None
        return next((step.columns for step in self.steps if isinstance(step, Numbers)), None)

    def transform(self, table: Any, notes: list[str] | None = None) -> Any:
        """The matrix of a table that has the columns of the training rows, in any order.

        What was filled, not known or left out is appended to `notes`; without them it is warned of.
        """
        told: list[str] = []
        table = self._known(_table(table), told)
        require_values(table, self.matrix_names, refuse=self.refuse)
        parts = [step.transform(table, told) for step in self.steps]
        if notes is not None:
            notes += told
        elif told:
            warnings.warn(" ".join(told), stacklevel=2)
        if len(parts) == 1 and sp.issparse(parts[0]) == self.sparse:
            return parts[0]
        if self.sparse:
            return sp.csr_array(sp.hstack([sp.csr_array(part) for part in parts], format="csr"))
        dense = [part.toarray() if sp.issparse(part) else part for part in parts]
        return np.hstack(dense).astype(np.float64, copy=False)

    def _known(self, table: Any, notes: list[str]) -> Any:
        """The table with the columns of the training rows only; none may be missing."""
        wanted = self.columns if self.columns is not None else self.matrix_names or ()
        if not isinstance(table, Columns):
            if self.columns is None:
                return table
            raise ValueError(
                f"The model was trained on a table with the columns {_listed(wanted)}. Got a "
                "matrix instead: give a table with these names."
            )
        known = set(table)
        missing = [name for name in wanted if name not in known]
        if missing and self.columns is None:
            raise ValueError(
                f"The model was trained on a matrix with the columns {_listed(wanted)}. Got a "
                f"table without {_listed(missing)}: give a matrix, or a table with these names."
            )
        if missing:
            raise ValueError(
                f"The column{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing[:9]))} "
                "of the training data must be there. The columns are: "
                f"{', '.join(map(repr, table.names[:20]))}."
            )
        extra = [name for name in table if name not in wanted]
        if extra:
            notes.append(f"Not known to the model, and left out: {', '.join(extra[:9])}.")
        for name, kind in (self.columns or {}).items():
            if kind == "text":
                tell_missing(table, name, notes)
        return table if self.columns is not None else table.select(wanted)

    def to_state(self) -> State:
        """All of it as JSON-able values and arrays."""
        steps: list[dict[str, Any]] = []
        arrays: dict[str, Array] = {}
        for place, step in enumerate(self.steps):
            plain, own = step.to_state()
            steps.append({"kind": step.kind, **plain})
            arrays |= {f"{place}.{name}": array for name, array in own.items()}
        plain = {"format": _FORMAT, "columns": _pairs(self.columns), "steps": steps}
        plain |= {"sparse": self.sparse, "refuse": self.refuse, "notes": list(self.notes)}
        return plain, arrays

    @classmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Mapping[str, Array]) -> Preparation:
        """Make a preparation of what `to_state` gave; whatever else it is, it is a ValueError."""
        stored = Stored(state, arrays)
        stored.integer("format", low=_FORMAT, high=_FORMAT)
        columns = _columns(stored)
        steps = [_step(place, part, arrays) for place, part in enumerate(stored.parts("steps"))]
        _require_consistent(columns, steps)
        notes = stored.words("notes", different=False)
        return cls(columns, steps, stored.truth("sparse"), stored.truth("refuse"), notes)


def _require(name: str, value: Any, good: bool, allowed: Any) -> None:
    if not good:
        allowed = allowed if isinstance(allowed, str) else "one of " + ", ".join(allowed)
        raise ValueError(f"The setting {name!r} must be {allowed}. Got {value!r} instead.")


def _listed(names: Collection[str], most: int = 9) -> str:
    more = ", ..." if len(names) > most else ""
    return ", ".join(map(repr, list(names)[:most])) + more


def _table(table: Any) -> Any:
    """Columns as they are and of a frame; anything else must be a matrix."""
    if isinstance(table, Columns) or sp.issparse(table):
        return table
    if is_frame(table):
        return Columns.of_frame(table)
    X = np.asarray(table)
    if X.ndim != 2 or X.dtype.kind not in "biuf":
        raise ValueError(
            "The data must be Columns, a data frame or a matrix of numbers. "
            f"Got an array of shape {X.shape} and type {X.dtype} instead."
        )
    return X


def _steps_of(
    table: Columns, kinds: Mapping[str, Kind], settings: Settings, notes: list[str]
) -> list[Step]:
    """Numbers first, then categories, then text, each in the order of the table."""
    of = {kind: [name for name in kinds if kinds[name] == kind] for kind in KINDS}
    steps: list[Step] = [Constant()] if settings.constant else []
    if of["numbers"]:
        steps.append(
            Numbers.fit(table, of["numbers"], settings.missing, settings.standardise, notes)
        )
    steps += [Categories.fit(table, name, settings.missing, notes) for name in of["categories"]]
    if settings.word_lists and not of["text"]:
        raise ValueError(
            Message(
                "The setting {word_lists:quoted} needs a column of text, and there is none. The "
                "columns are: {columns}.",
                word_lists=Parameter("word_lists"),
                columns=", ".join(f"{name} ({kind})" for name, kind in kinds.items()),
            )
        )
    alone = len(of["text"]) == 1
    for name in of["text"]:
        if settings.text != "none":
            steps.append(
                Vectoriser.fit(
                    table,
                    name,
                    settings.text,
                    ngrams=settings.ngrams,
                    min_documents=settings.min_documents,
                    most_words=settings.most_words,
                    n_hashes=settings.n_hashes,
                    prefix="word" if alone else name,
                )
            )
        if settings.word_lists:
            prefix = "contains" if alone else f"{name} contains"
            steps.append(WordLists.fit(name, settings.word_lists, prefix))
    if not steps:
        raise ValueError(
            Message(
                "There is nothing to learn from: the setting {text} needs {word_lists}, or columns "
                "beside the text.",
                text=Parameter("text", "none", of="Settings"),
                word_lists=Parameter("word_lists"),
            )
        )
    return steps


def _sparse_pays(steps: list[Step]) -> bool:
    """Words are rare. A row has one entry for each column of categories, and all numbers."""
    if any(isinstance(step, Vectoriser) for step in steps):
        return True
    filled = sum(1 if isinstance(step, Categories) else len(step.names) for step in steps)
    return filled < _SPARSE_PAYS * sum(len(step.names) for step in steps)


def _pairs(columns: Mapping[str, Kind] | None) -> list[list[str]] | None:
    """Names and kinds as a list, since the order of columns matters."""
    return None if columns is None else [[name, kind] for name, kind in columns.items()]


def _columns(stored: Stored) -> dict[str, Kind] | None:
    if stored.values.get("columns") is None:
        return None
    columns: dict[str, Kind] = {}
    for pair in stored.parts("columns"):
        good = isinstance(pair, list) and len(pair) == 2 and isinstance(pair[0], str)
        if not good or pair[1] not in KINDS or pair[0] in columns:
            raise refusal("'columns' must be pairs of a new name and a kind", pair)
        columns[pair[0]] = pair[1]
    return columns


def _step(place: int, part: Any, arrays: Mapping[str, Array]) -> Step:
    own = {str(name): array for name, array in arrays.items()}
    prefix = f"{place}."
    own = {name.removeprefix(prefix): own[name] for name in own if name.startswith(prefix)}
    stored = Stored(part, own)
    kinds = {step.kind: step for step in STEPS}
    return kinds[stored.choice("kind", tuple(kinds))].from_state(stored)


def _require_consistent(columns: Mapping[str, Kind] | None, steps: list[Step]) -> None:
    """Every step must find its columns in the table."""
    if not steps:
        raise refusal("it must have a step", "none")
    for step in steps:
        used = getattr(step, "columns", None) or [getattr(step, "column", None)]
        if isinstance(step, Constant):
            continue
        if columns is None and not isinstance(step, Numbers):
            raise refusal("a matrix has no columns of words", step.kind)
        lost = [name for name in used if columns is not None and name not in columns]
        if lost:
            raise refusal("every step must use columns of the table", lost[0])
