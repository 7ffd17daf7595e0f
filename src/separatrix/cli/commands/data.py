"""separatrix data: the data sets that are known by name."""

from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import Common, register, verb
from separatrix.cli.output import Screen

data = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Data sets that are known by name: list, show, fetch.",
)
Name = Annotated[str, typer.Argument(help="A name, as in 'separatrix data list'.")]


@verb
def list_(screen: Screen, common: Common) -> None:
    """List all data sets, and whether their files are here.

    [b]separatrix data list[/b]
    """
    from separatrix.readers import describe, names

    found = [describe(name) for name in names()]
    screen.facts(found)
    if not screen.talks:
        return
    from separatrix.cli import tables

    table = tables.plain_table("name", ["rows", "features", "classes", "here"])
    for about in found:
        numbers = [f"{about[key]:,}" for key in ("rows", "features", "classes")]
        table.add_row(about["name"], *numbers, "yes" if about["here"] else _where(about))
    screen.say(table)


@verb
def show(screen: Screen, name: Name, common: Common) -> None:
    """Show what a data set is, and where its files are.

    [b]separatrix data show mnist[/b]
    """
    from separatrix.readers import describe

    about = describe(name)
    screen.facts(about)
    if not screen.talks:
        return
    from separatrix.cli import tables

    screen.say(tables.heading(about | {"classes": range(about["classes"])}))
    screen.say(tables.named([("What", about["about"]), ("Split", about["split"])]))
    for file in about["files"]:
        screen.say_whole(_file(file))


@verb
def fetch(screen: Screen, name: Name, common: Common) -> None:
    """Fetch the files of a data set and check them; files that are here stay as they are.

    [b]separatrix data fetch a9a[/b]
    """
    from separatrix.cli.reading import fetch_named
    from separatrix.readers import describe

    describe(name)  # an unknown name is an error
    paths = [str(path) for path in fetch_named(screen, name)]
    screen.facts({"name": name, "files": paths})
    if not paths:
        screen.say(f"{name} needs no files: it comes with scikit-learn.")
    for path in paths:
        screen.say(path)


def _file(file: dict[str, Any]) -> str:
    """Where a file is or should be, its public home, and its sha256: each whole, to be copied."""
    place = file["found"] or file["problem"] or f"not here; its place is {file['place']}"
    home = file["address"] or "no public address"
    return f"File       {place}\nAddress    {home}\nsha256     {file['sha256']}\n"


def _where(about: dict[str, Any]) -> str:
    if any(file["problem"] for file in about["files"]):
        return "another file"
    addresses = [file["address"] for file in about["files"] if not file["found"]]
    return "to be fetched" if all(addresses) else "by hand"


data.command("list")(list_)
register(data, show)
register(data, fetch)
