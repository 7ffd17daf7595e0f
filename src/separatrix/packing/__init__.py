"""What is put into files: objects as plain values and arrays, and back with every part checked.

    object  <- schemas.Schema ->  plain values  <- plain_values ->  JSON and named arrays

Model files, checkpoints and studies are all written and read in these two steps. Nothing that a
file holds is ever executed.
"""

from separatrix.packing.plain_values import (
    TREE,
    from_arrays,
    from_json,
    pack,
    to_arrays,
    to_json,
    unpack,
)
from separatrix.packing.schemas import Schema

__all__ = ["TREE", "Schema", "from_arrays", "from_json", "pack", "to_arrays", "to_json", "unpack"]
