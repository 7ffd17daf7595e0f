"""Where the rows come from."""

from separatrix.data.dataset import Block, Dataset

__all__ = ["Block", "Dataset"]
