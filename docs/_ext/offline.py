"""Fails the build if a page fetches anything from a network when it is opened."""

import re
from html.parser import HTMLParser
from pathlib import Path

from sphinx.errors import SphinxError

# What a browser fetches by itself, and the attribute that says from where.
FETCHED = {
    "link": "href",
    "script": "src",
    "img": "src",
    "iframe": "src",
    "object": "data",
    "source": "src",
}
REMOTE = re.compile(r"(?:https?:)?//", re.IGNORECASE)
REMOTE_STYLE = re.compile(r"""(?:url\(|@import)\s*["']?(?:https?:)?//[^"')\s;]*""", re.IGNORECASE)
NOT_FETCHED = {"canonical", "next", "prev", "search", "index", "author", "license"}


class _Fetched(HTMLParser):
    """Collects what a page fetches from a network."""

    def __init__(self):
        super().__init__()
        self.found = []

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        target = given.get(FETCHED.get(tag, "")) or ""
        if given.get("rel") not in NOT_FETCHED and REMOTE.match(target):
            self.found.append(target)


def remote_sources(page):
    """What the text of a page, or of a style sheet, fetches from a network.

    >>> remote_sources('<a href="https://a.org">a</a> <script src="https://b.org/c.js"></script>')
    ['https://b.org/c.js']
    """
    parser = _Fetched()
    parser.feed(page)
    return [*parser.found, *REMOTE_STYLE.findall(page)]


def check_pages(app, exception):
    if exception is not None or app.builder.format != "html":
        return
    files = [path for suffix in ("html", "css") for path in Path(app.outdir).rglob(f"*.{suffix}")]
    wrong = [
        f"{path.relative_to(app.outdir)}: {source}"
        for path in sorted(files)
        for source in remote_sources(path.read_text(encoding="utf-8"))
    ]
    if wrong:
        raise SphinxError("The pages must not fetch anything from a network:\n" + "\n".join(wrong))


def setup(app):
    app.connect("build-finished", check_pages)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
