"""A person uses the playground in a real browser: plays, draws, compares and learns."""

import re

from support.lab_pages import SMALL, at_epoch, epoch_of, loss_of, opened, ready, until


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
    data = "#data=blobs&features=linear&count=50&noise=0.5"
    hash_ = f"{data}&acrossValues=0.1,10000&downValues=0,0.3&epoch=12&l2=0.1"
    with opened(browser, lab, f"/play{hash_}") as page:
        page.wait_for_selector(".plane.bad")
        states = page.texts(".plane .state")
        assert states[0] == states[2] == ""
        assert {states[1], states[3]} <= {"diverged", "oscillates", "rises"}
        assert page.locator(".plane.best").count() == 1
        assert page.inner_text(".planes .names") == "across: learning rate, down: momentum"
        best = page.get_attribute(".plane.best", "aria-label").split(":")[0]
        assert page.inner_text("#best-words").startswith(f"Best at this epoch (green): {best}.")
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


def test_epochs_that_arrive_late_do_not_move_a_link_that_was_opened_since(browser, lab):
    with opened(browser, lab, f"/play{SMALL}") as page:
        ready(page, 4)
        held, kinds = [], ["from=0", "/api/play"]

        def hold(route):
            wanted = kinds and kinds[0] in route.request.url and len(held) + len(kinds) == 2
            (held.append if wanted and kinds.pop(0) else type(route).continue_)(route)

        page.route("**/api/play**", hold)
        for epoch, count in ((1, 1), (20, 2)):
            page.evaluate(f"location.hash = '{SMALL}&epoch={epoch}'")
            while len(held) < count:
                page.wait_for_timeout(10)
        held[0].continue_()  # the epochs of the first link, while the second play starts
        page.wait_for_timeout(100)
        held[1].continue_()
        at_epoch(page, 20)


def test_the_weights_and_their_path_follow_the_epochs_while_playing(browser, lab):
    with opened(browser, lab, f"/play{SMALL}") as page:
        ready(page, 4)
        page.wait_for_selector("text=The weights at epoch 0, and the next step")
        page.click("text=▶ play")
        heading = "[...document.querySelectorAll('h2')].map(h => h.textContent).join()"
        until(page, f"/The weights at epoch [1-9]/.test({heading})")
        assert page.locator("text=❚❚ pause").count() == 1


def test_the_key_names_only_what_the_chart_shows(browser, lab):
    points = "#data=drawn&points=-2,0,0;-1,0,0;1,0,1;2,0,1&features=linear&epoch=3"
    losses = "&across=loss&acrossValues=softmax,logistic&down=momentum&downValues=0"
    with opened(browser, lab, f"/play{points}{losses}") as page:
        ready(page, 2)
        key = page.inner_text(".note:has-text('Objective by epoch')")
        assert "chosen model" in key
        assert "validation" not in key
        assert "best" not in key
        assert not page.locator("#best-words").is_visible()


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
        page.wait_for_selector("text=The weights at epoch 5, and the next step")
        plane = page.locator(".stack .front").first
        plane.focus()
        plane.press("n")
        plane.press("Enter")
        page.wait_for_selector("svg.graph")
        words = " ".join(page.texts("svg.graph text"))
        assert "sigmoid(z)" in words
        assert page.locator("svg.graph .slope").count() > 3
        box = page.locator(".scroll:has(svg.graph)")
        assert box.evaluate("box => box.scrollWidth <= box.clientWidth")  # the loss is in view


def test_a_lesson_sets_the_playground_up_and_unfolds_its_answer(browser, lab):
    with opened(browser, lab, "/play") as page:
        page.click("nav >> text=Lessons")
        page.wait_for_selector("article >> text=The learning rate and momentum")
        assert page.locator("article").count() == 5
        page.click("text=From too slow to too fast")
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
        page.wait_for_selector(".lesson", state="hidden")


def test_points_of_one_class_are_shown_before_there_is_a_model(browser, lab):
    with opened(browser, lab, f"/play{SMALL}") as page:
        ready(page, 4)
        page.click("text=draw…")
        page.click("text=remove all")
        page.wait_for_selector("text=Choose a class on the left")
        plane = page.locator(".stack .front").first
        page.click("text=class 3")
        empty = plane.screenshot()
        plane.click(position={"x": 60, "y": 60})
        page.wait_for_selector("text=Now draw points of another class")
        assert page.inner_text("#summary") == "1 point"
        assert plane.screenshot() != empty
        assert not page.locator(".plane").first.is_visible()
        page.click("text=class 4")
        plane.click(position={"x": 200, "y": 200})
        page.wait_for_selector("text=2 points")
        assert page.texts(".classes span") == ["class 3", "class 4"]
        colours = page.eval_on_selector_all(
            ".classes i", "all => all.map(one => one.style.background)"
        )
        assert colours == ["rgb(204, 121, 167)", "rgb(143, 122, 0)"]
        ticks = page.texts(".across span")
        plane.click(position={"x": 414, "y": 200})  # at the edge: the plane does not grow
        page.wait_for_selector("text=3 points")
        assert page.texts(".across span") == ticks


def test_the_sentence_belongs_to_the_model_that_is_shown(browser, lab):
    hash_ = "#data=moons&features=linear&l2=0.5&acrossValues=0.3,5&downValues=0&epoch=20&selected=0"
    with opened(browser, lab, f"/play{hash_}") as page:
        page.wait_for_selector(".plane.bad")
        assert "Diverged." not in page.inner_text(".says")
        page.hover(".plane >> nth=1")
        assert page.inner_text(".says").startswith("Diverged.")
        assert "is above" in page.inner_text(".says")
        assert page.texts(".view-part tbody tr:last-child td") == ["–"]


def test_a_small_swing_of_momentum_is_no_failure(browser, lab):
    hash_ = "#features=linear&acrossValues=0.3,3&downValues=0.9,0.95&epoch=60"
    with opened(browser, lab, f"/play{hash_}") as page:
        page.wait_for_selector(".plane.bad")
        assert page.texts(".plane .state") == ["swings", "swings", "oscillates", "oscillates"]
        assert page.locator(".plane.bad").count() == 2


def test_two_models_are_compared_in_numbers_and_another_one_is_chosen(browser, lab):
    with opened(browser, lab, f"/play{SMALL}&epoch=5") as page:
        ready(page, 4)
        page.click(".play >> text=compare")
        assert page.locator(".plane.best.compared").count() == 1
        page.select_option("[aria-label='compared with']", "1")
        assert "compared=1" in page.evaluate("location.hash")
        names = ["learning rate 0.1, momentum 0", "learning rate 1, momentum 0"]
        assert page.texts(".view-part thead th") == names
        shown = page.texts(".view-part tbody tr >> nth=0 >> td")
        assert shown[0] != shown[1]


def test_the_address_holds_the_explained_point_and_the_weights_of_the_surface(browser, lab):
    with opened(browser, lab, f"/play{SMALL}&epoch=5&explained=0.5,0.5,1&axes=1,2") as page:
        page.wait_for_selector("svg.graph")
        page.wait_for_selector("[aria-label='weight upwards']")
        assert page.input_value("[aria-label='weight across']") == "1"
        page.select_option("[aria-label='weight upwards']", "0")
        until(page, "location.hash.includes('axes=1%2C0')")
        assert "(x 0.5, y 0.5) of class 1, epoch 5" in page.inner_text("main")
        page.click("text=step")
        page.wait_for_selector("text=(x 0.5, y 0.5) of class 1, epoch 6")


def test_the_label_column_of_a_file_is_chosen_and_its_columns_name_the_axes(browser, lab):
    rows = "".join(f"{k % 7},{k % 5},{'ab'[k % 2]},{'uv'[k // 20]}\n" for k in range(40))
    file = {"name": "own.csv", "mimeType": "text/csv", "buffer": f"p,q,one,two\n{rows}".encode()}
    with opened(browser, lab, f"/play{SMALL}") as page:
        ready(page, 4)
        with page.page.expect_file_chooser() as chooser:
            page.click("text=my file…")
        chooser.value.set_files(file)
        page.wait_for_selector("text=label column")
        page.wait_for_selector("[aria-label=gradient] td:text-is('PC1')")
        assert page.inner_text("#summary").startswith("own.csv · ")
        page.select_option("label:has-text('label column') select", "one")
        until(page, "document.querySelector('.classes').textContent.startsWith('ab')")
        page.select_option("[aria-label='columns shown']", "two")
        until(page, "document.querySelector('.axis.across b').textContent === 'p'")
        assert page.inner_text(".axis.up b") == "q"
        page.wait_for_selector("[aria-label='weight upwards'] option:text-is('weight of q')",
                               state="attached")  # fmt: skip
        assert page.texts("[aria-label='weight upwards'] option") == [
            "weight of p", "weight of q", "bias"]  # fmt: skip
        plane = page.locator(".stack .front").first
        plane.focus()
        plane.press("n")
        plane.press("Enter")
        page.wait_for_selector("svg.graph")
        assert re.search(r"the point \(p \d, q \d\) of class [ab],", page.inner_text("main"))


def test_weights_that_the_l1_penalty_sets_to_zero_are_counted(browser, lab):
    hash_ = "#data=circles&features=cubes&rate=0.1&momentum=0.9&l1=0.03&grid=false&epoch=300"
    with opened(browser, lab, f"/play{hash_}") as page:
        page.wait_for_selector("text=7 of 9 weights are exactly 0.")


def test_a_rule_without_momentum_takes_momentum_from_the_grid(browser, lab):
    with opened(browser, lab, f"/play{SMALL}") as page:
        ready(page, 4)
        page.click("text=adam")
        page.wait_for_selector("text=Down: L2 penalty")
        assert page.locator(".planes .side").count() == 5


def test_the_playground_waits_for_a_lost_server_and_goes_on(browser, lab):
    with opened(browser, lab, f"/play{SMALL}", expected=["ERR_", "Failed to load"]) as page:
        ready(page, 4)
        page.route("**/api/play*", lambda route: route.abort())
        page.click("text=hinge >> nth=0")
        page.wait_for_selector("text=The connection to the lab is lost. Trying again")
        page.unroute("**/api/play*")
        page.wait_for_selector(".classes >> text=support vector")
        assert page.inner_text(".lost") == ""


def test_a_tie_for_the_best_is_said_and_the_simplest_model_is_chosen(browser, lab):
    # Without momentum in the rule, models that differ in momentum are the same.
    hash_ = "#data=moons&features=linear&rule=plain&acrossValues=1,0.1&downValues=0.5,0&epoch=30"
    with opened(browser, lab, f"/play{hash_}") as page:
        ready(page, 4)
        page.wait_for_selector(".plane.best")
        first = page.get_attribute(".plane.best", "aria-label")
        assert first.startswith("learning rate 1, momentum 0:")
        assert "A tie: 1 other model has the same objective" in page.inner_text("#best-words")
        page.click("text=step")
        at_epoch(page, 31)
        assert page.locator(".plane.best").count() == 1
        assert page.get_attribute(".plane.best", "aria-label").startswith("learning rate 1, mom")


def test_the_advice_on_rates_does_not_contradict_the_grid(browser, lab):
    hash_ = "#data=moons&acrossValues=0.1,1,5&downValues=0&epoch=100&selected=2"
    with opened(browser, lab, f"/play{hash_}") as page:
        page.wait_for_selector(".says.bad")
        assert page.texts(".plane .state") == ["", "", "oscillates"]
        words = page.inner_text(".says")
        assert "Lower the learning rate to 0.59 or less." in words
        assert "The limit 0.59 is certain" in words
        assert words.endswith("a larger rate can be stable, too, as 1 is here so far.")
        page.wait_for_selector("text=Rates up to 0.59 are certain to be stable.")


COLOURS = """
    [...document.querySelectorAll("canvas.chart")].slice(0, 1).map(canvas => {
        const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
        const found = { blue: 0, red: 0 };
        for (let i = 0; i < data.length; i += 4) {
            if (data[i + 3] < 200) continue;
            if (data[i] < 40 && data[i + 2] > 150) found.blue++;
            if (data[i] > 150 && data[i + 1] < 70 && data[i + 2] < 70) found.red++;
        }
        return found;
    })[0]"""


def test_a_chosen_model_that_diverges_is_red_in_the_chart(browser, lab):
    hash_ = "#data=moons&features=linear&l2=0.5&acrossValues=0.3,5&downValues=0&epoch=20"
    for chosen, colour in ((0, "blue"), (1, "red")):
        with opened(browser, lab, f"/play{hash_}&selected={chosen}") as page:
            page.wait_for_selector(".plane.bad")
            found = page.evaluate(COLOURS)
            assert found[colour] > 100
            assert chosen == 0 or found["blue"] == 0


def test_on_a_phone_the_grid_comes_before_the_settings(browser, lab):
    with opened(browser, lab, f"/play{SMALL}", viewport={"width": 390, "height": 800}) as page:
        ready(page, 4)
        parts = (".view-part", ".models-part", ".settings-part", ".details-part")
        tops = [page.locator(part).bounding_box()["y"] for part in parts]
        assert tops == sorted(tops)
