"""separatrix studies: the stored studies."""

from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from separatrix.cli.command_decorator import CommonOptions, UsageError, add_command, command
from separatrix.cli.output import Output

studies = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    help="List, show, export and delete stored studies.",
)
Name = Annotated[
    str | None, typer.Argument(metavar="NAME", help="Name of a study (default: the latest one).")
]
StoreFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Database file of the studies (default: $SEPARATRIX_STORE or ./separatrix.db).",
    ),
]


@command
def list_(output: Output, common: CommonOptions, store: StoreFile = None) -> None:
    """List all studies.

    [b]separatrix studies list[/b]
    """
    from separatrix.study.store.database import Store
    from separatrix.study.store.reader import read_summaries

    with Store(store) as opened:
        found = read_summaries(opened)
    output.print_json(found)
    if not output.for_people:
        return
    from separatrix.cli import tables

    table = tables.plain_table("name", ["data", "runs", "created (UTC)", "time", ""])
    for row in found:
        state = "" if row["finished"] else f"{row['done']} done"
        created = row["created"][:16].replace("T", " ")
        took = tables.seconds(row["seconds"])
        table.add_row(row["name"], row["data"], f"{row['runs']:,}", created, took, state)
    output.say(table if found else "There are no studies yet.")


@command
def show(output: Output, common: CommonOptions, name: Name = None, store: StoreFile = None) -> None:
    """Show a study: its verdict, observations about every configuration, and its command line.

    [b]separatrix studies show[/b]
    """
    from separatrix.cli.studies.study_tables import (
        about,
        plain_facts,
        report_seen,
        study_heading,
        study_verdict_text,
    )

    facts = _facts(name, store)
    output.print_json(plain_facts(facts))
    if not output.for_people:
        return
    from separatrix.cli import tables

    output.say(study_heading(facts), "\n")
    output.say(study_verdict_text(facts))
    versions = ", ".join(f"{key} {value}" for key, value in facts.versions.items())
    rows: list[tuple[str, Any]] = [
        *about(facts),
        ("Command", facts.command or facts.python),
        ("Versions", versions),
    ]
    output.say(tables.named(rows))
    report_seen(output, facts, [row for row in facts.rows if row.observations])


@command
def table(
    output: Output, common: CommonOptions, name: Name = None, store: StoreFile = None
) -> None:
    """Print the table of a study, one row per configuration.

    [b]separatrix studies table[/b]
    [b]separatrix studies table iris --json[/b]
    """
    facts = _facts(name, store)
    output.print_json(facts.table())
    if output.for_people:
        from separatrix.cli.studies.study_tables import study_table

        output.say(study_table(facts, output.out.width))


@command
def report(
    output: Output,
    common: CommonOptions,
    name: Name = None,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="HTML file to write (default: reports/NAME.html)."),
    ] = None,
    store: StoreFile = None,
) -> None:
    """Write the report of a study: one HTML file with the verdict, the table and training
    curves.

    [b]separatrix studies report[/b]
    [b]separatrix studies report iris --out iris.html[/b]
    """
    from separatrix.cli.studies.study_tables import page_of, write_page
    from separatrix.cli.writing import check_link

    if out is not None:
        check_link(out)
    facts = _facts(name, store, histories=True)
    page = out or page_of(facts.name)
    write_page(facts, page)
    output.print_json({"report": str(page)})
    output.say(f"Wrote {page}.")


@command
def export(
    output: Output,
    common: CommonOptions,
    name: Name = None,
    format: Annotated[
        Literal["csv", "json", "markdown", "latex"] | None,
        typer.Option(
            metavar="NAME",
            help="Format: csv, json, markdown or latex (default: from the extension of --out).",
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File to write instead of printing.")
    ] = None,
    store: StoreFile = None,
) -> None:
    """Export the table of a study as CSV, JSON, Markdown or LaTeX.

    [b]separatrix studies export iris --out iris.tex[/b]
    [b]separatrix studies export --format markdown[/b]
    """
    from separatrix.cli.writing import check_out
    from separatrix.files import replace_file
    from separatrix.study.results.table_formats import ENDINGS, FORMATS

    chosen = format or ENDINGS.get("" if out is None else out.suffix.lower())
    if output.json and out is None:
        if chosen not in (None, "json"):
            raise UsageError(
                f"--json cannot be combined with --format {chosen}. Leave one of them out, or "
                "write the table to a file with --out."
            )
        chosen = "json"
    if chosen is None:
        raise UsageError(
            "The format is not known. Add --format csv, json, markdown or latex, or an --out file "
            f"that ends in {', '.join(ENDINGS)}. Got "
            f"{'no file' if out is None else f'{out.name!r}'} instead."
        )
    check_out(out)
    text = FORMATS[chosen](_facts(name, store))
    if out is not None:
        replace_file(out, text.encode())
        output.print_json({"out": str(out)})
        output.say(f"Wrote {out}.")
    elif not output.quiet:
        output.data(text)


@command
def delete(
    output: Output,
    common: CommonOptions,
    name: Name = None,
    yes: Annotated[bool, typer.Option("--yes", help="Delete without confirmation.")] = False,
    store: StoreFile = None,
) -> None:
    """Delete a study with its runs and histories.

    [b]separatrix studies delete iris-2[/b]
    """
    from separatrix.study.store.database import Store
    from separatrix.study.store.writer import delete_study

    Store(store).close()  # raises if the file is missing, instead of creating it
    with Store(store, write=True) as opened:
        found = opened.study(name)["name"]
        if name is None and not yes:
            if not output.is_live:
                raise UsageError(
                    f"Name the study to delete, or add --yes to delete the latest one, {found!r}."
                )
            if not typer.confirm(f"Delete the study {found!r}?"):
                return
        delete_study(opened, found)
    output.print_json({"deleted": found})
    output.say(f"Deleted the study {found}.")


def _facts(name: str | None, store: Path | None, *, histories: bool = False) -> Any:
    from separatrix.study.store.database import Store
    from separatrix.study.store.reader import read_facts

    with Store(store) as opened:
        return read_facts(opened, name, histories=histories)


studies.command("list")(list_)
for each in (show, table, report, export, delete):
    add_command(studies, each)
