"""Drive the offline labelling page in headless Chromium: label by keys, reload, change a mind, save, evaluate.

    python scripts/labelling_page.py [FOLDER]

Needs `chromium` (Debian's package), and talks to it over its debugging pipe: no other library. The items try to be
markup; the page must show them as texts, and no script of theirs may run.
"""

from __future__ import annotations

import base64
import itertools
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import streameval

FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--remote-debugging-pipe")  # fmt: skip
PAYLOADS = [
    "<script>document.title = 'run'</script>", "<img src=x onerror=\"document.title='run'\">", "</script><b>bold</b>",
    'quotes " and \'', "two\nlines", "\u202eright to left", "=1+1", "bell \x07 tab \t", "&lt;entity&amp;", "é ✓ 漢字",
]  # fmt: skip


class Browser:
    """Chromium at the other end of a pair of pipes."""

    def __init__(self, program: str, profile: Path) -> None:
        out_read, out_write = os.pipe()
        in_read, in_write = os.pipe()

        def wire() -> None:  # the browser reads its third and writes its fourth file
            spare_read, spare_write = os.dup(in_read), os.dup(out_write)
            os.dup2(spare_read, 3)
            os.dup2(spare_write, 4)

        command = [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"]
        silent = subprocess.DEVNULL
        self.process = subprocess.Popen(command, preexec_fn=wire, close_fds=False, stdout=silent, stderr=silent)
        os.close(in_read)
        os.close(out_write)
        self.write, self.read = os.fdopen(in_write, "wb"), os.fdopen(out_read, "rb")
        self.number, self.session, self.buffer = 0, None, b""

    def call(self, method: str, **parameters: object) -> dict:
        """Send one command, and wait for its answer."""
        self.number += 1
        message: dict[str, object] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.write.write(json.dumps(message).encode() + b"\0")
        self.write.flush()
        while True:
            while b"\0" not in self.buffer:
                more = os.read(self.read.fileno(), 1 << 16)
                if not more:
                    raise SystemExit("Chromium went away")
                self.buffer += more
            raw, self.buffer = self.buffer.split(b"\0", 1)
            found = json.loads(raw)
            if found.get("id") == self.number:
                if "error" in found:
                    raise SystemExit(f"{method}: {found['error']}")
                return found["result"]

    def open(self, page: str, downloads: Path) -> None:
        """Open an address in a tab of its own."""
        tab = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=tab, flatten=True)["sessionId"]
        self.call("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(downloads))
        self.call("Page.enable")
        self.load(page)

    def load(self, page: str) -> None:
        """Go to a page, and wait until its script has run."""
        self.call("Page.navigate", url=page)
        for _ in range(200):
            if self.run("document.readyState === 'complete' && !!document.getElementById('count')?.textContent"):
                return
            time.sleep(0.05)
        raise SystemExit("the page did not come up")

    def until(self, script: str) -> None:
        """Wait until an expression on the page is true."""
        for _ in range(600):
            if self.run(script):
                return
            time.sleep(0.05)
        raise SystemExit(f"never came true: {script}")

    def run(self, script: str) -> object:
        """Value of an expression on the page."""
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key, as a person would."""
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key)


def make_page(folder: Path) -> Path:
    """A study whose items try to be markup, and its page."""
    pq.write_table(pa.table({"text": PAYLOADS}), folder / "items.parquet")
    streameval.plan(
        str(folder / "items.parquet"), folder / "study", method=f"paula(epsilon=1.0, window={len(PAYLOADS)})", seed=0
    )
    streameval.select(folder / "study", export=folder / "tasks.html", ask="Is it <b>markup</b>?", negative="never")
    return folder / "tasks.html"


def label(browser: Browser, page: str) -> tuple[list[str], dict[int, str]]:
    """Answer every task by keys; returns what was shown, and what was said in the end, by place."""
    browser.run("document.getElementById('who').focus()")
    for key in ("a", "n", "n", "Enter"):
        browser.press(key)
    shown, said = [], {}
    for i in range(len(PAYLOADS)):
        shown.append(browser.run("document.querySelector('#item p, #item pre').textContent"))
        said[i] = ("1", "0", "s")[i % 3]
        browser.press(said[i])
        if i == 4:  # come back another day
            browser.load(page)
            assert browser.run("document.getElementById('who').value") == "ann", "the name is remembered"
    for _ in range(len(PAYLOADS)):
        browser.press("ArrowLeft")
    browser.press("0")  # the first one after all
    said[0] = "0"
    assert browser.run("document.getElementById('question').textContent") == "Is it <b>markup</b>?"
    assert browser.run("document.getElementById('zero').textContent") == "never 0"
    assert browser.run("document.title") == "Labels", "a script of an item ran"
    assert browser.run("document.querySelectorAll('#item img, #item script, #item b').length") == 0
    assert browser.run("document.getElementById('count').textContent") == "10 of 10 answered"
    return shown, said


def main() -> None:
    """Run all of it in a folder."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "labelling-page-run").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    page, program = make_page(folder).as_uri(), shutil.which("chromium")
    if program is None:
        raise SystemExit("there is no chromium: apt-get install chromium")
    browser = Browser(program, folder / "profile")
    try:
        browser.open(page, folder)
        shown, said = label(browser, page)
        browser.run("document.getElementById('save').click()")
        for _ in range(100):
            saved = list(folder.glob("labels-*.csv"))
            if saved:
                break
            time.sleep(0.1)
        photograph(browser, folder)
    finally:
        browser.process.terminate()
        browser.process.wait(30)
    check(folder, saved[0], shown, said)


def photograph(browser: Browser, folder: Path, name: str = "page") -> None:
    """The page on a desk and on a phone, by day and by night."""
    for width, scheme in itertools.product((1280, 390), ("light", "dark")):
        screen = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.call("Emulation.setDeviceMetricsOverride", **screen)
        browser.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        assert browser.run("document.documentElement.scrollWidth") <= width, "nothing is wider than the screen"
        picture = browser.call("Page.captureScreenshot")["data"]
        (folder / f"{name}-{width}-{scheme}.png").write_bytes(base64.b64decode(picture))


def check(folder: Path, saved: Path, shown: list[str], said: dict[int, str]) -> None:
    """Every text was shown as it is, and every decision arrives."""
    selection = pq.read_table(folder / "study" / "selection.parquet").sort_by("se_task")
    assert shown == selection.column("text").to_pylist(), "texts are shown as they are"
    found = streameval.evaluate(folder / "study", labels=saved)
    labels = dict(zip(*(found.label_table.column(n).to_pylist() for n in ("rank", "label")), strict=True))
    wanted = {"1": 1, "0": 0, "s": None}
    for place, rank in enumerate(selection.column("rank").to_pylist()):
        assert labels[rank] == wanted[said[place]], (place, rank)
    account = found.summary["account"]
    assert list(found.summary["agreement"]["annotators"]) == ["ann"]
    print(f"{saved.name}: {account['votes']} votes, {account['skipped']} skips, every decision arrived; nothing ran")


if __name__ == "__main__":
    main()
