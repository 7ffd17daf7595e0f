"""Columns that describe rows: weights, groups, times and identifiers."""

import numpy as np
import pytest

from separatrix import load
from separatrix.metrics import measure, rank
from separatrix.readers.rows.row_order import split_groups
from separatrix.workflow.fitting import fit_source
from separatrix.workflow.model_families import ModelOptions
from separatrix.workflow.preparing import choose_settings
from separatrix.workflow.search.search_folds import make_folds
from separatrix.workflow.search.searching import search_source

RNG = np.random.default_rng(0)


def write(path, n=60):
    """Write a table whose columns have all roles, and return it as a dict of arrays."""
    x = RNG.standard_normal(n).round(3)
    columns = {
        "name": [f"r{k}" for k in range(n)],
        "times": RNG.integers(0, 4, n),
        "site": RNG.integers(0, 12, n),
        "day": [f"2024-{1 + k % 12:02d}-{1 + k // 12:02d}" for k in range(n)],
        "x": x,
        "z": RNG.standard_normal(n).round(3),
        "y": np.where(x + 0.5 * RNG.standard_normal(n) > 0, "v", "u"),
    }
    lines = [",".join(columns), *(",".join(map(str, row)) for row in zip(*columns.values()))]
    path.write_text("\n".join(lines))
    return columns


ROLES = {"weight": "times", "group": "site", "id": "name"}


def test_columns_that_describe_rows_are_no_features(tmp_path):
    columns = write(tmp_path / "a.csv")
    source = load(tmp_path / "a.csv", **ROLES)
    assert source.table.names == ["day", "x", "z"]
    np.testing.assert_array_equal(source.weights, columns["times"])
    assert source.row_columns["id"].tolist() == columns["name"]
    assert source.rows([3, 1]).row_columns["id"].tolist() == ["r3", "r1"]


def test_weights_have_the_effect_of_repeated_rows(tmp_path):
    columns = write(tmp_path / "a.csv")
    again = np.repeat(np.arange(60), columns["times"])
    rows = [f"{columns['x'][k]},{columns['y'][k]}" for k in again]
    (tmp_path / "b.csv").write_text("x,y\n" + "\n".join(rows))
    split = (1.0, 0.0, 0.0)
    weighted = load(
        tmp_path / "a.csv", weight="times", drop=["name", "site", "day", "z"], split=split
    )
    repeated = load(tmp_path / "b.csv", split=split)
    options = ModelOptions(tol=1e-12)
    one, other = (
        fit_source(s, options=options, settings=choose_settings(s.table, standardise=False))
        for s in (weighted, repeated)
    )
    np.testing.assert_allclose(one.bundle.estimator.coef_, other.bundle.estimator.coef_, rtol=1e-6)
    first, second = one.facts["metrics"]["train"], other.facts["metrics"]["train"]
    assert first["accuracy"] == pytest.approx(second["accuracy"], abs=1e-12)
    assert first["log_loss"] == pytest.approx(second["log_loss"], abs=1e-7)
    assert first["rows"] == 60


def test_weighted_measures_equal_those_of_repeated_rows():
    y, said = RNG.integers(0, 3, 50), RNG.integers(0, 3, 50)
    s = RNG.integers(0, 4, 50)
    P = RNG.dirichlet([1.0, 1.0, 1.0], 50)
    classes = np.arange(3)
    weighted = measure(y, said, classes, P, s.astype(float))
    repeated = measure(*(np.repeat(a, s) for a in (y, said)), classes, np.repeat(P, s, axis=0))
    assert weighted["accuracy"] == pytest.approx(repeated["accuracy"])
    assert weighted["log_loss"] == pytest.approx(repeated["log_loss"])
    for one, other in zip(weighted["classes"], repeated["classes"]):
        for name in ("precision", "recall", "f1"):
            assert one[name] == pytest.approx(other[name])
    assert weighted["confusion"] == measure(y, said, classes)["confusion"]
    scores = RNG.standard_normal((50, 3))
    of_weighted = rank(y, scores, classes, s.astype(float))
    of_repeated = rank(np.repeat(y, s), np.repeat(scores, s, axis=0), classes)
    assert of_weighted == pytest.approx(of_repeated)


def test_a_search_weights_the_training_and_the_scores_of_folds(tmp_path):
    x = np.linspace(-1, 1, 60)
    wrong = np.arange(60) % 5 == 0
    rows = [f"{a:.4f},{int((a > 0) ^ w)},{int(not w)}" for a, w in zip(x, wrong)]
    (tmp_path / "a.csv").write_text("x,y,s\n" + "\n".join(rows))
    for given, least, most in (({"weight": "s"}, 0.95, 1.0), ({"drop": "s"}, 0.5, 0.85)):
        source = load(tmp_path / "a.csv", label="y", **given)
        found = search_source(source, Cs=[1.0], folds=3).facts
        assert least <= found["candidates"][0]["mean"] <= most
        assert found["batches"] == 1


@pytest.mark.parametrize("seed", range(5))
def test_no_group_is_divided_by_a_split_or_by_folds(tmp_path, seed):
    write(tmp_path / "a.csv")
    source = load(tmp_path / "a.csv", group="site", drop=["name", "times", "day"], seed=seed)
    groups = source.row_columns["group"]
    parts = [set(groups[rows]) for rows in source.splits.values()]
    assert all(parts)
    assert len(set.union(*parts)) == sum(map(len, parts))
    rows = source.splits["train"]
    folds, note = make_folds(source, rows, 3)
    assert "'site'" in note
    for train, test in folds:
        assert not set(groups[rows[train]]) & set(groups[rows[test]])


def test_a_group_split_keeps_the_proportions_and_all_classes_in_training():
    groups = RNG.integers(0, 300, 3000)
    y = RNG.integers(0, 3, 3000)
    y[groups == 7] = 3  # a class of a single group
    splits = split_groups(y, groups, seed=0)
    for part, share in (("train", 0.8), ("validation", 0.1), ("test", 0.1)):
        assert len(splits[part]) == pytest.approx(3000 * share, abs=20)
        for label in range(3):
            of_class = (y[splits[part]] == label).sum()
            assert of_class == pytest.approx(share * (y == label).sum(), abs=10)
    assert 3 in y[splits["train"]]


def test_a_split_by_time_puts_the_newest_rows_in_the_test_part(tmp_path):
    columns = write(tmp_path / "a.csv")
    source = load(tmp_path / "a.csv", time="day", drop=["name", "times", "site"])
    days = np.array(columns["day"])
    train, validation, test = (
        sorted(days[source.splits[part]]) for part in ("train", "validation", "test")
    )
    assert train[-1] <= validation[0]
    assert validation[-1] <= test[0]
    assert (len(validation), len(test)) == (6, 6)
    rows = source.splits["train"]
    for older, newer in make_folds(source, rows, 3)[0]:
        assert max(days[rows[older]]) <= min(days[rows[newer]])
    assert search_source(source, Cs=[1.0], folds=3).facts["best"] == {"C": 1.0}


@pytest.mark.parametrize(
    ("role", "cells", "words"),
    [
        ("weight", ["1", "-2", "3"], "line 3.*finite number >= 0.*'-2"),
        ("weight", ["1", "", "3"], "line 3.*missing"),
        ("weight", ["1", "two", "3"], "line 3.*'two'"),
        ("weight", ["0", "0", "0"], "all weights"),
        ("group", ["a", "", "b"], "line 3.*group.*missing"),
        ("time", ["1", "soon", "3"], "line 3.*number or a date.*'soon'"),
        ("time", ["1/2/2024", "2/3/2024", "3/4/2024"], "year-month-day"),
    ],
)
def test_unusable_values_are_refused_with_their_line(tmp_path, role, cells, words):
    (tmp_path / "a.csv").write_text(
        "x,r,y\n" + "".join(f"{k},{c},u\n" for k, c in enumerate(cells))
    )
    with pytest.raises(ValueError, match=words):
        load(tmp_path / "a.csv", **{role: "r"})


def test_sources_without_named_columns_have_no_roles(tmp_path):
    (tmp_path / "a.svm").write_text("1 1:2\n0 1:3\n")
    with pytest.raises(ValueError, match=r"read as svmlight.*'weight' needs a CSV"):
        load(tmp_path / "a.svm", weight="s")
    with pytest.raises(ValueError, match=r"no option 'id'"):
        load("iris", id="name")
    with pytest.raises(ValueError, match="Arrays have no named columns"):
        load((np.eye(2), [0, 1]), group="g")
    with pytest.raises(ValueError, match="cannot be combined"):
        load(tmp_path / "a.csv", group="g", time="t")
    with pytest.raises(ValueError, match=r"both 'weight' and 'label'"):
        load(tmp_path / "a.csv", weight="y", label="y")


def test_data_frames_have_roles_too():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"x": range(20), "s": [1.0, 2.0] * 10, "y": ["u", "v"] * 10})
    source = load(frame, weight="s", label="y")
    assert source.table.names == ["x"]
    assert source.weights.tolist() == [1.0, 2.0] * 10
