"""The list of all kinds of charts."""

import typer

from separatrix.cli.charts import lessons, of_data, of_models, of_studies, perceptrons
from separatrix.cli.command_decorator import add_command

# The kinds of charts, by the argument that they need. The name of a function of the library is the
# name of its kind. To add a chart, add its function here: help and tests follow.
KINDS = {
    "Data: chart KIND SOURCE --out FILE": (
        of_data.scatter_matrix,
        of_data.spy,
        of_data.learning_curves,
        of_data.coefficient_path,
        of_data.certified_search,
        of_data.weight_path,
        of_data.boundary_frames,
        perceptrons.perceptron_mistakes,
        perceptrons.perceptron_path,
        perceptrons.perceptron_planes,
        perceptrons.perceptron_angles,
    ),
    "Models: chart KIND MODEL SOURCE --out FILE": (
        of_models.boundary,
        of_models.templates,
        of_models.contributions,
        of_models.step,
        of_models.likelihood,
        of_models.confusion,
        of_models.roc,
        of_models.precision_recall,
        of_models.calibration,
        of_models.certified,
    ),
    "Studies: chart KIND STUDY --out FILE": (
        of_studies.curves,
        of_studies.rates,
        of_studies.batches,
    ),
    "Lessons: chart KIND --out FILE, chart graph EXPRESSION --out FILE": (
        lessons.losses,
        lessons.optimum_balls,
        lessons.graph,
        lessons.gradient_check,
        lessons.curvature,
        lessons.large_rate,
        lessons.one_at_a_time,
        lessons.outlier,
        lessons.zero_start,
    ),
}


def chart_commands() -> typer.Typer:
    """Return an application with one command for every kind."""
    app = typer.Typer(rich_markup_mode="rich")
    for panel, kinds in KINDS.items():
        for kind in kinds:
            add_command(app, kind, panel)
    return app
