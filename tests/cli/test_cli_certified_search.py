"""search --certify: the proof in sentences, in JSON and in the report."""

import json

import pytest

from support.command import call, facts


@pytest.fixture(scope="module")
def found():
    return facts("search", "breast-cancer", "--certify", "0.02", "--C", "0.01,10")


def test_the_text_says_what_is_proven():
    said = " ".join(
        call("search", "breast-cancer", "--certify", "0.02", "--C", "0.01,10").stdout.split()
    )
    assert "has a cross-validation error of" in said
    assert "No C from 0.01 to 10 has an error below" in said
    assert "So none is better by more than 2.00 %." in said


def test_json_has_the_bounds_and_every_value_as_a_candidate(found):
    proof = found["certified"]
    assert proof["complete"]
    assert proof["proven"] == pytest.approx(1.0)
    assert proof["lower_bound"] >= proof["error"] - 0.02
    assert proof["edges"][0] == 0.01
    assert proof["edges"][-1] == 10.0
    assert len(proof["low"]) == len(proof["high"]) == len(proof["edges"]) - 1
    assert [c["parameters"]["C"] for c in found["candidates"]] == proof["points"]
    best = next(c for c in found["candidates"] if c["parameters"] == found["best"])
    assert best["mean"] == pytest.approx(1.0 - proof["error"])
    assert found["best"] == {"C": proof["C"]}
    assert 5 * len(proof["points"]) == proof["n_fits"]


def test_several_classes_are_one_against_the_rest():
    out = facts("search", "iris", "--certify", "0.1", "--C", "0.1,10")
    assert out["model"]["name"] == "logistic"
    assert out["certified"]["complete"]


def test_an_interval_that_is_not_proven_is_an_exit_code_and_a_warning(monkeypatch):
    import separatrix.workflow.search.searching as searching

    full = searching.certified_search
    monkeypatch.setattr(
        searching, "certified_search", lambda *args, **given: full(*args, **given, max_points=4)
    )
    out = facts("search", "breast-cancer", "--certify", "0.001", code=3)
    assert not out["certified"]["complete"]
    assert any("The rest is not proven." in warning for warning in out["warnings"])


def test_rows_that_need_a_preparation_are_prepared_once_for_all_folds(tmp_path):
    rows = [f"{i % 7},{'ab'[i % 2]},{'yes' if i % 7 > 3 else 'no'}" for i in range(60)]
    (tmp_path / "people.csv").write_text("\n".join(["age,job,label", *rows]) + "\n")
    out = facts("search", str(tmp_path / "people.csv"), "--certify", "0.3", "--C", "0.1,1")
    assert any("prepared once for all folds" in note for note in out["notes"])


REFUSED = [
    (("--l1", "0,0.5"), "--l1"),
    (("--scoring", "f1_macro"), "accuracy or neg_log_loss"),
    (("--C", "0.1,1,10"), "--C must be a pair of finite numbers > 0"),
    (("--C", "0,1"), "--C must be a pair of finite numbers > 0"),
    (("--model", "softmax"), "Use logistic or svm."),
    (("--model", "svm", "--loss", "hinge"), "each other. Set --loss squared_hinge.\n"),
    (
        ("--model", "svm", "--scoring", "neg_log_loss", "--probability", "5"),
        "no bounds for the probabilities of the model 'svm'. Use logistic.",
    ),
    (("--certify", "0"), "--certify must be a finite number > 0"),
]


@pytest.mark.parametrize(("options", "words"), REFUSED)
def test_what_has_no_proof_is_refused_in_the_words_of_the_command_line(options, words):
    said = call("search", "iris", "--certify", "0.05", *options, code=2)
    assert words in " ".join(said.stderr.split()) + "\n"


def test_models_of_two_classes_without_a_proof_are_refused():
    said = call("search", "breast-cancer", "--certify", "0.05", "--model", "crammer-singer", code=2)
    assert "Use logistic or svm." in said.stderr


def test_the_log_loss_can_be_bounded():
    out = json.loads(
        call(
            "search", "breast-cancer", "--certify", "0.05", "--C", "0.1,10",
            "--scoring", "neg_log_loss", "--json",
        ).stdout
    )  # fmt: skip
    assert out["certified"]["measure"] == "log_loss"
    assert out["certified"]["complete"]
