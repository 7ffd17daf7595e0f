"""Files that a reader drops on the page of a new study: kept for a while, or beside the store."""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
from collections import OrderedDict
from pathlib import Path

from separatrix.errors import ParameterError
from separatrix.files import replace_file
from separatrix.lab.plays import ENDINGS

MOST_FILES = 8
FOLDER = "separatrix-files"  # beside the store


class StudyFiles:
    """Uploaded files by their key, which is a safe name made from name and contents."""

    def __init__(self, store: Path) -> None:
        self.folder = store.resolve().parent / FOLDER
        self._temporary = tempfile.TemporaryDirectory(prefix="separatrix-")
        self._keys: OrderedDict[str, Path] = OrderedDict()

    def add(self, name: str, content: bytes) -> str:
        """Keep a file for a while and return its key."""
        stem, ending = os.path.splitext(os.path.basename(name.replace("\\", "/")))
        if ending.lower() not in ENDINGS:
            raise ParameterError(
                f"The lab reads files that end in {', '.join(ENDINGS)}. Got a name that ends in "
                f"{ending[:20]!r}.",
                parameter="name",
            )
        safe = re.sub(r"[^\w.-]+", "-", stem).strip("-._")[:60] or "data"
        digest = hashlib.sha256(content).hexdigest()[:8]
        key = f"{safe}-{digest}{ending.lower()}"
        path = Path(self._temporary.name) / digest / f"{safe}{ending.lower()}"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
        self._keys[key] = path
        self._keys.move_to_end(key)
        while len(self._keys) > MOST_FILES:
            self._keys.popitem(last=False)[1].unlink(missing_ok=True)
        return key

    def path(self, key: str) -> Path:
        """Return the place of a file that was added."""
        if key not in self._keys:
            raise ParameterError(
                "The lab no longer has this file. Choose it again.", parameter="file"
            )
        return self._keys[key]

    def keep(self, key: str) -> str:
        """Copy a file to the folder beside the store, so that its study can be resumed later."""
        path = self.path(key)
        place = self.folder / path.parent.name / path.name
        if not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            replace_file(place, path.read_bytes())
        return str(place)

    def close(self) -> None:
        """Remove the files that were not kept."""
        self._temporary.cleanup()
