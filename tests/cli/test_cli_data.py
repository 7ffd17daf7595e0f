"""The commands on real data."""

import pytest
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import log_loss
from sklearn.naive_bayes import MultinomialNB
from sklearn.pipeline import make_pipeline

from separatrix import load, load_model
from support.command import call, facts


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.data("libsvm/a5a", "libsvm/a5a.t")
def test_the_search_of_the_course_reproduces_its_table(data_dir):
    found = facts("search", "a5a", "--model", "svm", "--bias", "penalised",
                  "--C", "0.01,0.1,1,10,100", "--folds", "3")  # fmt: skip
    means = [f"{candidate['mean']:.5f}" for candidate in found["candidates"]]
    spreads = [f"{candidate['two_deviations']:.5f}" for candidate in found["candidates"]]
    assert means == ["0.83957", "0.84222", "0.83801", "0.83645", "0.83630"]
    assert spreads == ["0.01153", "0.01228", "0.00817", "0.00841", "0.00861"]
    assert found["best"] == {"C": 0.1}
    assert found["metrics"]["test"]["accuracy"] == 0.845871419283283
    assert found["warnings"] == []


@pytest.mark.slow
@pytest.mark.data("text/sms.tsv", "text/rt-polarity.pos", "adult/adult-train.csv")
@pytest.mark.parametrize(
    ("name", "accuracy"), [("sms-spam", 0.9677), ("rt-polarity", 0.7899), ("adult", 0.8505)]
)
def test_fit_with_default_options_reaches_a_good_accuracy(data_dir, elsewhere, name, accuracy):
    found = facts("fit", name, "--out", "m.sx")
    assert found["verdict"]["converged"]
    assert found["metrics"]["test"]["accuracy"] == pytest.approx(accuracy, abs=5e-5)
    assert facts("evaluate", "m.sx", name)["metrics"] == found["metrics"]["test"]


@pytest.mark.data("text/sms.tsv")
def test_show_prints_the_typical_words_of_spam(data_dir, elsewhere):
    call("fit", "sms-spam", "--out", "m.sx", "--quiet")
    words = [entry["feature"] for entry in facts("show", "m.sx")["weights"][0]["towards"]]
    assert {"word:txt", "word:free", "word:claim"} <= set(words)


@pytest.mark.data("text/sms.tsv")
def test_the_file_of_the_messages_is_read_like_the_data_set(data_dir, elsewhere):
    call("fit", "sms-spam", "--out", "m.sx", "--quiet")
    by_path = facts("predict", "m.sx", data_dir / "text/sms.tsv")
    assert by_path["predictions"] == facts("predict", "m.sx", "sms-spam")["predictions"]
    assert by_path["metrics"]["rows"] == 5574


@pytest.mark.slow
@pytest.mark.data("adult/adult-test.csv")
def test_the_file_of_adult_is_read_like_the_data_set(data_dir, elsewhere):
    call("fit", "adult", "--out", "m.sx", "--quiet")
    path = data_dir / "adult/adult-test.csv"
    found = facts("predict", "m.sx", path)
    assert found["rows"] == 16281
    wanted = load_model("m.sx").metrics["test"]["accuracy"]
    assert found["metrics"]["accuracy"] == wanted


@pytest.mark.slow
@pytest.mark.data("mnist/train-images-idx3-ubyte.gz", "mnist/t10k-images-idx3-ubyte.gz")
def test_mnist_is_classified_well(data_dir):
    found = facts("fit", "mnist", "--split", "3/0/97", "--tol", "1e-3")
    assert found["source"]["parts"]["train"] == 2100
    assert "Divided the bytes by 255." in found["notes"]
    assert found["metrics"]["test"]["accuracy"] > 0.85


@pytest.mark.slow
@pytest.mark.data("text/sms.tsv")
@pytest.mark.parametrize(
    ("words", "vectorizer"), [("tfidf", TfidfVectorizer), ("counts", CountVectorizer)]
)
def test_compare_gives_the_metrics_of_scikit_learns_naive_bayes(data_dir, words, vectorizer):
    found = facts("compare", "sms-spam", "--words", words)
    models = {row["model"]: row for row in found["models"]}
    assert list(models) == ["logistic", "svm", "perceptron", "naive-bayes"]
    assert models["naive-bayes"]["about"] == "scikit-learn's MultinomialNB"
    source = load("sms-spam")
    parts = {part: source.part(part) for part in source.splits}
    messages = {part: rows.table[next(iter(rows.table))] for part, rows in parts.items()}
    model = make_pipeline(vectorizer(), MultinomialNB()).fit(messages["train"], parts["train"].y)
    for part, rows in parts.items():
        measured = models["naive-bayes"]["metrics"][part]
        assert measured["accuracy"] == model.score(messages[part], rows.y)
        expected = log_loss(rows.y, model.predict_proba(messages[part]))
        assert measured["log_loss"] == pytest.approx(expected, rel=1e-9)


def test_missing_values_and_types_are_options(tmp_path):
    rows = [f"{'abc' if k % 8 == 0 else 20 + k},{k % 9},{'uv'[k > 60]}\n" for k in range(120)]
    path = tmp_path / "table.csv"
    path.write_text("age,zone,label\n" + "".join(rows))
    options = ["--missing-values", "abc,21", "--type", "zone=category"]
    found = facts("fit", path, *options)
    assert found["source"]["features"] == 10
    words = "'abc', 15 cells, first on line 2; '21', line 3"
    assert f"Column 'age': 16 cells are read as missing ({words})." in found["notes"]
    words = call("fit", path, "--type", "age", code=2).output
    assert "--type takes COLUMN=TYPE, such as age=number. Got 'age' instead." in words
    words = " ".join(call("fit", path, "--type", "age=integer", code=2).output.split())
    assert "--type must be one of number, number:decimal-point, number:decimal-comma" in words


def test_the_order_of_dates_is_an_option(tmp_path):
    rows = [f"0{k % 9 + 1}/0{k % 5 + 1}/2024,{k % 9},{'uv'[k > 60]}\n" for k in range(120)]
    path = tmp_path / "table.csv"
    path.write_text("day,zone,label\n" + "".join(rows))
    printed = " ".join(call("fit", path).stdout.split())
    assert "give --type day=date:day-first or --type day=date:month-first" in printed
    printed = " ".join(call("fit", path, "--type", "day=date:month-first").stdout.split())
    assert "Column 'day': dates (month-day-year), read as days since 1970-01-01" in printed
