"""separatrix predict: the predictions of a model for new rows."""

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import CommonOptions, command
from separatrix.cli.options import Memory, ModelFile, NewRowsOptions, SourceArgument
from separatrix.cli.output import Output
from separatrix.cli.reading import read_for_model
from separatrix.cli.writing import check_out

# Names of columns with a number for every class.
PROBABILITIES = {
    "probabilities": "P({})",
    "probability_low": "lowest P({})",
    "probability_high": "highest P({})",
}


@command
def predict(
    output: Output,
    model: ModelFile,
    source: SourceArgument,
    reading: NewRowsOptions,
    common: CommonOptions,
    memory: Memory = None,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba", help="Add the probability of every class.", rich_help_panel="Output"
        ),
    ] = False,
    certified: Annotated[
        bool,
        typer.Option(
            "--certified",
            help="Add whether each class is certainly that of the exact optimum, and bounds on "
            "the probabilities there.",
            rich_help_panel="Output",
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="CSV file to write instead of printing.",
            rich_help_panel="Output",
        ),
    ] = None,
) -> None:
    """Predict the class of every row of a source.

    [b]separatrix predict income.sx people.csv[/b]
    [b]separatrix predict mail.sx new.tsv --proba --out answers.csv[/b]
    [b]separatrix predict income.sx people.csv --certified[/b]
    [b]separatrix predict income.sx - < people.csv[/b]

    The rows are read and prepared in the same way as the training rows. With --out, the accuracy
    is printed if the rows have labels.
    """
    from separatrix.workflow.model_inputs import open_model
    from separatrix.workflow.predicting import predict as predict_rows
    from separatrix.workflow.predicting import weight_notes

    check_out(out, model, source)
    bundle = open_model(model)
    rows = read_for_model(output, bundle, source, memory=memory, **reading.options())
    with output.spinner("Predicting"):
        facts = predict_rows(bundle, rows, proba=proba, certified=certified)
        facts["out"] = None if out is None else str(out)
    if output.for_people:
        from separatrix.cli import tables

        if out is None:  # keep notes apart from predictions; no metric is printed
            of_metrics = weight_notes(rows)
            notes = [note for note in facts["notes"] if note not in of_metrics]
            output.remark(tables.notes(notes))
            if certified:
                output.remark(facts["certified"])
        else:
            output.say(tables.notes(facts["notes"]))
    if out is not None:
        from separatrix.files import replace_file

        replace_file(out, _csv(facts).encode())
    elif not output.json:
        output.data(_csv(facts))
    output.print_json(facts)
    if output.for_people and out is not None:
        _report(output, facts)


def _csv(facts: dict[str, Any]) -> str:
    from separatrix.cli import tables

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    columns: list[tuple[str, list[Any]]] = []
    if "ids" in facts:
        columns.append((facts["ids"]["column"], facts["ids"]["values"]))
    columns.append(("prediction", [tables.class_name(label) for label in facts["predictions"]]))
    if "certain" in facts:
        columns.append(("certain", ["yes" if sure else "no" for sure in facts["certain"]]))
    for key, name in PROBABILITIES.items():
        for k, c in enumerate(facts["classes"] if key in facts else []):
            values = [row[k] for row in facts[key]]
            columns.append((name.format(tables.class_name(c)), values))
    writer.writerow([name for name, _ in columns])
    writer.writerows(zip(*(values for _, values in columns)))
    return text.getvalue()


def _report(output: Output, facts: dict[str, Any]) -> None:
    from separatrix.cli import tables

    counts = {label: facts["predictions"].count(label) for label in facts["classes"]}
    table = tables.plain_table("prediction", ["rows"])
    for label, count in counts.items():
        table.add_row(tables.label(label), f"{count:,}")
    output.say(tables.spaced(table))
    if "metrics" in facts:
        accuracy = tables.share(facts["metrics"]["accuracy"])
        output.say(f"The rows have labels: the accuracy is {accuracy}.")
    if "certified" in facts:
        output.say(facts["certified"])
    output.say(f"Wrote {tables.counted(facts['rows'], 'prediction')} to {facts['out']}.")
