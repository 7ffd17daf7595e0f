"""A grid of configurations over the same data, trained together, kept, compared and judged."""

from separatrix.study.facts import Comparison, DataFacts, Row, StudyFacts, Verdict, Weights

__all__ = ["Comparison", "DataFacts", "Row", "StudyFacts", "Verdict", "Weights"]
