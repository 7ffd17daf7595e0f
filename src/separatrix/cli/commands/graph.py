"""separatrix graph: the computation graph of an expression, with all derivatives."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from separatrix.cli.command_decorator import CommonOptions, UsageError, command
from separatrix.cli.options import Picture
from separatrix.cli.output import Output
from separatrix.cli.writing import check_picture, try_to_write

Expression = Annotated[
    str,
    typer.Argument(
        metavar="EXPRESSION",
        help="Formula with numbers, variables, + - * / ^, exp, log, sqrt, sigmoid and max.",
    ),
]
Values = Annotated[
    list[str] | None,
    typer.Argument(metavar="NAME=NUMBER...", help="Values of the variables."),
]


class WithMinus(TyperCommand):
    """A command whose first argument may begin with a minus, such as -log(w)."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = {name for each in self.get_params(ctx) for name in each.opts}
        # With a space before it, the argument is not parsed as an option.
        return super().parse_args(
            ctx,
            [
                f" {arg}" if arg[:1] == "-" and arg[:2] != "--" and arg not in known else arg
                for arg in args
            ],
        )


@command
def graph(
    output: Output,
    expression: Expression,
    common: CommonOptions,
    values: Values = None,
    out: Picture = None,
) -> None:
    """Show the value and the derivative at every node of an expression's computation graph.

    [b]separatrix graph "1/(1+exp(-w*x))" w=2 x=-1[/b]
    [b]separatrix graph "w^2 + 5*log(w) + 6" w=2 --out graph.svg[/b]

    The derivatives with respect to the variables are checked by finite differences. The expression
    is never executed as code.
    """
    from separatrix import explain

    check_picture(out)
    expression = expression.strip()
    found = explain.graph(expression, **given_values(values or []))

    def draw(path: Path) -> None:
        from separatrix import charts

        charts.save(charts.graph(found), path)

    failed = try_to_write(out, draw)
    drawn = None if out is None or failed else str(out)
    output.print_json({"expression": expression} | found.to_dict() | {"out": drawn})
    output.say(f"{found.to_text(output.out.width)}\n")
    if drawn:
        output.say(f"Wrote {drawn}.")
    if failed:
        raise failed


graph.parsed_as = WithMinus  # type: ignore[attr-defined]


def given_values(values: list[str]) -> dict[str, float]:
    """Parse the values of the variables."""
    found: dict[str, float] = {}
    for value in values:
        name, _, written_as = value.partition("=")
        try:
            number = float(written_as)
        except ValueError:
            raise UsageError(
                f"The value of a variable must be NAME=NUMBER, such as w=0.5. Got {value!r} "
                "instead."
            ) from None
        if name in found:
            raise UsageError(f"The variable {name} has two values. Give it one.")
        found[name] = number
    return found
