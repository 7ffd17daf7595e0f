"""separatrix data: the registered data sets."""

from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import CommonOptions, UsageError, add_command, command
from separatrix.cli.commands.convert import report_folder
from separatrix.cli.options import ReadingOptions
from separatrix.cli.output import Output
from separatrix.cli.reading import STANDARD_INPUT, fetch_named, read_source

data = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="List, show and download the registered data sets.",
)
Name = Annotated[
    str, typer.Argument(metavar="NAME", help="Data set name (see 'separatrix data list').")
]
NameOrFile = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="Data set name, file or folder; '-' for standard input."),
]
_FIRST = 24  # characters of a first value


@command
def list_(output: Output, common: CommonOptions) -> None:
    """List all registered data sets, and whether their files are available.

    [b]separatrix data list[/b]
    """
    from separatrix.readers import describe, names

    found = [describe(name) for name in names()]
    output.print_json(found)
    if not output.for_people:
        return
    from separatrix.cli import tables

    table = tables.plain_table("name", ["rows", "features", "classes", "files"])
    for about in found:
        numbers = [f"{about[key]:,}" for key in ("rows", "features", "classes")]
        table.add_row(about["name"], *numbers, "available" if about["here"] else _missing(about))
    output.say(table)


@command
def show(
    output: Output,
    name: NameOrFile,
    reading: ReadingOptions,
    common: CommonOptions,
    check: Annotated[
        bool,
        typer.Option("--check", help="Compare the checksums of all files of a folder of blocks."),
    ] = False,
) -> None:
    """Show a data set, or how a file is read: its columns, their types, and all decisions.

    [b]separatrix data show mnist[/b]
    [b]separatrix data show people.csv --type zip=category[/b]
    [b]separatrix data show clicks --check[/b]     a folder that 'separatrix convert' has made
    """
    from separatrix.data.on_disk import is_block_folder
    from separatrix.readers import describe, names

    if name not in names() and is_block_folder(name):
        _show_folder(output, Path(name), check)
        return
    if check:
        raise UsageError(
            f"--check compares the checksums of a folder of blocks, and {name!r} is none."
        )
    if name not in names() and (name == STANDARD_INPUT or Path(name).exists()):
        _show_file(output, name, common.seed, reading)
        return
    about = describe(name)
    output.print_json(about)
    if not output.for_people:
        return
    from separatrix.cli import tables

    output.say(tables.heading(about | {"classes": range(about["classes"])}))
    output.say(tables.named([("About", about["about"]), ("Split", about["split"])]))
    for file in about["files"]:
        output.say_whole(_file(file))


def _show_folder(output: Output, folder: Path, check: bool) -> None:
    from separatrix.workflow.converting.describing import describe_folder

    with output.spinner("Comparing checksums" if check else "Reading"):
        facts = describe_folder(folder, check=check)
    output.print_json(facts)
    report_folder(output, facts)
    if check:
        output.say(f"All {facts['files']:,} files have their checksums.")


def _show_file(output: Output, path: str, seed: int, reading: ReadingOptions) -> None:
    from separatrix.workflow.describing import describe_source

    facts = describe_source(read_source(output, path, seed=seed, **reading.options()))
    output.print_json(facts)
    if not output.for_people:
        return
    from separatrix.cli import tables

    output.say(tables.heading(facts))
    output.say(tables.notes(facts["notes"]))
    table = tables.plain_table("column", ["type", "different", "missing", "first value"])
    for column in facts["columns"]:
        first = "" if column["first"] is None else tables.clipped(column["first"], _FIRST)
        counts = [f"{column[key]:,}" for key in ("different", "missing")]
        table.add_row(column["column"], column["type"], *counts, first)
    if facts["columns"]:
        output.say(table)


@command
def fetch(output: Output, name: Name, common: CommonOptions) -> None:
    """Download the missing files of a data set, and check their SHA-256 checksums.

    [b]separatrix data fetch a9a[/b]
    """
    from separatrix.readers import describe

    describe(name)  # raises for an unknown name
    paths = [str(path) for path in fetch_named(output, name)]
    output.print_json({"name": name, "files": paths})
    if not paths:
        output.say(f"{name} needs no files: it is part of scikit-learn.")
    for path in paths:
        output.say(path)


def _file(file: dict[str, Any]) -> str:
    """Return the path, the public address and the sha256 of a file, unbroken for copying."""
    path = file["found"] or file["problem"] or f"missing; expected at {file['place']}"
    address = file["address"] or "no public address"
    return f"File       {path}\nAddress    {address}\nsha256     {file['sha256']}\n"


def _missing(about: dict[str, Any]) -> str:
    """Return in words how the missing files of a data set can be obtained."""
    if any(file["problem"] for file in about["files"]):
        return "wrong file"
    addresses = [file["address"] for file in about["files"] if not file["found"]]
    return "to download" if all(addresses) else "copy by hand"


data.command("list")(list_)
add_command(data, show)
add_command(data, fetch)
