"""The output, the stored data and the errors of the commands study and studies."""

import csv
import json
import re
import signal
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

from separatrix import load
from separatrix.cli.studies.grid_options import GridOptions
from separatrix.errors import ParameterError
from separatrix.study import Between, Store
from support.command import call, facts
from support.course_tables import BINARY, BINARY_FILES, IRIS, IRIS_FILES
from support.pages import data_of
from support.studies import without_seconds
from support.terminal import CONTROL, run

QUICK = ("--learning-rate", "0.1,0.01", "--epochs", "5,20", "--momentum", "0", "--no-report")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder in which the commands run."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("SEPARATRIX_STORE", raising=False)
    return tmp_path


def assert_course_table(rows, expected):
    found = {(row["learning_rate"], row["epochs"], row["momentum"]): row for row in rows}
    assert len(found) == 32
    for key, (loss, accuracy, val_loss, val_accuracy) in expected.items():
        row = found[key]
        assert abs(row["train_loss"] - loss) < 6e-5, key
        assert abs(row["val_loss"] - val_loss) < 6e-5, key
        assert abs(100 * row["train_accuracy"] - accuracy) < 0.005, key
        assert abs(100 * row["val_accuracy"] - val_accuracy) < 0.005, key


@pytest.mark.slow
def test_the_homework_on_iris_is_one_command_without_any_files(folder):
    assert_course_table(facts("study", "iris")["rows"], IRIS)
    assert_course_table(facts("studies", "table"), IRIS)


@pytest.mark.slow
@pytest.mark.data(*IRIS_FILES)
def test_the_homework_on_the_courses_iris_files_is_one_command(folder, data_dir):
    assert_course_table(facts("study", "cs725/iris")["rows"], IRIS)


@pytest.mark.slow
@pytest.mark.data(*BINARY_FILES)
def test_the_homework_on_the_courses_binary_files_is_one_command(folder, data_dir):
    assert_course_table(facts("study", "cs725/binary")["rows"], BINARY)


@pytest.mark.slow
def test_a_study_prints_table_verdict_and_observations_in_80_columns(folder):
    text = call("study", "iris").stdout
    for words in ("● 0.1 ", "Best: learning rate", "Validation accuracy", "Oscillates"):
        assert words in text
    assert "mean cross-entropy" in text
    for words in ("wine", *QUICK), ("wine",), ("wine", "--loss", "hinge,softmax", "--seeds", "2"):
        assert max(map(len, call("study", *words).stdout.splitlines())) <= 80
    for verb in ("list", "show", "table"):
        assert max(map(len, call("studies", verb).stdout.splitlines())) <= 80


def test_the_table_shows_the_numbers_by_which_the_best_was_chosen_in_80_columns(folder):
    """With early stopping those of the best epoch, for unlike losses the log-loss."""
    text = call("study", "wine", "--patience", "2", "--learning-rate", "0.5,0.2", "--no-report",
                "--epochs", "500,1000", "--momentum", "0.9").stdout  # fmt: skip
    value = float(re.search(r"^Validation accuracy .* loss ([.\d]+)\.", text, re.M)[1])
    (line,) = (line for line in text.splitlines() if line.startswith("●"))
    assert f"{value:.4f}" in line
    assert "The weights of the best epoch were kept; their measures decide." in text
    text = call("study", "wine", "--epochs", "5", "--l2", "0", "--learning-rate", "1").stdout
    assert "stop reason 'epochs': all epochs were made" in text
    text = call("study", "wine", "--loss", "softmax,logistic", *QUICK).stdout
    value = float(re.search(r", log-loss ([.\d]+)\.", text)[1])
    (line,) = (line for line in text.splitlines() if line.startswith("●"))
    assert f"{value:.4f}" in line
    assert "log-: log-loss on the validation rows" in text
    assert "the columns 'stop reason'" in text or "the column 'stop reason'" in text


def test_compare_says_in_its_caption_whether_features_were_standardised(folder):
    for option, words in (("--as-is", "were not standardised"), ("--standardise", "standardised")):
        text = call("compare", "wine", "--model", "naive-bayes", option).stdout
        assert words in text.partition("Best:")[2]


def test_the_verdict_of_weighted_models_has_the_numbers_of_their_table(folder):
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((300, 2)), rng.integers(1, 9, 300)
    kinds = np.where(X[:, 0] + rng.standard_normal(300) > 0, "u", "v")
    rows = ["a,b,s,kind", *(f"{a},{b},{w},{k}" for (a, b), w, k in zip(X, s, kinds))]
    (folder / "a.csv").write_text("\n".join(rows) + "\n")
    found = facts("compare", "a.csv", "--label", "kind", "--weight", "s", "--model", "logistic")
    best = next(row for row in found["models"] if row["model"] == found["best"])
    accuracy, loss = (best["metrics"]["validation"][name] for name in ("accuracy", "log_loss"))
    assert f"weighted accuracy {100 * accuracy:.1f} % on 30 " in found["comparison"][0]
    assert f"log-loss {loss:.4g}." in found["comparison"][0]


def test_equal_studies_have_equal_tables_except_for_times(folder):
    for _ in range(2):
        call("study", "wine", *QUICK, "--quiet")
    a, b = (facts("studies", "table", name) for name in ("wine", "wine-2"))
    assert without_seconds(a) == without_seconds(b)
    assert a != []


@pytest.mark.slow
def test_the_printed_command_reproduces_the_study(folder):
    first = facts("study", "wine", *QUICK, "--seeds", "2", "--seed", "3", "--split", "60/40/0")
    program, verb, *words = first["command"].split()
    assert (program, verb) == ("separatrix", "study")
    again = facts(verb, *words)
    assert without_seconds(first["rows"]) == without_seconds(again["rows"])
    assert first["data"] == again["data"]


@pytest.mark.slow
def test_a_study_of_a_file_prints_the_grid_chosen_from_the_data(folder):
    wine = load("wine")
    rows = ["a,b,kind", *(f"{r[0]},{r[1]},{k}" for r, k in zip(wine.table, wine.y))]
    (folder / "two.csv").write_text("\n".join(rows) + "\n")
    found = facts("study", "two.csv")
    assert found["name"] == "two"
    assert set(found["grid"]) == {"learning_rate", "momentum", "l2", "epochs"}
    assert any("the largest stable rate (2/L" in note for note in found["notes"])
    assert any("Chose L2 penalties (l2)" in note for note in found["notes"])


def test_several_seeds_start_from_random_weights_and_print_it(folder):
    found = facts("study", "wine", *QUICK, "--seeds", "3")
    assert any("start from random weights" in note for note in found["notes"])
    assert found["rows"][0]["val_loss_deviation"] > 0
    found = facts("study", "wine", *QUICK, "--seeds", "3", "--batch-size", "16,all")
    assert not any("start from random weights" in note for note in found["notes"])


@pytest.mark.slow
def test_a_grid_can_be_random_draws_or_ranges(folder):
    found = facts("study", "wine", "--learning-rate", "1e-3..1", "--draws", "7", "--epochs", "5")
    assert len(found["rows"]) == 7
    found = facts("study", "wine", "--learning-rate", "1e-3..1/4", "--epochs", "5", "--l2", "0",
                  "--momentum", "0.5")  # fmt: skip
    assert found["grid"]["learning_rate"] == [0.001, 0.01, 0.1, 1.0]


@pytest.mark.parametrize(
    ("options", "grid"),
    [
        ({"learning_rate": "0.1, 1e-2"}, {"learning_rate": [0.1, 0.01]}),
        ({"batch_size": "1,all"}, {"batch_size": [1, None]}),
        ({"epochs": "1e3"}, {"epochs": [1000]}),
        ({"loss": "hinge,logistic"}, {"loss": ["hinge", "logistic"]}),
        ({"l2": "1e-4..1", "draws": 3}, {"l2": Between(1e-4, 1.0)}),
    ],
)
def test_grid_options_are_parsed(options, grid):
    assert GridOptions(**options).grid() == grid


@pytest.mark.parametrize(
    "options", [{"learning_rate": "fast"}, {"epochs": "1.5"}, {"epochs": "1..9/3"}, {"l2": "1..2"}]
)
def test_invalid_grid_options_are_refused(options):
    with pytest.raises(ParameterError):
        GridOptions(**options).grid()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--epochs", "0"), "--epochs must be a whole number >= 1"),
        (("--epochs", "5,0"), "epochs 0: --epochs must be a whole number >= 1"),
        (("--loss", "nonsense"), "--loss must be one of"),
        (("--learning-rate", "1..0.1/3"), "--learning-rate 1..0.1/3: A range needs 0 < low < high"),
        (("--learning-rate", "0.1..1/1"), "--learning-rate 0.1..1/1: A range needs at least 2"),
        (("--patience", "3", "--split", "100/0/0"), "this study has none"),
        (("--name", ""), "Got '' instead"),
        (("--name", "a/b"), "Got 'a/b' instead"),
        (("--name", "ü" * 60), "at most 100 bytes"),
    ],
)
def test_invalid_values_are_a_sentence_and_exit_code_2(folder, words, said):
    assert said in call("study", "wine", *words, code=2).stderr
    for store in folder.glob("*.db"):
        with Store(store) as opened:
            assert opened.names() == []


def test_a_study_of_another_model_varies_its_penalty(folder):
    found = facts("study", "iris", "--model", "logistic", "--no-report")
    assert found["estimator"] == "LogisticRegression"
    assert found["grid"] == {"C": [0.01, 0.1, 1.0, 10.0, 100.0]}
    # The features of the homework are not standardised.
    assert any(note.startswith("Standardised the features") for note in found["data"]["notes"])
    words = ["--model", "svm", "--C", "0.1..10/3", "--l1", "0", "--loss", "hinge,squared_hinge"]
    found = facts("study", "wine", *words, "--no-report")
    assert [(row["C"], row["loss"]) for row in found["rows"]] == [
        (C, loss) for loss in ("hinge", "squared_hinge") for C in (0.1, 1.0, 10.0)
    ]
    assert found["command"].startswith("separatrix study wine --loss hinge,squared_hinge --C 0.1,1")
    again = facts(*found["command"].split()[1:], "--no-report")
    assert without_seconds(again["rows"]) == without_seconds(found["rows"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--C", "1"), "The model 'gradient' has no option --C. It has --loss, --rule"),
        (("--model", "logistic", "--momentum", "0"), "has no option --momentum. It has --C, --l1."),
        (("--model", "svm", "--init", "random"), "The model 'svm' has no option --init."),
        (("--model", "tree"), "--model must be one of gradient, auto, logistic"),
    ],
)
def test_options_that_a_model_does_not_have_are_refused(folder, words, said):
    assert said in call("study", "wine", *words, code=2).stderr
    assert not list(folder.iterdir())


@pytest.mark.slow
def test_names_and_files_can_have_letters_of_any_alphabet(folder):
    words = [word for word in QUICK if word != "--no-report"]
    call("study", "wine", *words, "--name", "Übung 1")
    assert (folder / "reports" / "Übung 1.html").exists()
    assert facts("studies", "show", "Übung 1")["name"] == "Übung 1"
    rows = "".join(f"{k},{k % 3},{'ja' if k % 2 else 'nein'}\n" for k in range(40))
    (folder / "données.csv").write_text(f"länge,breite,süß\n{rows}", encoding="utf-8")
    found = facts("study", "données.csv", "--label", "süß", *QUICK)
    assert found["name"] == "données"
    assert found["data"]["classes"] == ["ja", "nein"]


def test_too_few_configurations_to_draw_from_are_noted(folder):
    found = facts("study", "wine", *QUICK, "--draws", "50", "--l2", "0")
    assert any("Drew 4 configurations instead of 50" in n for n in found["notes"])


@pytest.mark.slow
@pytest.mark.parametrize("columns", [60, 100])
def test_a_study_fits_into_the_width_of_the_terminal(folder, monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    words = ("--loss", "hinge,softmax", "--seeds", "2", "--batch-size", "16,all", "--l2", "0,0.1")
    shown = call("study", "wine", *QUICK, *words).stdout
    for verb in ("list", "show", "table"):
        shown += call("studies", verb).stdout
    assert max(map(len, shown.splitlines())) <= columns


# the store


def test_resume_starts_continues_and_keeps_studies(folder):
    first = facts("study", "wine", *QUICK, "--resume")
    assert first["name"] == "wine"
    again = facts("study", "wine", *QUICK, "--resume")
    assert again == first  # seconds too: nothing was done
    other = call("study", "wine", "--name", "wine", "--resume", code=1)
    assert "with a different grid" in other.stderr
    twice = call("study", "wine", *QUICK, "--name", "wine", code=1)
    assert "(finished)" in twice.stderr
    assert [row["name"] for row in facts("studies", "list")] == ["wine"]


@pytest.mark.filterwarnings("default:No study to resume:UserWarning")
def test_resume_after_a_change_of_the_file_starts_a_new_study_with_a_warning(folder):
    def write(first):
        rows = "".join(f"{k},{k % 3},{k % 2}\n" for k in range(1, 40))
        (folder / "a.csv").write_text(f"x,z,y\n{first},0,1\n{rows}")

    words = ("study", "a.csv", "--label", "y", *QUICK, "--l2", "0")
    write(5)
    call(*words)
    assert call(*words, "--resume").stderr == ""
    write(6)
    warned = " ".join(call(*words, "--resume").stderr.split())
    assert warned.startswith("Warning: No study to resume; starting a new one: a has ")
    assert "different data (stored fingerprint" in warned
    assert [row["name"] for row in facts("studies", "list")] == ["a", "a-2"]


# Stores a checkpoint after every epoch, and is killed after the seventh.
KILLED = """
import functools, os, signal, sys
from separatrix import Study
from separatrix.cli import main
from separatrix.study.running import train_runs
from separatrix.study.store.writer import StudyWriter

def checkpoint(writer, batch, epoch, *rest):
    store_checkpoint(writer, batch, epoch, *rest)
    if epoch == 7:
        os.kill(os.getpid(), signal.SIGKILL)

store_checkpoint, StudyWriter.checkpoint = StudyWriter.checkpoint, checkpoint
train_runs.CHECKPOINT_SHARE = float("inf")
Study.run = functools.partialmethod(Study.run, every=0.0)
main()
"""


@pytest.mark.slow
def test_a_killed_command_is_continued_by_resume(folder):
    words = ["study", "wine", *QUICK, "--l2", "0", "--batch-size", "16"]
    child = subprocess.run([sys.executable, "-c", KILLED, *words])
    assert child.returncode == -signal.SIGKILL
    with Store(folder / "separatrix.db") as opened:
        assert [row["epoch"] for row in opened.rows("SELECT epoch FROM checkpoints")] == [7]
    resumed = facts(*words, "--resume")
    assert resumed["finished"]
    assert [row["name"] for row in facts("studies", "list")] == ["wine"]
    undisturbed = facts(*words, "--store", "other.db")
    assert without_seconds(resumed["rows"]) == without_seconds(undisturbed["rows"])


def test_the_store_is_set_by_the_option_and_the_environment(folder, monkeypatch):
    call("study", "wine", *QUICK, "--store", "a.db")
    monkeypatch.setenv("SEPARATRIX_STORE", "b.db")
    call("study", "wine", *QUICK)
    assert sorted(p.name for p in folder.iterdir()) == ["a.db", "b.db"]
    assert len(facts("studies", "list", "--store", "a.db")) == 1


def test_the_default_study_is_the_latest_one(folder):
    call("study", "wine", *QUICK, "--name", "first")
    call("study", "iris", *QUICK, "--name", "second")
    assert facts("studies", "show")["name"] == "second"
    assert facts("studies", "show", "first")["name"] == "first"
    call("studies", "delete", "second")
    assert facts("studies", "show")["name"] == "first"
    assert "Its studies: first." in call("studies", "table", "second", code=1).stderr


def test_exports(folder):
    call("study", "iris", *QUICK)
    call("studies", "export", "--out", "a.csv")
    rows = list(csv.DictReader((folder / "a.csv").read_text().splitlines()))
    assert [float(row["val_loss"]) for row in rows] == [
        row["val_loss"] for row in facts("studies", "table")
    ]
    found = json.loads(call("studies", "export", "--format", "json").stdout)
    assert [row["epochs"] for row in found["rows"]] == [5, 20, 5, 20]
    markdown = call("studies", "export", "--format", "markdown").stdout
    assert markdown.count("\n|") == 5
    assert "| **0.1** |" in markdown
    latex = call("studies", "export", "--format", "latex").stdout
    assert latex.count(r"\\") == 5
    assert r"train acc. \%" in latex
    call("studies", "export", "--out", "a.xyz", code=2)
    assert json.loads(call("studies", "export", "--json").stdout) == found
    refused = call("studies", "export", "--json", "--format", "csv", code=2)
    assert "--json cannot be combined with --format csv" in refused.stderr
    assert facts("studies", "export", "--format", "csv", "--out", "b.csv") == {"out": "b.csv"}


@pytest.mark.parametrize("verb", ["list", "show", "table", "export", "delete"])
def test_a_missing_store_is_an_error_and_is_not_created(folder, verb):
    more = ("--format", "csv") if verb == "export" else ()
    found = call("studies", verb, *more, code=1)
    assert "There is no store" in found.stderr
    assert not list(folder.iterdir())


def test_a_damaged_store_is_an_error(folder):
    (folder / "separatrix.db").write_bytes(b"nonsense" * 1000)
    for words in ("studies", "list"), ("study", "iris"):
        assert "is damaged or is not a store" in call(*words, code=1).stderr


@pytest.mark.slow
def test_a_study_whose_runs_all_diverged_has_exit_code_3(folder):
    call("study", "wine", "--learning-rate", "1e6", "--l2", "1", "--epochs", "50", "--momentum",
         "0", code=3)  # fmt: skip


# in a terminal


@pytest.mark.slow
def test_a_study_shows_its_progress_and_keeps_it_after_ctrl_c(folder):
    words = ["study", "digits", "--learning-rate", "0.01,0.02", "--epochs", "1000000", "--momentum",
             "0", "--l2", "0"]  # fmt: skip
    shown, code = run(words, folder, interrupt_at="best ")
    plain = CONTROL.sub("", shown)
    assert code == 130
    assert re.search(r"left · 0 of 2 runs, best \d+\.\d %: rate 0\.0[12]\b", plain)
    message = "Interrupted: the progress is kept. Resume with: separatrix study digits"
    assert message in " ".join(plain.split())
    assert "Traceback" not in shown
    connection = sqlite3.connect(folder / "separatrix.db")
    assert connection.execute("SELECT epoch > 0 FROM checkpoints").fetchall() == [(1,)]
    assert connection.execute("SELECT count(*) FROM writers").fetchone() == (0,)
    connection.close()


def test_the_help_of_a_study_does_not_import_scikit_learn():
    code = "import sys, separatrix.cli.app; sys.exit('sklearn' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


@pytest.mark.slow
def test_a_study_ends_with_the_path_of_its_report(folder):
    words = [word for word in QUICK if word != "--no-report"]
    assert call("study", "wine", *words).stdout.splitlines()[-1] == "Wrote reports/wine.html."
    assert "Best: learning rate" in (folder / "reports" / "wine.html").read_text(encoding="utf-8")
    assert (
        facts("study", "wine", *words, "--name", "again", "--report", "a.html")["report"]
        == "a.html"
    )
    assert facts("studies", "report", "wine", "--out", "b.html") == {"report": "b.html"}
    assert (folder / "b.html").read_text() == (folder / "reports" / "wine.html").read_text()


def test_a_study_is_kept_if_its_report_cannot_be_written(folder):
    (folder / "reports").write_text("a file, not a folder")
    failed = call("study", "wine", *[word for word in QUICK if word != "--no-report"], code=1)
    assert "Best: learning rate" in failed.stdout
    assert "reports" in failed.stderr
    assert facts("studies", "list")[0]["finished"]


@pytest.mark.slow
def test_batches_of_all_rows_are_compared_with_smaller_ones(folder):
    words = ["--learning-rate", "0.1", "--momentum", "0", "--l2", "0", "--epochs", "100"]
    found = facts("study", "wine", *words, "--batch-size", "all,8,16", "--no-report")
    assert [row["batch_size"] for row in found["rows"]] == [None, 8, 16]
    assert found["verdict"]["best"] is not None
    text = call("studies", "table").stdout + call("studies", "show").stdout
    for form in ("csv", "markdown", "latex"):
        text += call("studies", "export", "--format", form).stdout
    call("studies", "report", "--out", "a.html")
    page = (folder / "a.html").read_text()
    assert "None" not in text
    assert all(words in text for words in ("batch size all", "\nall,", "| all |", "\nall &"))
    assert '"words": ["all"]' in page
    assert '"words": ["None"]' not in page


def test_the_table_says_which_runs_converged_and_agrees_with_the_verdict(folder):
    """Convergence decides between equals, so it is shown in every format and at 80 columns."""
    words = ["--learning-rate", "0.2,1e5", "--momentum", "0", "--l2", "0.5", "--epochs", "1,300"]
    text = call("study", "wine", *words).stdout
    assert max(map(len, text.splitlines())) <= 80
    found = facts("studies", "show", "wine")
    converged = [row["converged"] for row in found["rows"]]
    assert converged == [False, True, False, False]
    assert [row["stopped"].split()[0] for row in found["rows"]] == ["epochs"] * 2 + ["diverged"] * 2
    (head,) = (line for line in text.splitlines() if "conv." in line and "rate" in line)
    end = head.index("conv.") + len("conv.")
    shown = [
        line[:end].split()[-1] for line in text.splitlines() if line[:6].strip(" ●○x") == "0.2"
    ]
    assert shown == ["no", "yes"]
    assert "1 of 4 configurations did not converge" in text
    assert "conv.: converged or settled" in text
    table = call("studies", "export", "wine", "--format", "markdown").stdout.splitlines()
    at = [cell.strip() for cell in table[0].split("|")].index("converged")
    shown = [line.split("|")[at].strip(" *") for line in table[2:6]]
    assert shown == ["no", "yes", "–", "–"]
    rows = data_of((folder / "reports" / "wine.html").read_text())["rows"]
    assert [row["converged"] for row in rows] == ["no", "yes", "–", "–"]
    assert [row["problem"] for row in rows][:2] == ["still changing", ""]


def test_seeds_that_diverge_at_different_epochs_are_told_with_their_range(folder):
    words = ["--init", "random", "--seeds", "3", "--learning-rate", "0.01,1", "--momentum", "0.9"]
    text = call("study", "iris", *words, "--l2", "0.3", "--epochs", "50", "--no-report").stdout
    assert re.search(r"– diverged \d+ to \d+\n", text)


def test_columns_of_a_table_have_different_headers(folder):
    words = ["--loss", "hinge,softmax", "--learning-rate", "0.1", "--momentum", "0", "--l2", "0"]
    call("study", "wine", *words, "--epochs", "3", "--no-report")
    text = call("studies", "table").stdout
    upper, lower = (line.split() for line in text.replace("acc %", "acc%").splitlines()[:2])
    assert list(zip(["", *upper[:-1], "", upper[-1]], lower, strict=True)) == [
        ("", "loss"),
        ("train", "loss"),
        ("train", "acc%"),
        ("valid.", "loss"),
        ("valid.", "acc%"),
        ("log-", "loss"),
        ("best", "epoch"),
        ("best", "loss"),
        ("best", "acc%"),
        ("", "conv."),
        ("stop", "reason"),
    ]
    for explained in ("acc %: accuracy", "valid.: validation", "best: epoch of the lowest"):
        assert explained in text
    table = call("studies", "export", "--format", "markdown").stdout.split("\n")[0]
    names = [name.strip() for name in table.strip("|").split("|")]
    assert len(set(names)) == len(names)


def test_the_printed_python_code_reproduces_the_study(folder):
    words = ["--learning-rate", "0.1", "--momentum", "0", "--l2", "0", "--batch-size", "8"]
    words += ["--epochs", "3", "--seed", "3", "--split", "60/20/20", "--no-report"]
    made = facts("study", "wine", *words)
    assert_python_reproduces(made)


def assert_python_reproduces(made):
    exec(made["python"].replace(f"Study({made['name']!r}, ", "Study('again', "), {})
    again = facts("studies", "show", "again")
    assert without_seconds(again["rows"]) == without_seconds(made["rows"])
    assert again["data"] == made["data"]


def test_the_printed_python_code_prepares_the_rows_in_the_same_way(folder):
    rows = "".join(
        f"{k % 7 or ''},{'good' if k % 2 else 'bad'} day {k % 5},{k % 2}\n" for k in range(60)
    )
    (folder / "days.csv").write_text(f"x,said,y\n{rows}")
    words = ["--learning-rate", "0.1", "--momentum", "0", "--l2", "0", "--epochs", "3"]
    words += ["--label", "y", "--text", "said", "--missing", "median", "--words", "counts"]
    words += ["--ngrams", "2", "--min-documents", "2", "--word-list", "nice=good,fine", "--as-is"]
    assert_python_reproduces(facts("study", "days.csv", *words, "--no-report"))


def test_the_latest_study_is_deleted_only_after_confirmation(folder):
    call("study", "wine", *QUICK)
    assert "add --yes to delete the latest one, 'wine'" in call("studies", "delete", code=2).stderr
    call("studies", "delete", "--yes")
    assert facts("studies", "list") == []


@pytest.mark.slow
def test_omitted_columns_are_named_under_the_table(folder):
    words = ["study", "iris", "--l2", "0,0.1", "--learning-rate", "0.1", "--epochs", "5"]
    words += ["--momentum", "0.5,0.25", "--batch-size", "all,50", "--schedule", "constant,inverse"]
    text = call(*words).stdout
    assert re.search(r"Not shown: 4 more rows\s+and\s+the\s+columns?\s.*'best\s+acc\s+%'", text)
    assert "separatrix studies export iris --out table.csv" in " ".join(text.split())
    text = " ".join(call(*words, "--name", "two rates").stdout.split())
    assert "separatrix studies export 'two rates' --out table.csv" in text
    assert "separatrix studies show 'two rates'" in text
    said = call("study", "wine", "--name", "two rates", code=1).stderr
    assert "separatrix studies delete 'two rates'" in " ".join(said.split())
    assert (
        "Not shown" not in call("study", "iris", "--learning-rate", "0.1", "--epochs", "5").stdout
    )


@pytest.mark.parametrize(
    ("options", "caption"),
    [
        (["--standardise"], "Numeric features were standardised"),
        (["--as-is"], "The features were not standardised"),
    ],
)
def test_the_table_says_whether_the_features_were_standardised(folder, options, caption):
    (folder / "a.csv").write_text(
        "standardised,job,y\n" + "".join(f"{k},{'ab'[k % 2]},{'np'[k > 20]}\n" for k in range(40))
    )
    words = ["--learning-rate", "0.01", "--epochs", "5", "--momentum", "0", "--l2", "0"]
    assert caption in call("study", "a.csv", *words, *options).stdout
    page = data_of((folder / "reports" / "a.html").read_text())
    assert page["caption"].startswith(caption)


def test_a_folder_is_standardised_where_the_same_data_by_name_is_not(folder):
    """The captions of the tables say so, since the losses of the two cannot be compared."""
    iris = load("iris")
    (folder / "homework").mkdir()
    for part, name in (("train", "train"), ("validation", "val"), ("test", "tst")):
        rows = iris.splits[part]
        np.save(folder / "homework" / f"{name}_x.npy", np.asarray(iris.table)[rows])
        np.save(folder / "homework" / f"{name}_y.npy", iris.y[rows])
    words = ["--learning-rate", "0.01", "--epochs", "5", "--momentum", "0", "--l2", "0"]
    for source, caption in (
        ("homework", "Numeric features were standardised (mean 0, standard deviation 1)."),
        ("iris", "The features were not standardised, as in the homework."),
    ):
        assert caption in call("study", source, *words).stdout
        page = data_of((folder / "reports" / f"{source}.html").read_text())
        assert page["caption"] == caption


def test_a_study_without_validation_rows_has_no_empty_columns(folder):
    (folder / "seven.csv").write_text(
        "a,b,y\n" + "".join(f"{k},{k * k},{k % 2}\n" for k in range(7))
    )
    text = call("study", "seven.csv", "--learning-rate", "0.01,0.1", "--no-report").stdout
    assert "conv.: converged or settled" in text
    assert "valid" not in text.split("Objective")[1].split("Numeric features")[0]
    assert "valid.: validation" not in text
