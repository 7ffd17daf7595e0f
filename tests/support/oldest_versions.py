"""Prints the oldest versions that a pyproject.toml allows, as constraints for pip.

python oldest_versions.py pyproject.toml > oldest.txt
pip install -c oldest.txt '.[test]'
"""

import re
import sys
import tomllib
from pathlib import Path


def oldest_versions(project: dict) -> list[str]:
    """``name==X`` for every ``name>=X`` of the dependencies and of the tests' extras."""
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *extras["test"]]
    for extra in ("parquet", "images", "zstd", "mlflow", "onnx"):
        wanted += extras[extra]
    bounds = (re.match(r"([\w.-]+)>=([\w.]+)", each) for each in wanted)
    return sorted({f"{bound[1]}=={bound[2]}" for bound in bounds if bound})


if __name__ == "__main__":
    with Path(sys.argv[1]).open("rb") as file:
        print(*oldest_versions(tomllib.load(file)["project"]), sep="\n")
