"""separatrix data: the data sets that are known by name."""

from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import CommonOptions, add_command, command
from separatrix.cli.output import Output

data = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="Data sets that are known by name: list, show, fetch.",
)
Name = Annotated[str, typer.Argument(help="A name, as in 'separatrix data list'.")]


@command
def list_(output: Output, common: CommonOptions) -> None:
    """List all data sets, and whether their files are here.

    [b]separatrix data list[/b]
    """
    from separatrix.readers import describe, names

    found = [describe(name) for name in names()]
    output.print_json(found)
    if not output.for_people:
        return
    from separatrix.cli import tables

    table = tables.plain_table("name", ["rows", "features", "classes", "here"])
    for about in found:
        numbers = [f"{about[key]:,}" for key in ("rows", "features", "classes")]
        table.add_row(about["name"], *numbers, "yes" if about["here"] else _where(about))
    output.say(table)


@command
def show(output: Output, name: Name, common: CommonOptions) -> None:
    """Show what a data set is, and where its files are.

    [b]separatrix data show mnist[/b]
    """
    from separatrix.readers import describe

    about = describe(name)
    output.print_json(about)
    if not output.for_people:
        return
    from separatrix.cli import tables

    output.say(tables.heading(about | {"classes": range(about["classes"])}))
    output.say(tables.named([("What", about["about"]), ("Split", about["split"])]))
    for file in about["files"]:
        output.say_whole(_file(file))


@command
def fetch(output: Output, name: Name, common: CommonOptions) -> None:
    """Fetch the files of a data set and check them; files that are here stay as they are.

    [b]separatrix data fetch a9a[/b]
    """
    from separatrix.cli.reading import fetch_named
    from separatrix.readers import describe

    describe(name)  # an unknown name is an error
    paths = [str(path) for path in fetch_named(output, name)]
    output.print_json({"name": name, "files": paths})
    if not paths:
        output.say(f"{name} needs no files: it comes with scikit-learn.")
    for path in paths:
        output.say(path)


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
add_command(data, show)
add_command(data, fetch)
