"""The rows that models are trained on: features, labels and weights."""

from separatrix.data.block import Block
from separatrix.data.block_rows import BlockRows, NotInMemoryError, require_own_labels
from separatrix.data.block_source import (
    FAN_IN,
    BlockFacts,
    BlocksInMemory,
    BlockSource,
    add_in_order,
)
from separatrix.data.block_sums import moments_of_block, pool_moments
from separatrix.data.cutting import current_rows_per_block, rows_per_block
from separatrix.data.dataset import Dataset

__all__ = [
    "FAN_IN",
    "Block",
    "BlockFacts",
    "BlockRows",
    "BlockSource",
    "BlocksInMemory",
    "Dataset",
    "NotInMemoryError",
    "add_in_order",
    "current_rows_per_block",
    "moments_of_block",
    "pool_moments",
    "require_own_labels",
    "rows_per_block",
]
