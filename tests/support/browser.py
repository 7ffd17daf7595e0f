"""Open pages in a real browser, headless Chromium."""

import re
import shutil
import subprocess
from html import unescape

import pytest

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--allow-file-access-from-files",
    "--virtual-time-budget=30000",
)
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def browser():
    """The path of the browser; the test is skipped if there is none."""
    found = next(filter(None, map(shutil.which, PROGRAMS)), None)
    if found is None:
        pytest.skip(f"no browser to open pages in: none of {', '.join(PROGRAMS)} is installed")
    return found


def opened(page, folder):
    """Return the elements of a page, as HTML, after its scripts have run."""
    program = [browser(), *FLAGS, f"--user-data-dir={folder / 'profile'}", "--dump-dom"]
    return subprocess.run(
        [*program, page.as_uri()], capture_output=True, text=True, timeout=300, check=True
    ).stdout


def seen_in_frames(pages, ask, folder):
    """Open many pages and evaluate a JavaScript expression of `page` in each."""
    frame = folder / "frames.html"
    frames = "\n".join(f'<iframe src="{page.as_uri()}"></iframe>' for page in pages)
    frame.write_text(
        f"<!doctype html><title>frames</title>{frames}<pre id=seen></pre><script>\n"
        "onload = () => setTimeout(() => {\n"
        "  const asked = [...document.querySelectorAll('iframe')].map(frame => {\n"
        f"    const page = frame.contentDocument; return {ask};\n"
        "  });\n"
        "  document.getElementById('seen').textContent = asked.join('\\n');\n"
        "}, 5000);</script>"
    )
    found = re.search(r'(?s)<pre id="seen">(.*?)</pre>', opened(frame, folder))
    answers = unescape(found[1]).split("\n")
    assert len(answers) == len(pages), found[0][:1000]
    return dict(zip((page.name for page in pages), answers))
