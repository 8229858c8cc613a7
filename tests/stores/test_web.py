"""Files of web servers and of Hugging Face, from a server of our own on this machine."""

import json
import re
import ssl
import threading
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.error import URLError

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval import stores
from streameval.cli import run
from streameval.errors import InputError
from streameval.stores import trouble

ITEMS = 20_000
TABLE = pa.table({"id": range(ITEMS), "text": [f"item {i}" * 20 for i in range(ITEMS)]})


class Server(BaseHTTPRequestHandler):
    """Serves the files of a folder as a plain server, and as Hugging Face would."""

    next_host = "", ""  # what the next page of a list has in its address in place of what

    def __init__(self, folder, asked, *given):
        self.folder, self.asked = folder, asked
        super().__init__(*given)

    def log_message(self, *what):
        """Print nothing."""

    def do_HEAD(self):
        self.do_GET()

    def do_GET(self):
        path = self.path.partition("?")[0]
        self.asked.append((self.command, self.path, self.headers.get("Range"), self.headers.get("Authorization")))
        if re.fullmatch("/api/datasets/me/list/tree/[^/]+/data", path):
            files = [{"type": "file", "path": f"data/{one.name}"} for one in sorted(self.folder.glob("part*"))]
            first = "page=2" not in self.path
            host = self.headers["Host"].replace(*self.next_host)
            link = f'<http://{host}{path}?page=2>; rel="next"' if first else None
            self._answer(200, json.dumps(files[:1] if first else files[1:]).encode(), {"Link": link} if link else {})
            return
        match = re.fullmatch(r"/(?:datasets/me/list/resolve/[^/]+/data/|plain/)(.*)", path)
        if match and match[1] == "moved.parquet":
            self._answer(302, b"", {"Location": "file:///etc/passwd"})
        elif match and match[1] == "secret.parquet":
            self._answer(403, b"", {})
        elif match is None or not (self.folder / match[1]).is_file():
            self._answer(404, b"", {})
        else:
            whole = (self.folder / match[1]).read_bytes()
            asked = re.fullmatch(r"bytes=(\d+)-(\d+)", self.headers.get("Range") or "")
            if asked and match[1] != "unranged.parquet":
                self._answer(206, whole[int(asked[1]) : int(asked[2]) + 1], {})
            else:
                self._answer(200, whole, {})

    def _answer(self, status, body, headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What is served."""
    folder = tmp_path_factory.mktemp("served")
    for part in range(2):
        pq.write_table(TABLE.slice(part * 10_000, 10_000), folder / f"part-{part}.parquet", write_page_index=True)
    pq.write_table(TABLE, folder / "unranged.parquet")
    (folder / "list.csv").write_text("id,conf\n" + "".join(f"{i},{i / 512}\n" for i in range(500)))
    return folder


@pytest.fixture
def server(folder, monkeypatch):
    """Address, and what was asked for."""
    asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Server, folder, asked)) as http:
        threading.Thread(target=http.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{http.server_port}"
        monkeypatch.setenv("HF_ENDPOINT", address)
        monkeypatch.setattr(trouble, "FIRST_PAUSE", 0.0)
        stores._remote.cache_clear()
        yield address, asked
        http.shutdown()
        stores._remote.cache_clear()


def bytes_asked(asked):
    ranges = [re.fullmatch(r"bytes=(\d+)-(\d+)", one[2]) for one in asked if one[2]]
    return sum(int(one[2]) - int(one[1]) + 1 for one in ranges)


@pytest.mark.parametrize(
    "source",
    ["{}/plain/part-0.parquet {}/plain/part-1.parquet", "hf://datasets/me/list/data", "hf://datasets/me/list@v1/data/*.parquet"],
)  # fmt: skip
def test_only_pages_of_planned_items_are_read(source, server, tmp_path):
    address, asked = server
    sources = source.format(address, address).split()
    plan = streameval.plan(sources, tmp_path / "s", method="uniform", budget=5, seed=1)
    chosen = streameval.select(tmp_path / "s").table
    assert chosen.column("id").to_pylist() == [rank - 1 for rank in plan.ranks.tolist()]
    assert plan.n_items == ITEMS
    assert not (tmp_path / "s" / "ranking").exists()
    assert all(what == "HEAD" or ranged or "/api/" in path for what, path, ranged, _ in asked)
    assert ("@v1" in source) == any("/v1/" in path for _, path, *_ in asked)


def test_a_token_goes_to_hugging_face_alone_and_is_kept_nowhere(server, tmp_path, monkeypatch):
    address, asked = server
    monkeypatch.setenv("HF_TOKEN", "tell-nobody")
    streameval.plan("hf://datasets/me/list/data", tmp_path / "s", budget=50, seed=1)
    assert {secret for *_, secret in asked} == {"Bearer tell-nobody"}
    asked.clear()
    streameval.plan(f"{address}/plain/part-0.parquet", tmp_path / "t", budget=50, seed=1)
    assert {secret for *_, secret in asked} == {None}
    assert not [one for one in tmp_path.rglob("*.json") if b"tell-nobody" in one.read_bytes()]


def test_a_token_does_not_follow_a_list_to_another_server(server, tmp_path, monkeypatch):
    _, asked = server
    monkeypatch.setenv("HF_TOKEN", "tell-nobody")
    monkeypatch.setattr(Server, "next_host", ("127.0.0.1", "localhost"))
    streameval.plan("hf://datasets/me/list/data", tmp_path / "s", budget=50, seed=1)
    secrets = [(path, secret) for _, path, _, secret in asked if "/api/" in path]
    assert {secret for path, secret in secrets if "page=2" in path} == {None}
    assert {secret for path, secret in secrets if "page=2" not in path} == {"Bearer tell-nobody"}


def test_a_certificate_that_is_not_trusted_is_asked_for_once():
    asked = []

    def ask():
        asked.append(1)
        raise URLError(ssl.SSLCertVerificationError(1, "certificate verify failed: self-signed certificate"))

    with pytest.raises(InputError, match="https://host/a: the certificate of its server is not trusted"):
        trouble.with_retries("https://host/a", ask)
    error = "When reading key 'a': AWS Error NETWORK_CONNECTION during HeadObject operation: curlCode: 60, SSL peer"
    assert isinstance(trouble.store_error("s3://b/a", OSError(error)), InputError)
    assert len(asked) == 1


def test_a_text_on_a_server_is_copied(server, tmp_path):
    address, _ = server
    plan = streameval.plan(f"{address}/plain/list.csv", tmp_path / "s", score="conf", budget=50, seed=1)
    assert plan.n_items == 500
    assert streameval.select(tmp_path / "s").table.num_rows == plan.table.num_rows


@pytest.mark.parametrize(
    ("source", "says", "status"),
    [
        ("{}/plain/none.parquet", "none.parquet: no such file or folder", 2),
        ("{}/plain/moved.parquet", "its server names another place (file:), to which nothing is followed", 2),
        ("{}/plain/secret.parquet", "its server denies access", 2),
        ("{}/plain/unranged.parquet", "its server sends no parts of a file. Hint: download it", 2),
        ("{}/plain/*.parquet", "a web server does not list its files", 2),
        ("{}/plain/none.csv", "no such file", 2),
        ("{}/plain/part-0.parquet?token=abc", "settings after a '?'", 2),
        ("http://me:pw@127.0.0.1/a.parquet", "a name or secret before the bucket", 2),
        ("http://127.0.0.1:1/a.parquet", "the store does not answer", 3),
        ("hf://me/list/data", "an address is hf://datasets/OWNER/NAME/PATH", 2),
        ("hf://datasets/me/list/none", "no such file or folder", 2),
    ],
)
def test_what_a_server_does_not_give_is_one_line(source, says, status, server, tmp_path, capsys):
    assert run(["plan", source.format(server[0]), "--study", str(tmp_path / "s")]) == status
    message = capsys.readouterr().err
    assert says in message
    assert len(message.strip().splitlines()) == 1
    assert "pw" not in message
    assert not (tmp_path / "s").exists()
