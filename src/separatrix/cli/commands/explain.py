"""separatrix explain: the computation of one prediction, or of one training step."""

import math
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import CommonOptions, UsageError, command
from separatrix.cli.options import ModelFile, NewRowsOptions, Picture, SourceArgument
from separatrix.cli.output import Output
from separatrix.cli.reading import read_for_model
from separatrix.cli.writing import check_picture, try_to_write


@command
def explain(
    output: Output,
    model: ModelFile,
    source: SourceArgument,
    reading: NewRowsOptions,
    common: CommonOptions,
    row: Annotated[int, typer.Option(metavar="N", help="Row of the source, counted from 1.")] = 1,
    top: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of contributions to show.")
    ] = 10,
    step: Annotated[
        bool, typer.Option("--step", help="Explain a training step instead of the prediction.")
    ] = False,
    learning_rate: Annotated[
        float | None,
        typer.Option(metavar="X", help="Learning rate of the step (default: 0.01)."),
    ] = None,
    out: Picture = None,
) -> None:
    """Explain the prediction for one row: features times weights, scores and probabilities.

    [b]separatrix explain mail.sx new.tsv --row 17[/b]
    [b]separatrix explain digits.sx digits --row 3 --out why.png[/b]
    [b]separatrix explain iris.sx iris --row 51 --step --learning-rate 0.1[/b]

    If the source has labels, the loss of the row is shown too. --step shows one step of gradient
    descent on that row, starting from the model's weights: the value and the derivative at every
    node of the computation graph, checked by finite differences.
    """
    from separatrix.explain import prediction, step_of
    from separatrix.text import one_line
    from separatrix.workflow.model_inputs import open_model

    if learning_rate is not None and not step:
        raise UsageError("--learning-rate belongs to a training step. Add --step.")
    if learning_rate is not None and not 0.0 < learning_rate < math.inf:
        raise UsageError(f"--learning-rate must be finite and > 0. Got {learning_rate:g} instead.")
    check_picture(out, model, source)
    bundle = open_model(model)
    rows = read_for_model(output, bundle, source, **reading.options())
    if not 1 <= row <= len(rows):
        raise UsageError(
            f"--row must be from 1 to {len(rows):,}, the number of rows of {rows.name}. Got {row} "
            "instead."
        )
    chosen = rows.rows([row - 1])
    found: Any
    if step:
        _require_label(bundle, rows)
        found = step_of(
            bundle, chosen, learning_rate=0.01 if learning_rate is None else learning_rate
        )
    else:
        found = prediction(bundle, chosen, top=top)
    failed = try_to_write(out, lambda path: _draw(found, path))
    named = {"model": model, "source": rows.name, "row_number": row}
    drawn = None if out is None or failed else str(out)
    output.print_json(named | found.to_dict() | {"out": drawn})
    title = one_line(f"{rows.name}, row {row}")
    if step:
        output.say(f"{title}\n\n{found.to_text(output.out.width)}\n")
    elif output.for_people:
        _report(output, found, title)
    if drawn:
        output.say(f"Wrote {drawn}.")
    if failed:
        raise failed


def _draw(found: Any, path: Path) -> None:
    from separatrix import charts
    from separatrix.explain import Step

    drawn = charts.graph(found) if isinstance(found, Step) else charts.contributions(found)
    charts.save(drawn, path)


def _require_label(bundle: Any, rows: Any) -> None:
    """Raise if the row has no label."""
    if rows.y is None:
        known = ", ".join(map(str, bundle.classes_.tolist()[:9]))
        raise UsageError(
            f"--step needs the true class of the row, and {rows.name} has no labels. Add a label "
            f"column with the classes of the model ({known}); if it is not recognised, name it "
            "with --label."
        )


def _report(output: Output, found: Any, title: str) -> None:
    from rich.text import Text

    from separatrix.cli import tables
    from separatrix.text import named_class

    output.say(Text(title, "bold"))
    for name, value in found.row.items():
        output.say(Text.assemble((f"{tables.clipped(name)} ", "dim"), tables.clipped(str(value))))
    output.say("")
    if found.notes:
        output.say(tables.notes(found.notes))
    output.say(
        Text(tables.clipped(found.verdict, 1000), "red" if found.right is False else ""), "\n"
    )
    scores = tables.plain_table("class", ("score", "probability"))
    for label, z, p in found.score_rows():
        style = "bold" if label == str(found.decision) else ""
        cells = (tables.label(label), tables.number(z), tables.share(p))
        scores.add_row(*(Text(cell, style) for cell in cells))
    output.say(tables.spaced(scores))
    first, *others = map(tables.clipped, found.header)
    parts = tables.plain_table(first, others)
    for feature, *numbers in found.contribution_rows():
        parts.add_row(
            tables.clipped(feature),
            *("" if value is None else tables.number(value) for value in numbers),
        )
    output.say(tables.spaced(parts))
    if found.hidden:
        output.say("Use --top to show more contributions.\n")
    if found.template is not None:
        picture = found.template.to_text(output.out.width)
        decision = named_class(tables.label(found.decision))
        output.say(f"{picture}\n\n# and +: for {decision}; = and -: against it.")
