"""separatrix evaluate: how good a saved model is on rows of known label."""

from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import CommonOptions, UsageError, command
from separatrix.cli.options import ModelFile, Out, ReadingOptions, SourceArgument
from separatrix.cli.output import Output
from separatrix.cli.reading import fetch_named
from separatrix.cli.writing import check_out, try_to_write


@command
def evaluate(
    output: Output,
    model: ModelFile,
    source: SourceArgument,
    reading: ReadingOptions,
    common: CommonOptions,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Find the threshold for this precision.",
        ),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(metavar="X", help="Find the threshold for this recall."),
    ] = None,
    every_row: Annotated[
        bool,
        typer.Option("--all", help="Measure all rows, also those the model was trained on."),
    ] = False,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS", help="Whose precision and recall are meant (the 2nd of two)."
        ),
    ] = None,
    out: Out = None,
) -> None:
    """Measure a model on a source: metrics, ROC, precision and recall, thresholds.

    [b]separatrix evaluate mail.sx new.csv[/b]
    [b]separatrix evaluate mail.sx new.csv --precision 0.99 --out careful.sx[/b]

    Of the data that the model was trained on, only the test rows are measured, and the threshold is
    found by the validation rows. --out saves the model with it.
    """
    from separatrix.workflow.evaluating import evaluate as evaluate_model
    from separatrix.workflow.evaluating import measure_again
    from separatrix.workflow.model_inputs import load_for_model, open_model

    for name, share in (("precision", precision), ("recall", recall)):
        if share is not None and not 0 < share <= 1:
            raise UsageError(
                f"--{name} takes a share above 0 and at most 1. Got {share:g} instead."
            )
    if precision is not None and recall is not None:
        raise UsageError("Ask for a precision or for a recall, not for both.")
    if out is not None and precision is None and recall is None:
        raise UsageError("--out saves the model with a threshold: ask for --precision or --recall.")
    check_out(out, model, source)
    bundle = open_model(model)
    fetch_named(output, source)
    with output.spinner(f"Reading {source}"):
        rows = load_for_model(bundle, source, **reading.options())
        aims: dict[str, Any] = {"precision": precision, "recall": recall, "positive": positive}
        facts = evaluate_model(bundle, rows, every_row=every_row, **aims)
    failed = None if out is None else try_to_write(out, measure_again(bundle, rows).save)
    facts["out"] = None if out is None or failed else str(out)
    output.print_json(facts)
    if output.for_people:
        _report(output, facts)
    if failed:
        raise failed


def _report(output: Output, facts: dict[str, Any]) -> None:
    from rich.text import Text

    from separatrix.cli import tables
    from separatrix.text import one_line

    source, metrics, ranking = facts["source"], facts["metrics"], facts["ranking"]
    output.say(
        Text(one_line(source["name"]), "bold"),
        f" · {tables.counted(source['rows'], 'row')} measured",
    )
    output.say(tables.notes(facts["notes"]))
    output.say(
        tables.named(
            [
                ("Accuracy", tables.share(metrics["accuracy"])),
                ("Log-loss", tables.number(metrics["log_loss"])),
                ("ROC AUC", tables.number(ranking["roc_auc"])),
                ("Average precision", tables.number(ranking["average_precision"])),
            ]
        )
    )
    output.say(tables.classes_table(source["name"], metrics))
    output.say(tables.confusion_table(source["name"], metrics))
    if "operating_points" in facts:
        _report_points(output, facts)
    if "threshold" in facts:
        found = facts["threshold"]
        output.say(
            f"Threshold {found['value']:.6g}, by the {found['rows']} rows: precision "
            f"{tables.share(found['precision'])}, recall {tables.share(found['recall'])}."
        )
        if found["rows"] == "validation":
            classes, after = found["metrics"]["classes"], found["metrics"]["accuracy"]
            of_it = next(c for c in classes if c["class"] == facts["positive"])
            output.say(
                f"On the rows measured: precision {tables.share(of_it['precision'])}, recall "
                f"{tables.share(of_it['recall'])}, accuracy {tables.share(after)}."
            )
    if facts["out"]:
        output.say(f"Saved with this threshold to {facts['out']}.")


def _report_points(output: Output, facts: dict[str, Any]) -> None:
    from separatrix.cli import tables

    positive = tables.label(facts["positive"])
    columns = ["recall", "precision", "false positives"]
    side = ">" if facts["positive"] == facts["metrics"]["classes"][1]["class"] else "<"
    table = tables.plain_table(f"'{positive}' if score {side}", columns)
    for point in facts["operating_points"]:
        shares = [
            tables.share(point[key]) for key in ("recall", "precision", "false_positive_rate")
        ]
        table.add_row(f"{point['threshold']:.4g}", *shares)
    output.say(tables.spaced(table))
