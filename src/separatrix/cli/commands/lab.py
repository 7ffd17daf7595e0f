"""separatrix lab: studies and the playground in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from separatrix.cli.command_decorator import CommonOptions, UsageError, command
from separatrix.cli.output import Output


@command
def lab(
    output: Output,
    common: CommonOptions,
    source: Annotated[
        str | None,
        typer.Argument(
            metavar="[FILE]",
            help="A file or the name of a data set to play with.",
            show_default=False,
        ),
    ] = None,
    label: Annotated[
        str | None, typer.Option(metavar="COLUMN", help="Label column of the source.")
    ] = None,
    store: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Database file of the studies (default: $SEPARATRIX_STORE or ./separatrix.db).",
        ),
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(min=1, max=65535, metavar="N", help="Port (default: the first free one)."),
    ] = None,
    browser: Annotated[
        bool, typer.Option("--browser/--no-browser", help="Open the lab in the browser.")
    ] = True,
    lessons: Annotated[
        Path | None,
        typer.Option(metavar="DIR", help="Folder of lessons, instead of the built-in ones."),
    ] = None,
) -> None:
    """Watch and start studies in the browser, and play with classifiers.

    [b]separatrix lab[/b]                        the studies of this folder, and a playground
    [b]separatrix lab iris[/b]                   two columns or two principal components of a table
    [b]separatrix lab --store studies.db[/b]     the studies of another store
    [b]separatrix lab --lessons my-course[/b]    your own guided tours

    The lab runs on this machine only. It prints an address with a token; only a browser that was
    opened with this address can use the lab. Press Ctrl+C to stop it.
    """
    try:
        from separatrix.lab.serve import serve
    except ImportError as error:
        raise UsageError(
            f"The lab needs the package '{error.name}'. Install it with "
            "'pip install separatrix[lab]'."
        ) from error
    from separatrix.lab.lessons import read_lessons
    from separatrix.lab.plays import LabState
    from separatrix.readers import load
    from separatrix.study.store.database import store_path

    state = LabState(read_lessons(lessons))
    if source is not None:
        state.open_with(load(source, label=label), source)

    def announce(address: str) -> None:
        output.print_json({"address": address})
        output.say("The lab is running. Open this address in a browser of this machine:\n")
        output.say(f"  {address}\n\nPress Ctrl+C to stop the lab.")

    serve(state, store_path(store), port, browser=browser, announce=announce)
