"""The option --report: where the page is written, what is printed, and what is refused."""

import json
from pathlib import Path

from support.command import call, facts


def data_of(page):
    """Return the dictionary of a page."""
    text = Path(page).read_text(encoding="utf-8")
    return json.loads(text.split('id="data">')[1].split("</script>")[0])


def test_the_report_has_a_default_name_and_is_named_last(folder):
    text = call("fit", "--report", "people.csv").stdout  # the option takes no other file as its own
    assert text.splitlines()[-1] == "Wrote reports/people-fit.html."
    found = facts("compare", "people.csv", "--report", "page.html")
    assert found["report"] == "page.html"
    assert data_of("page.html")["name"] == "people.csv"
    assert facts("fit", "people.csv")["report"] is None
    call("fit", "people.csv", "--out", "m.sx", "--quiet")
    assert facts("evaluate", "m.sx", "people.csv", "--all", "--report")["report"] == (
        "reports/m-evaluate.html"
    )
    assert data_of("reports/m-evaluate.html")["reproduce"][0]["text"] == (
        "separatrix evaluate m.sx people.csv --all"
    )


def test_a_report_that_cannot_be_written_is_refused_before_the_work_or_told_after_it(folder):
    assert "--report must end in .html. Got 'page.pdf'" in (
        call("fit", "people.csv", "--report=page.pdf", code=2).stderr
    )
    Path("link.html").symlink_to("other.html")
    assert "symbolic link" in call("fit", "people.csv", "--report", "link.html", code=2).stderr
    Path("reports").write_text("a file")
    found = call("fit", "people.csv", "--report", "--json", code=1)
    assert json.loads(found.stdout)["report"] is None
    assert "'reports' for the report could not be created" in found.stderr


def test_a_page_repeats_the_options_that_were_given(folder):
    words = ["--C", "0.1,inf", "--folds", "2", "--seed", "3", "--report"]
    call("search", "people.csv", *words, code=3)  # separable without a penalty
    page = data_of("reports/people-search.html")
    assert page["reproduce"][0]["text"] == (
        "separatrix search people.csv --C 0.1,inf --folds 2 --seed 3"
    )
    code = page["reproduce"][1]["text"]
    assert "load('people.csv', seed=3).part('test')" in code.replace('"', "'")
    assert [row["words"] for row in page["rows"]] == [["0.1"], ["inf"]]
    assert page["rows"][1]["values"] == [None]  # JSON has no infinity


def test_messages_on_a_page_name_the_options_of_the_command_line(folder):
    call("fit", "wine", "--max-iter", "1", "--report", code=3)
    page = data_of("reports/wine-fit.html")
    (found,) = page["diagnoses"]
    assert "--max-iter" in found["remedy"]
    assert "max_iter" not in found["message"] + found["remedy"]
