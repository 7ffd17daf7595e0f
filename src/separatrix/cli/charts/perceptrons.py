"""Charts of the perceptron, trained on two classes of a source."""

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from separatrix.cli.charts.inputs import Axes, parse_axes, read_prepared, training_rows_told
from separatrix.cli.charts.picture import SizedPictureOptions
from separatrix.cli.command_decorator import CommonOptions, UsageError, command
from separatrix.cli.options import PreparationOptions, ReadingOptions, SourceArgument
from separatrix.cli.output import Output


@dataclass(kw_only=True)
class PerceptronOptions(ReadingOptions):
    """Rows of two classes, and the training of a perceptron on them."""

    source: SourceArgument
    positive: Annotated[
        str | None,
        typer.Option(
            "--class",
            metavar="CLASS",
            help="Class to tell from all others. Needed if there are more than two classes.",
        ),
    ] = None
    axes: Axes = None
    epochs: Annotated[
        int, typer.Option(min=1, metavar="N", help="Maximum number of passes over the rows.")
    ] = 100

    def story(
        self, output: Output, common: CommonOptions, picture: SizedPictureOptions, *, two: bool
    ) -> tuple[Any, Any, Any, list[str], str]:
        """Return the story, the rows X, y and the names of the features, and a sentence.

        With `two`, only two features are used.
        """
        from separatrix import explain
        from separatrix.charts.drawing.row_choice import feature_number, two_features
        from separatrix.workflow.pictures.original_units import training_rows

        picture.check(self.source, *self.files())
        prepared = read_prepared(output, self.source, self, PreparationOptions(), common)
        X, y, names = training_rows(prepared)
        y = self._two_classes(y)
        given = parse_axes(self.axes)
        chosen: Any = range(len(names))
        if given is not None:
            chosen = [feature_number(feature, names) for feature in given]
        elif two and len(names) > 2:
            chosen = two_features(X, y, names, None)
        X, names = X[:, list(chosen)], [names[j] for j in chosen]
        X = X.toarray() if hasattr(X, "toarray") else X
        with output.spinner("Training"):
            story = explain.perceptron(X, y, epochs=self.epochs, seed=common.seed)
        used = f", {', '.join(names)}" if len(names) <= 2 else ""
        return story, X, y, names, f"{training_rows_told(prepared)[:-1]}{used}."

    def _two_classes(self, y: Any) -> Any:
        """Return labels of two classes; with --class, one class and "other"."""
        import numpy as np

        known = np.unique(y).tolist()
        if self.positive is None and len(known) == 2:
            return y
        listed = ", ".join(map(str, known[:9]))
        if self.positive is None:
            raise UsageError(
                f"This chart needs two classes, and there are {len(known)}: {listed}. Choose one "
                "of them with --class, to tell it from all others."
            )
        if self.positive not in map(str, known):
            raise UsageError(
                f"--class must be one of the classes, {listed}. Got {self.positive!r} instead."
            )
        names = np.array(list(map(str, y.tolist())))
        # "not" sorts before or after a class; the chosen class must be the positive one.
        return np.where(names == self.positive, self.positive, f"not {self.positive}")


@command
def perceptron_mistakes(
    output: Output,
    given: PerceptronOptions,
    picture: SizedPictureOptions,
    common: CommonOptions,
) -> None:
    """Mistakes of the perceptron in every epoch, and their upper bound.

    [b]separatrix chart perceptron-mistakes iris --class setosa --out mistakes.png[/b]
    """
    from separatrix import charts

    story, *_, told = given.story(output, common, picture, two=False)
    picture.write(output, charts.perceptron_mistakes(story), told)


@command
def perceptron_path(
    output: Output,
    given: PerceptronOptions,
    picture: SizedPictureOptions,
    common: CommonOptions,
) -> None:
    """Decision boundary of the perceptron, and the path of its two weights.

    [b]separatrix chart perceptron-path iris --class setosa --out path.png[/b]
    """
    from separatrix import charts

    story, X, y, names, told = given.story(output, common, picture, two=True)
    picture.write(output, charts.perceptron_path(story, X, y, names), told)


@command
def perceptron_planes(
    output: Output,
    given: PerceptronOptions,
    picture: SizedPictureOptions,
    common: CommonOptions,
) -> None:
    """Decision boundaries of perceptrons and other models, and their margins.

    [b]separatrix chart perceptron-planes iris --class setosa --axes 0,1 --out planes.png[/b]
    """
    from separatrix import charts

    story, X, y, names, told = given.story(output, common, picture, two=True)
    picture.write(output, charts.perceptron_planes(story, X, y, names), told)


@command
def perceptron_angles(
    output: Output,
    given: PerceptronOptions,
    picture: SizedPictureOptions,
    common: CommonOptions,
) -> None:
    """Angles between the weights of the perceptron and the rows.

    [b]separatrix chart perceptron-angles iris --class setosa --out angles.png[/b]
    """
    from separatrix import charts

    story, *_, told = given.story(output, common, picture, two=False)
    picture.write(output, charts.perceptron_angles(story), told)
