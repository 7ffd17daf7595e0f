"""The working folder of a study."""

import pytest


@pytest.fixture
def small(tmp_path, monkeypatch):
    """A temporary working folder for the store."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEPARATRIX_STORE", raising=False)
    return tmp_path
