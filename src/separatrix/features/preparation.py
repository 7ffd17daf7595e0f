"""Convert raw tables to the feature matrix of a model. Saved with the model, without pickle.

    Preparation.fit(table, Settings(...))    on training rows only
    .transform(table)                        (n, d): CSR if mostly zero, else a dense matrix
    .feature_names_out                       d names: 'age', 'job=clerk', 'word:free'

Columns are identified by name. All decisions, filled values and dropped columns are reported: in
`notes` for the training rows; for other rows in the list given to `transform`, or in a warning.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from separatrix.errors import Message, Parameter
from separatrix.features.categorical_columns import Categories
from separatrix.features.column_formats import read_strings
from separatrix.features.numeric_columns import Numbers
from separatrix.features.settings import Settings
from separatrix.features.step import Constant, PreparationStep
from separatrix.features.step_schemas import COLUMNS, WORDS, pack_steps, unpack_steps
from separatrix.features.text_columns import Vectoriser, note_missing_texts
from separatrix.features.value_checks import require_values
from separatrix.features.word_lists import WordLists
from separatrix.matrix import Array
from separatrix.packing.schemas import TRUTH, fields_of, integer, schema_error
from separatrix.readers.cells.cell_format import FORMATS, Formats, Kind
from separatrix.readers.columns import KINDS, Columns, require_column
from separatrix.readers.data_frames import is_frame
from separatrix.text import listed

_FORMAT = 1
_SPARSE_PAYS = 0.25  # fraction of non-zeros; CSR needs 12 bytes per non-zero, dense 8 per entry
_PIXEL = 255.0
_NAMED = 9  # number of columns in a message


@dataclass(frozen=True)
class Preparation:
    """The fitted steps that convert a table to a matrix.

    >>> table = Columns({"age": [39, 50, None], "job": ["clerk", "smith", "clerk"]})
    >>> preparation = Preparation.fit(table)
    >>> preparation.feature_names_out
    ['age', 'job=clerk', 'job=smith']
    >>> preparation.transform(table, notes=[])
    array([[39. ,  1. ,  0. ],
           [50. ,  0. ,  1. ],
           [44.5,  1. ,  0. ]])
    >>> preparation.notes
    ["Column 'age': filled 1 missing value with 44.5."]
    >>> notes = []
    >>> preparation.transform(Columns({"job": ["baker"], "age": [20]}), notes)
    array([[20.,  0.,  0.]])
    >>> notes
    ["Column 'job': ignored 1 value not seen in training ('baker')."]
    """

    columns: dict[str, Kind] | None  # None: the table is a matrix
    steps: list[PreparationStep]
    sparse: bool
    refuse: bool
    notes: list[str]
    formats: Formats | None = None  # how the cells of a file were written

    @classmethod
    def fit(
        cls,
        table: Any,
        settings: Settings | None = None,
        *,
        feature_names: Sequence[str] | None = None,
    ) -> Preparation:
        """Fit all steps to training rows, given as Columns, a data frame or a matrix.

        `feature_names` are the names of the columns of a matrix.
        """
        settings = settings or Settings()
        table = _table(table)
        notes: list[str] = []
        refuse = settings.missing == "refuse"
        require_values(table, feature_names, refuse=refuse)
        if not isinstance(table, Columns):
            return cls._fit_matrix(table, settings, feature_names, notes)
        kinds = table.kinds
        for name in settings.categories:
            require_column(name, kinds, "to use as categories")
            kinds[name] = "categories"
        steps = _steps_of(table, kinds, settings, notes)
        for name, kind in kinds.items():
            if kind == "text":
                note_missing_texts(table, name, notes)
        return cls(dict(kinds), steps, _sparse_pays(steps), refuse, notes, table.formats)

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
            notes.append("Divided the bytes by 255.")
        if divide is not None and not settings.standardise:  # standardising would undo it
            step = replace(step, scale=np.full(d, float(divide)))
        steps: list[PreparationStep] = [Constant(), step] if settings.constant else [step]
        return cls(None, steps, sp.issparse(X), settings.missing == "refuse", notes)

    @property
    def feature_names_out(self) -> list[str]:
        """Names of the columns of the feature matrix."""
        return [name for step in self.steps for name in step.names]

    @property
    def matrix_names(self) -> list[str] | None:
        """Names of the columns of the input, if it is a matrix; None for a table."""
        if self.columns is not None:
            return None
        return next((step.columns for step in self.steps if isinstance(step, Numbers)), None)

    @property
    def units(self) -> tuple[Array, Array] | None:
        """Shift and scale (d,) of the features, or None if nothing is shifted or scaled.

        A feature in the units of the table is its prepared value times the scale plus the shift.
        """
        shifts, scales = (
            [getattr(step, key, None) for step in self.steps] for key in ("shift", "scale")
        )
        if all(each is None for each in [*shifts, *scales]):
            return None
        sizes = [len(step.names) for step in self.steps]
        shift = [np.zeros(d) if a is None else a for a, d in zip(shifts, sizes)]
        scale = [np.ones(d) if a is None else a for a, d in zip(scales, sizes)]
        return np.concatenate(shift), np.concatenate(scale)

    def transform(self, table: Any, notes: list[str] | None = None) -> Any:
        """Return the feature matrix of a table, whose columns can be in any order.

        Filled, unknown and dropped values are reported in `notes`, or in a warning if `notes` is
        None.
        """
        new_notes: list[str] = []
        table = self._known(_table(table), new_notes)
        require_values(table, self.matrix_names, refuse=self.refuse)
        parts = [step.transform(table, new_notes) for step in self.steps]
        if notes is not None:
            notes += new_notes
        elif new_notes:
            warnings.warn(" ".join(new_notes), stacklevel=2)
        if len(parts) == 1 and sp.issparse(parts[0]) == self.sparse:
            return parts[0]
        if self.sparse:
            return sp.csr_array(sp.hstack([sp.csr_array(part) for part in parts], format="csr"))
        dense = [part.toarray() if sp.issparse(part) else part for part in parts]
        return np.hstack(dense).astype(np.float64, copy=False)

    def _known(self, table: Any, notes: list[str]) -> Any:
        """Return the table with the columns of the training rows only; raise if one is missing."""
        wanted = self.columns if self.columns is not None else self.matrix_names or ()
        trained_on = listed(map(repr, wanted), _NAMED)
        if not isinstance(table, Columns):
            if self.columns is None:
                return table
            raise ValueError(
                f"The model was trained on a table with the columns {trained_on}. Got a matrix "
                "instead. Give a table with these columns."
            )
        known = set(table)
        missing = [name for name in wanted if name not in known]
        if missing and self.columns is None:
            raise ValueError(
                f"The model was trained on a matrix with the columns {trained_on}. Got a table "
                f"without {listed(map(repr, missing), _NAMED)} instead. Give a matrix, or a table "
                "with these columns."
            )
        if missing:
            raise ValueError(
                "The table must have the columns of the training data. Missing: "
                f"{', '.join(map(repr, missing[:9]))}. The columns are: "
                f"{', '.join(map(repr, table.names[:20]))}."
            )
        extra = [name for name in table if name not in wanted]
        if extra:
            columns = "column" if len(extra) == 1 else "columns"
            notes.append(f"Ignored {columns} unknown to the model: {', '.join(extra[:9])}.")
        for name, kind in (self.columns or {}).items():
            if kind == "text":
                note_missing_texts(table, name, notes)
        if self.columns is None:
            names = table.select(wanted)
            return read_strings(names, dict.fromkeys(wanted, "numbers"), self.formats, notes)
        return read_strings(table, self.columns, self.formats, notes)

    def to_state(self) -> tuple[dict[str, Any], dict[str, Array]]:
        """Return the preparation as JSON-compatible values and arrays."""
        steps, arrays = pack_steps(self.steps)
        plain = {"format": _FORMAT, "columns": COLUMNS.pack(self.columns), "steps": steps}
        plain |= {"sparse": self.sparse, "refuse": self.refuse, "notes": list(map(str, self.notes))}
        if self.formats is not None:
            plain["formats"] = FORMATS.pack(self.formats)
        return plain, arrays

    @classmethod
    def from_state(cls, state: Mapping[str, Any], arrays: Mapping[str, Array]) -> Preparation:
        """Restore a preparation from the result of `to_state`; raise ValueError if damaged."""
        names = ("format", "columns", "steps", "sparse", "refuse", "notes", "formats")
        try:
            if isinstance(state, dict):  # the formats are not in old files
                state = {"formats": None, **state}
            found = dict(zip(names, fields_of(state, "its state", *names)))
            formats = FORMATS.unpack(found["formats"], "formats")
            integer(_FORMAT, _FORMAT).unpack(found["format"], "format")
            columns = COLUMNS.unpack(found["columns"], "columns")
            steps = unpack_steps(found["steps"], arrays)
            _require_consistent(columns, steps)
            sparse, refuse = (TRUTH.unpack(found[name], name) for name in ("sparse", "refuse"))
            notes = WORDS.unpack(found["notes"], "notes")
            return cls(columns, steps, sparse, refuse, notes, formats)
        except ValueError as error:
            raise ValueError(f"The preparation is damaged: {error}") from None


def _table(table: Any) -> Any:
    """Convert a data frame to Columns. Anything other than Columns must be a matrix."""
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
) -> list[PreparationStep]:
    """Fit the steps: numbers, then categories, then text, each in the order of the table."""
    of = {kind: [name for name in kinds if kinds[name] == kind] for kind in KINDS}
    steps: list[PreparationStep] = [Constant()] if settings.constant else []
    if of["numbers"]:
        steps.append(
            Numbers.fit(table, of["numbers"], settings.missing, settings.standardise, notes)
        )
    steps += [Categories.fit(table, name, settings.missing, notes) for name in of["categories"]]
    if settings.word_lists and not of["text"]:
        raise ValueError(
            Message(
                "The setting {word_lists:quoted} needs a text column, but there is none. The "
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
                "There are no features: the setting {text} needs {word_lists}, or other columns "
                "in addition to the text.",
                text=Parameter("text", "none", of="Settings"),
                word_lists=Parameter("word_lists"),
            )
        )
    return steps


def _sparse_pays(steps: list[PreparationStep]) -> bool:
    """Return whether a sparse matrix is smaller.

    It always is with words. Otherwise a row has one non-zero per categorical column, and one per
    number.
    """
    if any(isinstance(step, Vectoriser) for step in steps):
        return True
    filled = sum(1 if isinstance(step, Categories) else len(step.names) for step in steps)
    return filled < _SPARSE_PAYS * sum(len(step.names) for step in steps)


def _require_consistent(columns: Mapping[str, Kind] | None, steps: list[PreparationStep]) -> None:
    """Raise unless the table has the columns of every step."""
    if not steps:
        raise schema_error("steps", "have a step", [])
    for k, step in enumerate(steps):
        if isinstance(step, Constant):
            continue
        if columns is None and not isinstance(step, Numbers):
            raise schema_error(f"steps.{k}", "be for numbers, the columns of a matrix", step.kind)
        used = step.columns if isinstance(step, Numbers) else [getattr(step, "column", "")]
        lost = [name for name in used if columns is not None and name not in columns]
        if lost:
            raise schema_error(f"steps.{k}", "use columns of the table", lost[0])
