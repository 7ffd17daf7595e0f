"""The rows that models are trained on: features, labels and weights."""

from separatrix.data.block import Block
from separatrix.data.dataset import Dataset

__all__ = ["Block", "Dataset"]
