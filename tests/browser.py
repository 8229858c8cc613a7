"""Headless Chromium, where it is installed; tests that drive it are marked slow."""

import json
import os
import re
import shutil
import subprocess
from html import unescape

CHROMIUM = os.environ.get("STREAMEVAL_CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")


def found(address, profile, *flags, size="1200,2000"):
    """Open a page and return what its scripts have left in `<pre id="found">`, as JSON."""
    command = [
        CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        f"--user-data-dir={profile}", f"--window-size={size}", "--virtual-time-budget=20000",
        *flags, "--dump-dom", address,
    ]  # fmt: skip
    dom = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    left = re.search(r'<pre id="found">(.*?)</pre>', dom, re.DOTALL)
    assert left, dom[-2000:]
    return json.loads(unescape(left.group(1)))
