"""separatrix graph: an expression taken apart, with the derivative at every step."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand

from separatrix.cli.command_decorator import CommonOptions, UsageError, command
from separatrix.cli.options import Picture
from separatrix.cli.output import Output
from separatrix.cli.writing import check_picture, try_to_write


class _WithMinus(TyperCommand):
    """A command whose first argument may begin with a minus, as -log(w) does."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = {name for each in self.get_params(ctx) for name in each.opts}
        # With a space before it, it is no option; "--" is still one that is not known.
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
    expression: Annotated[
        str,
        typer.Argument(metavar="EXPRESSION", help="Of + - * / ^, exp, log, sqrt, sigmoid, max."),
    ],
    common: CommonOptions,
    values: Annotated[
        list[str] | None, typer.Argument(metavar="NAME=NUMBER...", help="Of its variables.")
    ] = None,
    out: Picture = None,
) -> None:
    """Take an expression apart: the value of every step, and the derivative of the whole by it.

    [b]separatrix graph "1/(1+exp(-w*x))" w=2 x=-1[/b]
    [b]separatrix graph "w^2 + 5*log(w) + 6" w=2 --out graph.svg[/b]

    The derivatives by the variables are checked by finite differences. The expression is never run
    as code.
    """
    from separatrix import explain

    check_picture(out)
    expression = expression.strip()
    found = explain.graph(expression, **_given(values or []))

    def draw(path: Path) -> None:
        from separatrix import charts

        charts.save(charts.graph(found), path)

    failed = try_to_write(out, draw)
    drawn = None if out is None or failed else str(out)
    output.print_json({"expression": expression} | found.to_dict() | {"out": drawn})
    output.say(f"{found.to_text(output.out.width)}\n")
    if drawn:
        output.say(f"Picture: {drawn}")
    if failed:
        raise failed


graph.parsed_as = _WithMinus  # type: ignore[attr-defined]


def _given(values: list[str]) -> dict[str, float]:
    """The variables by their names."""
    found: dict[str, float] = {}
    for value in values:
        name, _, written_as = value.partition("=")
        try:
            number = float(written_as)
        except ValueError:
            raise UsageError(
                f"Variables are given as NAME=NUMBER, such as w=0.5. Got {value!r} instead."
            ) from None
        if name in found:
            raise UsageError(f"The variable {name} is given twice. Give it one value.")
        found[name] = number
    return found
