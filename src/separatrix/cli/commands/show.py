"""separatrix show: the contents of a model file."""

from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import CommonOptions, command
from separatrix.cli.options import ModelFile
from separatrix.cli.output import Output


@command
def show(
    output: Output,
    model: ModelFile,
    common: CommonOptions,
    top: Annotated[
        int, typer.Option(min=1, metavar="N", help="Number of weights of each sign to show.")
    ] = 10,
) -> None:
    """Show a model: objective, verdict, metrics and the largest weights of every class.

    [b]separatrix show mail.sx[/b]
    [b]separatrix show mail.sx --top 30[/b]
    """
    from separatrix.workflow.describing import describe_model
    from separatrix.workflow.model_inputs import open_model

    facts = describe_model(open_model(model), top)
    output.print_json(facts)
    if output.for_people:
        _report(output, facts, model)


def _report(output: Output, facts: dict[str, Any], path: str) -> None:
    from rich.text import Text

    from separatrix.cli import tables
    from separatrix.text import one_line

    features = tables.counted(facts["features"], "feature")
    size = f"{features}, {len(facts['classes'])} classes"
    output.say(Text(one_line(path), "bold"), f" · {facts['estimator']}, {size}\n")
    rows: list[tuple[str, Any]] = [("Objective", facts["objective"])]
    if facts["source"]:
        trained = f"{one_line(facts['source'])}, fingerprint {facts['fingerprint'][:12]}"
        rows.append(("Trained on", trained))
    if facts["threshold"]:
        rows.append(("Threshold", f"{facts['threshold']:.6g}"))
    rows.append(("Verdict", tables.verdict_text(facts["verdict"])))
    output.say(tables.named(rows))
    if facts["metrics"]:
        output.say(tables.parts_table(facts["metrics"]))
    for score in facts["weights"]:
        _report_score(output, score, facts["features"])
    if facts["no_bound"] is not None:
        output.say(
            "How far the weights are from those of the exact optimum is not known. "
            f"{facts['no_bound']}"
        )
    certain = facts["certain_weights"]
    if certain is not None:
        output.say(
            f"At the exact optimum {certain['zero']:,} weights are certainly zero and "
            f"{certain['not_zero']:,} certainly not; {certain['open']:,} are open."
        )


def _report_score(output: Output, score: dict[str, Any], n_features: int) -> None:
    from rich.text import Text

    from separatrix.cli import tables
    from separatrix.text import named_class

    name, other = (named_class(tables.label(score[key])) for key in ("class", "against"))
    towards = f"for {name}"
    away = f"against {name}" if score["against"] is None else f"for {other}"
    table = tables.LineTable(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for name in (towards, away):
        table.add_column(name, min_width=20, max_width=28, overflow="ellipsis", no_wrap=True)
        table.add_column("weight", justify="right", no_wrap=True)
    longest = max(len(score["towards"]), len(score["away"]))
    for k in range(longest):
        cells = [*_cells(score["towards"], k), *_cells(score["away"], k)]
        table.add_row(*(Text(cell) for cell in cells))
    output.say(table)
    counted = f"{score['not_zero']:,} of {n_features:,} weights are non-zero"
    bias = _number(score["bias"], score["bias_radius"])
    output.say(Text(f"bias {bias}; {counted}", "dim"), "\n")


def _cells(entries: list[dict[str, Any]], k: int) -> list[str]:
    if k >= len(entries):
        return ["", ""]
    return [entries[k]["feature"], _number(entries[k]["weight"], entries[k]["radius"])]


def _number(value: float, radius: float | None) -> str:
    from separatrix.text import certain_digits

    return f"{value:.4g}" if radius is None else certain_digits(value, radius)
