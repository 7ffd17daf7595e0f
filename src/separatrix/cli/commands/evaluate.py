"""separatrix evaluate: the metrics of a saved model on labelled rows."""

from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import CommonOptions, UsageError, command
from separatrix.cli.commands.fit import report_written
from separatrix.cli.options import Memory, ModelFile, NewRowsOptions, Out, SourceArgument
from separatrix.cli.output import Output
from separatrix.cli.reading import read_for_model
from separatrix.cli.reports import (
    Report,
    WithReport,
    made_by,
    report_path,
    worded,
    write_page,
)
from separatrix.cli.writing import check_out, try_to_write


@command
def evaluate(
    output: Output,
    model: ModelFile,
    source: SourceArgument,
    reading: NewRowsOptions,
    common: CommonOptions,
    precision: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Find the threshold that gives at least this precision, from 0 to 1.",
        ),
    ] = None,
    recall: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Find the threshold that gives at least this recall, from 0 to 1."
        ),
    ] = None,
    every_row: Annotated[
        bool,
        typer.Option("--all", help="Evaluate all rows, including the training rows."),
    ] = False,
    positive: Annotated[
        str | None,
        typer.Option(
            metavar="CLASS",
            help="Positive class for precision and recall (default: the second of two classes).",
        ),
    ] = None,
    memory: Memory = None,
    out: Out = None,
    report: Report = None,
) -> None:
    """Evaluate a model on labelled rows, and choose a threshold.

    [b]separatrix evaluate mail.sx new.csv[/b]
    [b]separatrix evaluate mail.sx new.csv --precision 0.99 --out careful.sx[/b]
    [b]separatrix evaluate mail.sx new.csv --report[/b]   with a page for the browser

    If the source is the data that the model was trained on, only its test rows are evaluated, and
    the threshold is chosen on its validation rows. --out saves the model with this threshold.
    """
    from separatrix.workflow.evaluating import evaluate as evaluate_model
    from separatrix.workflow.evaluating import measure_again
    from separatrix.workflow.model_inputs import open_model

    for name, share in (("precision", precision), ("recall", recall)):
        if share is not None and not 0 < share <= 1:
            raise UsageError(f"--{name} must be a number > 0 and <= 1. Got {share:g} instead.")
    if precision is not None and recall is not None:
        raise UsageError("--precision and --recall cannot be combined. Leave one of them out.")
    if out is not None and precision is None and recall is None:
        raise UsageError(
            "--out saves the model with a threshold: add --precision or --recall to choose one."
        )
    check_out(out, model, source)
    page = report_path(report, model, "evaluate")
    bundle = open_model(model)
    rows = read_for_model(output, bundle, source, memory=memory, **reading.options())
    with output.spinner("Evaluating"):
        aims: dict[str, Any] = {"precision": precision, "recall": recall, "positive": positive}
        facts = evaluate_model(bundle, rows, every_row=every_row, **aims)
    failed = None if out is None else try_to_write(out, measure_again(bundle, rows).save)
    facts["out"] = None if out is None or failed else str(out)
    given = [("--precision", precision), ("--recall", recall), ("--positive", positive)]
    words = [word for name, value in given if value is not None for word in (name, str(value))]
    made = made_by(
        "evaluate",
        [model, source, *words, *(["--all"] if every_row else [])],
        common.seed,
        [reading],
    )

    def draw() -> dict[str, Any]:
        from separatrix.web.evaluation_page import evaluation_page
        from separatrix.workflow.pictures.model_pictures import picture_evaluation

        pictures = picture_evaluation(
            bundle, rows, every_row=every_row, positive=facts.get("positive")
        )
        return evaluation_page(worded(facts), pictures, made | {"model": Path(model).name})

    unwritten = write_page(page, "evaluation_page", f"{rows.name}, evaluate", draw)
    facts["report"] = None if page is None or unwritten else str(page)
    output.print_json(facts)
    if output.for_people:
        _report(output, facts)
        report_written(output, facts)
    if error := failed or unwritten:
        raise error


evaluate.parsed_as = WithReport  # type: ignore[attr-defined]


def _report(output: Output, facts: dict[str, Any]) -> None:
    from rich.text import Text

    from separatrix.cli import tables
    from separatrix.text import one_line

    source, metrics, ranking = facts["source"], facts["metrics"], facts["ranking"]
    output.say(
        Text(one_line(source["name"]), "bold"),
        f" · {tables.counted(source['rows'], 'row')} evaluated",
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
            f"Threshold {found['value']:.6g}, chosen on the {found['rows']} rows: precision "
            f"{tables.share(found['precision'])}, recall {tables.share(found['recall'])}."
        )
        if found["rows"] == "validation":
            classes, after = found["metrics"]["classes"], found["metrics"]["accuracy"]
            of_it = next(c for c in classes if c["class"] == facts["positive"])
            output.say(
                f"On the evaluated rows: precision {tables.share(of_it['precision'])}, recall "
                f"{tables.share(of_it['recall'])}, accuracy {tables.share(after)}."
            )
    if facts["out"]:
        output.say(f"Saved to {facts['out']} with this threshold.")


def _report_points(output: Output, facts: dict[str, Any]) -> None:
    from separatrix.cli import tables
    from separatrix.text import named_class

    positive = named_class(tables.label(facts["positive"]))
    columns = ["recall", "precision", "false positive rate"]
    side = ">" if facts["positive"] == facts["metrics"]["classes"][1]["class"] else "<"
    table = tables.plain_table(f"{positive} if score {side}", columns)
    for point in facts["operating_points"]:
        shares = [
            tables.share(point[key]) for key in ("recall", "precision", "false_positive_rate")
        ]
        table.add_row(f"{point['threshold']:.4g}", *shares)
    output.say(tables.spaced(table))
