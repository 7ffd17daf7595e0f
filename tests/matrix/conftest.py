"""Tests of X may set the number of threads."""

import pytest


@pytest.fixture(autouse=True)
def threads_put_back(threads):
    """Every test of this folder leaves the number of threads as it was."""
