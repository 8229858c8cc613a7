"""Charts that a report holds, for tests."""

import base64
import gzip
import json
import re


def charts_of(page):
    """Unpack them from a page: Vega-Lite by name."""
    (packed,) = re.findall(r'const CHARTS = "(.*?)"', page)
    return json.loads(gzip.decompress(base64.b64decode(packed)))
