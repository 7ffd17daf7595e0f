"""A person starts and watches studies in a real browser; no page has a problem."""

import re
from urllib.parse import quote

import pytest

from separatrix import GradientDescentClassifier, Study
from separatrix.study.store.database import Store
from separatrix.study.store.ownership import live_writer
from support.browser import AXE, OVERFLOW, Opened
from support.lab_pages import SMALL, opened, ready
from support.running_lab import running_lab

PAGES = (
    "/",
    "/new",
    "/studies/rates",
    "/lessons",
    f"/play{SMALL}",
    f"/play{SMALL}&compared=1&loss=hinge",
    "/play#epoch=60",
)


@pytest.mark.slow
def test_a_study_is_started_from_the_form_and_watched_to_its_end(browser, lab):
    with opened(browser, lab, "/new") as page:
        page.select_option("[aria-label='named data']", "wine")
        page.wait_for_selector(".first-rows")
        assert page.texts(".first-rows th")[1] == "alcoholnumbers"
        page.fill("#values-learning_rate", "0.01, 0.1")
        page.fill("#values-epochs", "8000")
        page.fill("#values-l2", "0")
        page.fill("#study-name", "watched")
        page.wait_for_selector("text=4 runs")
        assert re.search(r"about \d+ s", page.inner_text(".plan"))
        page.click("text=start the study")
        page.wait_for_url("**/studies/watched")
        page.wait_for_selector(".plan-of-study")
        assert page.inner_text("h1") == "Separatrix · watched"
        assert page.inner_text(".line-of-progress").startswith("Starting\n4 runs.")
        assert re.search(r"about [\d.]+ (s|min)", page.inner_text(".line-of-progress"))
        assert page.inner_text(".plan-of-study").startswith("wine: ")
        assert page.texts(".plan-of-study li") == ["learning rate: 0.01, 0.1", "momentum: 0, 0.9"]
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


def test_no_control_of_a_study_covers_another(browser, lab):
    with opened(browser, lab, "/studies/rates") as page:
        page.wait_for_selector(".controls .axis")
        boxes = page.evaluate("""
            [...document.querySelectorAll(".controls button, .controls select")].map(node => {
                const { left, top, right, bottom } = node.getBoundingClientRect();
                return [left, top, right, bottom];
            })""")
    assert len(boxes) > 6
    for k, (left, top, right, bottom) in enumerate(boxes):
        for other in boxes[:k]:
            width = min(right, other[2]) - max(left, other[0])
            height = min(bottom, other[3]) - max(top, other[1])
            assert min(width, height) < 2, "only the borders of buttons touch"


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
        assert page.inner_text(".drop").startswith(f"{file['name']} is chosen.")
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


def test_no_page_has_an_accessibility_problem(browser, lab):
    if not AXE.exists():
        pytest.skip(f"axe-core is not installed: npm install --no-save axe-core ({AXE})")
    script = AXE.read_text(encoding="utf-8")
    page = Opened(browser, lab.address("/"), bypass_csp=True)
    found = []
    for path in PAGES:
        page.goto(f"http://{lab.host}{path}")
        page.wait_for_selector(
            {"/new": "select", "/": ".studies"}.get(
                path, ".runs, .plane small:not(:empty), article"
            )
        )
        if path == "/new":
            page.select_option("select", "iris")
            page.wait_for_selector("text=32 runs")
        if path == "/play#epoch=60":
            page.wait_for_selector(".plane .state:not(:empty)")  # the marks, too, are checked
        page.evaluate(script)
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            result = page.evaluate("axe.run({ resultTypes: ['violations'] })")
            found += [
                (path, scheme, one["id"], node["target"], node.get("failureSummary", "")[:300])
                for one in result["violations"]
                for node in one["nodes"][:3]
            ]
    page.context.close()
    assert found == []


def test_pages_fit_a_phone(browser, lab):
    with opened(browser, lab, "/", viewport={"width": 390, "height": 800}) as page:
        for path in PAGES:
            page.goto(f"http://{lab.host}{path}")
            page.wait_for_selector(
                "main :is(td, .row-of-form, .plane small:not(:empty), article, select)"
            )
            assert page.evaluate(OVERFLOW) <= 0, path
