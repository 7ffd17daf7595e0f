"""Tests of X may set the number of threads."""

import pytest


@pytest.fixture(autouse=True)
def threads_put_back(threads):
    """Restore the number of threads after every test of this folder."""
