"""A person goes through all lessons in a real browser."""

from separatrix.lab.lessons import read_lessons
from support.lab_pages import SMALL, at_epoch, opened, ready, until


def test_every_step_of_every_lesson_opens_and_plays(browser, lab):
    with opened(browser, lab, f"/play{SMALL}") as page:
        ready(page, 4)
        for lesson in read_lessons():
            for number, step in enumerate(lesson.steps):
                own = f"lesson={lesson.name}&step={number}"
                page.evaluate(f"location.hash = '{step.settings}&{own}&epoch=3&speed=200'")
                until(
                    page,
                    f"document.querySelector('.lesson h2')?.textContent.includes('{step.title}')",
                )
                at_epoch(page, 3)
                assert page.locator(".problem").count() == 0
                page.click("text=▶ play")
                until(page, "Number(document.querySelector('input[aria-label=epoch]').value) > 3")
                page.click("text=❚❚ pause")


def test_a_perceptron_without_loss_at_the_start_is_drawn(browser, lab):
    with opened(browser, lab, "/play#loss=perceptron&grid=false") as page:
        at_epoch(page, 0)
        page.wait_for_selector("text=The weights at epoch 0, and the next step")
        for _ in range(10):
            page.click("text=step")
        at_epoch(page, 10)
        assert page.inner_text("#summary").endswith("1 model")
