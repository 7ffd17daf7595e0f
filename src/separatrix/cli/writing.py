"""Checks of output files, which run before any work, and the writing of these files."""

import os
from collections.abc import Callable
from pathlib import Path

from separatrix.cli.command_decorator import UsageError

PICTURES = (".png", ".svg", ".html")
ANIMATIONS = (*PICTURES, ".gif")


def check_picture(out: Path | None, *read: str, endings: tuple[str, ...] = PICTURES) -> None:
    """Raise unless a picture can be written to this file."""
    if out is not None and out.suffix.lower() not in endings:
        raise UsageError(
            f"--out must end in one of {', '.join(endings)}. Got {out.name!r} instead."
        )
    check_out(out, *read)


def check_out(out: Path | None, *read: str) -> None:
    """Raise if a file cannot be written, or is one of the files that are read."""
    if out is None:
        return
    from separatrix.files import is_protected

    if out.is_dir():
        raise UsageError(f"--out must be a file, and {out} is a folder. Name a file in it.")
    check_link(out)
    if not out.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {str(out.parent)!r} to write {out.name} to.")
    if is_protected(out) or not os.access(out if out.exists() else out.absolute().parent, os.W_OK):
        raise UsageError(f"{out} is not writable. Name another file, or change its permissions.")
    for source in read if out.exists() else ():
        if any(_is_in(out, path) for path in _paths(source)):
            raise UsageError(
                f"--out {out} would overwrite a file of the source {source}. Name another file."
            )


def check_link(out: Path) -> None:
    """Raise if a file is a symbolic link."""
    from separatrix.files import link_refusal

    if refusal := link_refusal(out):
        raise UsageError(refusal)


def _paths(source: str) -> list[Path]:
    """Return the files of a source, or its folder."""
    from separatrix.readers import describe, names

    if source in names():
        return [Path(file["found"]) for file in describe(source)["files"] if file["found"]]
    return [path for path in [Path(source).expanduser()] if path.exists()]


def _is_in(out: Path, source: Path) -> bool:
    """Return whether a file is the source or is inside its folder."""
    return out.samefile(source) or source.resolve() in out.resolve().parents


def try_to_write(out: Path | None, write: Callable[[Path], None]) -> OSError | None:
    """Write a file if there is one; return an error, to be raised after the report."""
    try:
        if out is not None:
            write(out)
    except OSError as error:
        return error
    return None
