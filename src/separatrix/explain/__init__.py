"""Explain predictions, training steps and small experiments number by number.

Every function returns a frozen dataclass of plain values. `to_text(width)` formats it for a
terminal, and `to_dict()` returns it as JSON values.
"""

from separatrix.explain.computation_graph.expressions import graph
from separatrix.explain.computation_graph.nodes import Graph, Node
from separatrix.explain.curvature import CurvatureAlong, curvature_along
from separatrix.explain.gradient_check import GradientCheck, check_gradient
from separatrix.explain.likelihoods import Likelihood, LikelihoodAlong, likelihood
from separatrix.explain.model_steps import step_of
from separatrix.explain.perceptron_story import PerceptronStory, Plane
from separatrix.explain.perceptrons import perceptron
from separatrix.explain.pitfalls import (
    Demonstration,
    large_rate,
    one_at_a_time,
    outlier,
    zero_start,
)
from separatrix.explain.predictions import Contribution, Prediction, Template, prediction
from separatrix.explain.steps import Step, scores, step
from separatrix.explain.weights import Weights, weights

__all__ = [
    "Contribution",
    "CurvatureAlong",
    "Demonstration",
    "GradientCheck",
    "Graph",
    "Likelihood",
    "LikelihoodAlong",
    "Node",
    "PerceptronStory",
    "Plane",
    "Prediction",
    "Step",
    "Template",
    "Weights",
    "check_gradient",
    "curvature_along",
    "graph",
    "large_rate",
    "likelihood",
    "one_at_a_time",
    "outlier",
    "perceptron",
    "prediction",
    "scores",
    "step",
    "step_of",
    "weights",
    "zero_start",
]
