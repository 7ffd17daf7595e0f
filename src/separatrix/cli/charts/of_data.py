"""Charts of a data set, and of models that are trained on it for the chart."""

from itertools import product
from typing import Annotated, Any

import typer

from separatrix.cli.charts.inputs import Axes, parse_axes, read_prepared, training_rows_told
from separatrix.cli.charts.picture import (
    AnimationOptions,
    PictureOptions,
    SizedPictureOptions,
)
from separatrix.cli.command_decorator import CommonOptions, command
from separatrix.cli.option_values import numbers
from separatrix.cli.options import PreparationOptions, ReadingOptions, SourceArgument
from separatrix.cli.output import Output

_Epochs = Annotated[
    int, typer.Option(min=1, metavar="N", help="Number of passes over the training rows.")
]


@command
def scatter_matrix(
    output: Output,
    source: SourceArgument,
    picture: PictureOptions,
    reading: ReadingOptions,
    preparing: PreparationOptions,
    common: CommonOptions,
    axes: Annotated[
        str | None,
        typer.Option(
            metavar="A,B,...",
            help="Features to draw: names, or positions (0 is the first). Default: the six that "
            "separate the classes best.",
        ),
    ] = None,
) -> None:
    """Scatter plots of all pairs of features, with the classes in colours.

    [b]separatrix chart scatter-matrix iris --out pairs.png[/b]
    """
    from separatrix import charts
    from separatrix.charts.drawing.row_choice import feature_number
    from separatrix.workflow.pictures.original_units import training_rows

    picture.check(source, *reading.files())
    prepared = read_prepared(output, source, reading, preparing, common)
    X, y, names = training_rows(prepared)
    chosen = [
        feature_number(feature, names) for feature in parse_axes(axes, None) or range(len(names))
    ]
    chart = charts.scatter_matrix(X[:, chosen], y, [names[j] for j in chosen])
    picture.write(output, chart, training_rows_told(prepared))


@command
def spy(
    output: Output,
    source: SourceArgument,
    picture: PictureOptions,
    reading: ReadingOptions,
    preparing: PreparationOptions,
    common: CommonOptions,
) -> None:
    """Positions of the non-zero entries of the feature matrix.

    [b]separatrix chart spy digits --out spy.png[/b]
    [b]separatrix chart spy mail.tsv --words counts --out spy.png[/b]
    """
    from separatrix import charts
    from separatrix.workflow.pictures.original_units import training_rows

    picture.check(source, *reading.files())
    prepared = read_prepared(output, source, reading, preparing, common)
    picture.write(output, charts.spy(training_rows(prepared)[0]), training_rows_told(prepared))


@command
def learning_curves(
    output: Output,
    source: SourceArgument,
    picture: SizedPictureOptions,
    reading: ReadingOptions,
    preparing: PreparationOptions,
    common: CommonOptions,
    model: Annotated[
        str, typer.Option(metavar="NAME,...", help="Models to compare, as in 'separatrix fit'.")
    ] = "auto,svm",
    repeats: Annotated[
        int, typer.Option(min=1, metavar="N", help="Random training sets of each size.")
    ] = 5,
) -> None:
    """Accuracy on held-out rows by the number of training rows.

    [b]separatrix chart learning-curves wine --out curves.png[/b]
    [b]separatrix chart learning-curves digits --model softmax,perceptron --out curves.png[/b]
    """
    from separatrix import charts
    from separatrix.workflow.learning_scores import learning_scores

    picture.check(source, *reading.files())
    prepared = read_prepared(output, source, reading, preparing, common)
    models = [name.strip() for name in model.split(",")]
    with output.spinner("Training"):
        scores = list(learning_scores(prepared, models, repeats, common.seed))
    picture.write(output, charts.learning_curves(scores), _held_out_told(prepared))


@command
def coefficient_path(
    output: Output,
    source: SourceArgument,
    picture: SizedPictureOptions,
    reading: ReadingOptions,
    preparing: PreparationOptions,
    common: CommonOptions,
    l1: Annotated[
        float, typer.Option(metavar="X", help="Share of L1 in the penalty, from 0 to 1.")
    ] = 1.0,
    top: Annotated[
        int, typer.Option(min=1, max=20, metavar="N", help="Number of weights with names.")
    ] = 10,
) -> None:
    """Weights of a logistic or softmax regression by the strength of the penalty.

    [b]separatrix chart coefficient-path breast-cancer --out path.png[/b]
    [b]separatrix chart coefficient-path wine --l1 0.5 --top 5 --out path.png[/b]
    """
    from separatrix import charts, regularization_path

    picture.check(source, *reading.files())
    prepared = read_prepared(output, source, reading, preparing, common)
    with output.spinner("Training"):
        path = regularization_path(
            prepared.X["train"],
            prepared.y["train"],
            l1_ratio=l1,
            sample_weight=prepared.weights.get("train"),
        )
    names = prepared.preparation.feature_names_out
    chart = charts.coefficient_path(path, names=names, top=top)
    family = "Logistic regression" if prepared.n_classes == 2 else "Softmax regression"
    about = f"{family}, share of L1 in the penalty {l1:g}."
    picture.write(output, chart, f"{about} {training_rows_told(prepared, scaled=True)}")


@command
def certified_search(
    output: Output,
    source: SourceArgument,
    picture: SizedPictureOptions,
    reading: ReadingOptions,
    preparing: PreparationOptions,
    common: CommonOptions,
    C: Annotated[
        str, typer.Option("--C", metavar="A,B", help="Ends of the interval of C.")
    ] = "0.001,1000",
    epsilon: Annotated[
        float, typer.Option(metavar="X", help="How much better than the best another C may be.")
    ] = 0.01,
) -> None:
    """Bounds on the cross-validation error of logistic regression for every C of an interval.

    [b]separatrix chart certified-search breast-cancer --out proof.png[/b]
    [b]separatrix chart certified-search wine --C 0.01,1 --epsilon 0.02 --out proof.png[/b]
    """
    from separatrix import LogisticRegression, charts
    from separatrix import certified_search as search

    picture.check(source, *reading.files())
    prepared = read_prepared(output, source, reading, preparing, common)
    with output.spinner("Training"):
        found = search(
            prepared.X["train"],
            prepared.y["train"],
            LogisticRegression(multiclass="auto" if prepared.n_classes == 2 else "ovr"),
            C=numbers("C", C),
            epsilon=epsilon,
            sample_weight=prepared.weights.get("train"),
        )
    about = "Logistic regression, five folds."
    told = training_rows_told(prepared, scaled=True)
    picture.write(output, charts.certified_search(found), f"{about} {told}")


@command
def weight_path(
    output: Output,
    source: SourceArgument,
    picture: SizedPictureOptions,
    reading: ReadingOptions,
    preparing: PreparationOptions,
    common: CommonOptions,
    axes: Axes = None,
    learning_rate: Annotated[
        str | None,
        typer.Option(
            metavar="X,...", help="Learning rates (default: one that is stable at all weights)."
        ),
    ] = None,
    momentum: Annotated[str, typer.Option(metavar="X,...", help="Momenta, from 0 to 1.")] = "0",
    epochs: _Epochs = 100,
) -> None:
    """Path of two weights in gradient descent over the objective.

    [b]separatrix chart weight-path iris --momentum 0,0.9 --out path.png[/b]
    [b]separatrix chart weight-path wine --axes 0,bias --learning-rate 0.1,1 --out path.png[/b]
    """
    from separatrix import charts
    from separatrix.charts.drawing.row_choice import two_features
    from separatrix.text import describe_configuration
    from separatrix.workflow.gradient_descent import GradientOptions
    from separatrix.workflow.pictures.original_units import descending_model

    picture.check(source, *reading.files())
    prepared = read_prepared(output, source, reading, preparing, common)
    X, y = prepared.X["train"], prepared.y["train"]
    names = prepared.preparation.feature_names_out
    chosen: Any = parse_axes(axes) or two_features(X, y, names, None)
    rates = [None] if learning_rate is None else numbers("learning-rate", learning_rate)
    paths = {}
    for rate, mu in product(rates, numbers("momentum", momentum)):
        descent = GradientOptions(learning_rate=rate, momentum=mu, epochs=epochs)
        model = descending_model(prepared, X, descent, common.seed)
        told = {"learning_rate": model.learning_rate, "momentum": mu}
        paths[describe_configuration(told)] = model
    with output.spinner("Training"):
        chart = charts.weight_path(paths, X, y, chosen, names=names)
    picture.write(output, chart, training_rows_told(prepared, scaled=True))


@command
def boundary_frames(
    output: Output,
    source: SourceArgument,
    picture: AnimationOptions,
    reading: ReadingOptions,
    preparing: PreparationOptions,
    common: CommonOptions,
    axes: Axes = None,
    learning_rate: Annotated[
        float | None,
        typer.Option(metavar="X", help="Learning rate (default: stable at all weights)."),
    ] = None,
    momentum: Annotated[float, typer.Option(metavar="X", help="Momentum, from 0 to 1.")] = 0.0,
    epochs: _Epochs = 300,
) -> None:
    """Decision boundary after several epochs of gradient descent (animated as .gif).

    [b]separatrix chart boundary-frames iris --out training.gif[/b]
    [b]separatrix chart boundary-frames wine --momentum 0.9 --out training.html[/b]
    """
    from separatrix import charts
    from separatrix.charts.drawing.row_choice import two_features
    from separatrix.workflow.gradient_descent import GradientOptions
    from separatrix.workflow.pictures.original_units import descent_on_features

    picture.check(source, *reading.files())
    prepared = read_prepared(output, source, reading, preparing, common)
    names = prepared.preparation.feature_names_out
    chosen = two_features(prepared.X["train"], prepared.y["train"], names, parse_axes(axes))
    descent = GradientOptions(learning_rate=learning_rate, momentum=momentum, epochs=epochs)
    found = descent_on_features(prepared, chosen, descent, common.seed)
    with output.spinner("Training"):
        chart = charts.boundary_frames(found.estimator, found.X, found.y, names=found.names)
    picture.write(output, chart, f"Trained on two features of {training_rows_told(prepared)}")


def _held_out_told(prepared: Any) -> str:
    from separatrix.text import one_line

    held_out = sum(len(y) for part, y in prepared.y.items() if part != "train")
    return f"Measured on {held_out:,} held-out rows of {one_line(prepared.source.name)}."
