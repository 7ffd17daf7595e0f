"""The command line: one file per command, a thin layer over the library.

Commands import numpy and scikit-learn only when they run, so that `--help` is quick.
"""

from __future__ import annotations

from separatrix.cli.app import app
from separatrix.cli.terminal import prepare_streams


def main() -> None:
    """Run the command line."""
    prepare_streams()
    app(prog_name="separatrix")
