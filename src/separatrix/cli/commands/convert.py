"""separatrix convert: data on disk in blocks, from which models larger than memory are trained."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import INTERRUPTED, CommonOptions, command
from separatrix.cli.options import PreparationOptions, ReadingOptions, SourceArgument
from separatrix.cli.output import Output
from separatrix.cli.reading import STANDARD_INPUT, fetch_named, spool

_BLOCKS = "Blocks"


@command
def convert(
    output: Output,
    source: SourceArgument,
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="New folder for the blocks.")],
    reading: ReadingOptions,
    preparing: PreparationOptions,
    common: CommonOptions,
    memory: Annotated[
        str | None,
        typer.Option(
            metavar="SIZE",
            help="Memory for training, as in 500MB or 2GB, which decides how large the blocks are; "
            "at least 16MB (default: half of the available memory).",
            rich_help_panel=_BLOCKS,
        ),
    ] = None,
    rows_per_block: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Rows of a block (default: as many as --memory allows).",
            rich_help_panel=_BLOCKS,
        ),
    ] = None,
) -> int:
    """Convert data to blocks on disk, to train on more rows than fit into memory.

    [b]separatrix convert clicks.csv clicks --label clicked --memory 1GB[/b]
    [b]separatrix fit clicks --out clicks.sx[/b]
    [b]separatrix data show clicks --check[/b]

    CSV, TSV, svmlight, Parquet and npy files are read some rows at a time; other sources are loaded
    first. The rows are split and prepared as in 'separatrix fit'. An interrupted conversion
    continues when the same command is run again.
    """
    from separatrix.text import counted
    from separatrix.workflow.converting import convert as convert_source
    from separatrix.workflow.converting.describing import describe_folder

    fetch_named(output, source)
    kept = {"blocks": 0, "rows": 0}

    def on_resume(blocks: int, rows: int) -> None:
        kept.update(blocks=blocks, rows=rows)
        output.remark(
            f"Continuing an interrupted conversion: {counted(blocks, 'block')} with {rows:,} rows "
            "are kept."
        )

    try:
        with _progress_bar(output) as tell:
            rows = convert_source(
                spool() if source == STANDARD_INPUT else source,
                folder,
                rows_per_block=rows_per_block,
                memory=memory,
                settings=preparing.settings,
                split=preparing.shares(),
                seed=common.seed,
                on_progress=tell,
                on_resume=on_resume,
                **reading.options(),
            )
    except KeyboardInterrupt:
        output.error(
            f"Interrupted: the finished blocks in {folder} are kept. Run the same command again to "
            "continue."
        )
        return INTERRUPTED
    facts = describe_folder(rows.folder) | {"kept": kept}
    output.print_json(facts)
    report_folder(output, facts)
    return 0


def report_folder(output: Output, facts: dict[str, Any]) -> None:
    """Print what a folder of blocks contains."""
    if not output.for_people:
        return
    from separatrix.cli import tables

    output.say(tables.heading(facts | {"columns": facts["features"]}))
    output.say(tables.notes(facts["notes"]))
    table = tables.plain_table("part", ["rows", "blocks", "rows per block", "size"])
    for part in facts["parts_on_disk"]:
        numbers = [f"{part[key]:,}" for key in ("rows", "blocks", "rows_per_block")]
        table.add_row(part["part"], *numbers, part["size"])
    output.say(tables.spaced(table))
    kind = f"{facts['type']}, {'sparse' if facts['sparse'] else 'dense'}"
    output.say(f"Numbers are {kind}. {facts['total']} in {facts['folder']}.")


@contextmanager
def _progress_bar(output: Output) -> Iterator[Callable[[str, int, int | None], None] | None]:
    """Yield a callback that shows what is being done and how many rows are done."""
    if not output.is_live:
        yield None
        return
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(20),
        TextColumn("{task.completed:,.0f} rows"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=output.err, transient=True) as bar:
        task = bar.add_task("Reading", total=None)
        stages: list[str] = []

        def tell(stage: str, done: int, total: int | None) -> None:
            if [stage] != stages[-1:]:
                stages.append(stage)
                bar.reset(task, description=stage, total=total)
            bar.update(task, completed=done)

        yield tell
