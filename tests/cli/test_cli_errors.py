"""The errors and warnings of the command line, and its exit codes."""

import os
import resource
import shutil
import subprocess
import sys
import warnings

import numpy as np
import pytest
from typer.testing import CliRunner

from separatrix import Bundle, LogisticRegression, load_model, save
from separatrix.cli.app import app
from separatrix.cli.command_decorator import UsageError, _warnings_as_sentences
from separatrix.cli.option_names import name_options
from separatrix.cli.options import PreparationOptions, ReadingOptions
from separatrix.cli.output import Output
from separatrix.errors import Message, Parameter, ParameterNames, Value
from separatrix.workflow.model_families import MODEL_FAMILIES
from support.command import PEOPLE, call, facts


def test_a_fit_that_did_not_converge_is_reported_and_saved(folder):
    found = call("fit", "iris", "--max-iter", "1", "--out", "m.sx", code=3)
    assert "Did not converge: objective" in found.stdout
    assert "newton, 1 iteration" in found.stdout
    assert "stopped at --max-iter 1 with a" in " ".join(found.stdout.split())
    assert "Raise --max-iter" in " ".join(found.stdout.split())
    assert "Warning" not in found.output
    assert load_model("m.sx").estimator.stop_reason_ == "max_iter"
    shown = " ".join(call("show", "m.sx").stdout.split())
    assert "stopped at --max-iter 1 with a" in shown
    assert "Raise --max-iter" in shown
    call("fit", "iris", "--model", "perceptron", "--max-iter", "3", code=3)
    call("fit", "iris", "--C", "inf", code=3)
    call("search", "iris", "--max-iter", "1", "--folds", "2", code=3)


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (["fit", "nothing.csv"], 1, "There is no file, folder or data set 'nothing.csv'"),
        (["fit", "iriss"], 1, "Did you mean 'iris'?"),
        (["fit", "people.csv", "--label", "wage"], 1, "There is no column 'wage'"),
        (["fit", "iris", "--header"], 2, "takes no option --header"),
        (["fit", "iris", "--C", "-1"], 2, "--C must be a number > 0, or inf for no penalty."),
        (["fit", "iris", "--C", "nan"], 2, "must be a number > 0"),
        (["fit", "iris", "--tol", "-1"], 2, "--tol must be a finite number >= 0"),
        (["fit", "iris", "--l1", "2"], 2, "--l1 must be a finite number >= 0 and <= 1"),
        (["fit", "iris", "--threads", "10000"], 2, "--threads must be a whole number from 1 to"),
        (["fit", "people.csv", "--format", "foo"], 2, "--format must be one of svmlight, table"),
        (["fit", "people.csv", "--features", "3"], 2, "is read as table, which has no option"),
        (["fit", "images", "--size", "0x6"], 2, "--size takes width and height"),
        (["fit", "iris", "--model", "svm", "--loss", "hinge", "--l1", "1"], 2, "No solver finds"),
        (["search", "iris", "--C", "-1,1"], 2, "must be a number > 0"),
        (["evaluate", "m.sx", "iris", "--recall", "0"], 2, "--recall must be a number > 0"),
        (["fit", "iris", "--out", "no/m.sx"], 2, "There is no folder 'no' to write m.sx to."),
        (["show", "people.csv"], 1, "people.csv is damaged or is not a Separatrix model file"),
        (["show", "m.sx"], 1, "m.sx"),
        (["data", "show", "irsi"], 1, "There is no data set 'irsi'."),
        (["fit", "iris", "--model", "tree"], 2, "The model must be one of auto, logistic"),
        (
            ["fit", "iris", "--model", "perceptron", "--C", "1"],
            2,
            "has no option --C. It has --max-iter, --bias.",
        ),
        (["fit", "iris", "--split", "80/20"], 2, "--split takes three proportions"),
        (["search", "iris", "--C", "1,x"], 2, "--C takes numbers separated by commas"),
        (["search", "iris", "--model", "perceptron"], 2, "has no penalty to search for"),
        (["fit", "iris", "--size", "9"], 2, "--size takes width and height"),
        (["fit", "iris", "--ngrams", "2"], 2, "--ngrams needs text, and this data has none."),
        (["fit", "people.csv", "--words", "counts"], 2, "--words needs text"),
        (["search", "people.csv", "--word-list", "a=b"], 2, "--word-list needs text"),
        (["fit", "mail.tsv", "--word-list", "good"], 2, "--word-list takes NAME=WORD"),
    ],
)
def test_errors_are_one_sentence_on_standard_error(folder, words, code, sentence):
    found = call(*words, code=code)
    assert found.stdout == ""
    assert found.stderr.startswith("Error: ")
    assert sentence in " ".join(found.stderr.split())
    assert "Traceback" not in found.stderr


def test_counts_of_one_have_a_singular_noun(folder):
    rows = "".join(f"{k % 7},{'xy'[k % 2]}\n" for k in range(20))
    (folder / "one.csv").write_text(f"a,label\n\n{rows}")
    text = call("fit", "one.csv", "--out", "m.sx").stdout
    assert "20 rows, 1 feature, 2 classes" in text
    assert "Skipped 1 blank line." in text
    assert "LogisticRegression, 1 feature, 2 classes" in call("show", "m.sx").stdout


def test_a_pipe_is_read_if_its_format_is_given(folder):
    call("fit", "people.csv", "--out", "m.sx", "--quiet")
    os.mkfifo("pipe")
    assert "which can be read only once" in call("predict", "m.sx", "pipe", code=2).stderr
    with subprocess.Popen(["cp", "people.csv", "pipe"]) as writer:
        answers = call("predict", "m.sx", "pipe", "--format", "table", "-q").stdout
    assert writer.returncode == 0
    assert answers == call("predict", "m.sx", "people.csv", "-q").stdout


def test_an_svmlight_file_in_utf_16_is_an_error(folder):
    (folder / "wide.svm").write_text("1 1:2\n0 1:3\n", encoding="utf-16")
    assert "wide.svm is UTF-16 text" in call("fit", "wide.svm", code=1).stderr


def test_input_files_are_never_overwritten(folder):
    call("fit", "people.csv", "--out", "m.sx", "--quiet")
    (folder / "films").mkdir()
    (folder / "films" / "good.txt").write_text("a great film\nwell made\nfine\n")
    (folder / "films" / "bad.txt").write_text("an awful film\ndull\npoor\n")
    model = (folder / "m.sx").read_bytes()
    for words in (
        ["fit", "people.csv", "--out", "people.csv"],
        ["search", "people.csv", "--out", folder / "people.csv"],
        ["predict", "m.sx", "people.csv", "--out", "people.csv"],
        ["predict", "m.sx", "people.csv", "--out", "m.sx"],
        ["evaluate", "m.sx", "people.csv", "--recall", "0.9", "--out", "people.csv"],
        ["evaluate", "m.sx", "people.csv", "--recall", "0.9", "--out", "m.sx"],
        ["fit", "films", "--out", "films/good.txt"],
    ):
        assert "would overwrite a file of the source" in call(*words, code=2).stderr
    assert (folder / "people.csv").read_text() == PEOPLE
    assert (folder / "m.sx").read_bytes() == model


def test_read_only_files_are_not_overwritten_even_by_root(folder):
    (folder / "kept.sx").write_text("mine")
    (folder / "kept.sx").chmod(0o444)
    (folder / "shut").mkdir(mode=0o555)
    for out in ("kept.sx", "shut/new.sx"):
        assert "is not writable" in call("fit", "iris", "--out", out, code=2).stderr
    with pytest.raises(PermissionError, match="is read-only and was not written"):
        LogisticRegression().fit([[0.0], [1.0]], [0, 1]).save(folder / "kept.sx")
    assert (folder / "kept.sx").read_text() == "mine"
    assert list((folder / "shut").iterdir()) == []


@pytest.mark.data("libsvm/a5a", "libsvm/a5a.t")
def test_files_of_a_data_set_are_never_overwritten(data_dir, tmp_path, monkeypatch):
    shutil.copytree(data_dir / "libsvm", tmp_path / "libsvm", copy_function=shutil.copy)
    (tmp_path / "libsvm").chmod(0o755)
    monkeypatch.setenv("SEPARATRIX_DATA", str(tmp_path))
    for name in ("a5a", "a5a.t"):
        here = tmp_path / "libsvm" / name
        here.chmod(0o644)
        before = here.read_bytes()
        for verb in ("fit", "search"):
            found = call(verb, "a5a", "--out", here, code=2)
            assert "would overwrite a file of the source a5a" in found.stderr
        assert here.read_bytes() == before


def test_a_model_that_cannot_be_saved_is_still_reported(folder):
    assert "must be a file, and . is a folder" in call("fit", "iris", "--out", ".", code=2).stderr
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, limits[1]))  # like a full disk
    try:
        found = call("fit", "iris", "--out", "m.sx", code=1)
        searched = facts("search", "iris", "--folds", "2", "--out", "m.sx", code=1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert "test, by class" in found.stdout
    assert "Saved" not in found.stdout
    assert "m.sx was not written: File too large." in found.stderr
    assert "Errno" not in found.stderr
    assert searched["out"] is None


@pytest.mark.parametrize(
    "words",
    [
        ["fit"],
        ["fit", "iris", "--frob"],
        ["frob"],
        ["predict", "m"],
        ["fit", "iris", "--seed", "-3"],
        ["fit", "iris", "--seed", str(1 << 32)],
    ],
)
def test_wrong_usage_has_exit_code_2(folder, words):
    call(*words, code=2)


@pytest.mark.slow
def test_a_closed_pipe_is_not_an_error(folder):
    call("fit", "digits", "--out", "m.sx", "--quiet")
    for words in (["fit", "digits"], ["predict", "m.sx", "digits", "--proba", "-q"]):
        program = [sys.executable, "-m", "separatrix", *words]
        with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as child:
            child.stdout.close()
            assert child.stderr.read() == b""
        assert child.returncode == 0


def test_debug_raises_the_error(folder):
    found = CliRunner().invoke(app, ["fit", "nothing.csv", "--debug"])
    assert isinstance(found.exception, FileNotFoundError)


def test_values_of_options_are_parsed():
    assert ReadingOptions(label="-1").options() == {"label": -1}
    assert ReadingOptions(label="none", text=["a"]).options() == {"label": False, "text": ["a"]}
    assert ReadingOptions(label="income", header=False).options() == {
        "label": "income",
        "header": False,
    }
    assert PreparationOptions(split="8,1,1").shares() == (0.8, 0.1, 0.1)
    with pytest.raises(UsageError, match="three proportions"):
        PreparationOptions(split="a/b/c").shares()


PARAMETERS = [
    ("give {p} if the first line is data.", Parameter("header", False), "give --no-header if"),
    ("{p:subject} must be >= 0.", Parameter("l1_ratio"), "--l1 must be >= 0."),
    ("with {p:=}, or give {p}.", Parameter("label", False), "with --label, or give --label none."),
    ("give {p} to resize", Parameter("size", (8, 6)), "give --size 8x6 to resize"),
    ("the setting {p}", Parameter("text", "none", of="Settings"), "the setting --words none"),
    ("{p} needs documents", Parameter("text"), "--text needs documents"),
    ("not {p}.", Parameter("missing", "mean"), "not --missing mean."),
    ("Got {p}.", Parameter("intercept_scaling", 1.0), "Got --bias penalised."),
    ("has no option {p:quoted}.", Parameter("text"), "has no option --text."),
    ("It has: {p}.", ParameterNames(["label", "columns"]), "It has: --label."),
    ("Stopped at {p:g}", Parameter("tol", 1e-6), "Stopped at --tol 1e-06"),
    ("fit with {p}", Parameter("C", np.inf), "fit with --C inf"),
    ("give {p}.", Parameter("types", {"column 1": "drop"}), "give --type 'column 1=drop'."),
    ("give {p}.", Parameter("drop", "it's"), """give --drop 'it'"'"'s'."""),
    ("or {p}.", Parameter("probability", False), "or no --probability."),
    ("a number > 0, {p} for no penalty", Value(np.inf), "a number > 0, inf for no penalty"),
    # Parameters without an option are not changed.
    ("Give {p}.", Parameter("multiclass", "ovr"), "Give multiclass='ovr'."),
]


@pytest.mark.parametrize(("template", "named", "wanted"), PARAMETERS)
def test_messages_name_options_instead_of_parameters(template, named, wanted):
    message = Message(template, p=named)
    assert wanted in name_options(message)
    assert wanted in name_options(Message("{place}: {what}", place="{p} --x", what=message))
    assert name_options(str(message)) == str(message)


def test_parameters_with_other_names_than_their_options_are_known():
    for name in MODEL_FAMILIES["svm"].takes.values():
        assert name_options(Message("{name}", name=Parameter(name))).startswith("--")
    standardise = Parameter("standardise", False)
    assert name_options(Message("{standardise}", standardise=standardise)) == "--as-is"


# Warnings


def test_warnings_are_sentences_without_file_names(capsys):
    for words, wanted in ((["-q"], ""), ([], "Warning: Half of it is odd.\n")):
        output = Output(quiet=bool(words))
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            with _warnings_as_sentences(output):
                for _ in range(3):
                    warnings.warn("Half of it\n is odd.", UserWarning, stacklevel=1)
        assert capsys.readouterr().err == wanted
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        with _warnings_as_sentences(Output()):
            np.square(np.array([1e200]))
    printed = capsys.readouterr().err
    assert "(overflow encountered in square)" in printed
    assert ".py" not in printed


def test_columns_of_very_large_numbers_are_standardised(folder):
    rng = np.random.default_rng(0)
    a, b = rng.random((2, 60))
    for name, unit in (("plain", 1.0), ("large", 1e200)):
        rows = [f"{x * unit},{y},{'high' if x + y > 1 else 'low'}" for x, y in zip(a, b)]
        (folder / f"{name}.csv").write_text("\n".join(["a,b,label", *rows]) + "\n")
    plain, large = (facts("fit", f"{name}.csv")["verdict"] for name in ("plain", "large"))
    assert large["certificate"]["primal"] == pytest.approx(plain["certificate"]["primal"])


def test_rows_whose_features_are_numbered_differently_are_refused(folder):
    (folder / "zero.svm").write_text(
        "".join(f"{k % 2 * 2 - 1} {k % 2}:1 2:{k}\n" for k in range(40))
    )
    call("fit", "zero.svm", "--out", "m.sx")
    assert call("predict", "m.sx", "zero.svm").stdout.splitlines()[:3] == ["prediction", "-1", "1"]
    refused = call("predict", "m.sx", "zero.svm", "--one-based", code=2).stderr
    assert "numbered from 0" in " ".join(refused.split())
    assert "Leave --one-based out" in " ".join(refused.split())


@pytest.mark.parametrize("option", ["learning-rate", "epochs", "batch-size"])
def test_a_wrong_value_of_a_study_names_its_option(folder, option):
    found = call("study", "iris", f"--{option}", "0", "--no-report", code=2)
    assert f"--{option} must be" in " ".join(found.stderr.split())


def test_a_bundle_with_custom_metrics_is_shown(folder):
    model = LogisticRegression().fit([[0.0], [1.0], [2.0]], ["no", "yes", "yes"])
    save(Bundle(model, metrics={"test": {"accuracy": 0.75}}), "model.sx")
    assert "Verdict" in call("show", "model.sx").stdout
