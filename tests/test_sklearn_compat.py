"""Private names of scikit-learn are imported in one file only."""

import ast
from pathlib import Path

import separatrix

PACKAGE = Path(separatrix.__file__).parent
COMPAT = PACKAGE / "_sklearn_compat.py"


def private_imports(path):
    """What a file imports of scikit-learn that has a leading underscore in its dotted name."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found += [f"{node.module}.{each.name}" for each in node.names]
        elif isinstance(node, ast.Import):
            found += [each.name for each in node.names]
    return [
        name
        for name in found
        if name.split(".")[0] == "sklearn" and any(p.startswith("_") for p in name.split("."))
    ]


def test_only_one_file_imports_private_names_of_scikit_learn():
    files = sorted(PACKAGE.rglob("*.py"))
    assert COMPAT in files
    assert private_imports(COMPAT)
    assert {str(p): private_imports(p) for p in files if p != COMPAT and private_imports(p)} == {}
