"""A reader can sort, filter, highlight and print the report, tested in a real browser."""

import re
from dataclasses import replace

import pytest

from separatrix.web import write_report
from support.browser import OVERFLOW, violations

ROWS = ".runs tbody tr"
COLUMN = ".runs tbody td:nth-child({})"


def column(page, label):
    """Return the texts of a column of the table."""
    heads = page.texts(".runs th .printed")
    return page.texts(COLUMN.format(heads.index(label) + 2))


def numbers(texts):
    return [float(text.replace(",", "").replace(" %", "")) for text in texts if text != "–"]


def curve(page, selector):
    """Return the attribute `d` of the first path of a chart."""
    return page.get_attribute(f".curves-figure {selector}", "d")


def test_the_page_shows_the_verdict_and_the_best_row_first(open_page, pages, facts):
    with open_page(pages["rates"]) as page:
        assert [
            text.removesuffix(" show why") for text in page.texts(".verdict h2, .verdict p")
        ] == [" ".join(sentence.split()) for sentence in facts.verdict.sentences]
        assert page.texts(ROWS)[0].startswith("● best")
        best = facts.rows[facts.verdict.best]
        assert f"{best.last['val_loss']:.4f}" in page.texts(ROWS)[0]
        assert page.locator(".verdict").bounding_box()["y"] < 150
        chart = page.locator(".curves-figure svg").bounding_box()
        assert chart["width"] > 500


def test_a_click_on_a_heading_sorts_and_the_best_row_stays_on_top(open_page, pages):
    with open_page(pages["rates"], "#all=1") as page:
        head = page.locator(".runs th button", has_text="validation loss")
        head.click()
        assert page.locator(".runs th[aria-sort=ascending]").count() == 1
        found = numbers(column(page, "validation loss"))
        assert found[1:] == sorted(found[1:])
        assert page.texts(ROWS)[0].startswith("● best")
        head.click()
        found = numbers(column(page, "validation loss"))
        assert found[1:] == sorted(found[1:], reverse=True)
        head.press("Enter")  # the third time restores the order of merit
        assert page.locator(".runs th[aria-sort]").count() == 0


FILTERS = {
    "momentum = 0.9": lambda row: row.parameters["momentum"] == 0.9,
    "rate = 0.05..1 and epochs >= 40": lambda row: (
        row.parameters["learning_rate"] == 0.1 and row.parameters["epochs"] >= 40
    ),
    "validation loss < 0.6": lambda row: row.last["val_loss"] < 0.6,
    "accuracy > 90, momentum != 0": lambda row: (
        row.last["val_accuracy"] > 0.9 and row.parameters["momentum"] != 0
    ),
    "diverged": lambda row: row.diverged > 0,
    "no such word": lambda row: False,
}


def test_the_filter_selects_rows_and_curves(open_page, pages, facts):
    best = facts.rows[facts.verdict.best]
    with open_page(pages["rates"], "#all=1") as page:
        for text, holds in FILTERS.items():
            wanted = sum(map(bool, map(holds, facts.rows)))
            page.fill("#filter", text)
            note = page.inner_text("#filter-note")
            assert note == f"{wanted} of {len(facts.rows)} configurations", text
            assert page.locator(".curves-figure .curves path").count() == wanted
            assert page.locator(ROWS).count() == wanted + (0 if holds(best) else 1)


def test_a_filter_with_an_unknown_column_says_which_columns_there_are(open_page, pages):
    with open_page(pages["rates"]) as page:
        page.fill("#filter", "speed = 3")
        assert "There is no column “speed”. The columns: learning rate" in page.inner_text(
            "#filter-note"
        )
        assert page.get_attribute("#filter", "aria-invalid") == "true"
        page.fill("#filter", "momentum < x")
        assert "needs a number" in page.inner_text("#filter-note")


def test_rows_and_curves_highlight_each_other(open_page, pages, facts):
    with open_page(pages["rates"]) as page:
        before = page.locator(".curves-figure .line").count()
        row = page.locator(f"{ROWS}:nth-child(3)")
        number = row.get_attribute("data-number")
        row.locator("td").nth(2).click()
        page.mouse.move(0, 0)
        assert page.locator(".curves-figure .line").count() == before + 1
        chosen = page.locator(f"{ROWS}.chosen")
        assert chosen.get_attribute("data-number") == number
        assert chosen.locator("button").get_attribute("aria-pressed") == "true"
        assert page.locator(f"{ROWS}:nth-child(2)").get_attribute("data-number") == number  # on top
        assert facts.rows[int(number)].observations[0][:40] in page.inner_text(".details")
        chosen.locator("button").press("Enter")
        assert page.locator(".curves-figure .line").count() == before

        svg = page.locator(".curves-figure svg").first
        svg.scroll_into_view_if_needed()
        place = svg.bounding_box()
        end = [
            float(x) for x in re.findall(r"[\d.]+", curve(page, ".curves:not(.failed) path"))[-2:]
        ]
        svg.hover(position={"x": end[0] - 2, "y": end[1]})
        tip = page.inner_text(".tip")
        for name in ("learning rate", "momentum", "epochs", "training loss", "validation accuracy"):
            assert name in tip
        page.mouse.click(place["x"] + end[0] - 2, place["y"] + end[1])
        assert page.locator(f"{ROWS}.chosen").count() == 1


def test_curves_change_colour_axes_measure_and_panels(open_page, pages):
    with open_page(pages["rates"]) as page:
        first = curve(page, ".curves:not(.failed) path")
        page.select_option("text=colour by >> select", "momentum")
        assert "color-mix" in page.get_attribute(".curves:not(.failed) path", "style")
        assert "0.9" in page.inner_text(".curves-figure .legend")
        assert page.locator(".swatch").count() > 0
        page.click(".curves-figure >> text=accuracy")
        assert page.inner_text(".curves-figure h3") == "Validation accuracy by epoch"
        second = curve(page, ".curves:not(.failed) path")
        page.click(".curves-figure >> text=loss")
        page.click(".curves-figure [aria-label='Vertical axis'] >> text=linear")
        third = curve(page, ".curves:not(.failed) path")
        page.click(".curves-figure [aria-label=Epochs] >> text=log")
        assert len({first, second, third, curve(page, ".curves:not(.failed) path")}) == 4
        page.click(".curves-figure >> text=both")
        assert (
            page.locator(".line.training").count() == page.locator(".line.validation").count() == 1
        )
        page.select_option("text=split by >> select", "momentum")
        assert page.texts(".curves-figure h4") == ["momentum 0", "momentum 0.9"]


def test_a_diverged_run_leaves_the_picture_and_does_not_stretch_it(open_page, pages, facts):
    sane = [row.number for row in facts.rows if not row.diverged]
    highest = max(facts.histories[number][0]["val_loss"].max() for number in sane)
    with open_page(pages["rates"], "#y=linear") as page:
        ticks = numbers(page.texts(".curves-figure .tick[text-anchor=end]"))
        assert max(ticks[:-1]) < 1.2 * highest  # the last one is that of the epochs
        crosses = page.texts(".curves-figure .cross title")
        assert any(facts.rows[k].stopped in crosses[0] for k in set(range(18)) - set(sane))
        assert page.locator(".failed path").count() == sum(row.diverged > 0 for row in facts.rows)
        caption = page.inner_text(".curves-figure figcaption")
        assert "diverged: drawn in red up to the cross" in caption


def test_the_map_marks_diverged_cells_the_best_and_the_stable_rates(open_page, pages):
    with open_page(pages["rates"]) as page:
        assert page.texts(".map td.diverged") == ["diverged", "diverged"]
        assert page.locator(".map td.best").count() == 1
        assert page.locator(".map td.limit").count() == 2  # one for each momentum
        page.locator(".map td button").first.click()
        assert page.locator(f"{ROWS}.chosen").count() == 1
        page.select_option(".map-figure >> text=across >> select", "epochs")
        assert page.texts(".map thead th")[1:] == ["10", "40", "60"]


def test_the_map_tells_the_best_configuration_from_its_cell(open_page, facts, tmp_path):
    best = facts.rows[facts.verdict.best]
    same = [
        row for row in facts.rows
        if row.parameters | {"epochs": 0} == best.parameters | {"epochs": 0}
    ]  # fmt: skip
    worse = max(same, key=lambda row: row.last["val_loss"])
    rows = [replace(row, mark="best" if row is worse else "") for row in facts.rows]
    other = replace(facts, rows=rows, verdict=replace(facts.verdict, best=worse.number))
    with open_page(write_report(other, tmp_path / "other.html")) as page:
        caption = page.inner_text(".map-figure figcaption")
    assert "Green: the cell of the best configuration, which itself has" in caption


def test_losses_of_different_kinds_are_not_ranked_in_charts(open_page, facts, tmp_path):
    kinds = [("softmax", 0.5), ("hinge", None), ("hinge", None)]
    rows = [
        replace(row, parameters=row.parameters | {"loss": name}, val_log_loss=value)
        for row, (name, value) in zip(facts.rows, kinds * len(facts.rows))
    ]
    unlike = replace(facts, rows=rows, grid=facts.grid | {"loss": ["softmax", "hinge"]})
    with open_page(write_report(unlike, tmp_path / "unlike.html")) as page:
        for caption in page.texts(".curves-figure figcaption, .map-figure figcaption"):
            assert "The loss functions differ" in caption
            assert "Lowest" not in caption
        assert any("validation log-loss" in head for head in page.texts("thead th"))


def test_the_most_important_failure_is_explained_with_its_steps(open_page, pages, facts):
    number = facts.pictures.failure.number
    with open_page(pages["rates"]) as page:
        assert facts.rows[number].observations[0] in page.inner_text("#why")
        assert page.locator("#why .step").count() == len(facts.pictures.failure.epochs)
        page.click("text=show why")
        assert page.evaluate("document.getElementById('why').getBoundingClientRect().top") < 900
        page.click("text=show its curve")
        assert page.locator(f"{ROWS}.chosen").get_attribute("data-number") == str(number)


def test_the_slider_moves_the_boundary_through_the_epochs(open_page, pages, plane_facts):
    pixels = "document.querySelector('.stage canvas').toDataURL()"
    with open_page(pages["plane"]) as page:
        last = page.evaluate(pixels)
        assert page.inner_text("output").startswith("epoch 30:")
        page.locator("#epoch").press("Home")
        assert page.inner_text("output").startswith("epoch 1:")
        assert page.evaluate(pixels) != last
        assert "frame=0" in page.evaluate("location.hash")
        page.click("text=play")
        page.locator("output").filter(has_not_text="epoch 1:").wait_for()
        page.click("text=pause")
        page.locator("#epoch").press("End")
        assert page.evaluate(pixels) == last
        assert page.locator(".point.hollow").count() == plane_facts.data.rows["validation"]


def test_weights_of_images_are_images(open_page, pages):
    with open_page(pages["images"]) as page:
        assert page.locator(".weights-figure canvas").count() == 10
        assert page.locator(".sample-figure canvas").count() == 20


def test_the_address_restores_what_was_chosen(open_page, pages):
    seen = """[...document.querySelectorAll('.runs, select, #filter, .curves-figure .picture')]
      .map(one => one.value ?? one.innerHTML).join()"""
    with open_page(pages["rates"]) as page:
        page.fill("#filter", "epochs > 10")
        page.locator(".runs th button", has_text="momentum").click()
        page.select_option("text=colour by >> select", "epochs")
        page.click(".curves-figure [aria-label='Vertical axis'] >> text=linear")
        page.locator(f"{ROWS}:nth-child(4) button").click()
        page.mouse.move(0, 0)
        address, expected = page.evaluate("location.hash"), page.evaluate(seen)
    with open_page(pages["rates"]) as page:
        page.evaluate(f"location.hash = {address!r}")
        page.wait_for_selector(".chosen")
        assert page.evaluate(seen) == expected
    with open_page(pages["rates"], address) as page:
        assert page.evaluate(seen) == expected


def test_the_table_can_be_copied_and_downloaded(open_page, pages, facts):
    with open_page(pages["rates"], permissions=["clipboard-read", "clipboard-write"]) as page:
        page.fill("#filter", "momentum = 0.9")
        with page.expect_download() as waiting:
            page.click("text=CSV")
        lines = waiting.value.path().read_text().splitlines()
        assert waiting.value.suggested_filename == "rates.csv"
        assert lines[0].startswith("learning_rate,momentum,epochs,train_loss,")
        assert len(lines) == 1 + sum(row.parameters["momentum"] == 0.9 for row in facts.rows)
        page.click("[aria-label=Configurations] >> text=copy")
        page.wait_for_selector("text=copied")
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.splitlines()[0].split("\t")[:3] == ["learning_rate", "momentum", "epochs"]


def test_print_unfolds_everything_and_the_screen_folds_it_again(open_page, pages, facts):
    def seen():
        return page.locator(ROWS).count(), page.locator("details[open]").count()

    with open_page(
        pages["rates"], color_scheme="dark", viewport={"width": 720, "height": 900}
    ) as page:
        before = seen()
        page.emulate_media(media="print")
        page.locator(f"{ROWS}:nth-child({len(facts.rows)})").wait_for(state="attached")
        assert page.locator("details:not([open]):not([hidden])").count() == 0
        assert page.evaluate(OVERFLOW) == 0
        boxes = page.eval_on_selector_all(
            ".scroll",
            "all => all.filter(one => one.scrollWidth > one.parentNode.clientWidth + 1).length",
        )
        assert boxes == 0
        assert (
            page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        )
        assert "data" in page.get_attribute("details table", "class")
        page.emulate_media(media="screen")
        page.locator("details[open]").first.wait_for(state="detached")
        assert seen() == before


@pytest.mark.parametrize("name", ["rates", "plane", "images", "many"])
def test_nothing_is_wider_than_the_window(open_page, pages, name):
    with open_page(pages[name], "#columns=all", viewport={"width": 390, "height": 844}) as page:
        assert page.evaluate(OVERFLOW) == 0
        page.set_viewport_size({"width": 1280, "height": 900})
        assert page.evaluate(OVERFLOW) == 0


def test_a_thousand_configurations_have_pages_and_faded_curves(open_page, pages):
    with open_page(pages["many"]) as page:
        assert page.inner_text("#filter-note") == "1,000 of 1,000 configurations"
        assert page.locator(ROWS).count() < 15
        first = page.texts(ROWS)
        page.click("text=next")
        assert page.texts(ROWS)[0] == first[0]  # the best row
        assert page.texts(ROWS)[1:] != first[1:]
        assert float(page.get_attribute(".curves:not(.failed)", "stroke-opacity")) < 0.2
        page.locator(f"{ROWS}:nth-child(5) button").click()
        page.mouse.move(0, 0)
        assert page.locator(".line.chosen").count() == 1


def test_two_configurations_have_a_plain_page(open_page, pages):
    with open_page(pages["plane"]) as page:
        assert page.locator(ROWS).count() == 2
        assert page.locator("text=show all").count() == 0


def test_an_unfinished_study_has_a_page(open_page, facts, tmp_path):
    from dataclasses import replace

    rows = [replace(row, state="waiting", mark="", last={}, best={}) for row in facts.rows]
    sentence = "No verdict yet: no configuration has finished."
    verdict = replace(facts.verdict, best=None, sentences=[sentence])
    found = replace(facts, rows=rows, histories={}, verdict=verdict, finished=False, weights=None)
    place = write_report(found, tmp_path / "page.html")
    with open_page(place) as page:
        assert page.texts(".verdict h2") == [sentence]
        assert "not finished" in page.inner_text("header")
        assert page.locator(".runs tr.waiting").count() > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "scheme"), [("rates", "light"), ("rates", "dark"), ("plane", "dark")]
)
def test_a_screen_reader_can_use_the_page(browser, pages, name, scheme):
    assert violations(browser, pages[name], color_scheme=scheme) == []


def test_every_picture_has_a_summary_and_a_table(open_page, pages):
    with open_page(pages["rates"]) as page:
        shown = "figure:not([hidden]):has(> details)"
        count = page.locator(shown).count()
        assert count >= 6
        assert all(len(text) > 20 for text in page.texts(f"{shown} > figcaption"))
        labels = page.eval_on_selector_all(
            "svg[role=img]", "all => all.map(one => one.getAttribute('aria-label'))"
        )
        assert all(len(label) > 20 for label in labels)
        for k in range(count):
            page.locator(f"{shown} > details > summary").nth(k).click()
        page.locator("table.data").nth(count - 1).wait_for()


def test_the_table_has_the_digits_of_the_verdict(open_page, pages, facts):
    best = facts.rows[facts.verdict.best]
    with open_page(pages["rates"]) as page:
        row = page.texts(".runs tbody tr")[0]
        assert f"{best.last['val_loss']:.4g}" in row
        assert f"{best.last['val_loss']:.4g}" in " ".join(page.texts(".verdict"))
        assert "100.0 %" in row
