"""What the playground says about wrong settings, missing files and models that swing."""

from support.lab_pages import SMALL, at_epoch, opened, ready


def test_a_link_to_a_file_asks_for_the_file_and_disables_what_cannot_work(browser, lab):
    with opened(browser, lab, "/play#data=file") as page:
        page.wait_for_selector("#summary:has-text('A link does not contain the file')")
        assert "Choose it again" in page.inner_text(".settings-part .problem")
        assert page.is_disabled("text=▶ play")
        assert page.is_disabled("input[aria-label=epoch]")
        page.click("text=moons")
        ready(page, 4)
        assert page.inner_text("#summary").startswith("200 points")
        assert page.is_enabled("text=▶ play")


def test_a_first_load_that_fails_says_why_in_the_head(browser, lab):
    with opened(browser, lab, "/play#grid=false&rate=-1", expected=["400"]) as page:
        page.wait_for_selector("#summary:has-text('learning rate')")
        assert page.is_disabled("text=▶ play")


def test_a_wrong_value_of_the_grid_is_named_at_its_field(browser, lab):
    with opened(browser, lab, f"/play{SMALL}", expected=["400"]) as page:
        ready(page, 4)
        field = page.locator("[aria-label='values across']")
        field.fill("0.1, abc")
        field.press("Enter")
        page.wait_for_selector("div:has(> label [aria-label='values across']) > .problem")
        words = page.inner_text(".settings-part .problem")
        assert words.startswith("The learning rate must be")
        assert "'abc'" in words
        assert page.inner_text("#summary") == words


def test_a_hinge_model_is_not_said_to_settle_at_a_constant_rate(browser, lab):
    hash_ = "#data=blobs&classes=2&noise=0.5&loss=hinge&grid=false&rate=0.1&features=linear"
    with opened(browser, lab, f"/play{hash_}&epoch=714") as page:
        page.wait_for_selector("text=keeps jumping across them")
        assert page.inner_text(".says").startswith("Swings a little.")
    smooth = "#data=moons&loss=squared&grid=false&rate=0.1&momentum=0.9&features=linear"
    with opened(browser, lab, f"/play{smooth}&epoch=300") as page:
        page.wait_for_selector(".says >> text=Swings, and settles.")


def test_the_numbers_of_mini_batches_do_not_contradict_the_step(browser, lab):
    with opened(browser, lab, "/play#batch=1&epoch=3&grid=false") as page:
        at_epoch(page, 3)
        page.wait_for_selector("text=the change is that of an epoch: 140 such steps.")
        assert page.locator("text=certain to be stable").count() == 0
