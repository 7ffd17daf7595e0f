"""Convert objects to plain values and arrays for files, and restore them with every part checked.

    object  <- schemas.Schema ->  plain values  <- plain_values ->  JSON and named arrays

Model files, checkpoints and studies are all written and read in these two steps. The contents of a
file are never executed.
"""

from separatrix.packing.plain_values import (
    TREE,
    from_arrays,
    from_json,
    not_plain,
    pack,
    to_arrays,
    to_json,
    unpack,
)
from separatrix.packing.schemas import Schema

__all__ = [
    "TREE",
    "Schema",
    "from_arrays",
    "from_json",
    "not_plain",
    "pack",
    "to_arrays",
    "to_json",
    "unpack",
]
