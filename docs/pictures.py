"""Draw the pictures of the pages on charts and on kernels by their own code.

    SEPARATRIX_DATA=FOLDER python docs/pictures.py

The blocks of a page are run in order in a folder of their own; what they save and the page shows is
copied to docs/_static/charts.
"""

import os
import re
import shutil
import tempfile
from pathlib import Path

from PIL import Image

DOCS = Path(__file__).resolve().parent
PAGES = (DOCS / "howto" / "charts.md", DOCS / "kernels.md")
PICTURES = DOCS / "_static" / "charts"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"\]\((?:\.\./)?_static/charts/([^)]*)\)")


def draw(page):
    """Run the code of a page, and keep the pictures that it shows."""
    PICTURES.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        namespace = {}
        for block in BLOCK.finditer(page):
            exec(block[1], namespace)
        for name in SHOWN.findall(page):
            if name.endswith(".png"):  # few colours are all it has, and a tenth of the size
                Image.open(name).convert("RGB").quantize(128).save(PICTURES / name, optimize=True)
            else:
                shutil.copy(name, PICTURES / name)
            print(f"{name:24} {(PICTURES / name).stat().st_size / 1000:6.1f} kB")


def main():
    for page in PAGES:
        draw(page.read_text(encoding="utf-8"))


if __name__ == "__main__":
    main()
