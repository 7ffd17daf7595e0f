"""The options that several commands share, in groups, and how their words are read."""

import math
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from separatrix.cli.command_decorator import UsageError
from separatrix.workflow.model_families import MODEL_FAMILIES, ModelOptions

_DATA, _MODEL = "Data", "Model"
_OF_TEXT = ("words", "ngrams", "min_documents", "most_words", "hashes", "word_list")

SourceArgument = Annotated[
    str,
    typer.Argument(metavar="SOURCE", help="A name ('separatrix data list'), a file or a folder."),
]
Picture = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Draw it to this file as well: .png, .svg or .html."),
]
ModelFile = Annotated[str, typer.Argument(metavar="MODEL", help="A model file (.sx).")]
Out = Annotated[
    Path | None, typer.Option(help="Write the model to this file (.sx).", rich_help_panel="Output")
]


@dataclass
class ReadingOptions:
    """How a source is read."""

    label: Annotated[
        str | None,
        typer.Option(
            metavar="COLUMN",
            help="The column of the labels: name, or position from 0 (-1: the last); 'none'.",
            rich_help_panel=_DATA,
        ),
    ] = None
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="A column that holds documents.", rich_help_panel=_DATA
        ),
    ] = None
    features: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Features of an svmlight file.", rich_help_panel=_DATA
        ),
    ] = None
    zero_based: Annotated[
        bool | None,
        typer.Option(
            "--zero-based/--one-based",
            help="Has the first feature of an svmlight file index 0?",
            rich_help_panel=_DATA,
        ),
    ] = None
    header: Annotated[
        bool | None,
        typer.Option(
            "--header/--no-header", help="Is the first line a header?", rich_help_panel=_DATA
        ),
    ] = None
    size: Annotated[
        str | None,
        typer.Option(metavar="WxH", help="Resize images to so many pixels.", rich_help_panel=_DATA),
    ] = None
    colour: Annotated[
        bool | None,
        typer.Option(
            "--colour/--grey", help="Read images in colour or grey.", rich_help_panel=_DATA
        ),
    ] = None
    delimiter: Annotated[
        str | None,
        typer.Option(
            metavar="X",
            help="What parts the fields of a table: a character, or 'tab'.",
            rich_help_panel=_DATA,
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COLUMN", help="A column of a table to leave out.", rich_help_panel=_DATA
        ),
    ] = None
    format: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="svmlight, table, parquet, npz, ... if in doubt.",
            rich_help_panel=_DATA,
        ),
    ] = None

    def options(self) -> dict[str, Any]:
        """The options of `load` that were given."""
        given = {
            "label": _label(self.label),
            "text": self.text or None,
            "features": self.features,
            "zero_based": self.zero_based,
            "header": self.header,
            "size": None if self.size is None else _size(self.size),
            "colour": self.colour,
            "delimiter": None if self.delimiter is None else _delimiter(self.delimiter),
            "drop": self.drop or None,
            "format": self.format,
        }
        return {name: value for name, value in given.items() if value is not None}


@dataclass
class PreparationOptions:
    """How rows are split, and how a table becomes a matrix."""

    split: Annotated[
        str | None,
        typer.Option(
            metavar="A/B/C",
            help="Shares of training, validation and test rows, as in 80/10/10.",
            rich_help_panel=_DATA,
        ),
    ] = None
    missing: Annotated[
        Literal["mean", "median", "refuse"] | None,
        typer.Option(
            metavar="HOW",
            help="mean, median (fill them in) or refuse: missing values.",
            rich_help_panel=_DATA,
        ),
    ] = None
    standardise: Annotated[
        bool | None,
        typer.Option(
            "--standardise/--as-is",
            help="Scale numbers to mean 0, deviation 1 (sparse data and images: as they are).",
            rich_help_panel=_DATA,
        ),
    ] = None
    words: Annotated[
        Literal["tfidf", "counts", "hashing", "none"] | None,
        typer.Option(
            metavar="HOW",
            help="tfidf, counts, hashing or none: what becomes of words.",
            rich_help_panel=_DATA,
        ),
    ] = None
    ngrams: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Sequences of up to so many words.", rich_help_panel=_DATA
        ),
    ] = None
    min_documents: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Words that are in fewer training documents are left out (1).",
            rich_help_panel=_DATA,
        ),
    ] = None
    most_words: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Keep the most frequent words only.", rich_help_panel=_DATA
        ),
    ] = None
    hashes: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1 << 24,
            metavar="N",
            help="Features of '--words hashing' (262,144).",
            rich_help_panel=_DATA,
        ),
    ] = None
    word_list: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=WORD,...",
            help="A feature: does the text contain one of these? NAME=@FILE: one a line.",
            rich_help_panel=_DATA,
        ),
    ] = None

    def settings(self, table: Any) -> Any:
        """The settings of the preparation of a table."""
        from separatrix.workflow.preparing import choose_settings

        return choose_settings(table, **self.options(table))

    def options(self, table: Any) -> dict[str, Any]:
        """The settings that were given, by their names in `Settings`."""
        self._require_text(table)
        given = {
            "standardise": self.standardise,
            "missing": self.missing,
            "text": self.words,
            "ngrams": None if self.ngrams is None else (1, self.ngrams),
            "min_documents": self.min_documents,
            "most_words": self.most_words,
            "n_hashes": self.hashes,
            "word_lists": dict(_word_list(words) for words in self.word_list or []) or None,
        }
        return {name: value for name, value in given.items() if value is not None}

    def _require_text(self, table: Any) -> None:
        """Refuse what is for text where there is none: it would be without effect."""
        given = next((name for name in _OF_TEXT if vars(self).get(name)), None)
        if given is not None and "text" not in getattr(table, "kinds", {}).values():
            raise UsageError(
                f"--{given.replace('_', '-')} is for text, and this data has none. Name a column "
                "that holds documents with --text."
            )

    def shares(self) -> tuple[float, ...] | None:
        """The shares of the parts, if they were given."""
        return None if self.split is None else _shares(self.split)


@dataclass
class TrainingOptions:
    """Which model, and how it is trained; all but its penalty."""

    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help=f"auto (logistic for two classes, softmax for more), {', '.join(MODEL_FAMILIES)}.",
            rich_help_panel=_MODEL,
        ),
    ] = "auto"
    bias: Annotated[
        str | None,
        typer.Option(
            metavar="HOW",
            help="free, penalised (of an svm) or none.",
            rich_help_panel=_MODEL,
        ),
    ] = None
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="squared_hinge or hinge, of an svm.",
            rich_help_panel=_MODEL,
        ),
    ] = None
    tol: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Stop at this relative duality gap (1e-6).", rich_help_panel=_MODEL
        ),
    ] = None
    max_iter: Annotated[
        int | None,
        typer.Option(
            min=1, metavar="N", help="Iterations or epochs at most.", rich_help_panel=_MODEL
        ),
    ] = None
    balanced: Annotated[
        bool | None,
        typer.Option("--balanced", help="Let all classes weigh the same.", rich_help_panel=_MODEL),
    ] = None
    probability: Annotated[
        int | None,
        typer.Option(
            min=2,
            metavar="N",
            help="Folds to calibrate an svm's probabilities by.",
            rich_help_panel=_MODEL,
        ),
    ] = None

    def options(self, seed: int, **penalty: Any) -> ModelOptions:
        """The options of the family."""
        return ModelOptions(
            bias=self.bias,
            loss=self.loss,
            tol=self.tol,
            max_iter=self.max_iter,
            balanced=self.balanced or None,
            probability=self.probability,
            seed=seed,
            **penalty,
        )


@dataclass
class PenaltyOptions:
    """How strong the penalty is."""

    C: Annotated[
        float | None,
        typer.Option(
            "--C", metavar="X", help="Inverse strength of the penalty (1).", rich_help_panel=_MODEL
        ),
    ] = None
    l1: Annotated[
        float | None,
        typer.Option(metavar="X", help="Share of L1 in the penalty (0).", rich_help_panel=_MODEL),
    ] = None


def numbers(name: str, given: str) -> list[float]:
    """Numbers with commas between them; what occurs twice is taken once.

    >>> numbers("C", "0.1, 1,inf,1.0")
    [0.1, 1.0, inf]
    """
    try:
        return list(dict.fromkeys(float(part) for part in given.split(",")))
    except ValueError:
        raise UsageError(
            f"--{name} takes numbers with commas between them, as in 0.1,1,10. Got '{given}' "
            "instead."
        ) from None


def _label(given: str | None) -> str | int | bool | None:
    if given is None or given.lower() == "none":
        return None if given is None else False
    return int(given) if re.fullmatch(r"-?\d+", given) else given


def _delimiter(given: str) -> str:
    character = {"tab": "\t", "\\t": "\t", "space": " "}.get(given, given)
    if len(character) != 1 or character in '\r\n"':
        raise UsageError(f"--delimiter takes one character, or 'tab'. Got '{given}' instead.")
    return character


def _size(given: str) -> tuple[int, int]:
    found = re.fullmatch(r"0*([1-9]\d*)x0*([1-9]\d*)", given)
    if found is None:
        raise UsageError(f"--size takes width and height, as in 28x28. Got '{given}' instead.")
    return int(found[1]), int(found[2])


def _shares(given: str) -> tuple[float, ...]:
    try:
        parts = [float(part) for part in re.split("[/,:]", given)]
    except ValueError:
        parts = []
    total = sum(parts)
    if len(parts) != 3 or min(parts) < 0 or parts[0] == 0 or not 0 < total < math.inf:
        raise UsageError(
            "--split takes three shares, of training, validation and test rows, as in 80/10/10. "
            f"Got '{given}' instead."
        )
    return tuple(part / total for part in parts)


def _word_list(given: str) -> tuple[str, list[str]]:
    name, mark, words = given.partition("=")
    if not (name and mark and words):
        raise UsageError(f"--word-list takes NAME=WORD,WORD or NAME=@FILE. Got '{given}' instead.")
    if words.startswith("@"):
        lines = Path(words[1:]).read_text(encoding="utf-8").splitlines()
        return name, [line.strip() for line in lines if line.strip()]
    return name, [word.strip() for word in words.split(",") if word.strip()]
