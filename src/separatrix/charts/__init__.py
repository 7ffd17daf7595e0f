"""Pictures: one function each, which returns an Altair chart made of plain data.

`save` writes one to a file; a notebook shows it as it is. Every chart has a text summary, its
`description`.
"""

from separatrix.charts.drawing.saving import save, show_as_svg, to_svg
from separatrix.charts.drawing.theme import config, set_theme
from separatrix.charts.lessons.curvature import curvature
from separatrix.charts.lessons.gradient_check import gradient_check
from separatrix.charts.lessons.graph import graph
from separatrix.charts.lessons.likelihood import likelihood
from separatrix.charts.lessons.loss_functions import losses
from separatrix.charts.lessons.perceptron import (
    perceptron_angles,
    perceptron_mistakes,
    perceptron_path,
    perceptron_planes,
)
from separatrix.charts.lessons.pitfalls import large_rate, one_at_a_time, outlier, zero_start
from separatrix.charts.models.boundary import boundary, boundary_frames
from separatrix.charts.models.contributions import contributions
from separatrix.charts.models.data import scatter_matrix, spy
from separatrix.charts.models.learning_curves import learning_curves
from separatrix.charts.models.predictions import calibration, confusion, precision_recall, roc
from separatrix.charts.models.weight_path import weight_path
from separatrix.charts.models.weights import coefficient_path, templates
from separatrix.charts.studies.curves import curves
from separatrix.charts.studies.descent import batches
from separatrix.charts.studies.rates import rates

__all__ = [
    "batches",
    "boundary",
    "boundary_frames",
    "calibration",
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
