"""Crowd `streameval label` with idle connections and slow clients while two people label; print what that does to them.

    python scripts/labelling_flood.py STUDY [CONNECTIONS [SECONDS]]

STUDY is planned, and this serves it. Connections come from another process, over loopback, and whichever is closed is
opened again at once; as many as asked for (10,000), or as the file limit and the ports of this machine allow. One
person labels on one kept connection, as a browser does, another opens a connection for every answer. Then fifty people
label at the same time, without a crowd.
"""

from __future__ import annotations

import asyncio
import http.client
import json
import multiprocessing
import os
import re
import resource
import secrets
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import streameval
from streameval.serving.links import links_of
from streameval.study.answer_journal import NAME, read_lines

PEOPLE = tuple(f"person{number}" for number in range(50))
RUN = secrets.token_hex(4)
PAUSE = 0.1  # seconds between an answer and the next
SLOW = 4.0  # seconds between two bytes of the crowd
AMONG_MANY = 1.0  # where many label at the same time
HEAD = b"POST /api/work HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer 0\r\nContent-Type: application/json\r\n"
KINDS = {
    "idle": [],
    "slow head": [b"GET / HTTP/1.1\r\nX-Slow: ", *[b"a"] * 1_000],
    "slow body": [HEAD + b"Content-Length: 1000\r\n\r\n", *[b"{"] * 1_000],
    "slow reader": [b"GET / HTTP/1.1\r\nHost: x\r\n\r\n" * 3],
}


def files() -> int:
    """Raise the limit of open files as far as it goes, and tell it."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


class Flood:
    """Connections that are opened again whenever the server closes them."""

    def __init__(self, port: int, state: multiprocessing.Array) -> None:
        self.port, self.state = port, state

    async def client(self, parts: list[bytes]) -> None:
        """Connect, and again whenever it is closed."""
        while True:
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port, limit=1 << 10)
            except OSError:
                self.state[2] += 1
                await asyncio.sleep(0.5)
                continue
            self.state[0] += 1
            self.state[1] += 1
            with suppress(OSError):
                await self.say(parts, reader, writer)
            self.state[0] -= 1
            writer.transport.abort()

    async def say(self, parts: list[bytes], reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Send a part every few seconds, and read as slowly."""
        for part in parts:
            writer.write(part)
            with suppress(TimeoutError):
                if not await asyncio.wait_for(reader.read(1), SLOW):
                    return
        while await reader.read(1):
            await asyncio.sleep(SLOW)

    async def run(self, count: int) -> None:
        """Keep so many connections."""
        kinds = list(KINDS.values())
        await asyncio.gather(*(self.client(kinds[i % len(kinds)]) for i in range(count)))


def flood(port: int, count: int, state: multiprocessing.Array) -> None:
    """Run a flood, until the process is ended."""
    files()
    asyncio.run(Flood(port, state).run(count))


class Person:
    """Labels as the page does: what is not acknowledged is sent again."""

    def __init__(self, name: str, secret: str, port: int) -> None:
        self.name, self.port = name, port
        self.headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        self.seconds: list[float] = []
        self.faults: list[str] = []
        self.number = 0
        self.acknowledged: set[str] = set()
        self.tasks: list[int] = []
        self.connection: http.client.HTTPConnection | None = None

    def close(self) -> None:
        """Close the connection."""
        if self.connection is not None:
            self.connection.close()
            self.connection = None

    def ask(self, body: bytes) -> dict:
        """Send until there is an answer."""
        while True:
            self.connection = self.connection or http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
            try:
                self.connection.request("POST", "/api/work", body, self.headers)
                reply = self.connection.getresponse()
                content = reply.read()
                if reply.status == 200:
                    return json.loads(content)
                self.faults.append(f"{reply.status} {content!r}")
            except (OSError, http.client.HTTPException) as error:
                self.faults.append(repr(error))
            self.close()

    def label(self) -> bool:
        """Answer a task, or fetch the first; False where there is none."""
        answers = []
        if self.tasks:
            self.number += 1
            name = f"flood-{self.name}-{RUN}-{self.number:06}"
            answers = [{"id": name, "task": self.tasks[0], "answer": "1", "note": "", "took": 1000, "ago": 0}]
        began = time.perf_counter()
        reply = self.ask(json.dumps({"tab": self.name, "answers": answers}).encode())
        self.seconds.append(time.perf_counter() - began)
        self.acknowledged |= {*reply["kept"]}
        self.tasks = [task for task, _ in reply["tasks"]]
        return bool(self.tasks)


def label(people: list[Person], seconds: float, after: Callable[[Person], None], pause: float = PAUSE) -> str:
    """Have all label for some time; latency in milliseconds."""
    over = time.monotonic() + seconds

    def work(person: Person) -> None:
        while time.monotonic() < over and person.label():
            after(person)
            time.sleep(pause)

    for one in people:
        one.seconds, one.faults = [], []
    threads = [threading.Thread(target=work, args=[one]) for one in people]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    took = [1_000 * second for person in people for second in person.seconds]
    again = sum(len(one.faults) for one in people)
    late = statistics.quantiles(took, n=100, method="inclusive")[98]
    return (f"{len(took):,} answers, median {statistics.median(took):.1f} ms, 99 in 100 within {late:.0f} ms, "
            f"worst {max(took):.0f} ms, {again} sent again")  # fmt: skip


def both(people: list[Person], seconds: float) -> str:
    """Latency of one person on a connection that is kept, and of one who opens another for every answer."""
    with ThreadPoolExecutor() as pool:
        kept = pool.submit(label, people[:1], seconds, lambda person: None)
        anew = pool.submit(label, people[1:2], seconds, Person.close)
        return f"\n  kept connection: {kept.result()}\n  new connections: {anew.result()}\n  server: "


def write(folder: Path, seconds: float) -> str:
    """Latency of a line of an answer's size that is appended and synced, in milliseconds."""
    took, over = [], time.monotonic() + seconds
    with (folder / ".written").open("ab", buffering=0) as stream:
        while time.monotonic() < over:
            began = time.perf_counter()
            stream.write(b"x" * 300)
            os.fsync(stream.fileno())
            took.append(1_000 * (time.perf_counter() - began))
            time.sleep(PAUSE)
    (folder / ".written").unlink()
    return f"median {statistics.median(took):.1f} ms, worst {max(took):.0f} ms"


def load(process: int) -> str:
    """Memory and open files of a process."""
    status = Path(f"/proc/{process}/status").read_text()
    memory = int(re.findall(r"VmRSS:\s+(\d+)", status)[0]) / 1024
    return f"{memory:.0f} MB, {len([*Path(f'/proc/{process}/fd').iterdir()])} files"


def main() -> None:
    """Serve, flood, and say what came of it."""
    study, wanted = Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    seconds = float(sys.argv[3]) if len(sys.argv) > 3 else 35.0
    print(f"a physical write of that size here: {write(study, min(seconds, 5))}", flush=True)
    command = [sys.executable, "-m", "streameval", "label", str(study), "--host", ":0", "--people", ",".join(PEOPLE)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    port = int(re.findall(r":(\d+)/", server.stdout.readline())[0])
    count = min(wanted, (limit := files()) - 200)
    links = links_of(study, PEOPLE)
    people = [Person(name, links.token(name), port) for name in PEOPLE]
    print(f"before:{both(people, seconds)}{load(server.pid)}", flush=True)
    state = multiprocessing.Array("q", 3, lock=False)
    crowd = multiprocessing.Process(target=flood, args=(port, count, state), daemon=True)
    crowd.start()
    while state[1] < count and crowd.is_alive():
        time.sleep(0.05)
    print(f"file limit {limit:,}; {count:,} connections: {', '.join(KINDS)}, a quarter each\n"
          f"during:{both(people, seconds)}{load(server.pid)}; of the crowd {state[0]:,} are connected, after "
          f"{state[1]:,} connections, {state[2]:,} refused", flush=True)  # fmt: skip
    crowd.kill()
    crowd.join()
    print(f"after:{both(people, seconds)}{load(server.pid)}", flush=True)
    many = label(people, seconds, lambda person: None, AMONG_MANY)
    print(f"{len(people)} people, each {AMONG_MANY:g} s after the last answer: {many}", flush=True)
    server.send_signal(signal.SIGINT)
    print(f"the server ended with status {server.wait(120)}")
    ids = [one["id"] for one in read_lines(study / "votes" / NAME)]
    acknowledged = {one for person in people for one in person.acknowledged}
    assert len(ids) == len({*ids}), "an answer is there twice"
    assert acknowledged <= {*ids}, "an answer was lost"
    account = streameval.evaluate(study).summary["account"]
    print(f"{len(acknowledged):,} answers acknowledged, all in the study once; {account['labelled']:,} labels")


if __name__ == "__main__":
    main()
