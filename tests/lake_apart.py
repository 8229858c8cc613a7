"""The S3 server of `lake`, in a process of its own, so that nothing the client does can keep it from answering.

A stream of pyarrow's that is not closed completes its upload when Python forgets it, and waits for the answer with the
interpreter's lock held: a server in the same process would never get to answer.
"""

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from lake import Server, by_rules, client, serve


class Apart(Server):
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

    def misbehave(self, *rules):
        """Forget requests, and misbehave by rules: see `by_rules`; one may have a `signal` sent to a process."""
        self._ask(rules=rules)

    def reset(self):
        """Forget requests, and behave."""
        self.misbehave()

    @property
    def requests(self):
        """(method, path with query, 0) of all requests, those that failed included."""
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
    trouble = by_rules(rules, lambda rule: "signal" in rule and os.kill(rule["pid"], rule["signal"]))

    def watched(count, asked):
        requests.append((asked.method, asked.path, 0))
        return trouble(count, asked)

    return watched


if __name__ == "__main__":
    main()
