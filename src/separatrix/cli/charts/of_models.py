"""Charts of a model and of its predictions."""

from typing import Annotated, Any

import typer

from separatrix.cli.charts.inputs import (
    Axes,
    ModelAndRows,
    ModelAndTestRows,
    ModelOrSource,
    is_model,
    parse_axes,
    train_on,
)
from separatrix.cli.charts.picture import PictureOptions, SizedPictureOptions
from separatrix.cli.command_decorator import CommonOptions, UsageError, command
from separatrix.cli.options import NewRowsOptions
from separatrix.cli.output import Output

_Row = Annotated[int, typer.Option(metavar="N", help="Row of the source, counted from 1.")]


@command
def boundary(
    output: Output,
    given: ModelAndRows,
    picture: SizedPictureOptions,
    common: CommonOptions,
    axes: Axes = None,
) -> None:
    """Decision boundary over two features, with the rows and the probabilities.

    [b]separatrix chart boundary iris --axes 2,3 --out boundary.png[/b]
    [b]separatrix chart boundary iris.sx iris --out boundary.png[/b]

    A model of more than two features is drawn with all other features at their means.
    """
    from separatrix import charts
    from separatrix.text import one_line
    from separatrix.workflow.pictures.original_units import in_original_units
    from separatrix.workflow.preparing import require_labelled

    features = parse_axes(axes)
    picture.check(*given.arguments)
    bundle, rows = given.read(output, common)
    require_labelled(rows)
    found = in_original_units(bundle, rows)
    with output.spinner("Drawing"):
        chart = charts.boundary(found.estimator, found.X, found.y, found.names, features=features)
    picture.write(output, chart, f"Rows of {one_line(rows.name)}.")


@command
def templates(
    output: Output,
    model: ModelOrSource,
    picture: PictureOptions,
    reading: NewRowsOptions,
    common: CommonOptions,
) -> None:
    """Weights of an image classifier, as one image for every class.

    [b]separatrix chart templates digits --out weights.png[/b]
    [b]separatrix chart templates digits.sx --out weights.png[/b]
    """
    from separatrix import charts
    from separatrix.charts.models.model_words import model_words
    from separatrix.text import one_line
    from separatrix.workflow.model_inputs import open_model

    picture.check(model)
    if is_model(model):
        bundle = open_model(model)
    else:
        bundle, _ = train_on(output, model, reading, common)
    about = f"{model_words(bundle.estimator)}, {one_line(model)}."
    picture.write(output, charts.templates(bundle), about)


@command
def contributions(
    output: Output,
    given: ModelAndRows,
    picture: PictureOptions,
    common: CommonOptions,
    row: _Row = 1,
    top: Annotated[
        int, typer.Option(min=1, max=20, metavar="N", help="Number of contributions to show.")
    ] = 10,
) -> None:
    """Contributions of the features to the prediction for one row.

    [b]separatrix chart contributions breast-cancer --row 3 --top 5 --out why.png[/b]
    [b]separatrix chart contributions mail.sx new.tsv --row 17 --out why.png[/b]
    """
    from separatrix import charts, explain

    picture.check(*given.arguments)
    bundle, rows = given.read(output, common)
    found = explain.prediction(bundle, _one_row(rows, row), top=top)
    picture.write(output, charts.contributions(found), _row_told(bundle, rows, row))


@command
def step(
    output: Output,
    given: ModelAndRows,
    picture: PictureOptions,
    common: CommonOptions,
    row: _Row = 1,
    learning_rate: Annotated[
        float, typer.Option(metavar="X", help="Learning rate of the step.")
    ] = 0.01,
) -> None:
    """Computation graph of one gradient descent step of a model on one row.

    [b]separatrix chart step iris --row 51 --learning-rate 0.1 --out step.svg[/b]
    """
    from separatrix import charts, explain

    picture.check(*given.arguments)
    bundle, rows = given.read(output, common)
    found = explain.step_of(bundle, _one_row(rows, row), learning_rate=learning_rate)
    picture.write(output, charts.graph(found), _row_told(bundle, rows, row))


@command
def likelihood(
    output: Output, given: ModelAndTestRows, picture: SizedPictureOptions, common: CommonOptions
) -> None:
    """Likelihood, log-likelihood and cross-entropy of the labels under a model.

    [b]separatrix chart likelihood breast-cancer --out likelihood.png[/b]
    """
    from separatrix import charts, explain

    picture.check(*given.arguments)
    bundle, rows, told = given.read_labelled(output, common)
    picture.write(output, charts.likelihood(explain.likelihood(bundle, rows, rows.y)), told)


@command
def confusion(
    output: Output, given: ModelAndTestRows, picture: PictureOptions, common: CommonOptions
) -> None:
    """Confusion matrix: the true and the predicted classes.

    [b]separatrix chart confusion digits --out confusion.png[/b]
    [b]separatrix chart confusion mail.sx new.csv --out confusion.png[/b]
    """
    from separatrix import charts

    picture.check(*given.arguments)
    bundle, rows, told = given.read_labelled(output, common)
    predicted = bundle.estimator.predict(bundle.transform(rows, []))
    picture.write(output, charts.confusion(rows.y, predicted, bundle.classes_), told)


@command
def roc(
    output: Output, given: ModelAndTestRows, picture: SizedPictureOptions, common: CommonOptions
) -> None:
    """ROC curve: the true positive rate by the false positive rate.

    [b]separatrix chart roc breast-cancer --out roc.png[/b]
    """
    from separatrix import charts

    picture.check(*given.arguments)
    bundle, rows, told = given.read_labelled(output, common)
    picture.write(output, charts.roc(rows.y, _scores(bundle, rows), bundle.classes_), told)


@command
def precision_recall(
    output: Output, given: ModelAndTestRows, picture: SizedPictureOptions, common: CommonOptions
) -> None:
    """Precision-recall curve: the precision by the recall.

    [b]separatrix chart precision-recall breast-cancer --out precision.png[/b]
    """
    from separatrix import charts

    picture.check(*given.arguments)
    bundle, rows, told = given.read_labelled(output, common)
    chart = charts.precision_recall(rows.y, _scores(bundle, rows), bundle.classes_)
    picture.write(output, chart, told)


@command
def calibration(
    output: Output,
    given: ModelAndTestRows,
    picture: SizedPictureOptions,
    common: CommonOptions,
    bins: Annotated[
        int, typer.Option(min=2, max=100, metavar="N", help="Groups of similar probabilities.")
    ] = 10,
) -> None:
    """Calibration curve: the observed frequency by the predicted probability.

    [b]separatrix chart calibration breast-cancer --bins 5 --out calibration.png[/b]
    """
    from separatrix import charts
    from separatrix.workflow.predicting import require_probabilities

    picture.check(*given.arguments)
    bundle, rows, told = given.read_labelled(output, common)
    require_probabilities(bundle)
    P = bundle.estimator.predict_proba(bundle.transform(rows, []))
    picture.write(output, charts.calibration(rows.y, P, bundle.classes_, bins=bins), told)


def _scores(bundle: Any, rows: Any) -> Any:
    """Return the scores (n,) of two classes, or the probabilities (n, C) of several."""
    from separatrix.workflow.evaluating import scores_to_rank

    return scores_to_rank(bundle.estimator, bundle.transform(rows, []))


def _one_row(rows: Any, row: int) -> Any:
    if not 1 <= row <= len(rows):
        raise UsageError(
            f"--row must be from 1 to {len(rows):,}, the number of rows of {rows.name}. Got {row} "
            "instead."
        )
    return rows.rows([row - 1])


def _row_told(bundle: Any, rows: Any, row: int) -> str:
    from separatrix.charts.models.model_words import model_words
    from separatrix.text import one_line

    return f"{model_words(bundle.estimator)}, row {row:,} of {one_line(rows.name)}."


@command
def certified(
    output: Output,
    given: ModelAndRows,
    picture: SizedPictureOptions,
    common: CommonOptions,
) -> None:
    """Intervals of the scores at the exact optimum, of the rows closest to the boundary.

    [b]separatrix chart certified breast-cancer --out certified.png[/b]
    [b]separatrix chart certified mail.sx new.tsv --out certified.png[/b]
    """
    from separatrix import charts
    from separatrix.charts.models.model_words import model_words
    from separatrix.text import one_line
    from separatrix.workflow.predicting import certify

    picture.check(*given.arguments)
    bundle, rows = given.read(output, common)
    found = certify(bundle, rows)
    told = f"{model_words(bundle.estimator)}, rows of {one_line(rows.name)}."
    picture.write(output, charts.certified(found), told)
