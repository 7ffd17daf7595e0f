"""The options of the picture that a chart is written to."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from separatrix.cli.output import Output
from separatrix.cli.writing import ANIMATIONS, PICTURES, check_picture

_PICTURE = "Picture"  # title of the help's panel


@dataclass
class PictureOptions:
    """Options for the file, the title and the theme."""

    out: Annotated[
        Path,
        typer.Option(
            metavar="FILE",
            help="File to write: .png, .svg or .html (.gif for charts with frames).",
            rich_help_panel=_PICTURE,
        ),
    ]
    title: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Title of the chart.", rich_help_panel=_PICTURE),
    ] = None
    theme: Annotated[
        Literal["light", "dark"],
        typer.Option(metavar="NAME", help="Colours: 'light' or 'dark'.", rich_help_panel=_PICTURE),
    ] = "light"

    def check(self, *read: str) -> None:
        """Raise unless the picture can be written, and is none of the files that are read."""
        check_picture(self.out, *read, endings=self.endings())

    def endings(self) -> tuple[str, ...]:
        """Return the endings of the files that this chart can be written to."""
        return PICTURES

    def write(self, output: Output, chart: Any, *about: str) -> None:
        """Write a chart; `about` are sentences that follow its title."""
        from separatrix import charts
        from separatrix.charts.drawing.theme import retitled

        chart = self.sized(retitled(chart, self.title, about))
        charts.save(chart, self.out, theme=self.theme)
        facts = {"out": str(self.out), "description": chart.description}
        output.print_json(facts)
        output.say(f"{chart.description}\nWrote {self.out}.")

    def sized(self, chart: Any) -> Any:
        """Return the chart in the size that was asked for."""
        return chart


@dataclass
class SizedPictureOptions(PictureOptions):
    """Options of a chart whose width can be chosen."""

    width: Annotated[
        int | None,
        typer.Option(
            min=60,
            max=4000,
            metavar="N",
            help="Width of the widest panel in pixels.",
            rich_help_panel=_PICTURE,
        ),
    ] = None

    def sized(self, chart: Any) -> Any:
        from separatrix.charts.drawing.sizes import resized

        return chart if self.width is None else resized(chart, self.width)


@dataclass
class AnimationOptions(SizedPictureOptions):
    """Options of a chart with frames."""

    def endings(self) -> tuple[str, ...]:
        return ANIMATIONS
