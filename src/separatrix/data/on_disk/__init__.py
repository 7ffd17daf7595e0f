"""Blocks of rows in files: a manifest, arrays with checksums, and passes that read them."""

from separatrix.data.on_disk.array_files import BlockFileError
from separatrix.data.on_disk.manifest import Manifest, is_block_folder, read_manifest
from separatrix.data.on_disk.stored_rows import StoredRows, check_files, open_rows

open = open_rows  # its name in the package separatrix

__all__ = [
    "BlockFileError",
    "Manifest",
    "StoredRows",
    "check_files",
    "is_block_folder",
    "open",
    "open_rows",
    "read_manifest",
]
