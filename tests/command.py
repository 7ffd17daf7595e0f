"""Running the command line in process."""

import json

from typer.testing import CliRunner

from separatrix.cli.app import app


def call(*words, code=0):
    """Run a command and return what it printed; the exit code must be this one."""
    found = CliRunner().invoke(app, [str(word) for word in words])
    assert found.exit_code == code, found.output
    return found


def facts(*words, code=0):
    """The facts that a command prints."""
    return json.loads(call(*words, "--json", code=code).stdout)
