"""The application: all commands in one place."""

from typing import Annotated

import typer

from separatrix import __version__
from separatrix.cli.command_decorator import add_command
from separatrix.cli.commands.chart import chart
from separatrix.cli.commands.compare import compare
from separatrix.cli.commands.convert import convert
from separatrix.cli.commands.data import data
from separatrix.cli.commands.evaluate import evaluate
from separatrix.cli.commands.explain import explain
from separatrix.cli.commands.fit import fit
from separatrix.cli.commands.graph import graph
from separatrix.cli.commands.lab import lab
from separatrix.cli.commands.predict import predict
from separatrix.cli.commands.search import search
from separatrix.cli.commands.show import show
from separatrix.cli.commands.studies import studies
from separatrix.cli.commands.study import study

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:
    if requested:
        typer.echo(f"separatrix {__version__}")
        raise typer.Exit


@app.callback(
    epilog="Exit codes: 0 success, 1 invalid data or model, 2 wrong usage, 3 fitted but not "
    "converged, 130 interrupted."
)
def _all(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_version, is_eager=True, help="Print the version and exit."
        ),
    ] = False,
) -> None:
    """Train, certify, compare and explain linear classifiers.

    [b]separatrix fit iris[/b]                    train a first model
    [b]separatrix fit mail.csv --out mail.sx[/b]  train a model on a file and save it
    [b]separatrix predict mail.sx new.csv[/b]     predict the classes of new rows
    [b]separatrix study iris[/b]                  compare learning rates and momenta
    """


for command in (fit, search, study, predict, explain, graph, evaluate, show, compare, lab):
    add_command(app, command)
add_command(app, convert)
app.add_typer(chart, name="chart")
app.add_typer(studies, name="studies")
app.add_typer(data, name="data")
