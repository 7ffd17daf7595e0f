"""Read what the report draws beyond table and histories."""

from __future__ import annotations

import sqlite3
from typing import Any

from separatrix.study.results.pictures import FailedSteps, StudyPictures, WeightFrames
from separatrix.study.store.database import Store
from separatrix.workflow.pictures.data_sample import DataSample


def read_pictures(store: Store, study: sqlite3.Row, best: int | None) -> StudyPictures:
    """Return the pictures of a study; `best` is the number of its best configuration."""
    found: dict[str, Any] = {}
    for row in store.rows("SELECT * FROM pictures WHERE study = ?", (study["id"],)):
        what = f"the {row['kind']} of {study['name']}"
        found[row["kind"]] = store.values(row["facts"], what), store.arrays(row["arrays"], what)
    return StudyPictures(
        sample=DataSample.from_parts(*found["sample"]) if "sample" in found else None,
        failure=FailedSteps.from_parts(*found["failure"]) if "failure" in found else None,
        **({} if best is None else _of_the_best(store, study, best)),
    )


def _of_the_best(store: Store, study: sqlite3.Row, best: int) -> dict[str, Any]:
    """Return the predictions and the frames of the best configuration, for its first seed."""
    (run, *_) = store.rows(
        "SELECT r.id, r.found, r.val_confusion, r.val_calibration, h.frame_epochs, h.frames "
        "FROM runs r LEFT JOIN histories h ON h.id = r.history "
        "WHERE r.study = ? AND r.configuration = ? ORDER BY r.seed",
        (study["id"], best),
    )
    values = store.values(run["found"], f"run {run['id']}")
    arrays = {
        name: None if run[name] is None else store.array(run[name], f"the {name} of {run['id']}")
        for name in ("val_confusion", "val_calibration", "frame_epochs", "frames")
    }
    frames = None
    if arrays["frames"] is not None and arrays["frame_epochs"] is not None:
        reached = arrays["frame_epochs"] <= values["epochs"]
        frames = WeightFrames(arrays["frame_epochs"][reached], arrays["frames"][reached])
    return {
        "link": values.get("link", ""),
        "confusion": arrays["val_confusion"],
        "calibration": arrays["val_calibration"],
        "frames": frames,
    }
