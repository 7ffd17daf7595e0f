"""Files that commands write: checked before any work, written before the report."""

import os
from collections.abc import Callable
from pathlib import Path

from separatrix.cli.command_decorator import UsageError

PICTURES = (".png", ".svg", ".html")


def check_picture(out: Path | None, *read: str) -> None:
    """Refuse a file that no picture can be written to."""
    if out is not None and out.suffix.lower() not in PICTURES:
        raise UsageError(
            f"--out takes a file that ends in {', '.join(PICTURES)}. Got {out.name!r}."
        )
    check_out(out, *read)


def check_out(out: Path | None, *read: str) -> None:
    """Refuse a file that cannot be written, or that is one of those that are read."""
    if out is None:
        return
    from separatrix.files import is_protected

    if out.is_dir():
        raise UsageError(f"--out takes a file, and {out} is a folder. Name a file in it.")
    check_link(out)
    if not out.absolute().parent.is_dir():
        raise UsageError(f"There is no folder {str(out.parent)!r} to write {out.name} to.")
    if is_protected(out) or not os.access(out if out.exists() else out.absolute().parent, os.W_OK):
        raise UsageError(f"{out} may not be written. Name another file, or change its rights.")
    for source in read if out.exists() else ():
        if any(_is_in(out, path) for path in _paths(source)):
            raise UsageError(
                f"--out {out} would overwrite what is read from {source}. Name another file."
            )


def check_link(out: Path) -> None:
    """Refuse a symbolic link."""
    from separatrix.files import link_refusal

    if refusal := link_refusal(out):
        raise UsageError(refusal)


def _paths(source: str) -> list[Path]:
    """The files that a source is read from, or the folder of them."""
    from separatrix.readers import describe, names

    if source in names():
        return [Path(file["found"]) for file in describe(source)["files"] if file["found"]]
    return [path for path in [Path(source).expanduser()] if path.exists()]


def _is_in(out: Path, source: Path) -> bool:
    """Whether a file is the source, or one of the files of a folder that is."""
    return out.samefile(source) or source.resolve() in out.resolve().parents


def try_to_write(out: Path | None, write: Callable[[Path], None]) -> OSError | None:
    """Write a file if one is asked for; an error is returned, to be raised after the report."""
    try:
        if out is not None:
            write(out)
    except OSError as error:
        return error
    return None
