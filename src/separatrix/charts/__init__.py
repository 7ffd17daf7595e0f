"""Pictures: one function each, which returns an Altair chart made of plain data.

`save` writes one to a file; a notebook shows it as it is. Every chart has a text summary, its
`description`.
"""

from separatrix.charts.answers import calibration, confusion, precision_recall, roc
from separatrix.charts.contributions import contributions
from separatrix.charts.curvature import curvature
from separatrix.charts.curves import curves
from separatrix.charts.descent import batches
from separatrix.charts.functions import losses
from separatrix.charts.gradient_check import gradient_check
from separatrix.charts.graph import graph
from separatrix.charts.learning import learning_curves
from separatrix.charts.likelihood import likelihood
from separatrix.charts.look import config, set_theme
from separatrix.charts.perceptron import (
    perceptron_angles,
    perceptron_mistakes,
    perceptron_path,
    perceptron_planes,
)
from separatrix.charts.pitfalls import large_rate, one_at_a_time, outlier, zero_start
from separatrix.charts.plane import boundary, boundary_frames
from separatrix.charts.rates import rates
from separatrix.charts.saving import save, show_as_svg, to_svg
from separatrix.charts.surface import weight_path
from separatrix.charts.table import scatter_matrix, spy
from separatrix.charts.weights import coefficient_path, templates

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
