"""The course notebooks run without errors and show the numbers of the course texts."""

import os
import re
from copy import deepcopy
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

# Numbers from the course texts that each notebook must show.
SHOWN = {
    "1-training-studied": ["0.2369", "0.7154", "0.1699", "0.8469", "0.064"],
    "2-perceptron-to-softmax": ["[0.667 1.   ]", "[0.    0.333]", "0.06745 0.18335 0.4984"],
    "3-reference-class-svm-kernels": ["2 weight vectors for 3 classes", "(relative "],
    "4-text-and-learning": ["P(good) = 0.12", "[-0.39 -0.32]", "[0.0439 0.5032]", "0.48954"],
    "5-images-margins-gradients": ["606600", "24.6000", "8.4667", "[0.31 0.69 0.  ]", "0.393224"],
}
# Files that a notebook reads if they exist, and what it must show in that case.
WITH_DATA = {
    "1-training-studied": (
        [f"cs725/binary/{part}_{role}.npy" for part in ("train", "val", "tst") for role in "xy"],
        ["loss 0.4301, divided by ln 10: 0.187, report: 0.19"],
    ),
    "3-reference-class-svm-kernels": (
        ["libsvm/a5a", "libsvm/a5a.t"],
        ["0.84222 (+/- 0.01228)", "C = 0.1; test accuracy: 0.845871419283283"],
    ),
    "4-text-and-learning": (
        ["text/sms.tsv"],
        ["naive-bayes  test accuracy 95.69% on 557 messages"],
    ),
}


# REMEMBER runs before the first cell that reads data, FORGET before these cells run again.
REMEMBER = "_names = {*globals(), '_names'}"
FORGET = """\
for _name in set(globals()) - _names:
    del globals()[_name]
import os
os.environ["SEPARATRIX_DATA"] = {data!r}
del os
"""


def shown_by(cells):
    """Return everything that the cells print or show as text, with charts as SVG."""
    texts = []
    for cell in cells:
        for output in cell.get("outputs", []):
            texts += [output["text"]] if "text" in output else map(str, output.data.values())
            assert output.get("name") != "stderr", output["text"]
    return "\n".join(texts)


def run(path, folder, data):
    """Run a notebook in a folder and return what it shows without data and with data.

    The cells before the first one that reads data run once. The other cells run twice: the names
    that they defined without data are deleted before the second run. A failing cell is an error.
    """
    notebook = nbformat.read(path, as_version=4)
    cells, again = notebook.cells, []
    if data:
        first = next(k for k, cell in enumerate(cells) if '["here"]' in cell.source)
        again = deepcopy(cells[first:])
        forget = nbformat.v4.new_code_cell(FORGET.format(data=data))
        cells.insert(first, nbformat.v4.new_code_cell(REMEMBER))
        notebook.cells = [*cells, forget, *again]
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    return shown_by(cells), shown_by(again)


def pages():
    """Yield every notebook, and whether it also runs with the files that it reads."""
    for path in NOTEBOOKS:
        if path.stem in WITH_DATA:
            mark = pytest.mark.data(*WITH_DATA[path.stem][0])
            yield pytest.param(path, True, id=f"{path.stem}-data", marks=mark)
        if path.stem not in WITH_DATA or not os.environ.get("SEPARATRIX_DATA"):
            yield pytest.param(path, False, id=path.stem)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "with_data"), list(pages()))
def test_notebook_runs_and_shows_the_numbers_of_the_course(path, with_data, tmp_path, monkeypatch):
    data = str(Path(os.environ["SEPARATRIX_DATA"]).resolve()) if with_data else ""
    monkeypatch.setenv("SEPARATRIX_DATA", "")
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "cache"))  # nothing fetched before
    folder = tmp_path / "folder"
    folder.mkdir()
    shown, shown_with_data = run(path, folder, data)
    assert [number for number in SHOWN[path.stem] if number not in shown] == []
    assert "All checks passed." in shown
    assert ("not found" in shown) is (path.stem in WITH_DATA)
    if with_data:
        expected = WITH_DATA[path.stem][1]
        assert [number for number in expected if number not in shown_with_data] == []
        assert "All checks passed." in shown_with_data
        assert "not found" not in shown_with_data
    assert list(folder.iterdir()) == []  # a notebook leaves no files behind


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_is_stored_without_outputs_and_with_named_cells(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert all(cell.metadata == {} for cell in notebook.cells)
    for cell in notebook.cells:
        assert re.fullmatch(r"[a-z][a-z0-9-]+", cell.id)  # written by hand, not generated
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)
    assert path.read_text(encoding="utf-8").endswith("}\n")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebook_links_point_to_existing_headings(path):
    text = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells)
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert links
    for link in links:
        page, _, heading = link.partition("#")
        lines = (path.parent / page).read_text(encoding="utf-8").splitlines()
        titles = [line.lstrip("# ") for line in lines if line.startswith("#")]
        anchors = [re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles]
        assert not heading or heading in anchors, link


def test_every_course_text_has_a_notebook():
    assert [path.stem for path in NOTEBOOKS] == list(SHOWN)
