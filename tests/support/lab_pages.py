"""Pages of a running lab in the browser."""

from contextlib import contextmanager

from support.browser import Opened

SMALL = "#data=blobs&count=50&features=linear&acrossValues=0.1,1&downValues=0,0.9"


def cookie_of(lab):
    """Return the cookie that a browser has after it was opened with the token."""
    name, _, value = lab.cookie.partition("=")
    return {"name": name, "value": value, "url": f"http://{lab.host}/"}


@contextmanager
def opened(browser, lab, path, expected=(), **options):
    """Open a page of the lab; at the end, it must have no error and no request to another place."""
    page = Opened(browser, f"http://{lab.host}{path}", cookies=[cookie_of(lab)], **options)
    try:
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
