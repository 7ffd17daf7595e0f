"""The keys of rows depend on their contents only."""

import numpy as np
import scipy.sparse as sp

from separatrix.matrix import Matrix
from separatrix.matrix.row_keys import ENTRIES_AT_ONCE, row_keys


def test_the_key_of_a_row_depends_on_its_numbers_and_not_on_their_storage():
    rng = np.random.default_rng(0)
    X = rng.integers(-3, 4, size=(200, 5)) * (rng.random((200, 5)) < 0.5)
    keys = row_keys(Matrix(X.astype(float)))
    negative = np.where(X == 0, -0.0, X)
    explicit = sp.csr_array(np.where(X == 0, 9.0, X))
    explicit.data[explicit.data == 9.0] = 0.0
    for same in (
        X, X.astype(np.float32), X.astype(np.int8), np.asfortranarray(X), negative, explicit,
        explicit.tocsc(), sp.csr_array(X), sp.csc_array(X), sp.csr_array(X.astype(np.float32)),
        sp.coo_array(X),
    ):  # fmt: skip
        np.testing.assert_array_equal(row_keys(Matrix(same)), keys)
    _, groups = np.unique(X, axis=0, return_inverse=True)
    _, by_key = np.unique(keys, return_inverse=True)
    assert len({*zip(groups.ravel(), by_key)}) == groups.max() + 1 == by_key.max() + 1


def test_keys_differ_by_the_last_bit_the_sign_and_the_column():
    x = 1 / 3
    rows = [[x, 0, 0], [0, x, 0], [-x, 0, 0], [np.nextafter(x, 1), 0, 0], [x, x, 0], [0, 0, 0]]
    assert len(set(row_keys(Matrix(np.array(rows))))) == len(rows)


def test_keys_do_not_depend_on_the_pieces_in_which_data_is_read():
    d = 40
    X = np.random.default_rng(0).normal(size=(2 * ENTRIES_AT_ONCE // d + 3, d))
    keys = row_keys(Matrix(X))
    assert len(set(keys)) == len(X)
    last = slice(ENTRIES_AT_ONCE // d - 2, None)
    np.testing.assert_array_equal(row_keys(Matrix(X[last])), keys[last])
    for convert in (sp.csr_array, sp.csc_array):
        np.testing.assert_array_equal(row_keys(Matrix(convert(X))), keys)
