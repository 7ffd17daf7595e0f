"""The notebooks of the course run from the first cell to the last, and show what they claim."""

import os
import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

FOLDER = Path(__file__).resolve().parents[2] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

# What each prints or shows, of the numbers in the course's texts.
SHOWN = {
    "1-training-studied": ["0.2369", "0.7154", "0.1699", "0.8469", "2/L = 0.064"],
    "2-perceptron-to-softmax": ["[0.667 1.   ]", "[0.    0.333]", "0.06745 0.18335 0.4984"],
    "3-reference-class-svm-kernels": ["weights of 2 classes for 3", "relative gap"],
    "4-text-and-learning": ["P(good) = 0.12", "[-0.39 -0.32]", "[0.0439 0.5032]", "0.48954"],
    "5-images-margins-gradients": ["606600", "24.6000", "8.4667", "[0.31 0.69 0.  ]", "0.393224"],
}
# The files that a notebook reads where they are there, and what it shows then.
WITH_DATA = {
    "1-training-studied": (
        [f"cs725/binary/{part}_{role}.npy" for part in ("train", "val", "tst") for role in "xy"],
        ["0.4301, / ln 10 = 0.187, printed 0.19"],
    ),
    "3-reference-class-svm-kernels": (
        ["libsvm/a5a", "libsvm/a5a.t"],
        ["0.84222 (+/- 0.01228)", "C = 0.1; on the test rows: 0.845871419283283"],
    ),
    "4-text-and-learning": (["text/sms.tsv"], ["naive-bayes  95.69% of 557 test messages right"]),
}


def shown_by(notebook):
    """All that the cells of a notebook print or show, as text; its pictures as SVG."""
    texts = []
    for cell in notebook.cells:
        for output in cell.get("outputs", []):
            texts += [output["text"]] if "text" in output else map(str, output.data.values())
            assert output.get("name") != "stderr", output["text"]
    return "\n".join(texts)


def run(path, folder):
    """Run a notebook in a folder, and return what it shows; a cell that fails is an error."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=120, kernel_name="python3", resources=resources).execute()
    return shown_by(notebook)


def pages():
    """Every notebook, with the files that it reads, if it is to read some."""
    for path in NOTEBOOKS:
        yield pytest.param(path, SHOWN[path.stem], id=path.stem)
        if path.stem in WITH_DATA:
            files, more = WITH_DATA[path.stem]
            marked = pytest.mark.data(*files)
            yield pytest.param(path, SHOWN[path.stem] + more, id=f"{path.stem}-data", marks=marked)


@pytest.mark.slow
@pytest.mark.parametrize(("path", "expected"), list(pages()))
def test_a_notebook_runs_and_shows_what_the_course_prints(
    path, expected, request, tmp_path, monkeypatch
):
    data = os.environ.get("SEPARATRIX_DATA", "")
    here = request.node.get_closest_marker("data") is not None
    monkeypatch.setenv("SEPARATRIX_DATA", str(Path(data).resolve()) if here else "")
    monkeypatch.setenv("SEPARATRIX_CACHE", str(tmp_path / "cache"))  # nothing fetched before
    folder = tmp_path / "folder"
    folder.mkdir()
    shown = run(path, folder)
    assert [number for number in expected if number not in shown] == []
    assert "All as claimed." in shown
    assert ("not here" in shown) is (not here and path.stem in WITH_DATA)
    assert list(folder.iterdir()) == []  # a teacher's folder stays as it was


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_stored_without_outputs_and_with_names_for_its_cells(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert all(cell.metadata == {} for cell in notebook.cells)
    for cell in notebook.cells:
        assert re.fullmatch(r"[a-z][a-z0-9-]+", cell.id)  # not drawn anew by a program
        if cell.cell_type == "code":
            assert (cell.outputs, cell.execution_count) == ([], None)
    assert path.read_text(encoding="utf-8").endswith("}\n")


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_links_of_a_notebook_lead_to_headings_that_exist(path):
    text = "\n".join(c.source for c in nbformat.read(path, as_version=4).cells)
    links = re.findall(r"\]\(([^)]*)\)", text)
    assert links
    for link in links:
        page, _, heading = link.partition("#")
        lines = (path.parent / page).read_text(encoding="utf-8").splitlines()
        titles = [line.lstrip("# ") for line in lines if line.startswith("#")]
        anchors = [re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-") for title in titles]
        assert not heading or heading in anchors, link


def test_there_is_a_notebook_for_each_of_the_five_texts():
    assert [path.stem for path in NOTEBOOKS] == list(SHOWN)
