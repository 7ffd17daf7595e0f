"""The pictures of the report stay right at every width, on paper, and with unusual runs."""

from dataclasses import replace

import numpy as np
import pytest

from separatrix.training.recording.history import History
from separatrix.web import write_report
from separatrix.web.drawings import drawings

# The shade and the points of the boundary, as fractions of the width of the picture.
EDGES = """() => {
  const part = selector => document.querySelector(`.stage ${selector}`).getBoundingClientRect();
  const whole = part('svg'), shade = part('canvas'), line = part('line.grid');
  return [(shade.left - whole.left) / whole.width, (shade.right - whole.left) / whole.width,
    (line.left - whole.left) / whole.width, (line.right - whole.left) / whole.width]; }"""
# How many pixels one unit of every picture has: 1 if its letters have their own size.
SCALES = """() => [...document.querySelectorAll('.picture svg[role=img]')]
  .filter(one => one.clientWidth).map(one => one.clientWidth / one.viewBox.baseVal.width)"""


@pytest.mark.parametrize(("width", "media"), [(1280, "screen"), (720, "screen"), (1280, "print")])
def test_the_shade_of_the_boundary_lies_under_its_axes(open_page, pages, width, media):
    with open_page(pages["plane"], viewport={"width": width, "height": 900}) as page:
        page.emulate_media(media=media)
        left, right, axis_left, axis_right = page.evaluate(EDGES)
        assert left == pytest.approx(axis_left, abs=0.005)
        assert right == pytest.approx(axis_right, abs=0.005)


def test_pictures_are_drawn_again_for_paper_and_for_the_screen(open_page, pages):
    with open_page(pages["rates"]) as page:
        before = page.get_attribute(".curves-figure svg", "viewBox")
        page.emulate_media(media="print")
        page.locator(".on-paper").wait_for(state="attached")
        assert page.locator("#page").bounding_box()["width"] <= 680
        assert page.evaluate(SCALES) == pytest.approx([1.0] * len(page.evaluate(SCALES)), abs=0.02)
        page.emulate_media(media="screen")
        page.locator(".on-paper").wait_for(state="detached")
        page.wait_for_function(
            f"document.querySelector('.curves-figure svg').getAttribute('viewBox') === '{before}'"
        )


def test_single_epochs_far_below_all_others_do_not_stretch_a_logarithmic_axis(
    open_page, facts, tmp_path
):
    number = next(row.number for row in facts.rows if not row.diverged and row.mark != "best")
    fields = {name: facts.histories[number][0][name].copy() for name in ("val_loss", "train_loss")}
    fields["val_loss"][3] = 1e-14
    changed = History({**facts.histories[number][0], **fields})
    found = replace(facts, histories={**facts.histories, number: (changed,)})
    with open_page(write_report(found, tmp_path / "dip.html")) as page:
        ticks = page.texts(".curves-figure .tick[text-anchor=end]")
        assert not any("e-" in tick for tick in ticks)
        assert "Parts of 1 other curve are outside the picture." in page.inner_text(
            ".curves-figure figcaption"
        )


def test_the_legend_of_many_numbers_shows_some_that_span_them(open_page, pages):
    with open_page(pages["many"], "#colour=learning_rate") as page:
        words = page.texts(".curves-figure .legend > span")
        assert words[1:7] == ["0.001", "0.251", "0.501", "0.75", "1", "5 of 1000 values"]


def test_a_map_of_many_values_has_lines_and_a_key_of_its_shades(open_page, pages):
    with open_page(pages["many"]) as page:
        assert page.texts(".map-figure .legend > span") == ["high validation loss", "low"]
        lines = page.texts(".map-figure .tick[text-anchor=end]")
        assert lines == ["0", "0.9"]
        heights = page.eval_on_selector_all(
            ".map-figure .dot", "all => [...new Set(all.map(one => one.getAttribute('cy')))].length"
        )
        assert heights == len(lines)
        page.locator(".map-figure .dot").nth(5).click()
        assert page.locator(".runs tr.chosen").count() == 1


def test_a_map_gets_the_room_that_its_numbers_need(open_page, facts, tmp_path):
    for count, is_wide in ((3, False), (9, True)):
        rates = [10.0 ** (k - count) for k in range(count)]
        rows = [
            replace(row, parameters={**row.parameters, "learning_rate": rates[k % count]})
            for k, row in enumerate(facts.rows)
        ]
        found = replace(facts, rows=rows, grid={**facts.grid, "learning_rate": rates})
        with open_page(write_report(found, tmp_path / f"{count}.html")) as page:
            assert page.locator(".map-figure.wide").count() == is_wide
            scroll = page.locator(".map-figure .scroll").first
            assert scroll.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_long_names_of_classes_and_features_fit(open_page, plane_facts, tmp_path):
    long = "a name that is longer than anybody would write, but it happens"
    data = replace(
        plane_facts.data,
        classes=[f"{long} {k}" for k in range(3)],
        feature_names=[f"{long}, across" * 2, f"{long}, up" * 2],
    )
    with open_page(write_report(replace(plane_facts, data=data), tmp_path / "long.html")) as page:
        table = page.locator(".confusion-figure .picture .scroll")
        assert table.evaluate("one => one.scrollWidth <= one.clientWidth")
        names = page.texts(".boundary-figure .tick[text-anchor=middle], .sample-figure .tick")
        assert sum(name.endswith("…") for name in names) == 4
        outside = page.eval_on_selector_all(
            ".boundary-figure .tick, .sample-figure .tick",
            """all => all.filter(one => {
              const own = one.getBoundingClientRect();
              const whole = one.ownerSVGElement.getBoundingClientRect();
              return own.right > whole.right + 1 || own.bottom > whole.bottom + 1
                || own.top < whole.top - 1;
            }).length""",
        )
        assert outside == 0


def test_labels_have_a_halo_so_that_no_line_strikes_them_through(open_page, pages):
    with open_page(pages["rates"]) as page:
        halos = page.eval_on_selector_all(
            "svg .label", "all => all.map(one => getComputedStyle(one).paintOrder)"
        )
        assert halos
        assert set(halos) == {"stroke"}


def test_numbers_of_a_map_have_the_same_number_of_digits(open_page, pages):
    with open_page(pages["rates"]) as page:
        numbers = [text for text in page.texts(".map td button") if text != "diverged"]
        assert {len(text.replace(".", "").lstrip("0")) for text in numbers} == {3}


def test_marks_of_the_table_are_explained(open_page, facts, tmp_path):
    best = facts.verdict.best
    rows = [replace(row, mark="best" if row.number == best else "same") for row in facts.rows[:6]]
    rows.append(facts.rows[best])
    alike = replace(facts, rows=[row for k, row in enumerate(rows) if row not in rows[:k]])
    with open_page(write_report(alike, tmp_path / "alike.html")) as page:
        assert "○ not significantly different from the best" in page.texts(".legend")


def test_the_numbers_of_the_failure_say_when_momentum_is_the_reason(facts):
    failure = facts.pictures.failure
    for rate, times, expected in ((0.1, 3.8, True), (0.1, 2.0, False), (0.3, 3.8, False)):
        pictures = replace(facts.pictures, failure=replace(failure, rate=rate, stable_times=times))
        rows = [replace(one, smoothness=10.0, stable_rate=1.0) for one in facts.rows]
        found = drawings(replace(facts, rows=rows, pictures=pictures))["failure"]
        assert found["is_rate_stable"] is expected
        assert np.isfinite(found["steps"]).all()
