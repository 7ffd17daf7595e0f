"""A chart as one HTML page that loads nothing else and runs only the scripts written here.

Names of columns, classes and files come from data that nobody has checked. Three barriers keep them
from running as code:

1. The chart is JSON in a data block, with `<`, `>` and `&` escaped, so no text can end the block.
2. Vega's expressions are interpreted, not compiled, so the page needs no `eval`.
3. A Content-Security-Policy allows the two scripts of the page by their SHA-256 and nothing else:
   no other script, no event handler, no request.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from typing import Any

import vl_convert

# Escapes that mean the same in JSON and cannot end a script element or a JavaScript line.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
_DRAW = (
    'vegaEmbed("#chart", JSON.parse(document.getElementById("specification").textContent), '
    '{mode: "vega-lite", renderer: "svg", ast: true, actions: {export: true, source: false, '
    "compiled: false, editor: false}}).catch(error => {\n"
    '  document.getElementById("chart").textContent = `The chart could not be drawn: ${error}`;\n'
    "});"
)


def chart_page(specification: dict[str, Any], version: str) -> str:
    """A page that draws a Vega-Lite chart, in the colours of its theme; `version` is Vega-Lite's.

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


def json_for_script(value: Any) -> str:
    """A value as JSON that can stand in a script element, whatever texts it holds.

    >>> json_for_script({"name": "</script>"})
    '{"name": "\\\\u003c/script\\\\u003e"}'
    """
    return json.dumps(value, ensure_ascii=False).translate(_ESCAPES)


def _title(specification: dict[str, Any]) -> str:
    title = specification.get("title", "")
    text = title.get("text", "") if isinstance(title, dict) else title
    text = " ".join(map(str, text)) if isinstance(text, list) else text
    return text if text and isinstance(text, str) else "Chart"


def content_policy(*scripts: str) -> str:
    """A Content-Security-Policy by which a page runs these inline scripts and loads nothing."""
    sums = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in sums)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def _library(version: str) -> str:
    """Vega, Vega-Lite and Vega-Embed as one script; a parser must not find an end tag in it."""
    script = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version))
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r\n", "\n")
