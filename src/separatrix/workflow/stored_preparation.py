"""The preparation that is stored with the rows of a folder of blocks."""

from __future__ import annotations

from typing import Any

import numpy as np

from separatrix.data.on_disk import StoredRows
from separatrix.data.on_disk.array_files import load_array
from separatrix.features.numeric_columns import Numbers
from separatrix.features.preparation import Preparation
from separatrix.features.settings import Settings
from separatrix.matrix import Array
from separatrix.model_files.bundle import Bundle
from separatrix.packing import pack, unpack
from separatrix.packing.schemas import fields_of


def pack_preparation(preparation: Preparation, arrays: dict[str, Array]) -> dict[str, Any]:
    """Return plain values, and add the arrays that they refer to."""
    state, own = preparation.to_state()
    return {
        "state": pack(state, "preparation", arrays),
        "arrays": pack(dict(own), "preparation.arrays", arrays),
    }


def preparation_of(rows: StoredRows) -> Preparation:
    """Return the preparation of rows on disk."""
    files = rows.manifest.arrays
    arrays = {name: load_array(rows.folder / file.name, file) for name, file in files.items()}
    plain = rows.manifest.about.get("preparation")
    try:
        state, own = fields_of(plain, "preparation", "state", "arrays")
        state = unpack(state, "preparation", arrays)
        own = unpack(own, "preparation.arrays", arrays)
        return Preparation.from_state(state, own)
    except ValueError as error:
        raise ValueError(f"{rows.folder}: {error} Convert the source again.") from None


def settings_of(preparation: Preparation) -> Settings:
    """Return settings that say whether all features are standardised."""
    steps = preparation.steps
    return Settings(
        standardise=all(isinstance(step, Numbers) and step.scale is not None for step in steps)
    )


def require_same_preparation(bundle: Bundle, rows: StoredRows) -> None:
    """Raise unless rows on disk were prepared like the training rows of a model."""
    stored, own = preparation_of(rows), bundle.preparation
    if isinstance(own, Preparation) and _same(stored, own):
        return
    raise ValueError(
        f"The rows in {rows.folder} were prepared differently from the training rows of the model: "
        "means, categories or words differ. Use the source that was converted, which the model "
        "prepares itself, or a model that was trained on this folder."
    )


def _same(a: Preparation, b: Preparation) -> bool:
    (plain, arrays), (other, others) = a.to_state(), b.to_state()
    for state in (plain, other):
        state.pop("notes")
    return (
        plain == other
        and arrays.keys() == others.keys()
        and all(np.array_equal(arrays[name], others[name]) for name in arrays)
    )
