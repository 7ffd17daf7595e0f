"""Open pages in a real browser, headless Chromium driven by Playwright."""

import shutil
from contextlib import contextmanager
from pathlib import Path

import pytest

FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
AXE = Path(__file__).parents[2] / "node_modules" / "axe-core" / "axe.min.js"
OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


@contextmanager
def chromium():
    """Start the browser; the test is skipped with a reason if it is missing."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        pytest.skip(f"no browser to open pages in: none of {', '.join(PROGRAMS)} is installed")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=list(FLAGS))
        yield browser
        browser.close()


class Opened:
    """An open page with its console messages, errors and requests."""

    def __init__(self, browser, address, **options):
        options = {"viewport": {"width": 1280, "height": 900}} | options
        cookies = options.pop("cookies", [])
        self.context = browser.new_context(**options)
        self.context.add_cookies(cookies)
        self.page = self.context.new_page()
        self.problems, self.requests = [], []
        self.page.on("console", lambda message: self.problems.append(message.text))
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("request", lambda request: self.requests.append(request.url))
        self.page.goto(address)

    def __getattr__(self, name):
        return getattr(self.page, name)

    def texts(self, selector):
        """Return the texts of all elements, with white space joined."""
        found = self.page.eval_on_selector_all(selector, "all => all.map(one => one.textContent)")
        return [" ".join(text.split()) for text in found]


@contextmanager
def opened(browser, page, fragment="", **options):
    """Open a file; at the end, it must have no error and no request beyond itself."""
    address = page.as_uri()
    found = Opened(browser, address + fragment, **options)
    try:
        yield found
        assert found.problems == []
        assert {url.partition("#")[0] for url in found.requests} <= {address}
    finally:
        found.context.close()


def violations(browser, page, **options):
    """Return the accessibility problems that axe-core finds on a page."""
    if not AXE.exists():
        pytest.skip(f"axe-core is not installed: npm install --no-save axe-core ({AXE})")
    found = Opened(browser, page.as_uri(), bypass_csp=True, **options)
    try:
        found.page.evaluate(AXE.read_text(encoding="utf-8"))
        result = found.page.evaluate("axe.run({ resultTypes: ['violations'] })")
        return [
            (one["id"], node["target"], node.get("failureSummary", "")[:300])
            for one in result["violations"]
            for node in one["nodes"][:3]
        ]
    finally:
        found.context.close()


def seen_in(browser, pages, ask, folder):
    """Open many files side by side and evaluate an expression in each, by file name."""
    frames = folder / "frames.html"
    frames.write_text("".join(f'<iframe src="{page.as_uri()}"></iframe>' for page in pages))
    context = browser.new_context()
    try:
        tab = context.new_page()
        tab.goto(frames.as_uri())  # until everything is loaded
        tab.wait_for_timeout(500)  # charts are drawn, and images that fail to load tell so
        return {page.name: one.evaluate(ask) for page, one in zip(pages, tab.frames[1:])}
    finally:
        context.close()
