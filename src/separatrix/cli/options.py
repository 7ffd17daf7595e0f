"""The groups of options that several commands share, and the parsing of their values."""

from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from separatrix.cli.command_decorator import UsageError
from separatrix.cli.option_values import proportions, word_list
from separatrix.cli.reading_options import NewRowsOptions as NewRowsOptions
from separatrix.cli.reading_options import ReadingOptions as ReadingOptions
from separatrix.workflow.model_families import (
    GRADIENT,
    MODEL_FAMILIES,
    SOLVER_NAMES,
    ModelOptions,
)

_DATA, _TEXT, _MODEL = "Data", "Text", "Model"  # titles of the help's panels
_DESCENT = "Gradient descent"
_OF_TEXT = ("words", "ngrams", "min_documents", "most_words", "hashes", "word_list")

SourceArgument = Annotated[
    str,
    typer.Argument(
        metavar="SOURCE",
        help="Data set name (see 'separatrix data list'), file or folder; '-' for standard input.",
    ),
]
Picture = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Picture file to write: .png, .svg or .html."),
]
Memory = Annotated[
    str | None,
    typer.Option(
        metavar="SIZE",
        help="Memory for a folder of blocks, as in 500MB or 2GB (default: half of the available "
        "memory).",
        rich_help_panel="Data",
    ),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="Model file (.sx).")]
Out = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Model file to write (.sx).", rich_help_panel="Output"),
]


def is_stored(table: Any) -> bool:
    """Return whether a table is rows on disk."""
    from separatrix.data import BlockRows

    return isinstance(table, BlockRows)


@dataclass
class PreparationOptions:
    """Options for splitting the rows and turning a table into a matrix."""

    split: Annotated[
        str | None,
        typer.Option(
            metavar="A/B/C",
            help="Proportions of training, validation and test rows (default: 80/10/10, or the "
            "data set's own split).",
            rich_help_panel=_DATA,
        ),
    ] = None
    missing: Annotated[
        Literal["mean", "median", "refuse"] | None,
        typer.Option(
            metavar="HOW",
            help="Replacement for missing numbers: 'mean' or 'median' of the column, or "
            "'refuse' to stop with an error (default: mean).",
            rich_help_panel=_DATA,
        ),
    ] = None
    standardise: Annotated[
        bool | None,
        typer.Option(
            "--standardise/--as-is",
            help="Scale features to mean 0 and standard deviation 1, or leave them as they are "
            "(default for sparse data and images).",
            rich_help_panel=_DATA,
        ),
    ] = None
    words: Annotated[
        Literal["tfidf", "counts", "hashing", "none"] | None,
        typer.Option(
            metavar="HOW",
            help="Word features: tfidf, counts, hashing or none (default: tfidf).",
            rich_help_panel=_TEXT,
        ),
    ] = None
    ngrams: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum number of consecutive words in a feature (default: 1).",
            rich_help_panel=_TEXT,
        ),
    ] = None
    min_documents: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Ignore words that occur in fewer than N training texts (default: 1).",
            rich_help_panel=_TEXT,
        ),
    ] = None
    most_words: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Keep only the N most frequent words (default: all).",
            rich_help_panel=_TEXT,
        ),
    ] = None
    hashes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1 << 24,
            metavar="N",
            help="Number of features of '--words hashing' (default: 262144).",
            rich_help_panel=_TEXT,
        ),
    ] = None
    word_list: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=WORD,...",
            help="Feature that is 1 if the text contains one of the words. NAME=@FILE reads the "
            "words from a file, one per line. Can be given several times.",
            rich_help_panel=_TEXT,
        ),
    ] = None

    def settings(self, table: Any) -> Any:
        """Return the settings for the preparation of a table."""
        from separatrix.workflow.preparing import choose_settings

        return choose_settings(table, **self.options(table))

    def options(self, table: Any) -> dict[str, Any]:
        """Return the given options under the names of `Settings`' fields."""
        self._require_text(table)
        given = {
            "standardise": self.standardise,
            "missing": self.missing,
            "text": self.words,
            "ngrams": None if self.ngrams is None else (1, self.ngrams),
            "min_documents": self.min_documents,
            "most_words": self.most_words,
            "n_hashes": self.hashes,
            "word_lists": dict(word_list(words) for words in self.word_list or []) or None,
        }
        found = {name: value for name, value in given.items() if value is not None}
        if found and is_stored(table):
            raise UsageError(
                "The rows of this folder were prepared when they were converted. Give options for "
                "the preparation to 'separatrix convert'."
            )
        return found

    def _require_text(self, table: Any) -> None:
        """Raise if an option for text is given but there is no text column."""
        given = next((name for name in _OF_TEXT if vars(self).get(name)), None)
        if given is not None and "text" not in getattr(table, "kinds", {}).values():
            raise UsageError(
                f"--{given.replace('_', '-')} needs text, and this data has none. Name a text "
                "column with --text."
            )

    def shares(self) -> tuple[float, ...] | None:
        """Return the proportions of the parts; None if --split was not given."""
        return None if self.split is None else proportions(self.split)


@dataclass
class TrainingOptions:
    """Options for the model and its training, without the penalty."""

    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"Model: auto (logistic for two classes, softmax for more), "
            f"{', '.join(MODEL_FAMILIES)}.",
            rich_help_panel=_MODEL,
        ),
    ] = "auto"
    bias: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="Bias: 'free' (not penalised), 'penalised' (SVM only) or 'none' (default: free).",
            rich_help_panel=_MODEL,
        ),
    ] = None
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Loss of an SVM: squared_hinge or hinge (default: squared_hinge).",
            rich_help_panel=_MODEL,
        ),
    ] = None
    tol: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Relative duality gap at which training stops (default: 1e-6).",
            rich_help_panel=_MODEL,
        ),
    ] = None
    max_iter: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum number of iterations (or epochs).",
            rich_help_panel=_MODEL,
        ),
    ] = None
    balanced: Annotated[
        bool | None,
        typer.Option(
            "--balanced", help="Give all classes the same total weight.", rich_help_panel=_MODEL
        ),
    ] = None
    probability: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Number of folds for calibrating the probabilities of an SVM (default: no "
            "probabilities).",
            rich_help_panel=_MODEL,
        ),
    ] = None

    solver: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help=f"Solver: {', '.join(SOLVER_NAMES[:-1])}; 'gradient' (gradient descent) in fit "
            "and compare (default: auto).",
            rich_help_panel=_MODEL,
        ),
    ] = None

    device: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Device of PyTorch to train on, such as 'cuda' (default: the processor, without "
            "PyTorch).",
            rich_help_panel=_MODEL,
        ),
    ] = None

    def options(self, seed: int, **penalty: Any) -> ModelOptions:
        """Return the options as `ModelOptions`."""
        return ModelOptions(
            bias=self.bias,
            loss=self.loss,
            tol=self.tol,
            max_iter=self.max_iter,
            balanced=self.balanced or None,
            probability=self.probability,
            solver=self.solver,
            device=self.device,
            seed=seed,
            **penalty,
        )


@dataclass
class PenaltyOptions:
    """Options for the penalty."""

    C: Annotated[
        float | None,
        typer.Option(
            "--C",
            metavar="X",
            help="Inverse strength of the penalty, or inf for no penalty (default: 1).",
            rich_help_panel=_MODEL,
        ),
    ] = None
    l1: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Share of L1 in the penalty, from 0 to 1 (default: 0).",
            rich_help_panel=_MODEL,
        ),
    ] = None


@dataclass
class DescentOptions:
    """Options for gradient descent."""

    learning_rate: Annotated[
        float | None,
        typer.Option(
            metavar="X",
            help="Learning rate (default: half of the largest that is stable at all weights).",
            rich_help_panel=_DESCENT,
        ),
    ] = None
    momentum: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Momentum, from 0 to 1 (default: 0).", rich_help_panel=_DESCENT
        ),
    ] = None
    epochs: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Maximum number of passes over the data (default: 1000).",
            rich_help_panel=_DESCENT,
        ),
    ] = None
    batch_size: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Rows per step (default: all rows).", rich_help_panel=_DESCENT
        ),
    ] = None
    patience: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Stop after N epochs without a better validation loss, and keep the best epoch "
            "(default: no early stopping).",
            rich_help_panel=_DESCENT,
        ),
    ] = None

    def options(self, solver: str | None) -> Any:
        """Return the options as `GradientOptions`; raise if another solver is used."""
        given = {f.name: getattr(self, f.name) for f in fields(self)}
        name = next((name for name, value in given.items() if value is not None), None)
        if name is not None and solver != GRADIENT:
            raise UsageError(
                f"--{name.replace('_', '-')} is an option of gradient descent: add --solver "
                "gradient."
            )
        if solver != GRADIENT:
            return None
        from separatrix.workflow.gradient_descent import GradientOptions

        return GradientOptions(**given)
