"""What a page of ours contains."""

import json
import re


def data_of(page):
    """Return the dictionary in a page."""
    return json.loads(
        re.search(r'(?s)<script type="application/json"[^>]*>(.*?)</script>', page)[1]
    )
