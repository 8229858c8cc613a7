"""An S3 server on loopback that counts what it sends and misbehaves on request; what it shares with `bucket`."""

import logging
import re
import socket
import threading
import time
import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import NamedTuple

import refusals

from streameval import stores
from streameval.stores import trouble

STATUSES = {
    "503": "503 Slow Down", "500": "500 Internal Error", "403": "403 Forbidden", "401": "401 Unauthorized",
    "404": "404 Not Found", "400": "400 Bad Request", "301": "301 Moved Permanently",
}  # fmt: skip
ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "testing-key",
    "AWS_SECRET_ACCESS_KEY": "testing-secret-do-not-print",
    "AWS_EC2_METADATA_DISABLED": "true",
    "AWS_REGION": "us-east-1",
}


def reach(place, monkeypatch):
    """Reach a place of objects as a new process that is not patient."""
    place.reach(monkeypatch)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(trouble, "FIRST_PAUSE", 0.001)
    forget()


def forget():
    """Begin as a new process does: no connection outlives it."""
    stores._remote.cache_clear()


def refused(capsys, status, *arguments):
    """Run a command that has to end in one line with a status, and without a secret; the line."""
    message = refusals.refused(capsys, *arguments, status=status)
    assert ENVIRONMENT["AWS_SECRET_ACCESS_KEY"] not in message
    return message


class Gate:
    """Lets requests pass once so many are held at the same time; in vain after a while, so that no test hangs."""

    def __init__(self, wanted):
        self.wanted, self.held, self.most = wanted, 0, 0
        self.lock, self.reached = threading.Lock(), threading.Event()

    def __enter__(self):
        with self.lock:
            self.held += 1
            self.most = max(self.most, self.held)
            if self.held >= self.wanted:
                self.reached.set()
        if not self.reached.wait(20):
            self.reached.set()

    def __exit__(self, *error):
        with self.lock:
            self.held -= 1


class Asked(NamedTuple):
    """A request: its path with the query behind it, and the range of bytes that it wants."""

    method: str
    path: str
    span: str | None


def by_rules(rules, act=None):
    """Trouble by rules: the first that matches says what becomes of requests `first` to `last` of its method and path.

    A rule names a `fault`, or has `act` called with it before the request is answered.
    """
    seen = [0] * len(rules)

    def trouble(count, asked):
        for i, rule in enumerate(rules):
            if rule.get("method", asked.method) == asked.method and re.search(rule["path"], asked.path):
                seen[i] += 1
                if rule.get("first", 1) <= seen[i] <= rule.get("last", 1 << 30):
                    if act:
                        act(rule)
                    return rule.get("fault")
        return None

    return trouble


class Place:
    """Where objects lie: what it was asked, and what it does to requests for data.

    `requests` holds (method, path with query, bytes sent) of all that was asked, what failed included.
    `trouble(request number, Asked)` names a fault ("drop", "cut", "slow", "503", "500") or None.
    """

    def reset(self, trouble=None):
        """Forget requests, and misbehave otherwise."""
        self.requests.clear()
        self.trouble, self.count, self.gate = trouble, 0, nullcontext()

    @property
    def gets(self):
        """(path, bytes) of data requests."""
        return [(path, size) for method, path, size in self.requests if method == "GET" and "list-type" not in path]

    @property
    def n_bytes(self):
        return sum(size for _, size in self.gets)

    def upload(self, folder, place):
        """Copy a local file or folder."""
        files = [folder] if folder.is_file() else [path for path in sorted(folder.rglob("*")) if path.is_file()]
        for path in files:
            name = path.name if folder.is_file() else path.relative_to(folder).as_posix()
            self.put(f"{place}/{name}", path.read_bytes())


class Server(Place):
    """A server at an address."""

    def reach(self, monkeypatch):
        """Be what a user's environment names."""
        monkeypatch.setenv("AWS_ENDPOINT_URL", self.url)

    def put(self, key, body):
        """Put an object there, as another program would."""
        with client(self).open_output_stream(key) as stream:
            stream.write(body)

    def make_folder(self, key):
        """Put the empty object there that stands for a folder."""
        client(self).create_dir(key)

    def remove(self, key):
        """Remove an object, as another program would."""
        client(self).delete_file(key)

    def objects(self, place="s3://lake/best"):
        """Content of every object below a place, folder markers left out."""
        from pyarrow.fs import FileSelector, FileType

        filesystem, root = client(self), place.removeprefix("s3://")
        found = filesystem.get_file_info(FileSelector(root, recursive=True, allow_not_found=True))
        contents = {}
        for one in found:
            if one.type == FileType.File:
                with filesystem.open_input_file(one.path) as file:
                    contents[one.path.removeprefix(f"{root}/")] = file.read()
        return contents

    def has_folder(self, key):
        """Whether anything is below a folder, be it its marker."""
        return client(self).get_file_info(key).type.name != "NotFound"


@dataclass
class Lake(Server):
    """The server, in this process."""

    url: str = ""
    requests: list = field(default_factory=list)
    trouble: object = None
    gate: object = field(default_factory=nullcontext)  # what every request passes
    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def wrap(self, app):
        def answer(environ, start_response):
            path = environ["PATH_INFO"] + ("?" + environ["QUERY_STRING"] if environ["QUERY_STRING"] else "")
            method = environ["REQUEST_METHOD"]
            with self.lock:
                self.count += 1
                asked = Asked(method, path, environ.get("HTTP_RANGE"))
                self.requests.append((method, path, 0))
                place = len(self.requests) - 1
                fault = self.trouble(self.count, asked) if self.trouble else None
            if fault == "slow":
                time.sleep(0.05)
            if fault == "drop":
                environ["werkzeug.socket"].shutdown(socket.SHUT_RDWR)
                return []
            if fault in STATUSES:
                start_response(STATUSES[fault], [("Content-Length", "0")])
                return []
            with self.gate:
                pass
            body = b"".join(app(environ, start_response))
            with self.lock:
                if place < len(self.requests):  # or they were forgotten meanwhile
                    self.requests[place] = (method, path, len(body))
            if fault == "cut":  # half the body, and then nothing: the length that was promised never comes
                return cut(body, environ["werkzeug.socket"])
            return [body]

        return answer


def cut(body, connection):
    yield body[: len(body) // 2]
    connection.shutdown(socket.SHUT_RDWR)


@contextmanager
def serve():
    """Run the server for a while."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from moto.moto_server.werkzeug_app import create_backend_app
        from werkzeug.serving import make_server

    logging.getLogger("werkzeug").setLevel(logging.CRITICAL)
    lake = Lake()
    server = make_server("127.0.0.1", 0, lake.wrap(create_backend_app("s3")), threaded=True)
    lake.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield lake
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def client(lake):
    """Write through pyarrow, as any other program would."""
    from pyarrow import fs

    return fs.S3FileSystem(
        access_key=ENVIRONMENT["AWS_ACCESS_KEY_ID"], secret_key=ENVIRONMENT["AWS_SECRET_ACCESS_KEY"],
        endpoint_override=lake.url, region="us-east-1", allow_bucket_creation=True, allow_bucket_deletion=True,
    )  # fmt: skip
