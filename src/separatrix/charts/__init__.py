"""Charts. Every chart is one function that takes plain data and returns an Altair chart.

Charts of a data set are in `data/`, charts of fitted models in `models/`, and charts of studies in
`studies/`. Charts that explain an idea of the course are in `lessons/`. To add a chart, add a file
to one of these folders and list its function below. `drawing/` holds the code that all charts
share. `save` writes a chart to a file, and notebooks display charts directly. Every chart has a
text summary, its `description`.
"""

from separatrix.charts.data.scatter_matrix import scatter_matrix
from separatrix.charts.data.sparsity import spy
from separatrix.charts.drawing.saving import save, show_as_svg, to_svg
from separatrix.charts.drawing.theme import config, set_theme
from separatrix.charts.lessons.computation_graph import graph
from separatrix.charts.lessons.curvature import curvature
from separatrix.charts.lessons.gradient_check import gradient_check
from separatrix.charts.lessons.likelihood import likelihood
from separatrix.charts.lessons.loss_functions import losses
from separatrix.charts.lessons.perceptron import (
    perceptron_angles,
    perceptron_mistakes,
    perceptron_path,
)
from separatrix.charts.lessons.perceptron_planes import perceptron_planes
from separatrix.charts.lessons.pitfalls import large_rate, one_at_a_time, outlier, zero_start
from separatrix.charts.models.boundary import boundary, boundary_frames
from separatrix.charts.models.certified import certified, optimum_balls
from separatrix.charts.models.certified_search import certified_search
from separatrix.charts.models.coefficient_path import coefficient_path
from separatrix.charts.models.contributions import contributions
from separatrix.charts.models.learning_curves import learning_curves
from separatrix.charts.models.predictions import calibration, confusion, precision_recall, roc
from separatrix.charts.models.weight_images import templates
from separatrix.charts.models.weight_path import weight_path
from separatrix.charts.studies.batch_sizes import batches
from separatrix.charts.studies.parameter_heatmap import rates
from separatrix.charts.studies.training_curves import curves

__all__ = [
    "batches",
    "boundary",
    "boundary_frames",
    "calibration",
    "certified",
    "certified_search",
    "coefficient_path",
    "config",
    "confusion",
    "contributions",
    "curvature",
    "curves",
    "gradient_check",
    "graph",
    "large_rate",
    "learning_curves",
    "likelihood",
    "losses",
    "one_at_a_time",
    "optimum_balls",
    "outlier",
    "perceptron_angles",
    "perceptron_mistakes",
    "perceptron_path",
    "perceptron_planes",
    "precision_recall",
    "rates",
    "roc",
    "save",
    "scatter_matrix",
    "set_theme",
    "show_as_svg",
    "spy",
    "templates",
    "to_svg",
    "weight_path",
    "zero_start",
]
