"""The dictionary of the page of a fit."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.text import counted, percent, seconds
from separatrix.web.packed_arrays import packed, thin
from separatrix.web.page_parts import (
    PART_WORDS,
    classes_table,
    in_short,
    model_drawings,
    numbers,
    page_frame,
    parts_table,
    right_of,
)
from separatrix.workflow.pictures.model_pictures import ModelPictures
from separatrix.workflow.verdict_words import verdict_words, why_stopped

MOST_POINTS = 4000  # of a curve
_CURVES = {
    "loss": ("train_loss", "val_loss"),
    "accuracy": ("train_accuracy", "val_accuracy"),
    "objective": ("objective",),
    "gradient norm": ("gradient_norm",),
}


def fit_page(
    facts: Mapping[str, Any], pictures: ModelPictures, made: Mapping[str, str]
) -> dict[str, Any]:
    """Return the page of a fit as plain values that are valid JSON.

    `facts` are those of `fit_source`, and `made` is that of `page_frame`.
    """
    verdict, model, metrics = facts["verdict"], facts["model"], facts["metrics"]
    part = list(metrics)[-1]
    work = [model["name"], seconds(verdict["seconds"])]
    page = page_frame(facts, made, work)
    return page | {
        "verdict": fit_sentences(facts, part),
        "numbers": fit_numbers(facts, part),
        "diagnoses": diagnoses(verdict),
        "parts": parts_table(metrics),
        "by_class": classes_table(metrics[part]) | {"part": PART_WORDS.get(part, part)},
        "objective": [model["objective"]],
        "history": _history(pictures.history, verdict["solver"] == "gradient"),
        "drawings": model_drawings(pictures, facts["source"]["classes"], metrics[part], part),
    }


def fit_sentences(facts: Mapping[str, Any], part: str) -> list[dict[str, str]]:
    """Return the verdict: how the fit ended, how good it is, and why it stopped."""
    verdict, found = facts["verdict"], facts["metrics"][part]
    words = verdict_words(verdict)
    kind = "best" if words.kind == "good" else "failure"
    rows = PART_WORDS.get(part, part) + " rows"
    share = percent(found["accuracy"])
    about = facts["model"]["about"].partition(";")[0].partition(":")[0]
    sentences = [
        {
            "kind": kind,
            "text": f"{words.lead}: {about}, {share} of {rows} right",
        },
        {"kind": "", "text": f"{words.sentence[0].upper()}{words.sentence[1:]}"},
        {"kind": "", "text": why_stopped(verdict)},
    ]
    if verdict["why"]:
        sentences.append({"kind": "", "text": f"Solver: {verdict['why']}"})
    return sentences


def fit_numbers(facts: Mapping[str, Any], part: str) -> list[dict[str, str]]:
    """Return the numbers next to the verdict."""
    verdict, found = facts["verdict"], facts["metrics"][part]
    word = PART_WORDS.get(part, part)
    pairs = [(percent(found["accuracy"]), f"{word} accuracy{right_of(found)}")]
    if found["log_loss"] is not None:
        pairs.append((in_short(found["log_loss"]), f"{word} log-loss"))
    certificate = verdict["certificate"]
    if certificate is not None and certificate["relative_gap"] is not None:
        pairs.append((f"{certificate['relative_gap']:.2g}", "relative duality gap"))
    elif certificate is not None:
        pairs.append((f"{certificate['gradient_norm']:.2g}", "gradient norm"))
    unit = "epoch" if verdict["solver"] in (None, "gradient") else "iteration"
    steps = verdict["iterations"]
    pairs.append((f"{steps:,}", counted(steps, unit).split()[1]))
    return numbers(*pairs)


def diagnoses(verdict: Mapping[str, Any]) -> list[dict[str, str]]:
    """Return what is wrong with a fit, and the remedies."""
    return [
        {"kind": found["kind"], "message": found["message"], "remedy": found["remedy"]}
        for found in verdict["diagnoses"]
    ]


def _history(history: Mapping[str, Any], is_descent: bool) -> dict[str, Any]:
    """Return the curves by what they measure, without those that were not measured."""
    measures = []
    for name, columns in _CURVES.items():
        curves = []
        for column in columns:
            values = np.asarray(history.get(column, []), np.float64)
            at = thin(values, MOST_POINTS)
            if len(at) > 1:
                part = "validation" if column.startswith("val") else "training"
                epochs = packed(at + 1, "<u4")
                curves.append({"part": part, "epochs": epochs, "values": packed(values[at])})
        if curves:
            measures.append({"name": name, "curves": curves})
    return {"unit": "epoch" if is_descent else "iteration", "measures": measures}
