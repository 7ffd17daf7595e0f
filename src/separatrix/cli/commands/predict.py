"""separatrix predict: a model's answers for new rows."""

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import Common, verb
from separatrix.cli.options import ModelFile, Reading, SourceArgument
from separatrix.cli.output import Screen
from separatrix.cli.reading import fetch_named
from separatrix.cli.writing import check_out


@verb
def predict(
    screen: Screen,
    model: ModelFile,
    source: SourceArgument,
    reading: Reading,
    common: Common,
    proba: Annotated[
        bool,
        typer.Option(
            "--proba", help="The probability of every class, too.", rich_help_panel="Output"
        ),
    ] = False,
    out: Annotated[
        Path | None,
        typer.Option(help="Write a CSV file instead of printing.", rich_help_panel="Output"),
    ] = None,
) -> None:
    """Predict the class of every row of a source.

    [b]separatrix predict income.sx people.csv[/b]
    [b]separatrix predict mail.sx new.tsv --proba --out answers.csv[/b]

    The rows go through all that the training rows went through. The label may be there or not.
    """
    from separatrix.workflow.answering import predict as answer
    from separatrix.workflow.inputs import load_for, open_model

    check_out(out, model, source)
    bundle = open_model(model)
    fetch_named(screen, source)
    with screen.busy(f"Reading {source}"):
        rows = load_for(bundle, source, **reading.options())
        facts = answer(bundle, rows, proba=proba) | {"out": None if out is None else str(out)}
    if screen.talks:
        from separatrix.cli import tables

        say = screen.remark if out is None else screen.say  # answers are not mixed with remarks
        say(tables.notes(facts["notes"]))
    if out is not None:
        from separatrix.files import replace_file

        replace_file(out, _csv(facts).encode())
    elif not screen.json:
        screen.data(_csv(facts))
    screen.facts(facts)
    if screen.talks and out is not None:
        _report(screen, facts)


def _csv(facts: dict[str, Any]) -> str:
    from separatrix.cli import tables

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    with_probabilities = "probabilities" in facts
    classes = [f"P({tables.class_name(c)})" for c in facts["classes"]] if with_probabilities else []
    writer.writerow(["prediction", *classes])
    for k, label in enumerate(facts["predictions"]):
        writer.writerow(
            [tables.class_name(label), *(facts["probabilities"][k] if with_probabilities else [])]
        )
    return text.getvalue()


def _report(screen: Screen, facts: dict[str, Any]) -> None:
    from separatrix.cli import tables

    counts = {label: facts["predictions"].count(label) for label in facts["classes"]}
    table = tables.plain_table("prediction", ["rows"])
    for label, count in counts.items():
        table.add_row(tables.label(label), f"{count:,}")
    screen.say(tables.spaced(table))
    if "metrics" in facts:
        right = tables.share(facts["metrics"]["accuracy"])
        screen.say(f"The file has labels: {right} of the predictions agree with them.")
    are = "is" if facts["rows"] == 1 else "are"
    screen.say(f"{tables.counted(facts['rows'], 'prediction')} {are} in {facts['out']}.")
