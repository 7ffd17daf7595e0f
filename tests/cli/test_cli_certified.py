"""predict --certified, and the certain digits of show."""

import csv
import io
import json
import re

import pytest

from support.command import call, facts


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certified")
    call("fit", "breast-cancer", "--out", str(folder / "tight.sx"))
    call("fit", "breast-cancer", "--tol", "0.01", "--out", str(folder / "loose.sx"))
    return folder


def test_predict_adds_a_column_and_prints_the_count(folder):
    said = call("predict", str(folder / "loose.sx"), "breast-cancer", "--certified")
    table = list(csv.DictReader(io.StringIO(said.stdout)))
    assert list(table[0])[:2] == ["prediction", "certain"]
    sure = sum(row["certain"] == "yes" for row in table)
    assert 0 < sure < len(table) == 569
    assert f"{sure} of 569 predictions are those of the exact optimum." in said.stderr


def test_json_has_certainty_and_bounds_on_probabilities(folder):
    found = facts("predict", str(folder / "tight.sx"), "breast-cancer", "--certified", "--proba")
    assert sum(found["certain"]) > 560
    for low, p, high in zip(
        found["probability_low"], found["probabilities"], found["probability_high"]
    ):
        assert low[0] <= high[0]
        assert abs(p[0] - low[0]) < 0.2
    assert found["certified"].endswith("predictions are those of the exact optimum.")


def test_a_model_of_a_search_says_that_it_has_no_certificate(folder):
    out = str(folder / "searched.sx")
    call("search", "iris", "--C", "0.1,1", "--out", out)
    said = call("predict", out, "iris", "--certified", code=1)
    assert "no region of the optimum" in " ".join(said.stderr.split())


def test_show_prints_only_digits_that_are_certain(folder):
    loose, tight = (
        json.loads(call("show", str(folder / name), "--json").stdout)
        for name in ("loose.sx", "tight.sx")
    )
    width = [found["weights"][0]["towards"][0]["radius"] for found in (loose, tight)]
    assert width[0] > width[1]
    text = call("show", str(folder / "loose.sx")).stdout
    assert re.search(r"\d ± \d", text)
    assert "±" not in call("show", str(folder / "tight.sx"), "--top", "3").stdout


def test_show_counts_the_weights_that_are_certainly_zero(folder):
    out = str(folder / "sparse.sx")
    call("fit", "breast-cancer", "--l1", "0.5", "--C", "0.01", "--out", out)
    said = " ".join(call("show", out).stdout.split())
    assert "At the exact optimum 18 weights are certainly zero and 12 certainly not" in said
