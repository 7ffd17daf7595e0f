"""separatrix chart: every chart of the library, as a file."""

from typing import Any

import typer
from typer.core import TyperGroup


class _Kinds(TyperGroup):
    """A group whose commands are made when one of them or their list is needed.

    There are many kinds with many options. Making them takes as long as starting the program.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        self._make()
        return list(self.commands)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        self._make()
        return super().get_command(ctx, cmd_name)

    def _make(self) -> None:
        if not self.commands:
            from separatrix.cli.charts.kinds import chart_commands

            made: Any = typer.main.get_command(chart_commands())
            self.commands.update(made.commands)


chart = typer.Typer(
    cls=_Kinds,
    no_args_is_help=True,
    rich_markup_mode="rich",
    subcommand_metavar="KIND",
    help="Draw a chart of data, a model or a study as a picture.\n\n"
    "[b]separatrix chart boundary iris --out boundary.png[/b]\n"
    "[b]separatrix chart roc mail.sx new.csv --out roc.svg[/b]\n"
    "[b]separatrix chart curves iris --theme dark --out curves.html[/b]\n\n"
    "The file is a PNG, SVG or HTML file, according to its ending. A chart of a model also takes a "
    "source alone, and trains the default model on it first. 'separatrix chart KIND --help' lists "
    "the options of a kind.",
)
