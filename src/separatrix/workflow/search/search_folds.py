"""The folds of a search: random, by group, or in the order of time."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import GroupKFold, TimeSeriesSplit

from separatrix.errors import Message, OptionError, Parameter
from separatrix.matrix import Array
from separatrix.readers import Source

Folds = int | list[tuple[Array, Array]]


def make_folds(source: Source, rows: Array, folds: int) -> tuple[Folds, str]:
    """Return the folds of these rows for scikit-learn, and a sentence if they are not random.

    Every fold is a pair (training positions, test positions) within `rows`. With times, the rows of
    a fold are tested by a model trained on older rows only.
    """
    columns = source.row_columns.take(rows)
    groups, times = columns["group"], columns["time"]
    if groups is not None:
        name, count = columns.names["group"], len(set(groups.tolist()))
        if count < folds:
            raise OptionError(
                Message(
                    "{folds} is more than the number of groups: column {name!r} has {count} "
                    "groups in the training and validation rows. Use fewer folds.",
                    folds=Parameter("folds", folds),
                    name=name,
                    count=count,
                )
            )
        splits = list(GroupKFold(folds).split(rows, groups=groups))
        return splits, f"Every group of column {name!r} is in one fold."
    if times is not None:
        if len(rows) <= folds:
            raise OptionError(
                Message(
                    "{folds} needs at least {least} training and validation rows. Use fewer folds.",
                    folds=Parameter("folds", folds),
                    least=folds + 1,
                )
            )
        order = np.argsort(times, kind="stable")
        split = TimeSeriesSplit(folds).split(order)
        name = columns.names["time"]
        return (
            [(order[older], order[newer]) for older, newer in split],
            f"Every fold is tested by a model trained on the rows before it, by column {name!r}.",
        )
    return folds, ""
