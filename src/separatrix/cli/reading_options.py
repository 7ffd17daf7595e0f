"""The options for reading a source."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.option_values import column_type, delimiter, image_size, label_column

_DATA = "Data"  # title of the help's panel


@dataclass
class NewRowsOptions:
    """Options for reading rows, with or without labels."""

    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Label column: a name, or a position (0 is the first, -1 the last). 'none' if "
            "there are no labels.",
            rich_help_panel=_DATA,
        ),
    ] = None
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Text column. Can be given several times.",
            rich_help_panel=_DATA,
        ),
    ] = None
    features: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Number of features of an svmlight file.",
            rich_help_panel=_DATA,
        ),
    ] = None
    zero_based: Annotated[
        bool | None,
        typer.Option(
            "--zero-based/--one-based",
            help="Index of the first feature in an svmlight file, 0 or 1 (default: detected).",
            rich_help_panel=_DATA,
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header",
            help="Whether the first line of a table is a header (default: detected).",
            rich_help_panel=_DATA,
        ),
    ] = None
    size: Annotated[
        str | None,
        typer.Option(
            metavar="WxH",
            help="Resize images to this width and height in pixels.",
            rich_help_panel=_DATA,
        ),
    ] = None
    colour: Annotated[
        bool | None,
        typer.Option(
            "--colour/--grey", help="Read images in colour or in greyscale.", rich_help_panel=_DATA
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="X",
            help="Delimiter of a table: one character, or 'tab'.",
            rich_help_panel=_DATA,
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN",
            help="Column to ignore. Can be given several times.",
            rich_help_panel=_DATA,
        ),
    ] = None
    missing_values: Annotated[
        str | None,
        typer.Option(
            metavar="WORD,...",
            help="Words for missing values in a table, instead of NA, N/A, NULL, ?, - and others. "
            "Empty cells are always missing.",
            rich_help_panel=_DATA,
        ),
    ] = None
    types: Annotated[
        list[str] | None,
        typer.Option(
            "--type",
            metavar="COLUMN=TYPE",
            help="Type of a column: number, category, text, date or drop (default: detected). For "
            "ambiguous cells: date:day-first, date:month-first, number:decimal-point or "
            "number:decimal-comma. Can be given several times.",
            rich_help_panel=_DATA,
        ),
    ] = None
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="File format, if it is not recognised: csv, svmlight, parquet, text, ...",
            rich_help_panel=_DATA,
        ),
    ] = None

    weight: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of sample weights, which are used in training and in all metrics. Not a "
            "feature.",
            rich_help_panel=_DATA,
        ),
    ] = None
    id: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column that identifies the rows. It is printed with the predictions and is not a "
            "feature.",
            rich_help_panel=_DATA,
        ),
    ] = None

    def options(self) -> dict[str, Any]:
        """Return the given options under the names of `load`'s parameters."""
        words = self.missing_values
        given = {
            "label": label_column(self.label),
            "text": self.text or None,
            "features": self.features,
            "zero_based": self.zero_based,
            "header": self.header,
            "size": None if self.size is None else image_size(self.size),
            "colour": self.colour,
            "delimiter": None if self.delimiter is None else delimiter(self.delimiter),
            "drop": self.drop or None,
            "missing_values": None if words is None else words.split(","),
            "types": dict(map(column_type, self.types or [])) or None,
            "format": self.format,
            "weight": self.weight,
            "id": self.id,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass
class ReadingOptions(NewRowsOptions):
    """Options for reading labelled rows and dividing them into parts."""

    group: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of groups. Rows of the same group are never divided between the parts or "
            "the folds. Not a feature.",
            rich_help_panel=_DATA,
        ),
    ] = None
    time: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="Column of times. The oldest rows are training rows, and the newest are test "
            "rows. Not a feature.",
            rich_help_panel=_DATA,
        ),
    ] = None
    validation: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with the validation rows, read in the same way as the source.",
            rich_help_panel=_DATA,
        ),
    ] = None
    test: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="File with the test rows, read in the same way as the source.",
            rich_help_panel=_DATA,
        ),
    ] = None

    def files(self) -> list[str]:
        """Return the files of the validation and test rows that were given."""
        return [str(file) for file in (self.validation, self.test) if file is not None]

    def options(self) -> dict[str, Any]:
        """Return the given options under the names of `load`'s parameters."""
        given = {
            "group": self.group,
            "time": self.time,
            "validation": None if self.validation is None else str(self.validation),
            "test": None if self.test is None else str(self.test),
        }
        return super().options() | {k: v for k, v in given.items() if v is not None}
