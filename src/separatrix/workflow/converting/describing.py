"""What a folder of blocks contains, as plain values."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from separatrix.data.on_disk import check_files, read_manifest
from separatrix.data.on_disk.memory import bytes_in_words


def describe_folder(
    folder: Path, *, check: bool = False, on_file: Callable[[int], None] | None = None
) -> dict[str, Any]:
    """Return blocks, rows, types and checksums of a folder.

    With `check`, the checksum of every file is compared first; `on_file` is called with its size.
    """
    manifest = read_manifest(folder)
    if check:
        check_files(folder, manifest, on_file)
    parts = []
    for part, blocks in manifest.parts.items():
        parts.append(
            {
                "part": part,
                "rows": manifest.rows(part),
                "blocks": len(blocks),
                "rows_per_block": max(block.rows for block in blocks),
                "bytes": sum(block.size for block in blocks),
                "size": bytes_in_words(sum(block.size for block in blocks)),
            }
        )
    return {
        "folder": str(folder),
        "name": manifest.about.get("name", folder.name),
        "rows": sum(part["rows"] for part in parts),
        "columns": manifest.about.get("columns", manifest.features),
        "features": manifest.features,
        "classes": manifest.classes,
        "parts": {part["part"]: part["rows"] for part in parts},
        "fingerprint": manifest.fingerprint,
        "type": manifest.dtype,
        "sparse": manifest.sparse,
        "weighted": manifest.weighted,
        "notes": manifest.about.get("notes", []),
        "parts_on_disk": parts,
        "total": bytes_in_words(sum(file.size for file in manifest.files)),
        "checked": check,
        "files": len(manifest.files),
    }
