"""Drive `streameval label` in headless Chromium: a hundred tasks by keyboard, the server killed between; take pictures.

    python scripts/labelling_served.py STUDY [FOLDER]

STUDY is of the demo, planned and not labelled; its pictures are what people see. FOLDER gets the pages as pictures.
"""

from __future__ import annotations

import http.client
import itertools
import json
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from labelling_page import Browser, photograph

import streameval
from streameval.serving.desk import given_twice
from streameval.serving.links import links_of
from streameval.study.answer_journal import NAME, read_lines

ENOUGH = 100
PICTURES = "left_picture,right_picture"
RULES = "# How to answer\n\nLook at the *shape*, not at how it is drawn.\n\n- a crossed 7 is a 7\n"


def served(study: Path, rules: Path, port: str) -> tuple[subprocess.Popen[str], list[str]]:
    """Start the server; its process, and the addresses that it prints."""
    command = [sys.executable, "-m", "streameval", "label", str(study), "--host", f":{port}", "--people", "ann,ben"]
    command += ["--columns", PICTURES, "--image", PICTURES, "--ask", "Do both show the same digit?"]
    command += ["--positive", "same", "--negative", "different", "--guidelines", str(rules), "--overlap", "10%"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    return process, [re.sub(r"^.*?: ", "", process.stdout.readline()).strip() for _ in range(3)]


def close_the_page(browser: Browser, study: Path, port: int) -> None:
    """What a page has is given to others as soon as it is closed."""
    secret = links_of(study, ("ann", "ben")).token("ben")
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}

    def said(**message: object) -> list[int]:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
        connection.request("POST", "/api/work", json.dumps({"answers": [], **message}), headers)
        return [task for task, _ in json.loads(connection.getresponse().read())["tasks"]]

    def others() -> set[int]:
        found = {task for tab in "abcdefghij" for task in said(tab=tab)}
        for tab in "abcdefghij":
            said(tab=tab, leaving=True)
        return found

    browser.until("tasks.length > kept.at")
    mine = browser.run("tasks.slice(kept.at).map(task => task[0]).filter(task => !kept.answers[task])")
    assert isinstance(mine, list)
    twice = given_twice(mine, 0.1, streameval.Study(study).plan().seed)
    mine = [task for task in mine if task not in twice]  # those for two may be with both
    assert mine
    assert not others() & {*mine}
    browser.call("Page.navigate", url="about:blank")
    for _ in range(100):
        if others() >= {*mine}:
            return
        time.sleep(0.1)
    raise SystemExit("a page that is closed keeps its tasks")


def main() -> None:
    """Run all of it."""
    study, folder = Path(sys.argv[1]), Path(sys.argv[2] if len(sys.argv) > 2 else "labelling-served-run").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    rules = folder / "rules.md"
    rules.write_text(RULES)
    server, (owner, ann, _) = served(study, rules, "0")
    port = re.findall(r":(\d+)/", owner)[0]
    browser = Browser(shutil.which("chromium") or "chromium", folder / "profile")
    try:
        browser.open(ann, folder)
        keys = itertools.cycle("1100s")
        for done in range(ENOUGH):
            browser.until("document.querySelectorAll('#item img').length === 2")
            browser.press(next(keys))
            if done == ENOUGH // 3:  # what is answered meanwhile waits in the page
                server.send_signal(signal.SIGKILL)
                server.wait()
            if done == ENOUGH // 3 + 1:
                server, _ = served(study, rules, port)
        browser.press("ArrowLeft")
        browser.press("0")
        browser.until("!Object.keys(localStorage).length")
        browser.until(f"document.getElementById('count').textContent.startsWith('{ENOUGH} ')")
        assert browser.run("document.title") == "Labels"
        browser.press("g")
        assert browser.run("document.querySelector('#rules li').textContent") == "a crossed 7 is a 7"
        photograph(browser, folder, "guidelines")
        browser.press("g")
        photograph(browser, folder, "task")
        close_the_page(browser, study, int(port))
        browser.open(owner, folder)
        browser.until("!document.getElementById('report').hidden")
        photograph(browser, folder, "owner")
    finally:
        browser.process.terminate()
        browser.process.wait(30)
        server.send_signal(signal.SIGINT)
        server.wait(60)
    lines = read_lines(study / "votes" / NAME)
    assert len({one["id"] for one in lines}) == len(lines) == ENOUGH + 1, len(lines)
    account = streameval.evaluate(study).summary["account"]
    print(f"{account['votes']} votes, {account['skipped']} skips, {account['superseded']} superseded; nothing was lost")


if __name__ == "__main__":
    main()
