"""The options for columns that describe rows, and for files of validation and test rows."""

import numpy as np
import pytest

from support.command import call, facts

RNG = np.random.default_rng(0)


def lines_of(n, file):
    x, z = RNG.standard_normal((2, n)).round(3)
    y = np.where(x > 0, "v", "u")
    return [f"00{k},{1 + k % 3},{file}{k % 10},{x[k]},{z[k]},{y[k]}\n" for k in range(n)]


HEADER = "key,s,site,x,z,y\n"
GIVEN = ("--id", "key", "--weight", "s", "--group", "site")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """The folder in which the commands run, with three files."""
    monkeypatch.chdir(tmp_path)
    for name, n in (("a", 60), ("b", 15), ("c", 20)):
        (tmp_path / f"{name}.csv").write_text(HEADER + "".join(lines_of(n, name)))
    return tmp_path


def test_identifiers_are_printed_with_the_predictions(folder):
    call("fit", "a.csv", *GIVEN, "--out", "m.sx", "-q")
    printed = call("predict", "m.sx", "c.csv", "--proba").stdout.splitlines()
    assert printed[0] == "key,prediction,P(u),P(v)"
    assert printed[1].startswith("000,")
    assert len(printed) == 21
    assert facts("predict", "m.sx", "c.csv")["ids"]["values"][:2] == ["000", "001"]


def test_identifiers_can_be_chosen_or_missing_when_predicting(folder):
    call("fit", "a.csv", "--drop", "key", "--out", "m.sx", "-q")
    assert facts("predict", "m.sx", "c.csv", "--id", "key")["ids"]["column"] == "key"
    assert facts("predict", "m.sx", "c.csv", "--id", "site")["ids"]["values"][0] == "c0"
    assert "ids" not in facts("predict", "m.sx", "c.csv")
    found = call("predict", "m.sx", "c.csv", "--id", "nothing", code=1)
    assert "There is no column 'nothing' in c.csv" in found.stderr


def test_a_model_with_identifiers_predicts_rows_without_them(folder):
    call("fit", "a.csv", *GIVEN, "--out", "m.sx", "-q")
    (folder / "d.csv").write_text("x,z\n1,2\n-1,0\n")
    assert call("predict", "m.sx", "d.csv").stdout.startswith("prediction\n")


def test_the_decisions_about_these_columns_are_printed(folder):
    printed = " ".join(call("fit", "a.csv", *GIVEN).stdout.split())
    assert "Column 's' holds sample weights" in printed
    assert "Column 'key' identifies the rows" in printed
    assert "every group of column 'site' is in one part" in printed


def test_weights_are_used_when_a_model_is_evaluated(folder):
    call("fit", "a.csv", "--weight", "s", "--drop", "key", "--out", "m.sx", "-q")
    weighted = facts("evaluate", "m.sx", "c.csv")["metrics"]
    call("fit", "a.csv", "--weight", "s", "--drop", "key", "--out", "n.sx", "-q")
    (folder / "d.csv").write_text((folder / "c.csv").read_text().replace("key,s,", "key,t,"))
    plain = facts("evaluate", "n.sx", "d.csv")["metrics"]
    assert weighted["confusion"] == plain["confusion"]
    assert weighted["log_loss"] != plain["log_loss"]


def test_new_rows_need_no_weights_unless_the_option_is_given(folder):
    call("fit", "a.csv", "--weight", "s", "--drop", "key", "--out", "m.sx", "-q")
    (folder / "d.csv").write_text("s,site,x,z,y\n,s1,0.5,0.1,v\n-1,s2,0.3,0.2,v\n")
    assert len(facts("predict", "m.sx", "d.csv")["predictions"]) == 2
    found = facts("predict", "m.sx", "c.csv")
    assert "The metrics use the sample weights in column 's'." in found["notes"]
    with_metric = call("predict", "m.sx", "c.csv", "--out", "p.csv")
    assert "The metrics use the sample weights" in with_metric.output
    assert "The metrics use" not in call("predict", "m.sx", "c.csv").output
    assert "'s'" in " ".join(facts("evaluate", "m.sx", "c.csv")["notes"])
    found = call("evaluate", "m.sx", "d.csv", "--weight", "s", code=1)
    assert "finite number >= 0" in found.stderr


def test_unusable_weights_in_a_file_of_test_rows_are_refused(folder):
    (folder / "d.csv").write_text("key,s,site,x,z,y\n1,,s1,0,0,v\n2,1,s1,0,0,u\n")
    found = call("fit", "a.csv", "--weight", "s", "--test", "d.csv", code=1)
    assert "d.csv: column 's' has missing or invalid values" in found.stderr


def test_a_model_does_not_overwrite_the_file_of_test_rows():
    found = call("fit", "a.csv", "--test", "c.csv", "--out", "c.csv", code=2)
    assert "would overwrite" in found.stderr


def test_identifiers_of_a_parquet_file_are_printed_as_they_are(folder):
    pa, pq = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    columns = {"n": range(30), "x": [float(k) for k in range(30)], "y": ["u"] * 15 + ["v"] * 15}
    pq.write_table(pa.table({name: list(values) for name, values in columns.items()}), "a.parquet")
    call("fit", "a.parquet", "--id", "n", "--out", "m.sx", "-q")
    assert call("predict", "m.sx", "a.parquet").stdout.startswith("n,prediction\n0,u\n1,u\n")


@pytest.mark.parametrize("command", ["fit", "search", "compare"])
def test_files_of_validation_and_test_rows_are_used_as_they_are(command, folder):
    found = facts(command, "a.csv", *GIVEN, "--validation", "b.csv", "--test", "c.csv")
    metrics = found["models"][0]["metrics"] if command == "compare" else found["metrics"]
    rows = {part: each["rows"] for part, each in metrics.items()}
    if command == "search":
        assert rows == {"train": 75, "test": 20}
    else:
        assert rows == {"train": 60, "validation": 15, "test": 20}
    assert "The test rows are the 20 rows of c.csv." in found["notes"]


def test_a_part_without_a_file_is_split_off_the_source(folder):
    found = facts("fit", "a.csv", "--drop", "key", "--test", "c.csv")
    assert {part: each["rows"] for part, each in found["metrics"].items()} == {
        "train": 54,
        "validation": 6,
        "test": 20,
    }
    found = facts("fit", "a.csv", "--drop", "key", "--test", "c.csv", "--split", "80/20/0")
    assert found["metrics"]["validation"]["rows"] == 12


def test_a_study_has_weights_and_a_file_of_validation_rows(folder):
    given = ("--learning-rate", "0.1", "--epochs", "2", "--l2", "0", "--momentum", "0")
    given += ("--store", "a.db", "--no-report", "--drop", "site", "--drop", "key")
    plain = facts("study", "a.csv", "--drop", "s", "--validation", "b.csv", *given)
    weighted = facts(
        "study", "a.csv", "--weight", "s", "--validation", "b.csv", *given, "--name", "w"
    )
    assert plain["data"]["rows"] == {"train": 54, "validation": 15}
    assert "The comparison of accuracies counts rows." in " ".join(weighted["data"]["notes"])


def test_test_rows_in_a_sparse_file_get_the_features_of_the_training_rows(folder):
    rows = [f"{k % 2} 1:{k} 3:1\n" for k in range(30)]
    (folder / "a.svm").write_text("".join(rows))
    (folder / "b.svm").write_text("".join(f"{k % 2} 1:{k}\n" for k in range(10)))
    found = facts("fit", "a.svm", "--test", "b.svm")
    assert found["source"]["features"] == 3
    assert found["metrics"]["test"]["rows"] == 10


def test_files_that_do_not_fit_are_refused(folder):
    (folder / "bad.csv").write_text("key,s,site,x,z,y\n1,1,s1,0,0,w\n2,1,s1,0,0,u\n")
    found = call("fit", "a.csv", "--test", "bad.csv", code=1)
    assert "'w', which does not occur in a.csv" in found.stderr
    (folder / "bad.csv").write_text("key,s,site,x,y\n1,1,s1,0,u\n2,1,s1,0,u\n")
    assert "There is no column 'z'" in call("fit", "a.csv", "--test", "bad.csv", code=1).stderr
    (folder / "bad.csv").write_text("x,z\n1,2\n")
    assert "no labels" in call("fit", "a.csv", "--test", "bad.csv", code=1).stderr
    found = call("fit", "a.csv", "--test", "c.csv", "--split", "80/10/10", code=2)
    assert "--split" in found.stderr
    assert "--test" in found.stderr
    assert "no option --test" in call("fit", "iris", "--test", "c.csv", code=2).stderr
    assert "no option --weight" in call("fit", "iris", "--weight", "s", code=2).stderr


def test_folds_need_enough_groups(folder):
    found = call("search", "a.csv", *GIVEN, "--folds", "11", code=2)
    assert "--folds 11 is more than the number of groups" in found.stderr
