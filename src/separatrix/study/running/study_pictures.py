"""Make what the report draws beyond table and histories, while the data is still there."""

from __future__ import annotations

from separatrix.study.planning.tasks import StudyTasks
from separatrix.study.results.pictures import FailedSteps
from separatrix.study.running.failed_steps import choose_failure, follow_steps
from separatrix.study.store.writer import StudyWriter
from separatrix.workflow.pictures.data_sample import DataSample, draw_sample


def make_pictures(planned: StudyTasks, writer: StudyWriter) -> dict[str, DataSample | FailedSteps]:
    """Return a sample of the rows and, if a run failed, its steps, by their kind in the store."""
    found: dict[str, DataSample | FailedSteps] = {
        "sample": draw_sample(planned.data, planned.validation)
    }
    number: dict[tuple[int, int], int] = {run: k for k, run in enumerate(planned.plan.runs)}
    reasons = {number[run]: why for run, why in writer.failed_runs().items()}
    chosen = choose_failure(planned, reasons)
    if chosen is not None:
        history = writer.history_of(*planned.plan.runs[chosen])
        steps = follow_steps(planned, chosen, history)
        if steps is not None:
            found["failure"] = steps
    return found
