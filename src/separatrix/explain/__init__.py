"""A prediction, a training step or a story of training taken apart, number by number.

Everything here gives plain data: frozen dataclasses with `to_text(width)` for a terminal and
`to_dict()` for a page.
"""

from separatrix.explain.expressions import graph
from separatrix.explain.graphs import Graph, Node
from separatrix.explain.predictions import Contribution, Prediction, Template, prediction
from separatrix.explain.steps import Step, scores, step
from separatrix.explain.weights import Weights, weights

__all__ = [
    "Contribution",
    "Graph",
    "Node",
    "Prediction",
    "Step",
    "Template",
    "Weights",
    "graph",
    "prediction",
    "scores",
    "step",
    "weights",
]
