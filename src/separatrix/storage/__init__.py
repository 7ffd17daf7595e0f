"""How models lie in a file: plain values as JSON, arrays beside them, nothing that runs."""

from separatrix.storage.container import FORMAT, read, refusal, write
from separatrix.storage.files import is_protected, link_refusal, replace_file
from separatrix.storage.values import pack, unpack

__all__ = [
    "FORMAT",
    "is_protected",
    "link_refusal",
    "pack",
    "read",
    "refusal",
    "replace_file",
    "unpack",
    "write",
]
