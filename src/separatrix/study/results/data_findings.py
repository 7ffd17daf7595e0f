"""What the runs of a study found in its data, in sentences without repetition."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def data_sentences(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return one sentence for each kind of finding, given the stored facts of all runs.

    All runs have the same rows, so a finding about all of them holds for the study.
    A remedy is left out if the study has runs that do not need it, such as runs with a penalty.

    >>> part = {"kind": "separable", "message": "Partly.", "remedy": "Add l2.", "complete": False}
    >>> whole = part | {"message": "Separable.", "complete": True}
    >>> runs = [{"data_findings": [found], "stop_reason": "epochs"} for found in (part, whole)]
    >>> data_sentences(runs)
    ['Separable. Add l2.']
    >>> data_sentences([*runs, {"data_findings": [], "stop_reason": "epochs"}])
    ['Separable.']
    """
    strongest: dict[str, Mapping[str, Any]] = {}
    for run in runs:
        for found in _findings(run):
            known = strongest.get(found["kind"])
            if known is None or found["complete"] > known["complete"]:
                strongest[found["kind"]] = found
    return [
        f"{found['message']} {found['remedy']}".rstrip()
        if all(_needs_remedy(run, kind) for run in runs)
        else found["message"]
        for kind, found in strongest.items()
    ]


def _needs_remedy(run: Mapping[str, Any], kind: str) -> bool:
    stopped_early = kind == "separable" and run["stop_reason"] == "patience"
    return not stopped_early and any(found["kind"] == kind for found in _findings(run))


def _findings(run: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the findings of a run. Older stores have only sentences."""
    older = [
        {"kind": sentence, "message": sentence, "remedy": "", "complete": True}
        for sentence in run.get("of_the_data", [])
    ]
    return list(run.get("data_findings", older))
