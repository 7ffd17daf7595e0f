"""The arguments of charts: sources, model files and studies."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from separatrix.cli.command_decorator import CommonOptions, UsageError
from separatrix.cli.options import PreparationOptions, ReadingOptions
from separatrix.cli.output import Output
from separatrix.cli.reading import read_for_model, read_source
from separatrix.cli.reading_options import NewRowsOptions

ModelOrSource = Annotated[
    str,
    typer.Argument(
        metavar="MODEL|SOURCE",
        help="Model file (.sx), or a source on which the default model is trained first.",
    ),
]
Axes = Annotated[
    str | None,
    typer.Option(
        metavar="A,B",
        help="Features of the two axes: names, or positions (0 is the first). Default: the two "
        "that separate the classes best.",
    ),
]
StoreFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Database file of the studies (default: $SEPARATRIX_STORE or ./separatrix.db).",
    ),
]


@dataclass(kw_only=True)
class ModelAndRows(NewRowsOptions):
    """A model file and a source of rows, or one source on which a model is trained."""

    model: ModelOrSource
    source: Annotated[
        str | None,
        typer.Argument(metavar="SOURCE", help="Rows for the model, if it is a model file."),
    ] = None

    @property
    def arguments(self) -> list[str]:
        """The arguments that were given; a picture must not overwrite their files."""
        return [self.model] if self.source is None else [self.model, self.source]

    def read(self, output: Output, common: CommonOptions) -> tuple[Any, Any]:
        """Return the model and the rows."""
        from separatrix.workflow.model_inputs import open_model

        if not is_model(self.model):
            if self.source is not None:
                raise UsageError(
                    "This chart needs a model file (.sx) and a source, or one source on which a "
                    f"model is trained. Got {self.model!r}, which is not a model file, and "
                    f"{self.source!r}."
                )
            return train_on(output, self.model, self, common)
        if self.source is None:
            raise UsageError(
                f"This chart needs rows for the model {self.model}. Add a source: the name of a "
                "data set, a file or a folder."
            )
        bundle = open_model(self.model)
        return bundle, read_for_model(output, bundle, self.source, **self.options())


@dataclass(kw_only=True)
class ModelAndTestRows(ModelAndRows):
    """A model, and the labelled rows on which it is measured."""

    every_row: Annotated[
        bool, typer.Option("--all", help="Use all rows, including the training rows.")
    ] = False

    def read_labelled(self, output: Output, common: CommonOptions) -> tuple[Any, Any, str]:
        """Return the model, the test rows, and a sentence about both."""
        from separatrix.text import counted, one_line
        from separatrix.workflow.evaluating import rows_to_evaluate
        from separatrix.workflow.preparing import require_labelled

        bundle, source = self.read(output, common)
        require_labelled(source)
        rows = rows_to_evaluate(bundle, source, [], every_row=self.every_row)
        which = counted(len(rows), "row" if len(rows) == len(source) else "test row")
        return bundle, rows, f"{_model_words(bundle)}, {which} of {one_line(source.name)}."


def train_on(
    output: Output, source: str, reading: NewRowsOptions, common: CommonOptions
) -> tuple[Any, Any]:
    """Return the default model trained on a source, and the source."""
    from separatrix.workflow.fitting import fit_source
    from separatrix.workflow.preparing import choose_settings

    loaded = read_source(output, source, seed=common.seed, **reading.options())
    with output.spinner("Training"):
        return fit_source(loaded, settings=choose_settings(loaded.table)).bundle, loaded


def read_prepared(
    output: Output,
    source: str,
    reading: ReadingOptions,
    preparing: PreparationOptions,
    common: CommonOptions,
) -> Any:
    """Read and prepare a source."""
    from separatrix.workflow.preparing import prepare_source

    if is_model(source):
        raise UsageError(
            "This chart needs a source: the name of a data set, a file or a folder. Got the model "
            f"file {source!r} instead."
        )
    split = preparing.shares()
    loaded = read_source(output, source, seed=common.seed, split=split, **reading.options())
    with output.spinner("Preparing"):
        return prepare_source(loaded, preparing.settings(loaded.table))


def read_study(name: str | None, store: Path | None) -> Any:
    """Return the facts of a study with its histories."""
    from separatrix.study.store.database import Store
    from separatrix.study.store.reader import read_facts

    if name is not None and is_model(name):
        raise UsageError(
            "This chart needs the name of a stored study (see 'separatrix studies list'). Got the "
            f"model file {name!r} instead."
        )
    with Store(store) as opened:
        return read_facts(opened, name)


def is_model(path: str) -> bool:
    """Return whether an argument names a model file."""
    return Path(path).suffix.lower() == ".sx"


def parse_axes(given: str | None, count: int | None = 2) -> list[int | str] | None:
    """Parse the features of the axes: names, or positions.

    >>> parse_axes("petal length, 3")
    ['petal length', 3]
    """
    if given is None:
        return None
    parts = [part.strip() for part in given.split(",") if part.strip()]
    if not parts or (count is not None and len(parts) != count):
        raise UsageError(
            f"--axes takes {'two' if count == 2 else 'one or more'} features separated by commas, "
            f"such as 0,1. Got {given!r} instead."
        )
    return [int(part) if part.isdigit() else part for part in parts]


def training_rows_told(prepared: Any, *, scaled: bool = False) -> str:
    """Describe the training rows; with `scaled`, also say if they are standardised."""
    from separatrix.text import counted, one_line

    rows = counted(len(prepared.y["train"]), "training row")
    told = f"{rows} of {one_line(prepared.source.name)}"
    is_scaled = scaled and prepared.preparation.units is not None
    return f"{told}{', with standardised features' if is_scaled else ''}."


def _model_words(bundle: Any) -> str:
    from separatrix.charts.models.model_words import model_words

    return model_words(bundle.estimator)


def parse_names(option: str, given: str, example: str) -> tuple[str, str]:
    """Parse two names separated by a comma.

    >>> parse_names("axes", "learning_rate, momentum", "a,b")
    ('learning_rate', 'momentum')
    """
    parts = [part.strip() for part in given.split(",")]
    if len(parts) != 2 or not all(parts):
        raise UsageError(f"--{option} takes two names, such as {example}. Got {given!r} instead.")
    return parts[0], parts[1]
