"""The choice of a solver, and gradient descent with its options."""

import numpy as np
import pytest

from separatrix import GradientDescentClassifier, load
from separatrix.solvers import OPTIMISERS
from separatrix.workflow.fitting import fit_prepared, fit_source
from separatrix.workflow.gradient_descent import GradientOptions
from separatrix.workflow.model_families import GRADIENT, SOLVER_NAMES, ModelOptions
from separatrix.workflow.preparing import prepare_source
from support.command import call, facts


def test_all_solvers_are_listed():
    assert sorted(SOLVER_NAMES) == sorted(["auto", *OPTIMISERS, GRADIENT])


@pytest.mark.parametrize("solver", ["newton", "lbfgs", "dual"])
def test_a_solver_is_used_by_fit_search_and_compare(solver):
    assert facts("fit", "iris", "--solver", solver)["verdict"]["solver"] == solver
    found = facts("search", "iris", "--solver", solver, "--C", "1", "--folds", "2")
    assert found["verdict"]["solver"] == solver
    found = facts("compare", "iris", "--solver", solver, "--model", "softmax")
    assert found["models"][0]["verdict"]["solver"] == solver


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("fit", "iris", "--solver", "sgd"), "--solver must be one of auto, newton"),
        (("fit", "iris", "--solver", "newton", "--model", "svm", "--loss", "hinge"), "smooth loss"),
        (("fit", "iris", "--solver", "newton", "--model", "perceptron"), "no option --solver"),
        (("fit", "iris", "--epochs", "5"), "--epochs is an option of gradient descent"),
        (("fit", "iris", "--solver", "gradient", "--balanced"), "--balanced cannot be combined"),
        (("fit", "iris", "--solver", "gradient", "--model", "perceptron"), "cannot be trained"),
        (("fit", "iris", "--solver", "gradient", "--bias", "penalised", "--model", "svm"), "bias"),
        (("fit", "iris", "--solver", "gradient", "--momentum", "2"), "--momentum"),
        (("search", "iris", "--solver", "gradient"), "cannot be used in a search"),
        (("compare", "iris", "--solver", "sgd"), "--solver must be one of auto, newton"),
        (("compare", "iris", "--epochs", "5"), "--epochs is an option of gradient descent"),
        (("compare", "iris", "--model", "perceptron", "--solver", "newton"), "no option --solver"),
        (("compare", "iris", "--model", "naive-bayes", "--solver", "dual"), "no option --solver"),
        (("compare", "iris", "--model", "crammer-singer", "--solver", "newton"), "smooth loss"),
        (("compare", "iris", "--solver", "gradient", "--balanced"), "--balanced cannot be"),
    ],
)
def test_solvers_and_options_that_do_not_fit_are_refused(words, message):
    assert message in call(*words, code=2).stderr


def test_compare_uses_a_solver_for_the_models_that_it_can_train():
    found = facts("compare", "iris", "--solver", "newton")
    solvers = {row["model"]: row["verdict"] and row["verdict"]["solver"] for row in found["models"]}
    assert solvers["softmax"] == "newton"
    assert solvers["crammer-singer"] in ("dual", "interior")
    printed = " ".join(call("compare", "iris", "--solver", "newton").stdout.split())
    assert "crammer-singer was trained with its automatic choice of solver. Loss" in printed
    assert "newton needs a smooth loss" in printed
    assert "perceptron was trained without --solver newton: it has only one solver." in printed


def test_compare_trains_by_gradient_descent_with_its_options():
    words = ("compare", "iris", "--model", "softmax", "--solver", "gradient")
    given = ("--learning-rate", "0.25", "--momentum", "0.5", "--epochs", "7")
    row = facts(*words, *given)["models"][0]
    assert [row["verdict"]["iterations"], row["learning_rate"]] == [7, 0.25]
    assert row["verdict"]["solver"] == "gradient"
    assert "Learning rates: softmax 0.25." in call(*words, *given).stdout


def test_compare_lists_naive_bayes_once():
    found = facts("compare", "iris", "--model", "naive-bayes")
    assert [row["model"] for row in found["models"]] == ["naive-bayes"]


FAMILIES = ["logistic", "softmax", "reference", "svm", "weston-watkins"]


@pytest.mark.parametrize("family", FAMILIES)
def test_gradient_descent_reaches_the_optimum_of_the_same_objective(family):
    wine = load("wine")
    options = ModelOptions(C=0.05, tol=1e-7)
    exact = fit_source(wine, family, options).facts
    options = ModelOptions(C=0.05, tol=1e-7, solver=GRADIENT)
    descent = GradientOptions(momentum=0.9, epochs=20_000)
    found = fit_prepared(prepare_source(wine), family, options, descent=descent).facts
    assert found["model"]["objective"] == exact["model"]["objective"]
    assert found["verdict"]["stop_reason"] == "tol"
    primal = found["verdict"]["certificate"]["primal"]
    assert primal == pytest.approx(exact["verdict"]["certificate"]["primal"], rel=1e-6)


def test_the_options_of_gradient_descent_are_passed_on():
    given = ("--learning-rate", "0.2", "--momentum", "0.5", "--epochs", "7", "--batch-size", "32")
    found = facts("fit", "wine", "--solver", "gradient", *given, code=3)
    parameters = found["model"]["parameters"]
    assert parameters["learning_rate"] == 0.2
    assert parameters["momentum"] == 0.5
    assert parameters["batch_size"] == 32
    assert found["verdict"]["iterations"] == 7


def test_the_learning_rate_is_chosen_from_the_data_and_printed():
    found = facts("fit", "wine", "--solver", "gradient", code=3)
    rate = found["model"]["parameters"]["learning_rate"]
    assert any(note.startswith(f"Chose the learning rate {rate:g}") for note in found["notes"])
    assert np.isfinite(rate)


@pytest.mark.parametrize(
    ("given", "epochs"),
    [
        (("--learning-rate", "50", "--epochs", "100"), 100),
        (("--learning-rate", "20", "--epochs", "100"), 100),
        (("--tol", "1e-3"), 1000),
    ],
)
def test_a_run_that_was_cut_short_above_its_tolerance_did_not_converge(given, epochs, tmp_path):
    model = tmp_path / "m.sx"
    words = ("fit", "wine", "--solver", "gradient", *given)
    printed = " ".join(call(*words, "--out", model, code=3).stdout.split())
    shown = " ".join(call("show", model).stdout.split())
    for text in (printed, shown):
        assert "Did not converge: objective" in text
        assert "duality gap" in text
        assert f"gradient, {epochs:,} epochs" in text
        assert "Converged" not in text
    found = facts(*words, code=3)
    assert found["verdict"]["certificate"]["relative_gap"] > 1e-3
    # A reason is given: that of the oscillation, or that the gap is above the tolerance.
    reason = "rose in" if "50" in given or "20" in given else "had fallen to 0.001"
    assert reason in found["verdict"]["diagnoses"][0]["message"]
    assert "Raise --epochs" in printed or "Lower --learning-rate" in printed


def test_a_run_within_its_tolerance_converged_whatever_stopped_it():
    words = ("fit", "wine", "--solver", "gradient", "--C", "0.01", "--momentum", "0.9")
    found = facts(*words, "--tol", "1e-3")
    assert found["verdict"]["stop_reason"] == "tol"
    assert found["verdict"]["certificate"]["relative_gap"] <= 1e-3
    assert call(*words, "--tol", "1e-3").stdout.count("Optimal:") == 1


def test_patience_without_validation_rows_names_the_options(tmp_path):
    rows = [f"{k % 7},{k % 3},{'uv'[k % 2]}\n" for k in range(60)]
    (tmp_path / "a.csv").write_text("x,s,y\n" + "".join(rows))
    words = ("fit", tmp_path / "a.csv", "--solver", "gradient", "--patience", "5")
    told = call(*words, "--split", "100/0/0", code=2).stderr
    assert "--patience needs validation rows" in told
    assert "--validation" in told
    assert "--split" in told
    assert "X_val" not in told
    assert "patience=None" not in told


def test_findings_about_a_feature_name_it(tmp_path):
    """Only rows of class u have the colour red."""
    rows = [f"{k % 5 + k % 2},{('blue', 'green')[k % 3 % 2]},{'uv'[k % 2]}\n" for k in range(90)]
    rows += [f"{k},red,u\n" for k in range(6)]
    (tmp_path / "a.csv").write_text("size,colour,y\n" + "".join(rows))
    words = ("fit", tmp_path / "a.csv", "--C", "inf", "--out", tmp_path / "m.sx")
    for printed in (call(*words, code=3).stdout, call("show", tmp_path / "m.sx").stdout):
        assert "(by feature 'colour=red' alone)" in " ".join(printed.split())
    study = ("study", tmp_path / "a.csv", "--l2", "0", "--epochs", "20", "--no-report")
    study += ("--store", tmp_path / "s.db", "--learning-rate", "0.1")
    assert "(by feature 'colour=red' alone)" in " ".join(call(*study).stdout.split())


@pytest.mark.parametrize("verb", ["fit", "study"])
def test_unlike_scales_are_to_be_standardised_by_an_option(verb, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{x},{1e5 * z},{'uv'[int(x > 0)]}\n" for x, z in rng.normal(size=(60, 2))]
    (tmp_path / "a.csv").write_text("x,z,y\n" + "".join(rows))
    given = {
        "fit": ("--solver", "gradient"),
        "study": ("--no-report", "--store", tmp_path / "s.db", "--learning-rate", "1e-9"),
    }
    words = (verb, tmp_path / "a.csv", "--as-is", "--epochs", "5", *given[verb])
    printed = " ".join(call(*words, code=3 if verb == "fit" else 0).stdout.split())
    assert "feature 'z' has a standard deviation of" in printed
    assert "--standardise" in printed
    assert "StandardScaler" not in printed


def test_early_stopping_keeps_the_best_epoch(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = ("fit", "breast-cancer", "--solver", "gradient", "--C", "inf", "--momentum", "0.9")
    printed = call(*words, "--patience", "5", "--out", "m.sx").stdout
    assert "Stopped early and kept epoch" in printed
    assert "separable" not in printed
    assert facts("predict", "m.sx", "breast-cancer")["metrics"]["accuracy"] > 0.9


def test_diagnoses_name_options(tmp_path):
    printed = call("fit", "wine", "--solver", "gradient", "--epochs", "3", code=3).stdout
    assert "Raise --epochs" in printed
    noise = np.random.default_rng(0).normal(size=(80, 30))
    rows = [",".join([*map(str, x), "ab"[k % 2]]) for k, x in enumerate(noise)]
    (tmp_path / "noise.csv").write_text("\n".join([",".join(f"x{k}" for k in range(31)), *rows]))
    words = ("fit", tmp_path / "noise.csv", "--solver", "gradient", "--C", "1e4")
    printed = " ".join(call(*words, "--epochs", "300", code=3).stdout.split())
    assert "Stop there (--patience, or --epochs" in printed
    assert "lower --C" in printed


def test_sample_weights_are_used_by_gradient_descent(tmp_path):
    rows = [f"{k % 7},{1 + k % 3},{'uv'[k % 2]}\n" for k in range(60)]
    (tmp_path / "a.csv").write_text("x,s,y\n" + "".join(rows))
    source = load(tmp_path / "a.csv", weight="s")
    options = ModelOptions(C=0.1, tol=1e-9)
    exact = fit_source(source, options=options).bundle.estimator
    options = ModelOptions(C=0.1, tol=1e-9, solver=GRADIENT)
    found = fit_source(source, options=options).bundle.estimator
    assert isinstance(found, GradientDescentClassifier)
    np.testing.assert_allclose(found.coef_, exact.coef_, rtol=1e-3, atol=1e-6)
