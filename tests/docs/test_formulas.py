"""Formulas are MathML in the built pages, and no page fetches anything from a network."""

import importlib
import re
from pathlib import Path

import pytest

for package in ("sphinx", "myst_parser"):
    pytest.importorskip(package, reason="needs the extra docs; `make docs` makes the same check")

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture
def extension(monkeypatch):
    monkeypatch.syspath_prepend(DOCS / "_ext")
    return importlib.import_module


def build(source, pages):
    """Build pages with the extensions and settings for formulas of docs/conf.py."""
    from sphinx.testing.util import SphinxTestApp

    settings = (DOCS / "conf.py").read_text(encoding="utf-8")
    kept = re.findall(r"^(?:myst_|html_math_)\w+ = .*$", settings, re.MULTILINE)
    (source / "conf.py").write_text(
        "\n".join([*kept, 'extensions = ["myst_parser", "mathml", "offline"]']), encoding="utf-8"
    )
    for name, text in pages.items():
        (source / f"{name}.md").write_text(text, encoding="utf-8")
    app = SphinxTestApp(srcdir=source, freshenv=True, confoverrides={"html_theme": "basic"})
    try:
        app.build()
        return app.outdir, app.warning.getvalue()
    finally:
        app.cleanup()


@pytest.mark.slow
def test_the_page_of_formulas_is_mathml_and_fetches_nothing(extension, tmp_path):
    page = (DOCS / "maths.md").read_text(encoding="utf-8")
    folder, warnings = build(tmp_path, {"index": page})
    html = (folder / "index.html").read_text(encoding="utf-8")
    assert not warnings
    assert html.count("<math ") > 500
    assert html.count('display="block"') == page.count("```math\n")
    assert extension("offline").remote_sources(html) == []


@pytest.mark.slow
def test_a_formula_that_cannot_be_read_is_a_warning(extension, tmp_path):
    _, warnings = build(tmp_path, {"index": "# Title\n\n$\\nosuchcommand$\n"})
    assert "nosuchcommand" in warnings


@pytest.mark.slow
def test_a_page_that_fetches_something_fails_the_build(extension, tmp_path):
    from sphinx.errors import SphinxError

    page = '# Title\n\n<img src="https://example.org/a.png">\n'
    with pytest.raises(SphinxError, match=r"index\.html: https://example\.org/a\.png"):
        build(tmp_path, {"index": page})


def test_what_a_browser_fetches_is_told_from_links(extension):
    remote_sources = extension("offline").remote_sources
    page = """
        <a href="https://a.org">a link</a> <link rel="canonical" href="https://a.org/index.html">
        <script src="//b.org/c.js"></script> <script src="_static/doctools.js"></script>
        <link rel="stylesheet" href="https://d.org/e.css"> <img src="data:image/png;base64,AA==">
        <style>@font-face { src: url("https://f.org/g.woff2") }</style>
    """
    found = remote_sources(page)
    assert found[:2] == ["//b.org/c.js", "https://d.org/e.css"]
    assert len(found) == 3
    assert "f.org" in found[2]


@pytest.mark.parametrize(
    ("latex", "expected"),
    [
        (r"\lVert w \rVert^2", '<mo form="postfix" stretchy="false">‖</mo>'),
        (r"\left\lvert \frac{a}{b} \right\rvert", "<mo>|</mo>"),
        (r"\max(0, -x)", '<mo lspace="0" rspace="0">max</mo>'),
        (r"\max(0, -x)", '<mo form="prefix">−</mo>'),
        (r"\tilde x_i", '<msub><mover accent="true">'),
        (r"f'(x)", "′"),
        (r"\log x", '<mo lspace="0" rspace="0.167em">log</mo>'),
        (r"\begin{aligned} a &= b \end{aligned}", 'displaystyle="true"'),
    ],
)
def test_formulas_are_spaced_as_in_latex(extension, latex, expected):
    assert expected in extension("mathml").to_mathml(latex)


def test_a_formula_keeps_its_source_for_those_who_cannot_see_it(extension):
    assert r'alttext="x \le 1"' in extension("mathml").to_mathml("x \\le\n1")
