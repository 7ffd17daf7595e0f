"""JSON and scripts inside HTML pages, whose texts come from untrusted data.

Two measures prevent a name from running as code:

1. Data is JSON in a data block. `<`, `>` and `&` are escaped, so no text can end the block.
2. A Content-Security-Policy allows the scripts of the page by their SHA-256 hashes. It forbids all
   other scripts, event handlers and requests.
"""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

# Characters that could end a script element or a line of JavaScript, as equivalent JSON escapes.
_ESCAPES = {ord(c): f"\\u{ord(c):04x}" for c in "<>&\u2028\u2029"}


def json_for_script(value: Any) -> str:
    """Convert a value to JSON that is safe inside a script element.

    >>> json_for_script({"name": "</script>"})
    '{"name": "\\\\u003c/script\\\\u003e"}'
    """
    return json.dumps(value, ensure_ascii=False).translate(_ESCAPES)


def content_policy(*scripts: str) -> str:
    """Return a Content-Security-Policy that allows these inline scripts and no requests.

    >>> content_policy("start();")[:49]
    "default-src 'none'; script-src 'sha256-E6jQvrT2Zi"
    """
    sums = (hashlib.sha256(script.encode()).digest() for script in scripts)
    allowed = " ".join(f"'sha256-{base64.b64encode(digest).decode()}'" for digest in sums)
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
