"""What the runs of a study found in its data, in sentences without repetition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

SCALER = "Standardise the features first, for example with scikit-learn's StandardScaler."
STANDARDISE = "Standardise the features first (--standardise)."


def data_sentences(runs: Sequence[Mapping[str, Any]], by_command: bool = False) -> list[str]:
    """Return one sentence for each kind of finding, given the stored facts of all runs.

    If the study was run `by_command`, the remedies name its options.

    All runs have the same rows, so a finding about all of them holds for the study.
    A remedy is left out if runs with the same loss do not need it, such as runs with a penalty.

    >>> part = {"kind": "separable", "message": "Partly.", "remedy": "Add l2.", "complete": False}
    >>> whole = part | {"message": "Separable.", "complete": True}
    >>> run = {"stop_reason": "epochs", "loss": "softmax"}
    >>> runs = [run | {"data_findings": [found]} for found in (part, whole)]
    >>> data_sentences(runs)
    ['Separable. Add l2.']
    >>> data_sentences([*runs, run | {"data_findings": []}])
    ['Separable.']
    >>> data_sentences([*runs, run | {"data_findings": [], "loss": "hinge"}])
    ['Separable. Add l2.']
    """
    strongest: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        for found in _findings(run):
            known = strongest.get(found["kind"])
            if known is None or found["complete"] > known["complete"]:
                strongest[found["kind"]] = found
    remedies = {
        kind: STANDARDISE if by_command and found["remedy"] == SCALER else found["remedy"]
        for kind, found in strongest.items()
    }
    return [
        f"{found['message']} {remedies[kind]}".rstrip()
        if _all_need_remedy(runs, kind)
        else found["message"]
        for kind, found in strongest.items()
    ]


def _all_need_remedy(runs: Sequence[Mapping[str, Any]], kind: str) -> bool:
    """Whether none of the runs with the losses concerned has a penalty or stopped early."""
    concerned = [run for run in runs if any(found["kind"] == kind for found in _findings(run))]
    losses = {run["loss"] for run in concerned}
    early = kind == "separable" and any(run["stop_reason"] == "patience" for run in concerned)
    return not early and len(concerned) == sum(run["loss"] in losses for run in runs)


def _findings(run: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the findings of a run. Older stores have only sentences."""
    older = [
        {"kind": sentence, "message": sentence, "remedy": "", "complete": True}
        for sentence in run.get("of_the_data", [])
    ]
    return list(run.get("data_findings", older))
