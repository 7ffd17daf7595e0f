"""The split of Iris that the course uses: 100 rows to train on, 25 to validate, 25 to test.

The numbers are rows of scikit-learn's `load_iris`, in the course's order, so that its tables can be
made without its files.
"""

from sklearn.datasets import load_iris

TRAIN = [
    24, 38, 108, 56, 100, 99, 22, 89, 58, 114, 57, 131, 137, 71, 5, 1, 86, 42, 80, 15,
    33, 111, 17, 140, 65, 27, 66, 87, 10, 74, 49, 147, 141, 29, 68, 9, 35, 73, 55, 91,
    130, 18, 40, 64, 3, 103, 16, 32, 4, 20, 26, 85, 50, 12, 60, 11, 62, 149, 96, 83,
    94, 128, 76, 143, 84, 121, 112, 69, 110, 78, 101, 7, 122, 47, 61, 59, 138, 0, 28, 126,
    48, 75, 115, 124, 135, 34, 120, 88, 119, 2, 116, 79, 133, 105, 53, 109, 82, 41, 148, 54,
]  # fmt: skip
VALIDATION = [
    145, 104, 39, 93, 21, 123, 136, 30, 23, 36, 51, 90, 14, 43, 127, 144, 118, 125, 63, 92,
    44, 72, 67, 113, 134,
]  # fmt: skip
TEST = [
    146, 77, 25, 45, 81, 52, 102, 139, 46, 117, 19, 132, 31, 97, 6, 95, 106, 142, 129, 98,
    13, 37, 70, 8, 107,
]  # fmt: skip


def load_parts():
    """Return (X, y) of the training, of the validation and of the test rows."""
    X, y = load_iris(return_X_y=True)
    return [(X[rows], y[rows]) for rows in (TRAIN, VALIDATION, TEST)]
