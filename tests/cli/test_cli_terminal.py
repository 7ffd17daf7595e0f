"""The command line in a real terminal: width, colours, progress, Ctrl-C."""

import re
import signal

import numpy as np
import pytest

from separatrix import load_model
from separatrix.cli.output import Output
from separatrix.cli.progress import show_fit_progress
from support.terminal import CONTROL, run

pytestmark = pytest.mark.slow


@pytest.fixture
def noise(tmp_path):
    """Return a folder with a file whose classes are not separable: a perceptron never stops."""
    rng = np.random.default_rng(0)
    rows = [
        f"{a:.3f},{b:.3f},{c}" for a, b, c in zip(*rng.random((2, 500)), rng.choice([*"xy"], 500))
    ]
    (tmp_path / "noise.csv").write_text("\n".join(["a,b,label", *rows]) + "\n")
    return tmp_path


def test_a_fit_shows_progress_and_colours_in_80_columns(tmp_path):
    shown, code = run(["fit", "digits", "--model", "softmax"], tmp_path)
    assert code == 0
    assert "Fitting" in shown
    assert "gap " in shown
    assert " left" in CONTROL.sub("", shown)  # time
    assert "\x1b[1;32mOptimal" in shown
    plain = CONTROL.sub("", shown)
    after = plain[plain.index("digits ·") :]
    lines = after.replace("\r", "").split("\n")
    assert max(map(len, lines)) <= 80
    assert "true \\ predicted" in after


def test_ctrl_c_stops_a_fit_and_keeps_the_model(noise):
    words = ["fit", "noise.csv", "--model", "perceptron", "--max-iter", "1000000000"]
    shown, code = run([*words, "--out", "m.sx"], noise, interrupt_at="iteration")
    assert code == 130
    assert "Interrupted: " in CONTROL.sub("", shown)
    assert "Saved to m.sx." in shown
    assert "Traceback" not in shown
    assert load_model(noise / "m.sx").estimator.stop_reason_ == "interrupted"


def test_ctrl_c_stops_a_search_and_prints_the_completed_folds(tmp_path):
    words = ["search", "digits", "--model", "svm", "--loss", "hinge", "--C", "0.001,1000"]
    shown, code = run([*words, "--out", "m.sx"], tmp_path, interrupt_at="5 of 11 fits")
    plain = CONTROL.sub("", shown)
    assert code == 130
    assert " left" in plain  # time
    assert "folds done" in plain
    assert re.search(r" 0\.001 +0\.\d{5} +\d\.\d{5} +5 of 5", plain)
    assert re.search(r" 1000 +\S+ +\S+ +[0-4] of 5", plain)
    assert "of 10 fits of the cross-validation were completed." in " ".join(plain.split())
    assert "Traceback" not in shown
    assert not (tmp_path / "m.sx").exists()


def test_ctrl_c_before_the_first_iteration_stops_immediately():
    with (
        show_fit_progress(Output(quiet=True), "Fitting", 1e-6) as watch,
        pytest.raises(KeyboardInterrupt),
    ):
        watch.ask(signal.SIGINT, None)


def test_ctrl_c_stops_a_comparison_and_prints_the_table_so_far(noise):
    words = ["compare", "noise.csv", "--max-iter", "1000000000"]
    shown, code = run(words, noise, interrupt_at="accuracy ")  # of the perceptron
    plain = CONTROL.sub("", shown)
    assert code == 130
    assert "● logistic" in plain  # an interrupted perceptron cannot be the best
    assert re.search(r"\n  perceptron .* interrupted", plain)
    assert "Interrupted: the table shows the models that were trained before." in plain


def test_ctrl_c_while_reading_writes_nothing(tmp_path):
    rows = "".join(f"{k},{k * k % 97},{'xyz'[k % 3]}\n" for k in range(300_000))
    (tmp_path / "long.csv").write_text(rows)
    shown, code = run(["fit", "long.csv", "--out", "m.sx"], tmp_path, interrupt_at="Reading")
    assert code == 130
    assert "Interrupted: nothing was written." in CONTROL.sub("", shown)
    assert not (tmp_path / "m.sx").exists()
    assert "Traceback" not in shown
