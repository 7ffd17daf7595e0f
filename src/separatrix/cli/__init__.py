"""The command line: one file for every command, thin over the library.

Nothing here imports scikit-learn or numpy before a command does its work: help is quick.
"""

from __future__ import annotations

from separatrix.cli.app import app
from separatrix.cli.terminal import prepare_streams


def main() -> None:
    """Run the command line."""
    prepare_streams()
    app(prog_name="separatrix")
