"""The folder in which a study is made."""

import pytest


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A folder of its own for the store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEPARATRIX_STORE", raising=False)
    return tmp_path
