"""separatrix fit: from a source to a judged model."""

from typing import Any

from separatrix.cli.command_decorator import INTERRUPTED, NOT_CONVERGED, Common, verb
from separatrix.cli.options import Out, Penalty, Preparing, Reading, SourceArgument, Training
from separatrix.cli.output import Screen
from separatrix.cli.progress import watching
from separatrix.cli.reading import read_source
from separatrix.cli.writing import check_out, written


@verb
def fit(
    screen: Screen,
    source: SourceArgument,
    reading: Reading,
    preparing: Preparing,
    training: Training,
    penalty: Penalty,
    common: Common,
    out: Out = None,
) -> int:
    """Train a model on a source, judge it, and save it.

    [b]separatrix fit iris[/b]
    [b]separatrix fit people.csv --label income --out income.sx[/b]
    [b]separatrix fit mail.tsv --words counts --model svm --C 0.1[/b]
    [b]separatrix fit adult --l1 1 --C 0.05[/b]      few weights that are not 0

    Labels, text, missing values and the split are found out and told. Rows are split 80/10/10
    unless the data has parts of its own; the model learns from the training rows only. Exit code
    3 says that the model was fitted and has not converged.
    """
    from separatrix.workflow.families import TOL
    from separatrix.workflow.fitting import fit_prepared, prepare

    check_out(out, source)
    options = training.options(common.seed, C=penalty.C, l1=penalty.l1)
    split = preparing.shares()
    loaded = read_source(screen, source, seed=common.seed, split=split, **reading.options())
    with screen.busy("Preparing"):
        prepared = prepare(loaded, preparing.settings(loaded.table))
    with watching(screen, "Fitting", training.tol or TOL) as watch:
        trained = fit_prepared(prepared, training.model, options, watch)
    failed = written(out, trained.bundle.save)
    facts = trained.facts | {"out": None if out is None or failed else str(out)}
    screen.facts(facts)
    if screen.talks:
        report(screen, facts)
    if failed:
        raise failed
    return code_of(facts["verdict"])


def report(screen: Screen, facts: dict[str, Any]) -> None:
    """Print a fit for people."""
    from separatrix.cli import tables

    screen.say(tables.heading(facts["source"]))
    screen.say(tables.notes(facts["notes"]))
    model = facts["model"]
    rows = [("Model", model["about"]), ("Objective", model["objective"])]
    screen.say(tables.named(rows))
    report_metrics(screen, facts["metrics"])
    report_verdict(screen, facts)


def report_metrics(screen: Screen, metrics: dict[str, Any]) -> None:
    """Print the metrics of all parts, and those of the last one class by class."""
    from separatrix.cli import tables

    screen.say(tables.parts_table(metrics))
    part = list(metrics)[-1]
    screen.say(tables.classes_table(part, metrics[part]))
    screen.say(tables.confusion_table(part, metrics[part]))


def report_verdict(screen: Screen, facts: dict[str, Any]) -> None:
    """Print the verdict, and where the model is."""
    from separatrix.cli import tables

    screen.say(tables.verdict_text(facts["verdict"]))
    if facts["out"]:
        screen.say(f"Saved to {facts['out']}.")


def code_of(verdict: dict[str, Any]) -> int:
    """The exit code that a verdict means."""
    if verdict["stop_reason"] == "interrupted":
        return INTERRUPTED
    return 0 if verdict["converged"] else NOT_CONVERGED
