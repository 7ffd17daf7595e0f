"""The script modules follow the convention by which they are joined, and run as modules too."""

import base64
import json
import re

import pytest

from separatrix.text import number, percent
from separatrix.web import page as shell
from separatrix.web.page import EXPORT, IMPORT, SCRIPTS, in_order, joined_script
from separatrix.web.study_page import study_page

MODULES = sorted(path.stem for path in SCRIPTS.glob("*.js"))
PAGES = [name for name in MODULES if name.endswith("_page")]
FUNCTION = re.compile(r"^(?:export )?(?:async )?function (\w+)\(", re.MULTILINE)
CONSTANTS = re.compile(r"^(?:export )?(?:const|let|class) (.+)", re.MULTILINE)


def text_of(name):
    return (SCRIPTS / f"{name}.js").read_text(encoding="utf-8")


def names_of(text):
    """Return the names that a module defines at its top level."""
    constants = [re.findall(r"(?:^|, )(\w+) =", line) for line in CONSTANTS.findall(text)]
    assert all(constants)
    return FUNCTION.findall(text) + [name for found in constants for name in found]


@pytest.mark.parametrize("name", MODULES)
def test_imports_and_exports_have_the_form_that_is_removed(name):
    text = text_of(name)
    left = EXPORT.sub("", IMPORT.sub("", text))
    assert not re.search(r"^\s*(import|export)\b", left, re.MULTILINE)
    assert text.startswith("/**")  # every module says what it is for
    assert "innerHTML" not in text
    for line in IMPORT.finditer(text):
        wanted = re.search(r"\{ (.+) \}", line[0])[1].split(", ")
        exported = names_of("\n".join(re.findall(r"^export .+", text_of(line[1]), re.MULTILINE)))
        assert set(wanted) <= set(exported), line[0]
        rest = text.replace(line[0], "")
        assert all(re.search(rf"\b{one}\b", rest) for one in wanted), line[0]


def test_names_are_defined_in_one_module_only_except_in_pages_which_are_never_joined():
    owners = {}
    for module in MODULES:
        for name in names_of(text_of(module)):
            owners.setdefault(name, []).append(module)
    assert owners["start"] == PAGES
    shared = {name: found for name, found in owners.items() if len(found) > 1}
    assert {name for name, found in shared.items() if not set(found) <= set(PAGES)} == set()
    assert {"element", "linearScale", "createState"} <= owners.keys()


def test_the_pages_need_every_module_and_each_comes_after_those_it_needs():
    orders = [in_order(page) for page in PAGES]
    assert sorted(set().union(*orders)) == MODULES
    for order in orders:
        for k, name in enumerate(order):
            assert set(IMPORT.findall(text_of(name))) <= set(order[:k])
        assert "</script" not in joined_script(order[-1])


def test_modules_that_import_each_other_are_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(shell, "SCRIPTS", tmp_path)
    for name, other in (("first_of_two", "second_of_two"), ("second_of_two", "first_of_two")):
        (tmp_path / f"{name}.js").write_text(f'import {{ a }} from "./{other}.js";\n')
    with pytest.raises(ValueError, match="first_of_two -> second_of_two -> first_of_two"):
        in_order("first_of_two")


def test_a_running_study_fills_the_page_that_a_server_shows(browser, facts):
    """The modules load one by one, and `update` replaces the data of a study."""
    files = {f"/{path.name}": path for path in SCRIPTS.glob("*.js")}
    context = browser.new_context()
    tab = context.new_page()

    def serve(route):
        path = files.get(route.request.url.removeprefix("http://lab.test"))
        if path is None:
            route.fulfill(content_type="text/html", body="<!doctype html><div id=page></div>")
        else:
            route.fulfill(content_type="text/javascript", body=path.read_text(encoding="utf-8"))

    tab.route("http://lab.test/**", serve)
    tab.goto("http://lab.test/")
    whole = json.loads(json.dumps(study_page(facts)))
    part = json.loads(json.dumps(whole))
    for row in part["rows"][1:]:
        row["kind"], row["last"] = "waiting", [None] * 4
    part["curves"] = {"numbers": [], "thinned": None, "measures": {}}
    part["drawings"] = {}
    counts = tab.evaluate(
        """async ([part, whole]) => {
          const { start } = await import("http://lab.test/study_page.js");
          const root = document.getElementById("page");
          const view = start(root, part);
          const seen = () => [".runs tr.waiting", ".curves path", ".confusion"].map(selector =>
            root.querySelectorAll(selector).length);
          const before = seen();
          view.update(whole);
          return [before, seen()];
        }""",
        [part, whole],
    )
    context.close()
    (waiting, drawn, matrices), (left, lines, found) = counts
    assert waiting > 0
    assert (drawn, matrices, left, found) == (0, 0, 0, 1)
    assert lines == len(facts.rows)


def test_scripts_write_numbers_and_shares_as_the_sentences_do(browser):
    small = [0.0, 0.02905, 1.656e-5, -2.5e-9, 0.0001, 0.00012345, 1.23e-100]
    numbers = [*small, 3.0, 12.34567, 56473.2, 1234567.0, 2.5e9]
    shares = [0.0, 1.0, 0.5, 0.99997, 3e-5, 0.98765]
    text = base64.b64encode((SCRIPTS / "scales.js").read_bytes()).decode()
    context = browser.new_context()
    found = context.new_page().evaluate(
        """async ([address, numbers, shares]) => {
          const { percentage, short } = await import(address);
          return [numbers.map(value => short(value, 4)), shares.map(value => percentage(value))];
        }""",
        [f"data:text/javascript;base64,{text}", numbers, shares],
    )
    context.close()
    assert found == [list(map(number, numbers)), list(map(percent, shares))]
