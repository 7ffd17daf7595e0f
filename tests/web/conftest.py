"""The pages that the tests open."""

from dataclasses import replace

import numpy as np
import pytest

from separatrix import GradientDescentClassifier, Study
from separatrix.web import write_report
from support.browser import opened


@pytest.fixture
def open_page(browser):
    """A function that opens a file and, at the end, checks for errors and requests."""
    return lambda page, fragment="", **options: opened(browser, page, fragment, **options)


@pytest.fixture(scope="session")
def facts(tmp_path_factory):
    """A study with a best, worse, unconverged and diverged configurations."""
    study = Study(
        "rates",
        GradientDescentClassifier(),
        {"learning_rate": [0.01, 0.1, 20.0], "momentum": [0.0, 0.9], "epochs": [10, 40, 60]},
        store=tmp_path_factory.mktemp("store") / "studies.db",
    )
    return study.run("iris", standardise=False).facts()


@pytest.fixture(scope="session")
def plane_facts(tmp_path_factory):
    """A study of data with two features, in two configurations."""
    rng = np.random.default_rng(0)
    y = np.arange(60) % 3
    X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])[y] + rng.standard_normal((60, 2))
    study = Study(
        "plane",
        GradientDescentClassifier(epochs=30),
        {"learning_rate": [0.01, 0.5]},
        store=tmp_path_factory.mktemp("store") / "studies.db",
    )
    return study.run(X[::2], y[::2], X[1::2], y[1::2]).facts()


@pytest.fixture(scope="session")
def image_facts(tmp_path_factory):
    """A study of images."""
    study = Study(
        "images",
        GradientDescentClassifier(epochs=5),
        {"learning_rate": [0.01, 0.1]},
        store=tmp_path_factory.mktemp("store") / "studies.db",
    )
    return study.run("digits").facts()


def many(facts, count=1000):
    """Return the facts of a large study, with copies of the configurations of a small one."""
    rows, histories, rates = [], {}, [0.001 * (k + 1) for k in range(count)]
    for k, rate in enumerate(rates):
        row = facts.rows[k % len(facts.rows)]
        mark = row.mark if row.mark != "best" or k == facts.verdict.best else "same"
        parameters = {**row.parameters, "learning_rate": rate}
        rows.append(replace(row, number=k, parameters=parameters, mark=mark))
        histories[k] = facts.histories[row.number]
    grid = {**facts.grid, "learning_rate": rates}
    return replace(facts, name="many", rows=rows, histories=histories, grid=grid)


@pytest.fixture(scope="session")
def pages(tmp_path_factory, facts, plane_facts, image_facts):
    """The files of all reports by name."""
    folder = tmp_path_factory.mktemp("pages")
    found = {
        "rates": facts,
        "plane": plane_facts,
        "images": image_facts,
        "many": many(facts),
    }
    return {name: write_report(one, folder / f"{name}.html") for name, one in found.items()}
