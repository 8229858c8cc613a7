"""Drive a real Label Studio on loopback: import our tasks, annotate with several people, export, evaluate.

    scripts/label-studio [FOLDER]

Two people label every task through the API: with skips, disagreements and a changed mind. The project is exported as
JSON, JSON_MIN and CSV into FOLDER, each export is evaluated, and every decision is compared with what was decided.
"""

from __future__ import annotations

import http.cookiejar
import json
import os
import re
import shutil
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

import streameval

PORT, WAIT = 8765, 240
HOME = f"http://127.0.0.1:{PORT}"
TEXTS = [
    "plain",
    "<script>alert(1)</script>",
    "quotes \" and '",
    "two\nlines",
    "=1+1",
    "\u202eright to left",
    "tab\t",
    "é ✓",
]
PEOPLE = ("ann@example.org", "bob@example.org")


class Person:
    """Somebody who is signed in."""

    def __init__(self, address: str) -> None:
        self.cookies = http.cookiejar.CookieJar()
        self.opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))
        self.address = address

    def call(self, path: str, data: object = None, method: str | None = None) -> bytes:
        """Ask for a page, or send JSON, or (a dict of texts under "form") a form."""
        headers = {"Referer": HOME}
        token = next((c.value for c in self.cookies if c.name == "csrftoken"), None)
        if token:
            headers["X-CSRFToken"] = token
        body = None
        if isinstance(data, dict) and "form" in data:
            body = urllib.parse.urlencode({**data["form"], "csrfmiddlewaretoken": token or ""}).encode()
        elif data is not None:
            body, headers["Content-Type"] = json.dumps(data).encode(), "application/json"
        request = urllib.request.Request(HOME + path, body, headers, method=method)
        with self.opener.open(request, timeout=60) as answer:
            return answer.read()

    def json(self, path: str, data: object = None, method: str | None = None) -> object:
        """The same, answered in JSON."""
        return json.loads(self.call(path, data, method))

    def sign_in(self, kind: str) -> None:
        """Log in, or sign up."""
        self.call(f"/user/{kind}/")
        self.call(f"/user/{kind}/", {"form": {"email": self.address, "password": "loopback-only-1"}})


def serve(folder: Path, program: str) -> subprocess.Popen:
    """Start the server, and wait until it answers."""
    environment = os.environ | {
        "LABEL_STUDIO_BASE_DATA_DIR": str(folder / "server"), "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "LABEL_STUDIO_LATEST_VERSION_CHECK": "false", "SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": "",
    }  # fmt: skip
    command = [program, "start", "--no-browser", "--port", str(PORT), "--internal-host", "127.0.0.1", "--username",
               PEOPLE[0], "--password", "loopback-only-1"]  # fmt: skip
    log = open(folder / "server.log", "w")  # noqa: SIM115  (the server's, as long as it runs)
    server = subprocess.Popen(command, env=environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL)
    for _ in range(WAIT):
        try:
            urllib.request.urlopen(HOME + "/health", timeout=2).read()
            return server
        except OSError:
            if server.poll() is not None:
                raise SystemExit(f"Label Studio stopped: see {folder / 'server.log'}") from None
            time.sleep(1)
    server.terminate()
    raise SystemExit(f"Label Studio did not answer within {WAIT} s: see {folder / 'server.log'}")


def make_study(folder: Path) -> Path:
    """A study of 40 items whose texts try to be more than texts; its tasks in Label Studio's form."""
    n = 40
    items = pa.table({"text": [f"{TEXTS[i % len(TEXTS)]} {i}" for i in range(n)], "label": [1] * n})
    pq.write_table(items, folder / "items.parquet")
    streameval.plan(str(folder / "items.parquet"), folder / "study", method=f"paula(epsilon=1.0, window={n})", seed=0)
    streameval.select(folder / "study", export=folder / "tasks.label-studio.json")
    return folder / "study"


def annotate(project: int, people: list[Person]) -> dict[int, list[object]]:
    """Let both label every task; returns by se_task what each decided in the end (None: a skip)."""
    decided: dict[int, list[object]] = {}
    tasks = people[0].json(f"/api/tasks?project={project}&page_size=1000&fields=all")
    for task in tasks["tasks"]:
        number = task["data"]["se_task"]
        decided[number] = []
        for i, person in enumerate(people):
            choice = "positive" if (number * (3 + i)) % 5 < 3 else "negative"
            skip = (number + i) % 9 == 0
            annotation = {"result": [] if skip else result(choice), "was_cancelled": skip, "lead_time": 1.5}
            made = person.json(f"/api/tasks/{task['id']}/annotations/", annotation)
            if not skip and number % 7 == i:  # a changed mind
                choice = "negative" if choice == "positive" else "positive"
                person.json(f"/api/annotations/{made['id']}/", {"result": result(choice)}, "PATCH")
            decided[number].append(None if skip else int(choice == "positive"))
    return decided


def result(choice: str) -> list[dict[str, object]]:
    """What the labelling interface would send."""
    return [{"from_name": "label", "to_name": "show_text", "type": "choices", "value": {"choices": [choice]}}]


def check(folder: Path, export: Path, decided: dict[int, list[object]], skips: str) -> None:
    """Evaluate one export in a study of its own, and compare every decision."""
    study = folder / f"study-{export.stem}"
    shutil.rmtree(study, ignore_errors=True)
    shutil.copytree(folder / "study", study)
    found = streameval.evaluate(study, labels=export)
    rank = dict(zip(*(pq.read_table(study / "selection.parquet").column(n).to_pylist() for n in ("se_task", "rank")),
                    strict=True))  # fmt: skip
    rows = {row["rank"]: row for row in found.label_table.to_pylist()}
    for task, said in decided.items():
        votes = [one for one in said if one is not None]
        row = rows[rank[task]]
        assert (row["votes"], row["positive_votes"]) == (len(votes), sum(votes)), (export.name, task, said, row)
    account = found.summary["account"]
    expected = sum(one is None for said in decided.values() for one in said)
    assert account["skipped"] == (expected if skips == "kept" else 0), account
    assert sorted(found.summary["agreement"]["annotators"])[:1] != [""], "annotators are named"
    print(f"{export.name}: {account['votes']} votes, {account['skipped']} skips, every decision arrived")


def main() -> None:
    """Run all of it in a folder."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "label-studio-run").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    make_study(folder)
    server = serve(folder, os.environ["LABEL_STUDIO"])
    try:
        people = [Person(address) for address in PEOPLE]
        people[0].sign_in("login")
        invite = str(people[0].json("/api/invite")["invite_url"])
        people[1].call(invite)
        people[1].call(
            re.sub(r"^https?://[^/]*", "", invite), {"form": {"email": PEOPLE[1], "password": "loopback-only-1"}}
        )
        config = (folder / "tasks.label-studio.xml").read_text(encoding="utf-8")
        project = people[0].json("/api/projects/", {"title": "streameval", "label_config": config})["id"]
        tasks = json.loads((folder / "tasks.label-studio.json").read_text(encoding="utf-8"))
        people[0].json(f"/api/projects/{project}/import", tasks)
        decided = annotate(project, people)
        for kind, name, skips in (
            ("JSON", "full.json", "kept"),
            ("JSON_MIN", "min.json", "dropped"),
            ("CSV", "rows.csv", "dropped"),
        ):
            raw = people[0].call(f"/api/projects/{project}/export?exportType={kind}&download_all_tasks=true")
            (folder / name).write_bytes(raw)
            check(folder, folder / name, decided, skips)
        (folder / "decided.json").write_text(json.dumps(decided))
    finally:
        server.terminate()
        server.wait(30)


if __name__ == "__main__":
    main()
