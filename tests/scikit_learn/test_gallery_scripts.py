"""Scripts like those of scikit-learn's gallery print the same scores with replaced classes."""

import contextlib
import io
import runpy
import warnings
from pathlib import Path

import pytest
from sklearn.exceptions import ConvergenceWarning

import separatrix
from separatrix import patching

SCRIPTS = sorted((Path(__file__).parent / "scripts").glob("*.py"))
STOCHASTIC = {"online_text", "sgd_losses"}  # scores depend on the random order of the rows


def printed(script):
    """The numbers that a script prints, by the words before them."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        warnings.simplefilter("ignore", UserWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        runpy.run_path(str(script))
    lines = [line.rpartition(" ") for line in out.getvalue().splitlines()]
    return {words: float(number) for words, _, number in lines}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_scripts_print_the_same_scores_after_patching(script, monkeypatch):
    made = []
    for name in patching.HOMES:
        cls = getattr(patching, name)
        before = cls._set_fitted
        monkeypatch.setattr(
            cls, "_set_fitted", lambda self, *rest, f=before: (made.append(self), f(self, *rest))[1]
        )
    theirs = printed(script)
    assert not made
    separatrix.patch()
    try:
        ours = printed(script)
    finally:
        separatrix.unpatch()
    assert made  # the script used the replaced classes
    assert set(ours) == set(theirs)
    assert ours == pytest.approx(theirs, abs=0.02 if script.stem in STOCHASTIC else 5e-4)
