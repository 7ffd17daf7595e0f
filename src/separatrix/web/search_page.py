"""The dictionary of the page of a search."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from separatrix.text import counted, describe_configuration, seconds, value_words
from separatrix.web.fit_page import diagnoses, fit_numbers, fit_sentences
from separatrix.web.page_parts import (
    PART_WORDS,
    classes_table,
    in_short,
    model_drawings,
    numbers,
    page_frame,
    parts_table,
    share,
)
from separatrix.workflow.pictures.model_pictures import ModelPictures


def search_page(
    facts: Mapping[str, Any], pictures: ModelPictures, made: Mapping[str, str]
) -> dict[str, Any]:
    """Return the page of a search as plain values that are valid JSON.

    `facts` are those of `search_source`, and `made` is that of `page_frame`.
    """
    verdict, metrics, candidates = facts["verdict"], facts["metrics"], facts["candidates"]
    part, scoring = list(metrics)[-1], facts["scoring"]
    names = list(candidates[0]["parameters"])
    fits = facts["folds"] * len(candidates)
    page = page_frame(
        facts, made, [facts["model"]["name"], counted(fits, "fit"), seconds(verdict["seconds"])]
    )
    best = next(c for c in candidates if c["parameters"] == facts["best"])
    first = f"Best {scoring}: {describe_configuration(facts['best'])}"
    return page | {
        "verdict": [
            {"kind": "best", "text": first},
            {"kind": "", "text": _about_best(facts, best)},
            *({"kind": "", "text": text} for text in _proof(facts)),
            *({"kind": "", "text": text} for text in [facts["advice"]] if text),
            *({"kind": "", "text": text} for text in [_work(facts)] if text),
            *({"kind": "failure", "text": text} for text in facts["warnings"]),
            *_of_final_model(facts, part),
        ],
        "numbers": [
            *numbers((_score(scoring, best["mean"]), f"mean {scoring} over the folds")),
            *fit_numbers(facts, part)[:-1],
        ],
        "diagnoses": diagnoses(verdict),
        "parts": parts_table(metrics),
        "by_class": classes_table(metrics[part]) | {"part": PART_WORDS.get(part, part)},
        "objective": [facts["model"]["objective"]],
        "drawings": model_drawings(pictures, facts["source"]["classes"], metrics[part], part),
        "certified": facts["certified"],
        "scoring": scoring,
        "folds": facts["folds"],
        "parameters": [{"name": name, "label": name, "numeric": True} for name in names],
        "caption": f"Mean {scoring} over {facts['folds']} folds, and its standard deviation.",
        "columns": _columns(names, scoring, facts["folds"]),
        "best": candidates.index(best),
        "rows": [_row(k, candidate, facts) for k, candidate in enumerate(candidates)],
    }


def _about_best(facts: Mapping[str, Any], best: Mapping[str, Any]) -> str:
    scoring = facts["scoring"]
    text = (
        f"Mean {scoring} {_score(scoring, best['mean'])} over {facts['folds']} folds, standard "
        f"deviation {_score(scoring, best['deviation'])}."
    )
    if facts["ties"]:
        text += f" {counted(len(facts['ties']), 'other candidate')} reached the same mean."
    return text


def _proof(facts: Mapping[str, Any]) -> list[str]:
    """Return what is proven about the whole interval of C."""
    found = facts["certified"]
    return [found["sentences"][1]] if found is not None and found["complete"] else []


def _work(facts: Mapping[str, Any]) -> str:
    if facts["batches"] is None:
        return ""
    fits = facts["folds"] * len(facts["candidates"])
    batches = counted(facts["batches"], "batch", "batches")
    passes = counted(round(facts["passes"]), "pass", "passes")
    return f"The {fits} fits of the cross-validation took {batches} and {passes} over the data."


def _of_final_model(facts: Mapping[str, Any], part: str) -> list[dict[str, str]]:
    """Return how the fit on all training rows ended."""
    _, end, *_ = fit_sentences(facts, part)
    failed = not facts["verdict"]["converged"]
    text = (
        f"The model of these parameters, trained on all training and validation rows: {end['text']}"
    )
    return [{"kind": "failure" if failed else "", "text": text}]


def _columns(names: list[str], scoring: str, folds: int) -> list[dict[str, Any]]:
    higher = {"higher": True, "percent": scoring.endswith("accuracy")}
    return [
        *({"key": name, "label": name} for name in names),
        {"key": "mean", "label": f"mean {scoring}", "names": [f"mean {scoring}", "mean", scoring]}
        | higher,
        {"key": "deviation", "label": "standard deviation"},
        *(
            {"key": f"fold_{k}", "label": f"fold {k}", "extra": True} | higher
            for k in range(1, folds + 1)
        ),
    ]


def _row(number: int, candidate: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    parameters, scoring = candidate["parameters"], facts["scoring"]
    scores = candidate["scores"]
    values = [candidate["mean"], candidate["deviation"], *scores]
    words = [value_words(name, value) for name, value in parameters.items()]
    spread = ", ".join(_score(scoring, score) for score in scores)
    return {
        "number": number,
        "name": describe_configuration(parameters),
        "kind": _kind(parameters, facts),
        "values": list(parameters.values()),
        "words": words,
        "cells": [*parameters.values(), *values],
        "texts": [*words, *(_score(scoring, value) for value in values)],
        "score": candidate["mean"],
        "scores": scores,
        "merit": None if candidate["mean"] is None else -candidate["mean"],
        "observations": [f"Scores of the folds: {spread}."],
    }


def _kind(parameters: Mapping[str, float], facts: Mapping[str, Any]) -> str:
    if parameters == facts["best"]:
        return "best"
    return "same" if parameters in facts["ties"] else "worse"


def _score(scoring: str, value: float | None) -> str:
    return share(value) if scoring.endswith("accuracy") else in_short(value)
