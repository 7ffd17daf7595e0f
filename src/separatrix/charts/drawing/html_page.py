"""Charts as self-contained HTML pages that load nothing and run only the scripts written here.

The names of columns, classes and files come from untrusted data. Three measures prevent them from
running as code: the chart is JSON in a data block, a Content-Security-Policy allows only the two
scripts of the page (`safe_html`), and Vega's expressions are interpreted, not compiled, so the page
does not need `eval`.
"""

from __future__ import annotations

import html
from functools import cache
from typing import Any

import vl_convert

from separatrix.safe_html import content_policy, json_for_script

_DRAW = (
    'vegaEmbed("#chart", JSON.parse(document.getElementById("specification").textContent), '
    '{mode: "vega-lite", renderer: "svg", ast: true, actions: {export: true, source: false, '
    "compiled: false, editor: false}}).catch(error => {\n"
    '  document.getElementById("chart").textContent = `The chart could not be drawn: ${error}`;\n'
    "});"
)


def chart_page(specification: dict[str, Any], version: str) -> str:
    """Return a page that draws a Vega-Lite chart in the colours of its theme.

    `version` is the version of Vega-Lite.

    >>> page = chart_page({"mark": "bar", "title": "</script><b>"}, "6.1")
    >>> page.count("</script>"), "&lt;/script&gt;&lt;b&gt;" in page
    (3, True)
    """
    look = specification.get("config", {})
    paper, ink = look.get("background", "#ffffff"), look.get("text", {}).get("color", "#000000")
    style = f"body {{ background: {paper}; color: {ink}; font: 13px {look.get('font', 'serif')} }}"
    library = _library(version)
    return f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{html.escape(content_policy(library, _DRAW))}">
<title>{html.escape(_title(specification))}</title>
<style>{style.translate({ord("<"): None})}</style>
</head>
<body>
<div id="chart"></div>
<script type="application/json" id="specification">{json_for_script(specification)}</script>
<script>{library}</script>
<script>{_DRAW}</script>
</body>
</html>
"""


def _title(specification: dict[str, Any]) -> str:
    title = specification.get("title", "")
    text = title.get("text", "") if isinstance(title, dict) else title
    text = " ".join(map(str, text)) if isinstance(text, list) else text
    return text if text and isinstance(text, str) else "Chart"


@cache
def _library(version: str) -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that contains no end tag."""
    script = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version))
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r\n", "\n")
