"""What `select` of the default plan takes from an object store that answers late: seconds, and requests in flight.

The store is a process of its own on this machine that serves a folder as an S3 bucket, and waits before every answer.
It does no more than that, so that two cores suffice for it and for what is measured.

Run: python -m benchmarks.object_store FOLDER [--latency 0.03] [--readme]
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from urllib.parse import unquote, urlsplit
from urllib.request import urlopen

from benchmarks.machine import description
from benchmarks.readme import markdown, write_section

_ENTRY = "<Contents><Key>list/{}</Key><Size>{}</Size><LastModified>2026-01-01T00:00:00.000Z</LastModified></Contents>"
_LISTING = "<ListBucketResult><IsTruncated>false</IsTruncated><KeyCount>{}</KeyCount>{}</ListBucketResult>"
_HEAD = ["from a store that waits", "ms", "requests", "in flight at most", "MB", "wall s", "CPU s"]


@dataclass
class Bucket:
    """A folder served as `list/` of the bucket `lake`: what it was asked for, and how many requests it held at once."""

    folder: Path
    latency: float
    requests: int = 0
    held: int = 0
    most: int = 0
    sent: int = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one connection."""
        while head := await _request(reader):
            method, target = head[0].split()[:2]
            fields = dict(line.split(": ", 1) for line in map(str.lower, head[1:]))
            if target == "/counts":
                counts = json.dumps([self.requests, self.most, self.sent]).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(counts), counts))
                continue
            self.requests, self.held = self.requests + 1, self.held + 1
            self.most = max(self.most, self.held)
            await asyncio.sleep(self.latency)
            body = self.answer(method, target, fields.get("range", ""))
            self.held -= 1
            self.sent += len(body)
            writer.write(body)
            await writer.drain()
        writer.close()

    def answer(self, method: str, target: str, asked: str) -> bytes:
        """The head of an answer, and what follows it."""
        path = self.folder / unquote(urlsplit(target).path).removeprefix("/lake/list/")
        if "list-type" in target:
            files = sorted(self.folder.iterdir())
            listing = _LISTING.format(len(files), "".join(_ENTRY.format(one.name, one.stat().st_size) for one in files))
            return _answer("200 OK", listing.encode())
        if not path.is_file():
            return _answer("404 Not Found", b"")
        size = path.stat().st_size
        if method == "HEAD":
            return _answer("200 OK", b"", size)
        first, last = (int(part) for part in (asked.removeprefix("bytes=") or f"0-{size - 1}").split("-"))
        with open(path, "rb") as file:
            body = os.pread(file.fileno(), last - first + 1, first)
        if not asked:
            return _answer("200 OK", body)
        return _answer("206 Partial Content", body, place=f"bytes {first}-{first + len(body) - 1}/{size}")


async def _request(reader: asyncio.StreamReader) -> list[str]:
    try:
        raw = await reader.readuntil(b"\r\n\r\n")
    except (asyncio.IncompleteReadError, ConnectionError):
        return []
    return raw.decode().strip().split("\r\n")


def _answer(status: str, body: bytes, size: int | None = None, place: str = "") -> bytes:
    told = f'Content-Length: {len(body) if size is None else size}\r\nETag: "1"\r\nContent-Type: binary/octet-stream'
    told += f"\r\nContent-Range: {place}" if place else ""
    return f"HTTP/1.1 {status}\r\nLast-Modified: Thu, 01 Jan 2026 00:00:00 GMT\r\n{told}\r\n\r\n".encode() + body


def run_server(folder: Path, latency: float, ready: Connection) -> None:
    """Serve until the process is ended; send the port first."""

    async def run() -> None:
        server = await asyncio.start_server(Bucket(folder, latency).serve, "127.0.0.1", 0, backlog=1024)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def measured(folder: Path, latency: float) -> list[str]:
    """A row of the table."""
    ours, theirs = multiprocessing.Pipe()
    server = multiprocessing.Process(target=run_server, args=(folder, latency, theirs), daemon=True)
    server.start()
    port = ours.recv()
    keys = {"AWS_ACCESS_KEY_ID": "none", "AWS_SECRET_ACCESS_KEY": "none", "AWS_REGION": "us-east-1"}
    reach = {**os.environ, **keys, "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}", "AWS_EC2_METADATA_DISABLED": "true"}
    with tempfile.TemporaryDirectory() as place:
        command = [sys.executable, "-m", "streameval"]
        subprocess.run([*command, "plan", "s3://lake/list", "--study", place, "--seed", "1"], env=reach, check=True)
        before, began = (_counts(port), os.times()), time.perf_counter()
        subprocess.run([*command, "select", place], env=reach, check=True)
        wall, after = time.perf_counter() - began, (_counts(port), os.times())
    server.kill()
    cpu = sum(after[1][2:4]) - sum(before[1][2:4])
    requests, sent = after[0][0] - before[0][0], after[0][2] - before[0][2]
    return [folder.name, f"{1000 * latency:.0f}", f"{requests:,}", str(after[0][1]), f"{sent / 1e6:.0f}", f"{wall:.2f}",
            f"{cpu:.2f}"]  # fmt: skip


def _counts(port: int) -> list[int]:
    with urlopen(f"http://127.0.0.1:{port}/counts") as answer:
        return list(json.load(answer))


def main() -> None:
    """Print the table, and write it to benchmarks/README.md where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--latency", type=float, default=0.03)
    parser.add_argument("--readme", action="store_true")
    arguments = parser.parse_args()
    table = markdown(_HEAD, [measured(one, arguments.latency) for one in arguments.folders])
    text = f"{table}\n\n{description()}, load {os.getloadavg()[0]:.0f} while it was measured."
    print(text)
    if arguments.readme:
        write_section("object_store", text)


if __name__ == "__main__":
    main()
