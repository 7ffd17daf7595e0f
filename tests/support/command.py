"""Run the command line in process, with two small files for it."""

import json

from typer.testing import CliRunner

from separatrix.cli.app import app

PEOPLE = """\
age,job,hours,income
39,clerk,40,low
50,smith,13,high
38,?,40,low
28,clerk,,high
52,smith,45,high
31,clerk,50,low
42,baker,40,high
37,clerk,80,low
30,smith,40,high
23,baker,30,low
32,clerk,50,low
40,smith,40,high
"""
MAIL = "".join(
    f"{label}\t{text} {k}\n"
    for k in range(10)
    for label, text in [
        ("spam", "win a free phone now, number"),
        ("ham", "are we still on for lunch at"),
    ]
)


def call(*words, code=0, input=None):
    """Run a command and return its output; it must end with the exit code `code`."""
    found = CliRunner().invoke(app, [str(word) for word in words], input=input)
    assert found.exit_code == code, found.output
    return found


def facts(*words, code=0, input=None):
    """Return the JSON output of a command."""
    return json.loads(call(*words, "--json", code=code, input=input).stdout)
