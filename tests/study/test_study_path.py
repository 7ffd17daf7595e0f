"""A study is planned once, opens its store once, and gets the name of its data."""

import pytest

from separatrix import GradientDescentClassifier, Study
from separatrix.study import StoreError
from separatrix.study.planning import tasks as planned_tasks
from separatrix.study.store import database
from support.studies import iris

GRID = {"learning_rate": [0.1, 0.01], "epochs": [2, 5]}


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SEPARATRIX_STORE", raising=False)


def count_calls(monkeypatch, module, name):
    """Return a list that collects the arguments of every call of a function."""
    calls, function = [], getattr(module, name)

    def counted(*given, **named):
        calls.append(given)
        return function(*given, **named)

    monkeypatch.setattr(module, name, counted)
    return calls


@pytest.mark.parametrize("name", ["a", None])
def test_a_run_opens_its_store_once_and_groups_its_runs_once(monkeypatch, name):
    opened = count_calls(monkeypatch, database, "_connect")
    grouped = count_calls(monkeypatch, planned_tasks, "share_passes")
    study = Study(name, GradientDescentClassifier(), GRID, seeds=2, memory=1)
    study.run(*iris())
    assert (len(opened), len(grouped)) == (1, 1)
    assert len(study.table()) == 4


def test_a_notebook_card_opens_the_store_once_and_reads_the_best_history(monkeypatch):
    study = Study("a", GradientDescentClassifier(), GRID).run(*iris())
    opened = count_calls(monkeypatch, database, "_connect")
    assert study._repr_html_().count("<svg") == 2
    assert len(opened) == 1
    best = study.verdict().best
    assert list(study.facts(histories="best").histories) == [best]


def test_a_study_without_a_name_is_named_after_its_data_with_a_number():
    names = []
    for _ in range(3):
        study = Study(None, GradientDescentClassifier(), GRID)
        with pytest.raises(StoreError, match="has no name yet"):
            study.facts()
        names.append(study.run("iris").name)
    assert names == ["iris", "iris-2", "iris-3"]


def test_a_study_without_a_name_resumes_the_latest_equal_study():
    Study("first", GradientDescentClassifier(), GRID).run("iris")
    Study("other", GradientDescentClassifier(), {"epochs": 3}).run("iris")
    again = Study(None, GradientDescentClassifier(), GRID).run("iris", resume=True)
    assert again.name == "first"
    with pytest.warns(UserWarning, match=r"No study to resume; starting a new one: other has"):
        new = Study(None, GradientDescentClassifier(), {"epochs": 4}).run("iris", resume=True)
    assert new.name == "iris"
