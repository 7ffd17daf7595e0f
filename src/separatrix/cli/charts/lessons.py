"""Charts that explain an idea of the course, and need no data."""

from typing import Annotated

import typer

from separatrix.cli.charts.picture import PictureOptions, SizedPictureOptions
from separatrix.cli.command_decorator import CommonOptions, command
from separatrix.cli.commands.graph import Expression, Values, WithMinus, given_values
from separatrix.cli.output import Output


@command
def losses(output: Output, picture: SizedPictureOptions, common: CommonOptions) -> None:
    """All losses for two classes by the margin.

    [b]separatrix chart losses --out losses.png[/b]
    """
    from separatrix import charts

    picture.check()
    picture.write(output, charts.losses())


@command
def optimum_balls(output: Output, picture: PictureOptions, common: CommonOptions) -> None:
    """Circles that contain the optimum, each from one gradient.

    [b]separatrix chart optimum-balls --out balls.png[/b]
    """
    from separatrix.charts.models.certified import example_balls

    picture.check()
    picture.write(output, example_balls())


@command
def graph(
    output: Output,
    expression: Expression,
    picture: PictureOptions,
    common: CommonOptions,
    values: Values = None,
) -> None:
    """Computation graph of an expression, with all derivatives.

    [b]separatrix chart graph "1/(1+exp(-w*x))" w=2 x=-1 --out graph.png[/b]
    """
    from separatrix import charts, explain

    picture.check()
    found = explain.graph(expression.strip(), **given_values(values or []))
    picture.write(output, charts.graph(found))


graph.parsed_as = WithMinus  # type: ignore[attr-defined]


@command
def gradient_check(
    output: Output,
    picture: SizedPictureOptions,
    common: CommonOptions,
    loss: Annotated[str, typer.Option(metavar="NAME", help="Name of a loss.")] = "softmax",
    classes: Annotated[
        int, typer.Option(min=2, max=20, metavar="N", help="Number of classes.")
    ] = 3,
) -> None:
    """Derivatives of a loss compared with finite differences.

    [b]separatrix chart gradient-check --loss hinge --out check.png[/b]
    """
    from separatrix import charts, explain

    picture.check()
    found = explain.check_gradient(loss, classes, seed=common.seed)
    picture.write(output, charts.gradient_check(found))


@command
def curvature(
    output: Output,
    picture: SizedPictureOptions,
    common: CommonOptions,
    loss: Annotated[
        str, typer.Option(metavar="NAME,...", help="Smooth losses to compare.")
    ] = "sigmoid_mse,logistic",
) -> None:
    """Losses of one row and their curvature by the score: which losses are convex.

    [b]separatrix chart curvature --loss squared,logistic --out curvature.png[/b]
    """
    from separatrix import charts, explain

    picture.check()
    names = [name.strip() for name in loss.split(",")]
    found = [explain.curvature_along(name, [[1.0]], [0], [0.0], [1.0]) for name in names]
    picture.write(output, charts.curvature(*found))


@command
def large_rate(output: Output, picture: SizedPictureOptions, common: CommonOptions) -> None:
    """Loss at learning rates below and above the largest stable one.

    [b]separatrix chart large-rate --out rates.png[/b]
    """
    from separatrix import charts, explain

    picture.check()
    picture.write(output, charts.large_rate(explain.large_rate()))


@command
def one_at_a_time(
    output: Output,
    picture: SizedPictureOptions,
    common: CommonOptions,
    learning_rate: Annotated[
        float, typer.Option(metavar="X", help="Learning rate of the steps.")
    ] = 1.0,
) -> None:
    """Two weights updated simultaneously, and one after the other.

    [b]separatrix chart one-at-a-time --learning-rate 0.5 --out paths.png[/b]
    """
    from separatrix import charts, explain

    picture.check()
    found = explain.one_at_a_time(learning_rate=learning_rate)
    picture.write(output, charts.one_at_a_time(found))


@command
def outlier(
    output: Output,
    picture: SizedPictureOptions,
    common: CommonOptions,
    distance: Annotated[
        float, typer.Option(metavar="X", help="Feature of the outlier, more than 10.")
    ] = 60.0,
) -> None:
    """Effect of an outlier on squared error and logistic loss.

    [b]separatrix chart outlier --distance 30 --out outlier.png[/b]
    """
    from separatrix import charts, explain

    picture.check()
    picture.write(output, charts.outlier(explain.outlier(distance)))


@command
def zero_start(output: Output, picture: SizedPictureOptions, common: CommonOptions) -> None:
    """Two perceptron losses from zero weights: one is stuck there.

    [b]separatrix chart zero-start --out zero.png[/b]
    """
    from separatrix import charts, explain

    picture.check()
    picture.write(output, charts.zero_start(explain.zero_start()))
