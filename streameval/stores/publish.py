"""Results on any store: folders of Parquet parts, and sets of files that appear whole or not at all, one run at a time.

No store renames a folder. So files are sent under names that nobody reads, get their own by copies within the store
when all have arrived, and the manifest that lists the others goes last. Every name has the id of its run in it
(`claims`): two runs never write the same object, and what is taken back is what this run named. A set that takes the
place of another lies beside it until its manifest is there; then the files of the other are removed.

pyarrow's streams have no way to abort: one that is closed, or only forgotten, completes its upload with what came so
far. Under the names of what is sent that does no harm: it is removed at once, and where even that fails the next run
of this machine does it.
"""

from __future__ import annotations

import json
import re
import threading
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, TypeVar, cast

import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError, OutsideError, outside_trouble
from streameval.process.threads import ThreadPool
from streameval.stores import store_of
from streameval.stores.claims import FolderClaim, claimed, ended_runs, remove_unfinished, runs_in
from streameval.stores.clients import connect_for_writing, root_of
from streameval.stores.listing import kind_of, walk
from streameval.stores.objects import ObjectStore
from streameval.stores.temporary import temporary_folder
from streameval.stores.transfer import get, put, remove
from streameval.stores.trouble import with_retries

_SENDERS = 3
_PIECE = 1 << 24
_COPIES = 16
_NAMED = re.compile(r".*-([0-9a-f]{16})(\.\w+)?")
_MEANWHILE = "another run has written there meanwhile", "run the same command again: it says whether that is the same"
AnyRows = TypeVar("AnyRows", pa.Table, pa.RecordBatch)
NAME = "streameval_part"
_PART_BYTES = 1 << 28
_GROUP_ROWS = 1 << 20
_GROUP_BYTES = 1 << 27


class Sender:
    """Sends finished files of a local folder, a few at a time.

    That folder, `room`, never holds more than the files under way and the one that is being written.
    """

    def __init__(self, claim: FolderClaim, room: Path) -> None:
        self.room = room
        self._claim = claim
        self._store = cast(ObjectStore, store_of(claim.place))
        self._filesystem = connect_for_writing(*root_of(claim.place))
        self._pool = ThreadPool(_SENDERS, thread_name_prefix="streameval-send")
        self._under_way: deque[Future[None]] = deque()
        self._stopped = threading.Event()
        self._sizes: dict[str, int] = {}

    def named(self, name: str) -> str:
        """Return the name that a file gets there: with the id of this run before its ending."""
        stem, dot, ending = name.rpartition(".")
        return f"{stem}-{self._claim.run}{dot}{ending}"

    @property
    def names(self) -> list[str]:
        """Names of all files that were sent, as they are there when they are whole."""
        return [self.named(name) for name in self._sizes]

    def send(self, name: str) -> None:
        """Send a finished file and remove it here; waits while the most that may be are under way.

        An error of this file or of an earlier one is raised: the store refuses it, or does not answer.
        """
        while len(self._under_way) >= _SENDERS:
            self._under_way.popleft().result()
        self._under_way.append(self._pool.submit(self._send, name))

    def _send(self, name: str) -> None:
        path, target = self.room / name, f"{self._claim.place}/{self._claim.staged(name)}"
        with_retries(target, lambda: self._stream(path, self._store.key(target)))
        self._sizes[name] = path.stat().st_size
        path.unlink()

    def _stream(self, path: Path, key: str) -> None:
        self._refuse_stopped()
        with open(path, "rb", buffering=0) as file, self._filesystem.open_output_stream(key, buffer_size=0) as out:
            while piece := file.read(_PIECE):
                self._refuse_stopped()
                out.write(piece)

    def _refuse_stopped(self) -> None:
        if self._stopped.is_set():
            raise OutsideError(f"{self._claim.place}: given up")

    def wait(self) -> None:
        """Wait until all files have been sent."""
        while self._under_way:
            self._under_way.popleft().result()

    def stop(self) -> None:
        """Send no more; what is on its way ends with its piece."""
        self._stopped.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def name(self) -> None:
        """Give the files their names; an `OutsideError` where one has another size than was sent."""
        _each(self._copy, list(self._sizes))

    def _copy(self, name: str) -> None:
        place, named = self._claim.place, self.named(name)
        source, target = self._store.key(f"{place}/{self._claim.staged(name)}"), self._store.key(f"{place}/{named}")

        def copy() -> int:
            self._store.filesystem.copy_file(source, target)
            return int(self._store.filesystem.get_file_info(target).size or 0)

        if with_retries(f"{place}/{named}", copy) != self._sizes[name]:
            raise OutsideError(f"{place}/{named}: arrived incomplete", "run the same command again")


@contextmanager
def staged(place: str, last: str, former: bytes | None = None) -> Iterator[Sender]:
    """Fill a folder of an object store with a set that appears whole or not at all.

    Args:
        place: URI. Nothing may be there but the set that `former` lists, which the new one replaces, and what runs
            that have ended left, which is removed.
        last: Name of the manifest: a JSON file that lists the others in `files`, by the names that the sender gives
            them. It is to be in the sender's room, not sent, when the block ends.
        former: The manifest that is there, as it was read.

    Yields:
        Sender: When the block ends its files get their names; whatever ends it early, an interruption too, removes
            them.

    Raises:
        InputError: There is something else; the store refuses.
        OutsideError: Another run is at work there, or was meanwhile; the store does not answer; the disk is full.
    """
    with temporary_folder("streameval-work") as room, claimed(place, lambda run: _take_back(place, last, run)) as claim:
        clear(place, last)
        _refuse_changed(place, last, former)
        sender = Sender(claim, room)
        try:
            yield sender
            sender.wait()
            _refuse_changed(place, last, former)
            sender.name()
            claim.refuse_lost()
            _publish(place, last, (room / last).read_bytes(), sender.names)
        except OSError as error:
            raise outside_trouble(error) or error from error
        finally:
            sender.stop()
        _remove(place, listed(former))


def _publish(place: str, last: str, manifest: bytes, names: Collection[str]) -> None:
    """Put the manifest of a set, and see that it is the one that is there, with all files."""
    put(f"{place}/{last}", manifest)
    if get(f"{place}/{last}") != manifest or not set(names) <= names_in(place):
        raise OutsideError(f"{place}: {_MEANWHILE[0]}", _MEANWHILE[1])


def _refuse_changed(place: str, last: str, former: bytes | None) -> None:
    if get(f"{place}/{last}") != former:
        raise OutsideError(f"{place}: {_MEANWHILE[0]}", _MEANWHILE[1])
    refuse_taken(place, names_of_set(last, former))


def refuse_taken(place: str, allowed: Collection[str]) -> None:
    """Refuse a place where anything is but files of known names, and what runs left that did not end."""
    if kind_of(place) == "file":
        raise InputError(f"{place}: is a file", "give a new folder")
    if foreign(names_in(place), allowed):
        raise InputError(f"{place}: is not empty", "give a new folder, or empty this one")


def foreign(names: Collection[str], allowed: Collection[str]) -> set[str]:
    """Names that are neither known nor those of a run that has something unfinished there."""
    runs = runs_in(names)
    return {name for name in names if name not in allowed and not (runs_in([name]) or _run_of(name) in runs)}


def clear(place: str, last: str) -> None:
    """Remove what runs have left that are known to have ended, and what the set that is there has replaced."""
    for run in ended_runs(place):
        _take_back(place, last, run)
    _remove(place, replaced(get(f"{place}/{last}")))


def _take_back(place: str, last: str, run: str) -> None:
    """Remove what one run has put there; a set that the manifest lists stays."""
    kept = set(listed(get(f"{place}/{last}")))
    _remove(place, [name for name in names_in(place) if _run_of(name) == run and name not in kept])
    remove_unfinished(place, run)


def _remove(place: str, names: Collection[str]) -> None:
    there = names_in(place) if names else set()
    _each(remove, [f"{place}/{name}" for name in names if name in there])


def _run_of(name: str) -> str | None:
    """Id of the run that gave a file its name."""
    match = _NAMED.fullmatch(name)
    return None if match is None or runs_in([name]) else match[1]


def names_in(place: str) -> set[str]:
    """Names of all files below a folder of a store."""
    return {path.removeprefix(f"{place}/") for path in walk(place)}


def names_of_set(last: str, manifest: bytes | None) -> set[str]:
    """Names of a set: its manifest, what that lists, and what it replaces and may not have removed yet."""
    return {last, *listed(manifest), *replaced(manifest)} if manifest else set()


def listed(manifest: bytes | None) -> list[str]:
    """Names that a manifest lists in `files`; none where it is not one."""
    return _names(manifest, "files")


def replaced(manifest: bytes | None) -> list[str]:
    """Names of the files of the set that a set has replaced, in `replaces`; none that it has itself."""
    return [name for name in _names(manifest, "replaces") if name not in listed(manifest)]


def _names(manifest: bytes | None, key: str) -> list[str]:
    try:
        document = json.loads(manifest or b"{}")
    except ValueError:
        return []
    files = document.get(key) if isinstance(document, dict) else None
    return [name for name in files if isinstance(name, str)] if isinstance(files, list) else []


def _each(work: Callable[[str], Any], items: Iterable[str]) -> None:
    """Do some requests at once; whatever ends them early, none is under way afterwards."""
    with ThreadPool(_COPIES) as pool:
        for _ in pool.in_order(work, items):
            pass


def write_parts(
    folder: Path,
    schema: pa.Schema,
    groups: Iterator[pa.Table],
    progress: Callable[[int], None],
    finished: Callable[[str], None] = lambda name: None,
    first: int = 0,
    coded: Callable[[pa.Table], bool | list[str]] = lambda group: True,
) -> list[str]:
    """Write row groups to part-00000.parquet and so on, a new part after every 256 MB; returns the names in order.

    Each part carries its name in the metadata of its footer, so that no two have the same footer.

    Args:
        folder: An existing folder.
        groups: Tables of this schema, of 2^20 rows at most.
        progress (callable(done)): Called with rows written.
        finished (callable(name)): Called with the name of each complete part.
        first: Number of the first part.
        coded (callable(group)): Names the columns of a part that get dictionaries, from its first group; True: all.
    """
    names: list[str] = []
    done = 0
    group = next(groups, None)
    while group is not None:
        names.append(f"part-{first + len(names):05d}.parquet")
        with ExitStack() as stack:
            sink = stack.enter_context(pa.OSFile(str(folder / names[-1]), "wb"))
            writer = stack.enter_context(
                pq.ParquetWriter(
                    sink,
                    schema,
                    compression="zstd",
                    use_dictionary=coded(group),
                    write_page_index=True,
                    write_page_checksum=True,
                )
            )
            while group is not None and sink.tell() < _PART_BYTES:
                writer.write_table(group, row_group_size=_GROUP_ROWS)
                done += group.num_rows
                progress(done)
                group = next(groups, None)
            writer.add_key_value_metadata({NAME: names[-1]})
        finished(names[-1])
    return names


def ahead(tables: Iterator[AnyRows]) -> Iterator[AnyRows]:
    """Make each of some tables, or batches, while the one before is used."""
    with ThreadPool(1) as maker:
        coming = maker.submit(next, tables, None)
        while (table := coming.result()) is not None:
            coming = maker.submit(next, tables, None)
            yield table


def joined(tables: Iterator[pa.Table], limit_bytes: float) -> Iterator[pa.Table]:
    """Join small tables into row groups; `limit_bytes` may wait to become one."""
    most_bytes = min(limit_bytes, _GROUP_BYTES)
    waiting: list[pa.Table] = []
    rows, size = 0, 0
    for table in tables:
        waiting.append(table)
        rows, size = rows + table.num_rows, size + table.nbytes
        if rows >= _GROUP_ROWS or size >= most_bytes:
            yield pa.concat_tables(waiting)
            waiting, rows, size = [], 0, 0
    if waiting:
        yield pa.concat_tables(waiting)
