"""predict --certified, and the certain digits of show."""

import csv
import io
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


def test_every_digit_that_show_prints_is_one_of_the_exact_optimum(folder):
    exact = facts("fit", "breast-cancer", "--tol", "1e-12", "--out", str(folder / "exact.sx"))
    assert exact["verdict"]["converged"]
    (best,) = facts("show", str(folder / "exact.sx"), "--top", "30")["weights"]
    numbers = {entry["feature"]: entry["weight"] for entry in best["towards"] + best["away"]}
    for name in ("loose.sx", "tight.sx"):
        text = call("show", str(folder / name), "--top", "30").stdout
        shown = re.findall(r"(\S[^\n±]*?\S)  +(-?\d[\d.e+-]*)( ± (\S+))?", text)
        shown = [found for found in shown if found[0] in numbers]
        assert len(shown) == 30
        assert any(found[2] for found in shown) == (name == "loose.sx")
        bias = re.search(r"bias (\S+?)( ± (\S+))?; ", text).groups()
        for value, number, radius in [
            *((numbers[feature], number, radius) for feature, number, _, radius in shown),
            (best["bias"], bias[0], bias[2]),
        ]:
            if radius:
                assert abs(value - float(number)) <= float(radius)
            else:
                digits = len(re.sub(r"e.*|\D", "", number).lstrip("0"))
                assert float(f"{value:.{digits}g}") == float(number)


def test_show_says_when_nothing_bounds_the_distance_of_the_weights(folder):
    words = "How far the weights are from those of the exact optimum is not known."
    assert words not in " ".join(call("show", str(folder / "loose.sx")).stdout.split())
    for options, code, reason in [
        (["--l1", "1"], 0, "The penalty has no L2 part"),
        (["--solver", "gradient"], 3, "GradientDescentClassifier stores no region"),
    ]:
        out = str(folder / "unbounded.sx")
        call("fit", "breast-cancer", *options, "--out", out, code=code)
        assert f"{words} {reason}" in " ".join(call("show", out).stdout.split())
        found = facts("show", out)
        assert reason in found["no_bound"]
        assert found["weights"][0]["towards"][0]["radius"] is None
        assert found["weights"][0]["bias_radius"] is None


def test_show_counts_the_weights_that_are_certainly_zero(folder):
    out = str(folder / "sparse.sx")
    call("fit", "breast-cancer", "--l1", "0.5", "--C", "0.01", "--out", out)
    said = " ".join(call("show", out).stdout.split())
    assert "At the exact optimum 18 weights are certainly zero and 12 certainly not" in said
