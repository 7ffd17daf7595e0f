"""From labels to class numbers."""

from __future__ import annotations

import numpy as np
from sklearn.utils.multiclass import check_classification_targets

from separatrix.matrix import Array

# Classes with which every label is compared; among more it is searched for.
FEW_NUMBERS, FEW_WORDS = 16, 4


def number_labels(y: Array, sample: int = 1000) -> tuple[Array, Array]:
    """The classes of y (n,) in their order, and the number of each label's class.

    The same as np.unique with return_inverse, but only the first labels, a `sample` in which most
    classes are met, and those of other classes are sorted.

    >>> import numpy as np
    >>> number_labels(np.array(["b", "a", "b"]))
    (array(['a', 'b'], dtype='<U1'), array([1, 0, 1]))
    """
    classes = np.unique(y[:sample])
    few = FEW_NUMBERS if y.dtype.kind in "biuf" else FEW_WORDS
    while True:
        if len(classes) <= few:
            numbers = np.zeros(len(y), np.intp)
            for later in classes[1:]:
                numbers += y >= later
        else:
            numbers = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
        unmet = classes[numbers] != y
        if not unmet.any():
            return classes, numbers
        classes = np.union1d(classes, y[unmet])


def require_class_labels(y: Array, classes: Array) -> None:
    """Raise, in scikit-learn's words, if y holds measurements and not classes."""
    # Its own check sorts all labels: it is asked where there is something to find.
    whole = classes.dtype.kind != "f" or (classes == np.rint(classes)).all()
    if y.dtype.kind == "O" or not whole:
        check_classification_targets(y)
