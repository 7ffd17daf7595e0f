"""The dictionary of the page of an evaluation."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from separatrix.text import named_class, percent
from separatrix.web.drawings import calibration_drawing
from separatrix.web.packed_arrays import packed
from separatrix.web.page_parts import (
    classes_table,
    confusion_drawing,
    in_short,
    numbers,
    page_frame,
    right_of,
    share,
)


def evaluation_page(
    facts: Mapping[str, Any], pictures: Mapping[str, Any], made: Mapping[str, str]
) -> dict[str, Any]:
    """Return the page of an evaluation as plain values that are valid JSON.

    `facts` are those of `evaluate`, `pictures` those of `picture_evaluation`, and `made` is that of
    `page_frame`.
    """
    metrics, ranking = facts["metrics"], facts["ranking"]
    classes = [entry["class"] for entry in metrics["classes"]]
    source = {**facts["source"], "classes": classes}
    known: dict[str, Any] = {"source": source, "notes": facts["notes"]}
    page = page_frame(known, made, [made["model"], f"{metrics['rows']:,} rows"])
    pairs = [(percent(metrics["accuracy"]), f"accuracy{right_of(metrics)}")]
    for value, label in (
        (metrics["log_loss"], "log-loss"),
        (ranking["roc_auc"], "ROC AUC" if len(classes) == 2 else "mean ROC AUC"),
        (ranking["average_precision"], "average precision"),
    ):
        if value is not None:
            pairs.append((in_short(value), label))
    drawn = {
        "part": "",
        "confusion": confusion_drawing(metrics),
        "calibration": calibration_drawing(pictures["calibration"]),
    }
    return page | {
        "verdict": [{"kind": "", "text": text} for text in _sentences(facts, pictures)],
        "numbers": numbers(*pairs),
        "objective": [facts["objective"]],
        "by_class": classes_table(metrics) | {"part": "evaluated"},
        "thresholds": [_thresholds(one) for one in pictures["thresholds"]],
        "score_name": "probability"
        if len(classes) > 2 and pictures["calibration"] is not None
        else "score",
        "intervals": _intervals(pictures["intervals"]),
        "drawings": {name: value for name, value in drawn.items() if value is not None},
    }


def _sentences(facts: Mapping[str, Any], pictures: Mapping[str, Any]) -> list[str]:
    metrics = facts["metrics"]
    weighted = "" if right_of(metrics) else ", by their weights,"
    share_right = percent(metrics["accuracy"])
    out = [f"{share_right} of {metrics['rows']:,} rows{weighted} are classified correctly"]
    weak = min(
        (entry for entry in metrics["classes"] if entry["recall"] is not None),
        key=lambda entry: float(entry["recall"]),
        default=None,
    )
    if weak is not None and weak["recall"] < 1.0:
        out.append(
            f"The class that is missed most often: {named_class(weak['class'])}, "
            f"{share(weak['recall'])} of {weak['rows']:,} rows are found."
        )
    if "threshold" in facts:
        found = facts["threshold"]
        out.append(
            f"Threshold {found['value']:.6g}, chosen on the {found['rows']} rows: precision "
            f"{share(found['precision'])}, recall {share(found['recall'])}."
        )
    if not pictures["thresholds"]:
        out.append("The rows have a single class: there are no ROC and precision-recall curves.")
    return out


def _thresholds(one: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": named_class(one["class"]),
        "sign": one["sign"],
        "positives": one["positives"],
        "negatives": one["negatives"],
        "values": packed(np.array(one["values"]), "<f8"),
        "true_positives": packed(np.array(one["true_positives"]), "<f8"),
        "false_positives": packed(np.array(one["false_positives"]), "<f8"),
        "chosen": one["chosen"],
        "all": one["all"],
        "roc_auc": one["roc_auc"],
        "average_precision": one["average_precision"],
    }


def _intervals(found: Mapping[str, Any]) -> dict[str, Any]:
    """Return the coefficients with their intervals, or the reason why there are none."""
    if "reason" in found:
        return {"reason": str(found["reason"])}
    if found["method"] == "wald":
        how = "Wald intervals, from the curvature of the likelihood."
    else:
        how = (
            f"Bootstrap percentile intervals from {found['replicates']} fits to resampled rows. "
            "The penalty shrinks the coefficients of all of them: the intervals are for the "
            "penalised coefficients."
        )
    outputs = []
    for k, label in enumerate(found["classes"]):
        rows = [
            [name, *(float(found[key][k][j]) for key in ("estimate", "lower", "upper"))]
            for j, name in enumerate(found["names"])
        ]
        if found["p_value"] is not None:
            for j, row in enumerate(rows):
                row.append(float(found["p_value"][k][j]))
        outputs.append({"name": named_class(label), "rows": rows})
    return {
        "how": f"{round(100 * found['level'])} % intervals, {found['rows']:,} training rows. {how}",
        "outputs": outputs,
    }
