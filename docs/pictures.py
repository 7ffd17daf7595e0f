"""Draw the pictures of the documentation by running the code on its pages.

    SEPARATRIX_DATA=FOLDER python docs/pictures.py

The code blocks of a page run in order in a temporary folder. Pictures that they save, and that the
page shows, are copied to docs/_static/charts.
"""

import contextlib
import doctest
import io
import os
import re
import shutil
import tempfile
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).resolve().parent
PAGES = [
    DOCS / f"{name}.md"
    for name in (
        "howto/charts",
        "kernels",
        "gradient-step",
        "squared-error",
        "certified",
        "perceptron",
        "generative-discriminative",
    )
]
PICTURES = DOCS / "_static" / "charts"
BLOCK = re.compile(r"^```(?:python|pycon)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"\]\((?:\.\./)?_static/charts/([^)]*)\)")


def code_of(block):
    """Return the code of a block; of an interactive session, without prompts and output."""
    if not block.startswith(">>>"):
        return block
    return "".join(each.source for each in doctest.DocTestParser().get_examples(block))


def draw(page):
    """Run the code of a page and copy the pictures that the page shows."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        namespace = {}
        with contextlib.redirect_stdout(io.StringIO()):
            for block in BLOCK.finditer(page):
                exec(code_of(block[1]), namespace)
        for name in SHOWN.findall(page):
            if name.endswith(".png"):  # a palette of 128 colours: a tenth of the size
                Image.open(name).convert("RGB").quantize(128).save(PICTURES / name, optimize=True)
            else:
                shutil.copy(name, PICTURES / name)
            print(f"{name:24} {(PICTURES / name).stat().st_size / 1000:6.1f} kB")


def main():
    for page in PAGES:
        draw(page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
