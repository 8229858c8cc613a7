"""An S3 server on loopback that counts what it sends and misbehaves on request."""

import logging
import socket
import threading
import time
import warnings
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field

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


def reach(server, monkeypatch):
    """Reach a server as a user would, by the environment, as a new process that is not patient."""
    for name, value in {**ENVIRONMENT, "AWS_ENDPOINT_URL": server.url}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(trouble, "_FIRST_PAUSE", 0.001)
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


@dataclass
class Lake:
    """The server: what it was asked, and what it does to requests for data.

    `trouble(request number, environ)` names a fault ("drop", "cut", "slow", "503", "500") or None.
    """

    url: str = ""
    requests: list = field(default_factory=list)
    trouble: object = None
    gate: object = field(default_factory=nullcontext)  # what every request passes
    count: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def reset(self, trouble=None):
        self.requests.clear()
        self.trouble, self.count, self.gate = trouble, 0, nullcontext()

    @property
    def gets(self):
        """(path, bytes) of data requests."""
        return [(path, size) for method, path, size in self.requests if method == "GET" and "list-type" not in path]

    @property
    def n_bytes(self):
        return sum(size for _, size in self.gets)

    def wrap(self, app):
        def answer(environ, start_response):
            path = environ["PATH_INFO"] + ("?" + environ["QUERY_STRING"] if environ["QUERY_STRING"] else "")
            method = environ["REQUEST_METHOD"]
            with self.lock:
                self.count += 1
                fault = self.trouble(self.count, environ) if self.trouble else None
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
                self.requests.append((method, path, len(body)))
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


def upload(filesystem, folder, place):
    """Copy a local file or folder."""
    files = [folder] if folder.is_file() else [path for path in sorted(folder.rglob("*")) if path.is_file()]
    for path in files:
        name = path.name if folder.is_file() else path.relative_to(folder).as_posix()
        with filesystem.open_output_stream(f"{place}/{name}") as stream:
            stream.write(path.read_bytes())
