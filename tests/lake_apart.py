"""The S3 server of `lake`, in a process of its own, so that nothing the client does can keep it from answering.

A stream of pyarrow's that is not closed completes its upload when Python forgets it, and waits for the answer with the
interpreter's lock held: a server in the same process would never get to answer.
"""

import json
import os
import re
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from lake import client, serve


class Apart:
    """The server as the tests see it."""

    def __init__(self, process):
        self._process = process
        self.url = self._hear()

    def _hear(self):
        return json.loads(self._process.stdout.readline())

    def _ask(self, **what):
        self._process.stdin.write(json.dumps(what) + "\n")
        self._process.stdin.flush()
        return self._hear()

    def reset(self, *rules):
        """Forget requests, and misbehave by other rules: see `_fault`."""
        self._ask(rules=rules)

    @property
    def requests(self):
        """(method, path with query) of all requests, those that failed included."""
        return [tuple(one) for one in self._ask()["requests"]]

    @property
    def open_uploads(self):
        """Keys of uploads in parts that hold bytes and were neither completed nor aborted."""
        return self._ask()["uploads"]


@contextmanager
def serve_apart():
    """Run the server for a while."""
    with subprocess.Popen([sys.executable, __file__], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True, cwd=Path(__file__).parent) as process:  # fmt: skip
        try:
            yield Apart(process)
        finally:
            process.stdin.close()


def _fault(rules, seen, method, path):
    """What the first rule that matches says: requests `first` to `last` of those of `method` for a path like `path`."""
    for i, rule in enumerate(rules):
        if rule.get("method", method) == method and re.search(rule["path"], path):
            seen[i] = seen.get(i, 0) + 1
            if rule.get("first", 1) <= seen[i] <= rule.get("last", 1 << 30):
                if "signal" in rule:
                    os.kill(rule["pid"], rule["signal"])
                return rule.get("fault")
    return None


def main():
    from moto.s3.models import s3_backends

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with serve() as lake:
        client(lake).create_dir("lake")
        print(json.dumps(lake.url), flush=True)
        requests = []
        for line in sys.stdin:
            asked = json.loads(line)
            buckets = [bucket for of in s3_backends.values() for one in of.values() for bucket in one.buckets.values()]
            uploads = [one.key_name for bucket in buckets for one in bucket.multiparts.values() if one.parts]
            print(json.dumps({"requests": requests, "uploads": uploads}), flush=True)
            if "rules" in asked:
                requests = []
                lake.reset(_watcher(asked["rules"], requests))


def _watcher(rules, requests):
    seen = {}

    def trouble(count, environ):
        path = environ["PATH_INFO"] + ("?" + environ["QUERY_STRING"] if environ["QUERY_STRING"] else "")
        requests.append((environ["REQUEST_METHOD"], path))
        return _fault(rules, seen, environ["REQUEST_METHOD"], path)

    return trouble


if __name__ == "__main__":
    main()
