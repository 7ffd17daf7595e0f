"""separatrix fit: train one model, evaluate it and save it."""

from typing import Any

from separatrix.cli.clusters import Dask, connect_to
from separatrix.cli.command_decorator import INTERRUPTED, NOT_CONVERGED, CommonOptions, command
from separatrix.cli.options import (
    DescentOptions,
    Memory,
    Out,
    PenaltyOptions,
    PreparationOptions,
    ReadingOptions,
    SourceArgument,
    TrainingOptions,
)
from separatrix.cli.output import Output
from separatrix.cli.progress import show_fit_progress
from separatrix.cli.reading import read_source
from separatrix.cli.reports import (
    Report,
    WithReport,
    made_by,
    python_of_model,
    report_path,
    worded,
    write_page,
)
from separatrix.cli.writing import check_out, try_to_write


@command
def fit(
    output: Output,
    source: SourceArgument,
    reading: ReadingOptions,
    preparing: PreparationOptions,
    training: TrainingOptions,
    penalty: PenaltyOptions,
    descending: DescentOptions,
    common: CommonOptions,
    memory: Memory = None,
    dask: Dask = None,
    out: Out = None,
    report: Report = None,
) -> int:
    """Train a model, certify and evaluate it, and save it.

    [b]separatrix fit iris[/b]
    [b]separatrix fit people.csv --label income --out income.sx[/b]
    [b]separatrix fit mail.tsv --words counts --model svm --C 0.1[/b]
    [b]separatrix fit adult --l1 1 --C 0.05[/b]      a sparse model: few non-zero weights
    [b]separatrix fit wine --solver gradient --momentum 0.9 --patience 20[/b]
    [b]separatrix fit iris --report[/b]            with a page for the browser

    Detects the label column, text columns and missing values, and prints what it decided. The rows
    are split 80/10/10 unless the data set has its own split. Only the training rows are used for
    training. Exit code 3 means that the model was fitted but did not converge.
    """
    from separatrix.workflow.fitting import fit_prepared
    from separatrix.workflow.model_families import DEFAULT_TOL
    from separatrix.workflow.preparing import prepare_source

    check_out(out, source, *reading.files())
    page = report_path(report, source, "fit")
    options = training.options(common.seed, C=penalty.C, l1=penalty.l1)
    descent = descending.options(training.solver)
    split = preparing.shares()
    reads = {"seed": common.seed, "split": split, "memory": memory, **reading.options()}
    cluster = connect_to(dask)
    loaded = read_source(output, source, **reads)
    with output.spinner("Preparing"):
        prepared = prepare_source(loaded, preparing.settings(loaded.table))
    with show_fit_progress(output, "Fitting", training.tol or DEFAULT_TOL) as progress:
        trained = fit_prepared(prepared, training.model, options, progress, descent, cluster)
    failed = try_to_write(out, trained.bundle.save)
    made = made_by(
        "fit",
        [source, *([] if dask is None else ["--dask", dask])],
        common.seed,
        [reading, preparing, training, penalty, descending],
    )
    part = list(trained.facts["metrics"])[-1]
    made["python"] = python_of_model(made["command"], out, source, reads, part)

    def draw() -> dict[str, Any]:
        from separatrix.web.fit_page import fit_page
        from separatrix.workflow.pictures.model_pictures import picture_model

        return fit_page(worded(trained.facts), picture_model(trained.bundle, loaded), made)

    unwritten = write_page(page, "fit_page", f"{loaded.name}, fit", draw)
    facts = trained.facts | {
        "out": None if out is None or failed else str(out),
        "report": None if page is None or unwritten else str(page),
    }
    output.print_json(facts)
    if output.for_people:
        report_fit(output, facts)
    if error := failed or unwritten:
        raise error
    return code_of(facts["verdict"])


fit.parsed_as = WithReport  # type: ignore[attr-defined]


def report_fit(output: Output, facts: dict[str, Any]) -> None:
    """Print the facts of a fit."""
    from separatrix.cli import tables

    output.say(tables.heading(facts["source"]))
    output.say(tables.notes(facts["notes"]))
    model = facts["model"]
    rows = [("Model", model["about"]), ("Objective", model["objective"])]
    output.say(tables.named(rows))
    report_metrics(output, facts["metrics"])
    report_verdict(output, facts)


def report_metrics(output: Output, metrics: dict[str, Any]) -> None:
    """Print the metrics of all parts, and the metrics per class of the last part."""
    from separatrix.cli import tables

    output.say(tables.parts_table(metrics))
    part = list(metrics)[-1]
    output.say(tables.classes_table(part, metrics[part]))
    output.say(tables.confusion_table(part, metrics[part]))


def report_verdict(output: Output, facts: dict[str, Any]) -> None:
    """Print the verdict and the path of the saved model."""
    from separatrix.cli import tables

    output.say(tables.verdict_text(facts["verdict"]))
    if facts["out"]:
        output.say(f"Saved to {facts['out']}.")
    report_written(output, facts)


def report_written(output: Output, facts: dict[str, Any]) -> None:
    """Print the path of the page, if one was written."""
    if facts["report"]:
        output.say(f"Wrote {facts['report']}.")


def code_of(verdict: dict[str, Any]) -> int:
    """Return the exit code for a verdict."""
    if verdict["stop_reason"] == "interrupted":
        return INTERRUPTED
    return 0 if verdict["converged"] else NOT_CONVERGED
