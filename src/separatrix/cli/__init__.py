"""The command line: one file for every verb, thin over the library.

Nothing here imports scikit-learn or numpy before a verb does its work: help is quick.
"""

from __future__ import annotations

from separatrix.cli.app import app


def main() -> None:
    """Run the command line."""
    app(prog_name="separatrix")
