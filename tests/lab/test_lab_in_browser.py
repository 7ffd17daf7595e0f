"""A person uses the lab in a real browser: plays, draws, compares, learns, and watches a study."""

import re
from contextlib import contextmanager
from urllib.parse import quote

import pytest

from separatrix import GradientDescentClassifier, Study
from separatrix.study.store.database import Store
from separatrix.study.store.ownership import live_writer
from support.browser import AXE, OVERFLOW, Opened
from support.running_lab import running_lab

SMALL = "#data=blobs&count=50&acrossValues=0.1,1&downValues=0,0.9"
PAGES = ("/", "/new", "/studies/rates", f"/play{SMALL}")


@contextmanager
def opened(browser, lab, path, expected=(), **options):
    """Open a page of the lab; at the end, it must have no error and no request to another place."""
    page = Opened(browser, lab.address("/"), **options)
    try:
        page.goto(f"http://{lab.host}{path}")
        page.wait_for_selector("main")
        yield page
        assert [text for text in page.problems if not any(one in text for one in expected)] == []
        assert all(url.startswith(f"http://{lab.host}/") or url.startswith("data:")
                   for url in page.requests)  # fmt: skip
    finally:
        page.context.close()


def epoch_of(page):
    return int(page.input_value("input[aria-label=epoch]"))


def loss_of(page):
    return float(page.inner_text("td >> nth=0"))


def until(page, condition):
    """Wait for a condition; the policy of the page forbids Playwright's own way to do so."""
    for _ in range(600):
        if page.evaluate(condition):
            return
        page.wait_for_timeout(50)
    raise AssertionError(condition)


def at_epoch(page, epoch):
    until(page, f"document.querySelector('input[aria-label=epoch]')?.value === '{epoch}'")


def ready(page, models):
    until(page, f"document.querySelectorAll('.plane small:not(:empty)').length >= {models}")


def test_a_playground_is_played_stepped_back_and_reset(browser, lab):
    with opened(browser, lab, f"/play{SMALL}") as page:
        ready(page, 4)
        first = loss_of(page)
        page.click("text=▶ play")
        until(page, "Number(document.querySelector('input[aria-label=epoch]').value) > 4")
        page.click("text=❚❚ pause")
        reached = epoch_of(page)
        page.click("text=step")
        at_epoch(page, reached + 1)
        later = loss_of(page)
        assert later < first
        page.click("[aria-label='one epoch back']")
        at_epoch(page, reached)
        assert later < loss_of(page) < first
        assert f"epoch={reached}" in page.evaluate("location.hash")
        page.click("text=reset")
        at_epoch(page, 0)
        assert loss_of(page) == first


def test_the_grid_enlarges_chooses_compares_and_marks_what_fails(browser, lab):
    hash_ = "#data=blobs&count=50&noise=0.5&acrossValues=0.1,10000&downValues=0,0.3&epoch=12&l2=0.1"
    with opened(browser, lab, f"/play{hash_}") as page:
        page.wait_for_selector(".plane.bad")
        states = page.texts(".plane .state")
        assert states[0] == states[2] == ""
        assert {states[1], states[3]} <= {"diverged", "oscillates", "rises"}
        assert page.locator(".plane.best").count() == 1
        title = page.locator(".view h2").first
        assert title.inner_text() == "learning rate 0.1, momentum 0"
        page.hover(".plane >> nth=2")
        assert title.inner_text() == "learning rate 0.1, momentum 0.3"
        page.mouse.move(0, 0)
        assert title.inner_text() == "learning rate 0.1, momentum 0"
        page.click(".plane >> nth=1")
        page.wait_for_selector(".says.bad")
        assert re.match(r"(Diverged|Oscillates|Rises)\.", page.inner_text(".says"))
        page.click(".plane >> nth=0", modifiers=["Shift"])
        assert page.locator(".view:visible").count() == 2
        assert "compared=0" in page.evaluate("location.hash")


def test_points_are_drawn_and_the_address_holds_them(browser, lab):
    with opened(browser, lab, f"/play{SMALL}") as page:
        ready(page, 4)
        before = int(page.inner_text("#summary").split()[0])
        page.click("text=draw…")
        page.click("text=class 2")
        until(page, "location.hash.includes('data=drawn')")
        plane = page.locator(".stack .front").first
        plane.click(position={"x": 30, "y": 40})
        until(page, f"document.querySelector('#summary').textContent.startsWith('{before + 1} ')")
        points = page.evaluate("location.hash").split("points=")[1].split("&")[0]
        hash_ = page.evaluate("location.hash")
        picture = page.locator(".stack canvas").first.screenshot()
    assert points.count("%3B") == before
    with opened(browser, lab, f"/play{hash_}") as page:
        ready(page, 4)
        assert page.inner_text("#summary").startswith(f"{before + 1} points")
        page.wait_for_timeout(200)
        assert page.locator(".stack canvas").first.screenshot() == picture


def test_a_point_is_explained_as_a_graph_and_the_step_in_numbers(browser, lab):
    with opened(browser, lab, f"/play{SMALL}&epoch=5&classes=3") as page:
        ready(page, 4)
        page.wait_for_selector("text=The step after epoch 5, in numbers")
        plane = page.locator(".stack .front").first
        plane.focus()
        plane.press("n")
        plane.press("Enter")
        page.wait_for_selector("svg.graph")
        words = " ".join(page.texts("svg.graph text"))
        assert "sigmoid(z)" in words
        assert page.locator("svg.graph .slope").count() > 3


def test_a_lesson_sets_the_playground_up_and_unfolds_its_answer(browser, lab):
    with opened(browser, lab, "/play") as page:
        page.click("text=Lessons: five guided tours")
        page.locator(".lesson .link").first.click()
        page.wait_for_selector("text=1 of")
        first = page.evaluate("location.hash")
        assert "lesson=1-learning-rate" in first
        assert not page.locator(".lesson details p").first.is_visible()
        page.click(".lesson summary")
        assert page.locator(".lesson details p").first.is_visible()
        page.click(".lesson >> text=next")
        page.wait_for_selector("text=2 of")
        assert page.evaluate("location.hash") != first
        page.click("text=leave the lesson")
        page.wait_for_selector("text=Lessons: five guided tours")


@pytest.mark.slow
def test_a_study_is_started_from_the_form_and_watched_to_its_end(browser, lab):
    with opened(browser, lab, "/new") as page:
        page.select_option("[aria-label='named data']", "wine")
        page.wait_for_selector(".first-rows")
        assert page.texts(".first-rows th")[1] == "alcoholnumbers"
        page.fill("#values-learning_rate", "0.01, 0.1")
        page.fill("#values-epochs", "15000")
        page.fill("#values-l2", "0")
        page.fill("#study-name", "watched")
        page.wait_for_selector("text=4 runs")
        assert re.search(r"about \d+ s", page.inner_text(".plan"))
        page.click("text=start the study")
        page.wait_for_url("**/studies/watched")
        page.wait_for_selector(".runs", timeout=60_000)
        place = page.locator(".runs").bounding_box()["y"]
        page.focus(".runs th button >> nth=1")
        page.wait_for_selector(".progress[data-state=finished]", timeout=60_000)
        assert page.inner_text(".line-of-progress").startswith("Finished")
        assert abs(page.locator(".runs").bounding_box()["y"] - place) < 30  # nothing jumped
        assert page.inner_text(".verdict h2").startswith("Best: learning rate")
        assert page.locator(".runs tbody tr").count() == 4
        assert page.evaluate("document.activeElement.tagName") == "BUTTON"
        assert page.locator(".runs tr.waiting").count() == 0
        page.click("nav >> text=Studies")
        page.wait_for_selector("text=watched")
        row = page.locator("tr", has_text="watched")
        row.locator(".spark path").wait_for(state="attached")
        assert "learning rate" in row.inner_text()


@pytest.mark.slow
def test_an_empty_lab_runs_the_iris_study_and_stops_its_studies_when_it_ends(browser, tmp_path):
    with running_lab(tmp_path / "studies.db") as own:
        with opened(browser, own, "/") as page:
            assert page.inner_text(".empty h2") == "There are no studies yet."
            page.click("text=Run the Iris study now")
            page.wait_for_selector(".progress[data-state=finished]", timeout=60_000)
            assert page.inner_text("h1") == "Separatrix · iris"
        long = {"source": {"name": "iris"}, "name": "long", "values": {"epochs": "1000000"}}
        assert own.json("/api/new", long)[0] == 200
        own.wait_for("long", "running")
        process = own.studies.jobs._jobs["long"].process
    assert process.poll() == 130
    with Store(own.store) as store:
        assert live_writer(store, store.study("long")["id"]) is None


def test_the_form_says_beside_a_field_what_is_wrong(browser, lab):
    with opened(browser, lab, "/new", expected=["400"]) as page:
        page.select_option("[aria-label='named data']", "iris")
        page.wait_for_selector("text=32 runs")
        page.fill("#values-learning_rate", "fast")
        page.wait_for_selector("#problem-learning_rate:has-text('takes numbers')")
        assert page.is_disabled("text=start the study")
        page.fill("#values-learning_rate", "0.1..1/3")
        page.wait_for_selector("text=24 runs")
        assert page.inner_text("#problem-learning_rate") == ""


def test_a_lost_connection_is_said_and_the_page_comes_back(browser, lab):
    with opened(browser, lab, "/", expected=["ERR_", "Failed to load"]) as page:
        page.route("**/events", lambda route: route.abort())
        page.goto(f"http://{lab.host}/studies/rates")
        page.wait_for_selector("text=The connection to the lab is lost")
        page.unroute("**/events")
        page.wait_for_selector(".runs")
        assert page.locator("text=The connection to the lab is lost").count() == 0


def test_names_from_data_are_shown_as_text(browser, lab):
    bad = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    rows = [f"{k % 5},{k % 3},{bad if k % 2 else '</script>'}" for k in range(40)]
    body = "\n".join([f"{bad},{bad}2,{bad}3", *rows]).encode()
    study = Study("hostile", GradientDescentClassifier(epochs=3), {"learning_rate": [0.1, 1.0]},
                  store=lab.store)  # fmt: skip
    table = lab.store.parent / "hostile.csv"
    table.write_bytes(body)
    study.command = f"separatrix study '{bad}'"
    study.run(str(table))
    dialogs = []
    with opened(browser, lab, "/new") as page:
        page.page.on("dialog", lambda dialog: (dialogs.append(dialog.message), dialog.dismiss()))
        file = {"name": f"{quote(bad, safe='')}.csv", "mimeType": "text/csv", "buffer": body}
        page.set_input_files("#file", file)
        page.wait_for_selector(".first-rows")
        assert bad in page.inner_text(".first-rows")
        page.goto(f"http://{lab.host}/studies/hostile")
        page.wait_for_selector(".runs")
        assert bad in page.inner_text("#page")
        page.goto(f"http://{lab.host}/play")
        ready(page, 4)
        with page.page.expect_file_chooser() as chooser:
            page.click("text=my file…")
        chooser.value.set_files(file)
        page.wait_for_selector("text=%3Cimg")
        page.wait_for_selector("option:has-text('two columns')", state="attached")
        assert page.locator("img, script:not([src])").count() == 0
    assert dialogs == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_no_page_has_an_accessibility_problem(browser, lab, scheme):
    if not AXE.exists():
        pytest.skip(f"axe-core is not installed: npm install --no-save axe-core ({AXE})")
    script = AXE.read_text(encoding="utf-8")
    page = Opened(browser, lab.address("/"), bypass_csp=True, color_scheme=scheme)
    found = []
    for path in PAGES:
        page.goto(f"http://{lab.host}{path}")
        page.wait_for_selector({"/new": "select", "/": ".studies"}.get(path, ".runs, .plane"))
        if path == "/new":
            page.select_option("select", "iris")
            page.wait_for_selector("text=32 runs")
        page.evaluate(script)
        result = page.evaluate("axe.run({ resultTypes: ['violations'] })")
        found += [
            (path, one["id"], node["target"], node.get("failureSummary", "")[:300])
            for one in result["violations"]
            for node in one["nodes"][:3]
        ]
    page.context.close()
    assert found == []


def test_pages_fit_a_phone(browser, lab):
    for path in PAGES:
        with opened(browser, lab, path, viewport={"width": 390, "height": 800}) as page:
            page.wait_for_timeout(150)
            assert page.evaluate(OVERFLOW) <= 0, path
