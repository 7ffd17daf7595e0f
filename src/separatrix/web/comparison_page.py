"""The dictionary of the page of a comparison of models."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from separatrix.text import counted
from separatrix.web.page_parts import PART_WORDS, in_short, numbers, page_frame, right_of, share

_TESTS = {"accuracy": "less accurate", "loss": "higher log-loss"}
_PARTS = ("train", "validation", "test")


def comparison_page(facts: Mapping[str, Any], made: Mapping[str, str]) -> dict[str, Any]:
    """Return the page of a comparison as plain values that are valid JSON.

    `facts` are those that `separatrix compare` prints, and `made` is that of `page_frame`.
    """
    models = facts["models"]
    parts = [part for part in _PARTS if any(part in row["metrics"] for row in models)]
    deciding = "test" if facts["best"] is None else "validation"
    page = page_frame(facts, made, [counted(len(models), "model")])
    names = [row["model"] for row in models]
    sentences = facts["comparison"] or ["No validation rows: no model is chosen."]
    kind = "" if facts["best"] is None else "best"
    return page | {
        "verdict": [
            {"kind": kind, "text": sentences[0]},
            *({"kind": "", "text": sentence} for sentence in sentences[1:]),
            *({"kind": "", "text": note} for row in models for note in row["notes"]),
        ],
        "numbers": _numbers(facts, deciding),
        "caption": f"Accuracy on each part; log-loss on the {deciding} rows; gap: relative duality "
        "gap.",
        "columns": [
            *(_accuracy_column(part) for part in parts),
            {"key": "log_loss", "label": "log-loss"},
            {"key": "against", "label": "compared with the best", "numeric": False},
            {"key": "p", "label": "p-value"},
            {"key": "seconds", "label": "seconds"},
            {"key": "gap", "label": "gap"},
        ],
        "best": names.index(facts["best"]) if facts["best"] in names else None,
        "rows": [_row(k, row, facts, parts, deciding) for k, row in enumerate(models)],
        "parts_drawn": [PART_WORDS[part] for part in parts],
    }


def _accuracy_column(part: str) -> dict[str, Any]:
    word = PART_WORDS[part]
    names = [word, f"{word} accuracy", part]
    return {"key": part, "label": word, "names": names, "higher": True, "percent": True}


def _numbers(facts: Mapping[str, Any], deciding: str) -> list[dict[str, str]]:
    best = next((row for row in facts["models"] if row["model"] == facts["best"]), None)
    if best is None:
        return []
    found = best["metrics"][deciding]
    same = len(facts["as_good"])
    pairs = [(share(found["accuracy"]), f"{deciding} accuracy{right_of(found)}")]
    if found["log_loss"] is not None:
        pairs.append((in_short(found["log_loss"]), f"{deciding} log-loss"))
    pairs.append((f"{same} of {len(facts['models']) - 1}", "others cannot be told apart from it"))
    if "test" in best["metrics"]:
        test = best["metrics"]["test"]
        pairs.append((share(test["accuracy"]), f"test accuracy{right_of(test)}"))
    return numbers(*pairs)


def _row(
    number: int, row: Mapping[str, Any], facts: Mapping[str, Any], parts: list[str], deciding: str
) -> dict[str, Any]:
    name, metrics = row["model"], row["metrics"]
    accuracies = [metrics[part]["accuracy"] if part in metrics else None for part in parts]
    log_loss = metrics.get(deciding, {}).get("log_loss")
    kind, against, p = _standing(name, facts)
    gap, gap_words = _gap(row)
    time = None if row["seconds"] is None else row["seconds"]
    return {
        "number": number,
        "name": name,
        "kind": kind,
        "cells": [*accuracies, log_loss, against, p, time, gap],
        "texts": [
            *map(share, accuracies),
            in_short(log_loss),
            against,
            "–" if p is None else f"{p:.2g}",
            "–" if time is None else f"{time:.2g}",
            gap_words,
        ],
        "accuracies": accuracies,
        "merit": None if not accuracies else -(accuracies[-1 if deciding == "test" else 1] or 0.0),
        "observations": [f"{row['about'][0].upper()}{row['about'][1:]}."],
    }


def _standing(name: str, facts: Mapping[str, Any]) -> tuple[str, str, float | None]:
    """Return the kind of a model, its comparison with the best in words, and the p-value."""
    if name == facts["best"]:
        return "best", "best", None
    found = next((one for one in facts["differences"] if one["model"] == name), None)
    if name in facts["ties"]:
        return "tie", "equally accurate", None
    if found is None:
        return "worse", "–", None
    p = {"accuracy": found["p_accuracy"], "loss": found["p_loss"]}.get(found["by"])
    if found["by"] == "":
        known = [one for one in (found["p_loss"], found["p_accuracy"]) if one is not None]
        return "same", "not significantly different", known[0] if known else None
    if found["behind"]:
        return "worse", "no better than a worse one", None
    return "worse", _TESTS[found["by"]], p


def _gap(row: Mapping[str, Any]) -> tuple[float | None, str]:
    """Return the relative duality gap, or words about a fit without one."""
    verdict = row["verdict"]
    if verdict is None:
        return None, str(row.get("problem", "closed form"))
    if verdict["stop_reason"] == "interrupted":
        return None, "interrupted"
    if not verdict["converged"]:
        return None, "not converged"
    certificate = verdict["certificate"]
    gap = None if certificate is None else certificate["relative_gap"]
    return gap, "converged" if gap is None else f"{gap:.0e}"
