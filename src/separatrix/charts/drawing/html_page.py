"""Charts as self-contained HTML pages that load nothing and run only the scripts written here.

The names of columns, classes and files come from untrusted data. Three measures prevent them from
running as code:

1. The chart is JSON in a data block. `<`, `>` and `&` are escaped, so no text can end the block.
2. Vega's expressions are interpreted, not compiled, so the page does not need `eval`.
3. A Content-Security-Policy allows the two scripts of the page by their SHA-256 hashes. It forbids
   all other scripts, event handlers and requests.
"""

from __future__ import annotations

import base64
import hashlib
import html
import json
from functools import cache
from typing import Any

import vl_convert

# Characters that could end a script element or a line of JavaScript, as equivalent JSON escapes.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}
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


def json_for_script(value: Any) -> str:
    """Convert a value to JSON that is safe inside a script element.

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
    """Return a Content-Security-Policy that allows these inline scripts and no requests."""
    sums = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in sums)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )


@cache
def _library(version: str) -> str:
    """Return Vega, Vega-Lite and Vega-Embed as one script that contains no end tag."""
    script = str(vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", version))
    return script.replace("</script", "<\\/script").replace("<!--", "<\\!--").replace("\r\n", "\n")
