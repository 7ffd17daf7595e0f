"""Charts of stored studies."""

from typing import Annotated, Any, Literal

import typer

from separatrix.cli.charts.inputs import StoreFile, is_model, parse_names, read_study
from separatrix.cli.charts.picture import PictureOptions, SizedPictureOptions
from separatrix.cli.command_decorator import CommonOptions, command
from separatrix.cli.output import Output

_Study = Annotated[
    str | None, typer.Argument(metavar="STUDY", help="Name of a study (default: the latest one).")
]
_LogX = Annotated[bool, typer.Option("--log-x", help="Logarithmic horizontal axis.")]
_LogY = Annotated[bool, typer.Option("--log-y", help="Logarithmic vertical axis.")]


@command
def curves(
    output: Output,
    picture: SizedPictureOptions,
    common: CommonOptions,
    study: Annotated[
        str | None,
        typer.Argument(
            metavar="STUDY|MODEL",
            help="Name of a study (default: the latest one), or a model file (.sx).",
        ),
    ] = None,
    measure: Annotated[
        Literal["loss", "accuracy", "objective", "gradient norm"],
        typer.Option(metavar="NAME", help="Measure: loss, accuracy, objective or 'gradient norm'."),
    ] = "loss",
    overlaid: Annotated[
        bool | None,
        typer.Option(
            "--overlaid/--multiples",
            help="All runs in one chart, or one chart for each (default: up to 12 runs).",
        ),
    ] = None,
    log_x: _LogX = False,
    log_y: _LogY = False,
    store: StoreFile = None,
) -> None:
    """Training curves: a measure by epoch, for all runs of a study or for one fit.

    [b]separatrix chart curves iris --measure accuracy --log-x --out curves.png[/b]
    [b]separatrix chart curves iris.sx --measure objective --log-y --out curves.png[/b]
    """
    from separatrix import charts

    layout = {None: "auto", True: "overlaid", False: "multiples"}[overlaid]
    if study is not None and is_model(study):
        picture.check(study)
        runs, told = _fit_of(study)
    else:
        picture.check()
        runs = read_study(study, store)
        told = _study_told(runs)
    chart = charts.curves(runs, measure, layout=layout, log_x=log_x, log_y=log_y)
    picture.write(output, chart, told)


@command
def rates(
    output: Output,
    picture: PictureOptions,
    common: CommonOptions,
    study: _Study = None,
    measure: Annotated[
        Literal["train_loss", "train_accuracy", "val_loss", "val_accuracy"] | None,
        typer.Option(
            metavar="NAME",
            help="Measure: train_loss, train_accuracy, val_loss or val_accuracy (default: "
            "val_loss if there are validation rows).",
        ),
    ] = None,
    axes: Annotated[
        str,
        typer.Option(metavar="A,B", help="Parameters of the horizontal and the vertical axis."),
    ] = "learning_rate,momentum",
    store: StoreFile = None,
) -> None:
    """Heat map of a study over two parameters, such as learning rate and momentum.

    [b]separatrix chart rates iris --out rates.png[/b]
    [b]separatrix chart rates iris --measure val_accuracy --out rates.png[/b]
    """
    from separatrix import charts

    picture.check()
    x, y = parse_names("axes", axes, "learning_rate,momentum")
    facts = read_study(study, store)
    picture.write(output, charts.rates(facts, measure or "", x=x, y=y), _study_told(facts))


@command
def batches(
    output: Output,
    picture: SizedPictureOptions,
    common: CommonOptions,
    study: _Study = None,
    by: Annotated[
        Literal["epochs", "rows", "updates"],
        typer.Option(metavar="NAME", help="Horizontal axis: epochs, rows or updates."),
    ] = "epochs",
    log_x: _LogX = False,
    log_y: _LogY = False,
    store: StoreFile = None,
) -> None:
    """Training loss of batch, mini-batch and stochastic gradient descent.

    [b]separatrix study wine --batch-size 1,16,all --name sizes[/b]
    [b]separatrix chart batches sizes --by updates --log-x --out batches.png[/b]
    """
    from separatrix import charts

    picture.check()
    facts = read_study(study, store)
    chart = charts.batches(facts, by=by, log_x=log_x, log_y=log_y)
    picture.write(output, chart, _study_told(facts))


def _study_told(facts: Any) -> str:
    from separatrix.text import one_line

    return f"Study {one_line(facts.name)} of {one_line(facts.data.in_words())}."


def _fit_of(path: str) -> tuple[Any, str]:
    """Return the history of the fit in a model file, under the words for its model."""
    from separatrix.charts.models.model_words import model_words
    from separatrix.workflow.model_inputs import open_model

    estimator = open_model(path).estimator
    return {model_words(estimator): estimator.history_}, f"Model file {path}."
