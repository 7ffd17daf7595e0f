"""The report of a study is complete, self-contained and consistent with the study's facts."""

import html
import re
import shutil
import subprocess
from dataclasses import replace

import pytest

from separatrix import GradientDescentClassifier, Study
from separatrix.web import report_page, write_report


@pytest.fixture(scope="module")
def facts(tmp_path_factory):
    """Return a study with a best, a worse and a diverged configuration."""
    study = Study(
        "rates",
        GradientDescentClassifier(epochs=30),
        {"learning_rate": [0.01, 0.1, 1e6], "momentum": [0.0, 0.9]},
        store=tmp_path_factory.mktemp("store") / "studies.db",
    )
    return study.run("iris").facts()


@pytest.fixture(scope="module")
def page(facts):
    return report_page(facts)


def words_of(page):
    """Return the visible text of a page."""
    body = re.sub(r"(?s)<(style|script|svg)\b.*?</\1>", "", page)
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<[^>]+>", " ", body)))


@pytest.mark.slow
def test_the_report_has_verdict_table_and_code(facts, page):
    text = words_of(page)
    for sentence in facts.verdict.sentences:
        assert sentence in text
    for row in facts.rows:
        assert f"{row.last['train_loss']:.4f}" in text or row.diverged
    for part in (*facts.objective_words, facts.data.fingerprint, *facts.data.notes):
        assert part in text
    assert "study.run('iris')" in text


def test_the_best_row_is_first_and_diverged_rows_have_their_stop_reason(facts, page):
    kinds = re.findall(r'<tr class="(\w*)">', page)
    assert kinds[0] == "best"
    assert kinds.count("diverged") == sum(row.diverged > 0 for row in facts.rows) > 0
    assert next(row.stopped for row in facts.rows if row.diverged) in page


def test_every_chart_is_present_in_both_themes_with_a_caption(page):
    assert page.count("<figure>") == 3  # loss, accuracy, rate by momentum
    assert page.count("<svg") == 6
    captions = re.findall(r"<figcaption>(.+?)</figcaption>", page)
    assert all(len(caption) > 40 for caption in captions)
    names = re.findall(r' id="([^"]+)"', page)
    assert len(names) == len(set(names))


def test_the_report_loads_nothing(page):
    bare = re.sub(r'xmlns(:\w+)?="[^"]+"', "", page)
    assert not re.search(r"https?:|src=|@import|<link", bare)
    for target in re.findall(r'href="([^"]+)"', bare):
        assert target.startswith(("data:text/csv", "#")), target


def test_text_from_files_is_escaped(facts):
    bad = "<script>alert(1)</script>"
    data = replace(facts.data, name=bad, notes=[bad])
    command = f"separatrix study '{bad}'"
    found = report_page(replace(facts, data=data, notes=[bad], command=command, histories={}))
    assert bad not in found
    assert html.escape(bad, quote=False) in found


def test_a_study_without_validation_rows_or_histories_has_a_report(facts):
    data = replace(facts.data, rows={"train": 100})
    found = report_page(replace(facts, data=data, histories={}))
    assert "<figure>" not in found
    assert "validation" not in re.findall(r"(?s)<thead>.*?</thead>", found)[0]


@pytest.mark.slow
def test_a_report_replaces_an_older_one_and_creates_its_folder(facts, tmp_path):
    place = tmp_path / "reports" / "rates.html"
    assert write_report(facts, place) == place
    first = place.read_bytes()
    write_report(facts, place)
    assert place.read_bytes() == first
    assert [file.name for file in place.parent.iterdir()] == ["rates.html"]


@pytest.mark.slow
@pytest.mark.parametrize("width", [1200, 390])
def test_in_a_browser_nothing_is_wider_than_the_window(page, tmp_path, width):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium to open the page in")
    # A window cannot be as narrow as a phone, but a frame can.
    d = "document.documentElement"
    ask = f"document.body.dataset.over = {d}.scrollWidth - {d}.clientWidth"
    asking = page.replace("</script>", f"{ask}</script>")  # the policy would block this
    asking = re.sub(r"<meta http-equiv[^>]*>", "", asking)
    (tmp_path / "page.html").write_text(asking, encoding="utf-8")
    frame = tmp_path / "frame.html"
    tell = "document.title = f.contentDocument.body.dataset.over"
    frame.write_text(
        f'<iframe id="f" src="page.html" style="width:{width}px;height:900px" '
        f'onload="{tell}"></iframe>'
    )
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files"]
    seen = subprocess.run(
        [browser, *flags, "--virtual-time-budget=5000", "--dump-dom", frame.as_uri()],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    ).stdout
    assert "<title>0</title>" in seen, seen[:500]
