"""The report of a study is complete, self-contained and consistent with the study's facts."""

import base64
import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from separatrix import GradientDescentClassifier, Study
from separatrix.study.results.facts import MEASURES
from separatrix.web import report_page, write_report
from separatrix.web.packed_arrays import packed_curves, thin
from separatrix.web.study_page import study_page
from support.pages import data_of
from support.studies import facts_of

GOLDEN = Path(__file__).parents[1] / "golden"


def curves_of(packed, measure):
    """Decode the curves of a measure, by number."""
    found = packed["measures"][measure]
    values = np.frombuffer(base64.b64decode(found["values"]), "<f4")
    epochs = np.frombuffer(base64.b64decode(found["epochs"]), "<u4")
    out, start = {}, 0
    for number, length in zip(packed["numbers"], found["lengths"]):
        at = epochs[start : start + length] if len(epochs) else np.arange(1, length + 1)
        out[number] = at, values[start : start + length]
        start += length
    return out


def test_the_dictionary_has_verdict_table_and_code(facts):
    data = data_of(report_page(facts))
    assert [one["text"] for one in data["verdict"]] == facts.verdict.sentences
    assert data["best"] == facts.verdict.best
    for row, shown in zip(facts.rows, data["rows"], strict=True):
        assert shown["values"] == list(row.parameters.values())
        assert shown["observations"] == row.observations
        assert shown["last"] == [row.last[name] for name in MEASURES]
        assert (shown["kind"] == "diverged") == bool(row.diverged)
        assert shown["stopped"] == row.stopped
    assert data["objective"] == facts.objective_words
    assert data["data"]["fingerprint"] == facts.data.fingerprint
    assert "study.run('iris', standardise=False)" in data["reproduce"][-1]["text"]


def test_the_numbers_of_the_page_are_those_of_the_sentences(facts):
    best = facts.rows[facts.verdict.best]
    n = facts.data.rows["validation"]
    shown = {one["label"]: one["value"] for one in study_page(facts)["numbers"]}
    limit = shown["learning rate that is stable at all weights"]
    assert float(limit) <= 2.0 / best.smoothness
    assert study_page(facts)["rows"][best.number]["stable_rate"] == float(limit)
    assert any(label.endswith(f" of {n})") for label in shown)
    weighted = {"val_accuracy": 0.817, "val_loss": 0.5}
    rows = [replace(row, last=weighted, best=weighted) for row in facts.rows]
    numbers = study_page(replace(facts, rows=rows))["numbers"]
    assert {"value": "81.7 %", "label": "validation accuracy"} in numbers


def test_the_dictionary_is_the_page_even_if_numbers_are_not_finite(facts):
    rows = [replace(facts.rows[0], last=dict.fromkeys(MEASURES, math.inf)), *facts.rows[1:]]
    found = replace(facts, rows=rows)
    text = json.dumps(study_page(found), allow_nan=False)
    assert json.loads(text) == data_of(report_page(found))


def test_a_page_shows_its_verdict_without_scripts(facts):
    shown = re.search(r"(?s)<noscript>(.*?)</noscript>", report_page(facts))[1]
    assert facts.verdict.sentences[0] in shown


def test_curves_are_the_histories(facts):
    packed = packed_curves(facts.rows, facts.histories, facts.verdict.best)
    assert packed["thinned"] is None
    for measure in MEASURES:
        found = curves_of(packed, measure)
        for number, (history,) in facts.histories.items():
            epochs, values = found[number]
            kept = np.isfinite(history[measure])
            assert np.array_equal(values, history[measure][kept].astype("f4"))
            assert np.array_equal(epochs, np.flatnonzero(kept) + 1)


def test_thinned_curves_keep_their_extremes(facts, monkeypatch):
    monkeypatch.setattr("separatrix.web.packed_arrays.MOST_NUMBERS", 100)
    monkeypatch.setattr("separatrix.web.packed_arrays.THINNED_NUMBERS", 100)
    packed = packed_curves(facts.rows, facts.histories, facts.verdict.best)
    assert packed["thinned"] == 16
    for number, (epochs, values) in curves_of(packed, "train_loss").items():
        whole = facts.histories[number][0]["train_loss"].astype("f4")
        assert len(values) <= (18 if number != facts.verdict.best else len(whole))
        assert np.array_equal(values, whole[epochs - 1])
        assert {whole.min(), whole.max(), whole[0], whole[-1]} <= set(values)


@pytest.mark.parametrize("n", [1, 16, 17, 18, 33, 1000])
def test_thinning_keeps_the_order_and_both_ends(n):
    at = thin(np.arange(float(n)), 16)
    assert (np.diff(at) > 0).all()
    assert (at[0], at[-1]) == (0, n - 1)
    assert len(at) <= 18


def test_thinning_keeps_a_spike_in_both_directions():
    values = np.ones(1000)
    values[300], values[503] = 5.0, 0.0
    assert {300, 503} <= set(thin(values, 16).tolist())


def test_the_report_loads_nothing(facts):
    page = report_page(facts)
    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]+)"', page)[1]
    assert "default-src &#x27;none&#x27;" in policy
    assert "unsafe-eval" not in policy
    bare = page.replace("http://www.w3.org/2000/svg", "")  # the name of the elements of pictures
    assert not re.search(r"https?:|\bsrc=|@import|<link|href=\"", bare)


def test_texts_cannot_end_the_data_or_the_script(facts):
    bad = "</script><script>alert(1)</script>\u2028\u2029<!--"
    data = replace(facts.data, name=bad, notes=[bad])
    page = report_page(replace(facts, name=bad, data=data, notes=[bad], command=bad))
    assert page.count("</script>") == 2
    assert "\u2028" not in page.partition("</head>")[2]
    assert data_of(page)["data"]["notes"] == [bad, bad]


def test_a_very_large_study_shows_its_best_configurations(facts, monkeypatch):
    monkeypatch.setattr("separatrix.web.study_page.MOST_ROWS", 5)
    data = data_of(report_page(facts))
    assert data["rows"][0]["number"] == facts.verdict.best
    assert len(data["rows"]) == len(data["curves"]["numbers"]) == 5
    assert f"the best 5 of {len(facts.rows)} configurations" in data["caption"]


def test_a_study_without_validation_rows_or_histories_has_a_report(facts):
    data = replace(facts.data, rows={"train": 100})
    found = data_of(report_page(replace(facts, data=data, histories={})))
    assert found["measures"] == ["train_loss", "train_accuracy"]
    assert found["curves"]["numbers"] == []


def test_an_older_store_has_a_page_without_the_new_parts(tmp_path):
    path = tmp_path / "v1.db"
    shutil.copy(GOLDEN / "study-v1.db", path)
    found = data_of(report_page(facts_of(path, "golden")))
    assert not {"sample", "confusion", "calibration", "boundary"} & found["drawings"].keys()
    assert found["verdict"]


def test_a_report_replaces_an_older_one_and_creates_its_folder(facts, tmp_path):
    place = tmp_path / "reports" / "rates.html"
    assert write_report(facts, place) == place
    first = place.read_bytes()
    write_report(facts, place)
    assert place.read_bytes() == first
    assert [file.name for file in place.parent.iterdir()] == ["rates.html"]


def test_the_only_configuration_is_named_by_its_parameters(tmp_path):
    grid = {"learning_rate": [0.1], "epochs": [5]}
    study = Study("one", GradientDescentClassifier(), grid, store=tmp_path / "s.db")
    page = study_page(study.run("iris").facts())
    words = "the only configuration, learning rate 0.1, epochs 5"
    assert page["verdict"][0]["text"] == f"Best: {words}."
    assert page["rows"][0]["name"] == words
