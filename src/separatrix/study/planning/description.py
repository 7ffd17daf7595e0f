"""The description that is stored with a study: its command, its data, and the versions."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pprint import pformat
from typing import Any

import numpy as np
import scipy
import sklearn

from separatrix import __version__
from separatrix.study.planning.data import StudyData
from separatrix.study.planning.plan import StudyPlan
from separatrix.text import counted


def describe_study(
    plan: StudyPlan,
    data: StudyData,
    *,
    name: str,
    one_grid: bool,
    draws: int | None,
    command: str,
    notes: Sequence[str],
) -> dict[str, Any]:
    """Return the description as plain values. `one_grid`: all combinations of one grid."""
    return {
        "command": command,
        "python": python_lines(plan, data, name, one_grid),
        "notes": [*notes, *_draw_notes(plan, draws)],
        "data": asdict(data.facts),
        "versions": library_versions(),
    }


def library_versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries."""
    return {
        "separatrix": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def python_lines(plan: StudyPlan, data: StudyData, name: str, one_grid: bool) -> str:
    """Return Python code that repeats this study. Drawn configurations are listed."""
    estimator = type(plan.estimator).__name__
    given = ", ".join(f"{k}={v!r}" for k, v in plan.shared_parameters().items())
    grid: Mapping[str, Any] | list[Mapping[str, Any]] = plan.values
    if not one_grid:
        grid = [{key: [value] for key, value in one.items()} for one in plan.configurations]
    seeds = "" if plan.seeds == [0] else f", seeds={plan.seeds!r}"
    load = ", load" if data.call.startswith("load(") else ""
    words = pformat(grid, width=92, compact=True, sort_dicts=False).replace("\n", "\n" + 7 * " ")
    return (
        f"from separatrix import {estimator}, Study{load}\n\n"
        f"grid = {words}\n"
        f"study = Study({name!r}, {estimator}({given}), grid{seeds})\n"
        f"study.run({data.call})\n"
    )


def _draw_notes(plan: StudyPlan, draws: int | None) -> list[str]:
    drawn = len(plan.configurations)
    if draws is None or drawn >= draws:
        return []
    return [
        f"Drew {counted(drawn, 'configuration')} instead of {draws}: the grid has no more "
        "different ones."
    ]
