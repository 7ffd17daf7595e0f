"""Pictures: one function each, which returns an Altair chart made of plain data.

`save` writes one to a file; a notebook shows it as it is. Every chart has a text summary, its
`description`.
"""

from separatrix.charts.answers import calibration, confusion, precision_recall, roc
from separatrix.charts.curves import curves
from separatrix.charts.look import config, set_theme
from separatrix.charts.plane import boundary, boundary_frames
from separatrix.charts.rates import rates
from separatrix.charts.saving import save, to_svg
from separatrix.charts.table import scatter_matrix, spy

__all__ = [
    "boundary",
    "boundary_frames",
    "calibration",
    "config",
    "confusion",
    "curves",
    "precision_recall",
    "rates",
    "roc",
    "save",
    "scatter_matrix",
    "set_theme",
    "spy",
    "to_svg",
]
