"""The output and the exit codes of all commands."""

import csv
import json
import subprocess
import sys

import numpy as np
import pytest

from separatrix import Bundle, LogisticRegression, load, load_model, save
from separatrix.matrix import get_threads
from support.command import PEOPLE, call, facts

# fit


@pytest.mark.parametrize(("name", "model"), [("iris", "softmax"), ("wine", "softmax")])
def test_fit_prints_objective_verdict_and_metrics(folder, name, model):
    text = call("fit", name).stdout
    assert f"{name} · " in text.splitlines()[0]
    for word in ("Objective", "Optimal:", "train", "validation", "test, by class", "true \\ pred"):
        assert word in text
    found = facts("fit", name)
    assert found["model"]["name"] == model
    assert found["verdict"]["converged"]
    assert found["metrics"]["test"]["accuracy"] > 0.85


@pytest.mark.slow
def test_no_line_is_wider_than_the_terminal(folder):
    call("fit", "people.csv", "--out", "m.sx")
    commands = [
        ("fit", "digits"),
        ("fit", "people.csv"),
        ("search", "wine", "--folds", "2"),
        ("compare", "wine"),
        ("show", "m.sx"),
        ("evaluate", "m.sx", "people.csv", "--all"),
        ("data", "list"),
        ("data", "show", "mnist"),
        ("--help",),
        ("fit", "--help"),
    ]
    for command in commands:
        wide = [line for line in call(*command).stdout.splitlines() if len(line) > 80]
        assert not [line for line in wide if "/" not in line], command


def test_no_line_of_a_pipe_ends_in_blanks(folder):
    call("fit", "people.csv", "--out", "m.sx")
    for command in (
        ("fit", "people.csv"),
        ("predict", "m.sx", "people.csv"),
        ("show", "m.sx"),
        ("compare", "iris"),
    ):
        lines = call(*command).output.split("\n")
        assert not [line for line in lines if line != line.rstrip()], command


def test_fit_of_a_table_prints_its_decisions(folder):
    text = " ".join(call("fit", "people.csv").stdout.split())
    assert "The label is the last column, 'income'." in text
    assert "Column 'job': filled 1 missing value" in text
    assert "2 numeric (standardised), 1 categorical (one-hot: 'job')" in text
    refused = call("fit", "people.csv", "--missing", "refuse", code=1)
    assert "people.csv, line 4: column 'job' has no value" in refused.stderr


def test_fit_of_text_has_a_weight_for_every_word(folder):
    found = facts("fit", "mail.tsv", "--out", "mail.sx", "--words", "counts")
    assert found["source"]["classes"] == ["ham", "spam"]
    weights = facts("show", "mail.sx", "--top", "3")["weights"]
    assert len(weights) == 1
    assert weights[0]["class"] == "spam"
    assert all(entry["feature"].startswith("word:") for entry in weights[0]["towards"])
    assert "for spam" in call("show", "mail.sx").stdout


def test_folders_of_images_are_trained_on_and_resized_on_request(folder):
    image = pytest.importorskip("PIL.Image")
    for name, grey in (("dark", 20), ("light", 230)):
        (folder / "images" / name).mkdir(parents=True)
        for k in range(10):
            size = (4, 4) if k else (8, 8)
            image.new("L", size, grey + k).save(folder / "images" / name / f"{k}.png")
    assert "--size 8x8" in call("fit", "images", code=1).stderr
    found = facts("fit", "images", "--size", "3x2", "--out", "m.sx")
    assert found["source"]["features"] == 6
    assert found["metrics"]["test"]["accuracy"] == 1.0
    answers = facts("predict", "m.sx", "images/light", "--size", "3x2")["predictions"]
    assert answers == ["light"] * 10


def test_word_lists_make_the_vectors_of_the_course(folder):
    (folder / "films.tsv").write_text(
        "label\ttext\n"
        "1\tThis is a great film!\n"
        "0\tThis is an awful film, I think.\n"
        "0\tThis is a great cast, but an awful film.\n"
        "0\tThis is one more film.\n"
    )
    (folder / "bad.txt").write_text("awful\nbad\n")
    lists = ["--word-list", "positive=great,good", "--word-list", "negative=@bad.txt"]
    call("fit", "films.tsv", "--text", "text", "--words", "none", *lists, "--split", "1/0/0",
         "--out", "films.sx")  # fmt: skip
    bundle = load_model("films.sx")
    matrix = bundle.transform(load("films.tsv", text="text"))
    dense = matrix.toarray() if hasattr(matrix, "toarray") else matrix
    assert dense.tolist() == [[1, 0], [0, 1], [1, 1], [0, 0]]


def test_options_become_parameters_of_the_model(folder):
    call("fit", "iris", "--model", "svm", "--C", "0.5", "--bias", "penalised", "--loss", "hinge",
         "--tol", "1e-3", "--balanced", "--probability", "3", "--max-iter", "77", "--seed", "5",
         "--out", "m.sx")  # fmt: skip
    given = load_model("m.sx").estimator.get_params()
    wanted = {"C": 0.5, "intercept_scaling": 1.0, "loss": "hinge", "tol": 1e-3, "max_iter": 77}
    assert wanted.items() <= given.items()
    assert (given["class_weight"], given["probability"], given["random_state"]) == (
        "balanced",
        3,
        5,
    )
    call("fit", "iris", "--l1", "1", "--C", "0.05", "--bias", "none", "--out", "m.sx")
    model = load_model("m.sx").estimator
    assert (model.l1_ratio, model.fit_intercept) == (1.0, False)
    assert (model.coef_ == 0).any()


def test_the_seed_and_the_split_determine_the_rows(folder):
    first, second = (facts("fit", "wine", "--seed", s)["metrics"]["test"] for s in (0, 1))
    assert first != second
    parts = facts("fit", "wine", "--split", "50/25/25")["source"]["parts"]
    assert parts == {"train": 90, "validation": 44, "test": 44}


def test_threads_are_set(folder, threads):
    call("fit", "iris", "--threads", "1", "--quiet")
    assert get_threads() == 1


def test_quiet_prints_nothing_and_json_only_json(folder):
    assert call("fit", "iris", "--quiet").output == ""
    assert call("fit", "iris", "--json").stderr == ""
    assert json.loads(call("data", "list", "--json").stdout)[0]["name"] == "iris"


# search, compare


def test_duplicate_values_are_searched_once(folder):
    assert len(facts("search", "iris", "--C", "1,1.0,10", "--folds", "2")["candidates"]) == 2


def test_search_marks_and_names_candidates_with_the_same_score(folder):
    found = facts("search", "iris", "--folds", "5")
    best = found["best"]
    top = max(candidate["mean"] for candidate in found["candidates"])
    tied = [c["parameters"] for c in found["candidates"] if abs(c["mean"] - top) < 1e-9]
    assert len(tied) > 1
    assert [best, *found["ties"]] == tied
    printed = call("search", "iris", "--folds", "5").stdout
    assert printed.count("●") == 1
    table, told = printed.split("The same mean accuracy (○): ")
    assert table.count("○") == len(found["ties"])
    for parameters in found["ties"]:
        assert f"C = {parameters['C']:g}" in told


def test_search_prints_the_table_and_the_best_candidate(folder):
    words = ["search", "iris", "--C", "0.01,1,100", "--folds", "3", "--out", "m.sx"]
    text = call(*words).stdout
    assert "● 1 " in text
    assert "2 x std. dev." in text
    found = facts(*words)
    assert found["best"] == {"C": 1.0}
    assert [candidate["parameters"]["C"] for candidate in found["candidates"]] == [0.01, 1.0, 100.0]
    for candidate in found["candidates"]:
        assert candidate["mean"] == pytest.approx(np.mean(candidate["scores"]))
    assert load_model("m.sx").estimator.C == 1.0
    assert found["metrics"]["train"]["rows"] == 125
    call("search", "mail.tsv", "--folds", "2", "--scoring", "f1_macro")


def test_compare_has_all_families_in_one_table(folder):
    text = call("compare", "wine").stdout
    for name in ("softmax", "weston-watkins", "perceptron", "naive-bayes", "closed form"):
        assert name in text
    assert "Best: " in text
    assert "naive-bayes is scikit-learn's GaussianNB." in " ".join(text.split())
    found = facts("compare", "mail.tsv", "--model", "svm")
    assert found["models"][1]["about"] == "scikit-learn's MultinomialNB"
    assert [row["model"] for row in found["models"]] == ["svm", "naive-bayes"]
    assert found["best"] in ("svm", "naive-bayes")


def test_compare_names_the_models_that_are_as_good_as_the_best(folder):
    text = " ".join(call("compare", "iris").stdout.split())
    found = facts("compare", "iris")
    accuracies = {row["model"]: row["metrics"]["validation"]["accuracy"] for row in found["models"]}
    assert accuracies[found["best"]] == max(accuracies.values()) == 1.0
    # 25 rows do not separate their accuracies: there is no winner of three equal ones alone. Every
    # model is named, those with a higher log-loss than naive Bayes as worse.
    worse = text.split("Significantly higher log-loss than another model (paired t-test): ")[1]
    worse = worse.split(".")[0].split(", ")
    assert worse == ["logistic", "softmax", "reference"]
    assert {found["best"], *found["as_good"], *worse} == set(accuracies)
    assert found["ties"] == [name for name in accuracies if accuracies[name] == 1.0][1:]
    named = ", ".join([found["best"], *found["ties"]])
    assert f"Best: {named}, each with 100.0 % of 25 validation rows correct" in text
    assert "Not significantly different at the 5 % level (○)" in text
    assert "at least 6 rows" in text


# predict, evaluate, show


def test_predict_takes_files_with_and_without_the_label(folder):
    call("fit", "people.csv", "--out", "m.sx", "--quiet")
    lines = PEOPLE.splitlines()
    (folder / "new.csv").write_text("\n".join(line.rpartition(",")[0] for line in lines) + "\n")
    (folder / "turned.csv").write_text(
        "\n".join(",".join(reversed(line.split(","))) for line in lines) + "\n"
    )
    answers = {
        name: call("predict", "m.sx", name).stdout
        for name in ("people.csv", "new.csv", "turned.csv")
    }
    assert len(set(answers.values())) == 1
    notes = call("predict", "m.sx", "new.csv").stderr  # not on standard output
    assert "Column 'job': filled 1 missing value" in notes
    assert "Split the rows" not in notes
    assert call("predict", "m.sx", "new.csv", "--quiet").stderr == ""
    rows = list(csv.reader(answers["new.csv"].splitlines()))
    assert rows[0] == ["prediction"]
    assert len(rows) == 13
    found = facts("predict", "m.sx", "people.csv")
    assert found["predictions"] == [row[0] for row in rows[1:]]
    assert found["metrics"]["rows"] == 12
    assert "metrics" not in facts("predict", "m.sx", "new.csv")


def test_predict_writes_probabilities_to_a_file(folder):
    call("fit", "people.csv", "--out", "m.sx", "--quiet")
    text = call("predict", "m.sx", "people.csv", "--proba", "--out", "a.csv").stdout
    assert "Wrote 12 predictions to a.csv." in text
    with open("a.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 12
    for row in rows:
        high, low = float(row["P(high)"]), float(row["P(low)"])
        assert high + low == pytest.approx(1.0)
        assert row["prediction"] == ("high" if high > low else "low")
    call("fit", "people.csv", "--model", "svm", "--out", "svm.sx", "--quiet")
    refused = call("predict", "svm.sx", "people.csv", "--proba", code=1)
    assert "has no probabilities" in refused.stderr


def test_predict_reads_text_without_labels(folder):
    call("fit", "mail.tsv", "--out", "mail.sx", "--quiet")
    (folder / "new.txt").write_text("a free phone to win\nlunch at noon, are we on?\n")
    assert facts("predict", "mail.sx", "new.txt")["predictions"] == ["spam", "ham"]


def test_predict_and_evaluate_know_the_number_of_features_of_an_svmlight_file(folder):
    (folder / "a.svm").write_text("".join(f"{k % 2} 1:{k} 7:{(k * 7) % 5}\n" for k in range(20)))
    (folder / "b.svm").write_text("1 1:3\n0 2:4\n")
    call("fit", "a.svm", "--out", "m.sx", "--quiet")
    assert len(facts("predict", "m.sx", "b.svm")["predictions"]) == 2
    assert facts("evaluate", "m.sx", "b.svm")["source"]["rows"] == 2


def test_a_model_saved_without_its_preparation_predicts_too(folder):
    wine = load("wine")
    model = LogisticRegression().fit(wine.table, wine.y)
    save(model, "plain.sx")
    assert facts("predict", "plain.sx", "wine")["predictions"] == model.predict(wine.table).tolist()
    assert facts("show", "plain.sx")["weights"][0]["towards"][0]["feature"].startswith("feature ")


def test_evaluate_measures_the_test_rows_of_the_training_data(folder):
    found = facts("fit", "wine", "--seed", "4", "--out", "m.sx")
    evaluated = facts("evaluate", "m.sx", "wine")
    assert evaluated["metrics"] == found["metrics"]["test"]
    assert facts("evaluate", "m.sx", "wine", "--all")["metrics"]["rows"] == 178
    assert facts("fit", "people.csv", "--out", "p.sx")["source"]["parts"]["test"] == 1
    assert facts("evaluate", "p.sx", "people.csv")["metrics"]["rows"] == 1


def test_a_model_saved_with_a_threshold_has_the_metrics_at_this_threshold(folder):
    before = facts("fit", "breast-cancer", "--out", "m.sx")["metrics"]
    words = ["--recall", "0.99", "--out", "careful.sx"]
    chosen = facts("evaluate", "m.sx", "breast-cancer", *words)["threshold"]
    shown = facts("show", "careful.sx")["metrics"]
    assert list(shown) == ["train", "validation", "test"]
    assert shown["test"] == chosen["metrics"] != before["test"]
    assert [part["rows"] for part in shown.values()] == [456, 57, 56]
    bundle, source = load_model("careful.sx"), load("breast-cancer")
    train = source.part("train")
    right = (bundle.predict(train) == train.y).mean()
    assert shown["train"]["accuracy"] == right
    # Other data has no parts.
    call("fit", "people.csv", "--out", "p.sx", "--quiet")
    (folder / "others.csv").write_text("".join(PEOPLE.splitlines(keepends=True)[:9]))
    found = facts("evaluate", "p.sx", "others.csv", *words)
    shown = facts("show", "careful.sx")["metrics"]
    assert shown == {"measured": found["threshold"]["metrics"]}


def test_evaluate_ranks_and_finds_thresholds(folder):
    call("fit", "breast-cancer", "--out", "m.sx", "--quiet")
    words = ["evaluate", "m.sx", "breast-cancer", "--all"]
    found = facts(*words, "--recall", "0.99", "--out", "careful.sx")
    assert found["ranking"]["roc_auc"] > 0.99
    assert found["threshold"]["recall"] >= 0.99
    assert len(found["curves"]["roc"]["true_positive_rate"]) > 5
    assert load_model("careful.sx").estimator.threshold_ == found["threshold"]["value"]
    assert load_model("m.sx").estimator.threshold_ == 0.0
    after = facts("evaluate", "careful.sx", "breast-cancer", "--all")["metrics"]
    assert after == found["threshold"]["metrics"]
    by_validation = facts("evaluate", "m.sx", "breast-cancer", "--recall", "0.9")
    assert by_validation["threshold"]["rows"] == "validation"
    assert by_validation["threshold"]["metrics"]["rows"] == 56
    text = call(*words, "--precision", "1").stdout
    assert "ROC AUC" in text
    assert "Threshold " in text
    call(*words, "--precision", "1", "--recall", "1", code=2)
    call(*words, "--out", "x.sx", code=2)


def test_evaluate_names_labels_that_are_unknown_or_missing(folder):
    call("fit", "people.csv", "--out", "m.sx", "--quiet")
    (folder / "new.csv").write_text("age,job,hours\n3,clerk,4\n")
    assert "has no labels" in call("evaluate", "m.sx", "new.csv", code=1).stderr
    (folder / "odd.csv").write_text("age,job,hours,label\n3,clerk,4,rich\n")
    odd = call("evaluate", "m.sx", "odd.csv", code=1)
    assert "the label 'rich', which is not one of" in odd.stderr
    call("fit", "iris", "--out", "iris.sx", "--quiet")
    refused = call("predict", "iris.sx", "people.csv", code=1)
    assert "none of 'age', 'job', 'hours', 'income' is a column of the model" in refused.stderr
    assert "The columns of the model are 'sepal length (cm)', " in refused.stderr
    (folder / "words.csv").write_text("1,2,3,4\n1,two,3,4\n")
    refused = call("predict", "iris.sx", "words.csv", code=1)
    assert "line 2: column 'sepal width (cm)' must hold numbers" in refused.stderr


def test_show_has_objective_metrics_and_weights_of_every_class(folder):
    call("fit", "iris", "--out", "m.sx", "--quiet")
    text = call("show", "m.sx").stdout
    assert "mean cross-entropy" in text
    for name in ("setosa", "versicolor", "virginica"):
        assert f"for {name}" in text
        assert f"against {name}" in text
    assert "petal width (cm)" in text
    assert isinstance(load_model("m.sx"), Bundle)


# data


def test_data_sets_are_listed_shown_and_fetched(folder, monkeypatch):
    monkeypatch.delenv("SEPARATRIX_DATA", raising=False)
    monkeypatch.setenv("SEPARATRIX_CACHE", str(folder / "cache"))
    text = call("data", "list").stdout
    assert "to download" in text
    assert "copy by hand" in text
    assert "expected at" in " ".join(call("data", "show", "a5a").stdout.split())
    assert "needs no files" in call("data", "fetch", "iris").stdout
    missing = call("data", "fetch", "cs725/binary", code=1)
    assert "Put each file at" in missing.stderr
    assert "have no public address" in call("fit", "cs725/iris", code=1).stderr


def test_addresses_and_sums_are_not_wrapped(folder):
    files = facts("data", "show", "mnist")["files"]
    lines = [line.strip() for line in call("data", "show", "mnist").stdout.splitlines()]
    for file in files:
        assert f"Address    {file['address']}" in lines
        assert f"sha256     {file['sha256']}" in lines


# Start-up


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [["--help"], ["--version"], ["data", "--help"]]
    + [[verb, "--help"] for verb in ["fit", "search", "predict", "evaluate", "show", "compare"]],
    ids=" ".join,
)
def test_help_imports_nothing_heavy_and_has_examples(words):
    code = (
        "import sys\n"
        "from separatrix.cli import main\n"
        "try:\n    main()\n"
        "except SystemExit as end:\n    assert not end.code\n"
        "heavy = {'numpy', 'scipy', 'sklearn', 'pandas', 'pyarrow', 'PIL', 'separatrix._core'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)\n"
    )
    command = [sys.executable, "-c", code, *words]
    found = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "separatrix" in found.stdout
    if words[0] not in ("--version", "data"):
        assert f"separatrix {words[0]} " in found.stdout or words == ["--help"]


@pytest.mark.parametrize("expression", ["-log(w)", "-sqrt(w)", "-w", "-q*w"])
def test_an_expression_may_begin_with_a_minus(expression):
    values = ["w=0.25", "q=2"][: 1 + ("q*" in expression)]
    found = json.loads(call("graph", expression, *values, "--json").output)
    assert found["expression"] == expression
    assert "No such option" in call("graph", "--foo", "w=1", code=2).output
