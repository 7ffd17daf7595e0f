"""Learning curves show the given scores."""

import numpy as np
import pytest

from separatrix import charts
from support.charting import channels, drawn, of, rows_of

REPEATS = {10: [0.4, 0.8, 0.9], 100: [0.7, 1.0, 1.0]}


def rows(name="a", shift=0.0):
    return [
        {"model": name, "samples": n, "score": [s + shift for s in scores]}
        for n, scores in REPEATS.items()
    ]


def test_lines_are_means_and_bands_are_quantiles_of_the_repeats(tmp_path):
    chart = charts.learning_curves([*rows(), *rows("b", -0.1)])
    drawn(chart, tmp_path)
    point = of(chart, model="a", samples=10)[0]
    assert point["score"] == pytest.approx(0.7)
    assert [point["low"], point["high"]] == pytest.approx(np.quantile(REPEATS[10], [0.1, 0.9]))
    assert point["repeats"] == 3
    words = chart.to_dict()["description"]
    assert "for 10 to 100 training samples: a from 0.7 to 0.9, b from 0.6 to 0.8." in words
    assert words.endswith("Highest: a with 10 samples, a with 100 samples.")


def test_repeats_can_be_separate_rows():
    apart = [{**row, "score": score} for row in rows() for score in row["score"]]
    assert charts.learning_curves(apart).to_dict() == charts.learning_curves(rows()).to_dict()


def test_every_point_and_band_is_inside_the_axes():
    chart = charts.learning_curves([*rows(), *rows("b", -0.1)], score="log loss")
    low, high = channels(chart, "y")[0]["scale"]["domain"]
    drawn_values = [row[k] for row in rows_of(chart) for k in ("score", "low", "high") if k in row]
    assert low < min(drawn_values)
    assert max(drawn_values) < high


def test_one_size_and_one_repeat_are_drawn(tmp_path):
    drawn(charts.learning_curves([{"model": "a", "samples": 5, "score": 0.5}]), tmp_path)


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"model": "a", "samples": 3}, "Row 0 has no 'score': it has 'model', 'samples'"),
        ({"model": "a", "samples": 0, "score": 0.5}, "at least one sample"),
        ({"model": "a", "samples": 3, "score": [0.5, np.nan]}, "finite scores"),
        ({"model": "a", "samples": 3, "score": []}, "one or more finite scores"),
    ],
)
def test_rows_that_cannot_be_drawn_are_refused(row, words):
    with pytest.raises(ValueError, match=words):
        charts.learning_curves([row])
    with pytest.raises(ValueError, match="no rows"):
        charts.learning_curves([])
