"""Sample weights count in training and in validation."""

import numpy as np
import pandas as pd
import pytest

from separatrix import GradientDescentClassifier, Study, load
from separatrix.study import StoreError

GRID = {"learning_rate": [0.1, 0.5], "epochs": [3]}


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((80, 3)), rng.integers(1, 5, 80)
    label = np.where(X @ [1.0, -1.0, 0.5] + rng.standard_normal(80) > 0, "u", "v")
    return pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": X[:, 2], "s": s, "label": label})


def study_of(frame, n_train, name, **roles):
    rows = {"train": range(n_train), "validation": range(n_train, len(frame))}
    source = load(frame, split=rows, **roles)
    return Study(name, GradientDescentClassifier(), GRID).run(source, standardise=False)


def test_weighted_validation_rows_equal_repeated_rows(tmp_path, monkeypatch, frame):
    monkeypatch.chdir(tmp_path)
    weighted = study_of(frame, 50, "weighted", weight="s")
    again = frame.loc[np.repeat(np.arange(80), frame["s"])]
    repeated = study_of(again, int(frame["s"][:50].sum()), "repeated", drop="s")
    plain = study_of(frame, 50, "plain", drop="s")
    for own, other, third in zip(weighted.table(), repeated.table(), plain.table()):
        for measure in ("train_loss", "val_loss", "val_accuracy"):
            assert own[measure] == pytest.approx(other[measure], rel=1e-9)
        assert own["val_loss"] != pytest.approx(third["val_loss"], rel=1e-5)
    one, other = (study.facts().verdict.sentences[1] for study in (weighted, repeated))
    assert one.startswith("Weighted validation accuracy")
    assert one.partition(" (")[0] == f"Weighted v{other.partition(' (')[0][1:]}"
    assert one.rpartition("loss")[2] == other.rpartition("loss")[2]


def test_other_weights_of_validation_rows_are_other_data(tmp_path, monkeypatch, frame):
    monkeypatch.chdir(tmp_path)
    first = study_of(frame, 50, "first", weight="s").facts().verdict
    changed = frame.assign(s=np.where(np.arange(80) < 50, frame["s"], 1))
    with pytest.raises(StoreError, match="different data"):
        Study("first", GradientDescentClassifier(), GRID).run(
            load(changed, split={"train": range(50), "validation": range(50, 80)}, weight="s"),
            standardise=False,
            resume=True,
        )
    assert first.best is not None
