"""Sets of files that appear on an object store whole or not at all.

No store renames a folder. So files are sent below `_unfinished/`, get their names by copies within the store when all
have arrived, and the one that lists the others goes last. pyarrow's streams have no way to abort: one that is closed,
or only forgotten, completes its upload with what came so far. Below `_unfinished/` that does no harm: what reads a
folder of Parquet skips names with an underscore, it is removed at once, and where even that fails the next run does it.
"""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

from streameval.errors import InputError, OutsideError, StreamevalError, outside_trouble
from streameval.stores import store_of
from streameval.stores.clients import connect_for_writing, root_of
from streameval.stores.listing import kind_of, walk
from streameval.stores.objects import ObjectStore
from streameval.stores.temporary import temporary_folder
from streameval.stores.transfer import get, put, remove, remove_folder
from streameval.stores.trouble import with_retries

UNFINISHED = "_unfinished"
_BEGUN = "begun"
_SENDERS = 3
_PIECE = 1 << 24
_COPIES = 16


class Sender:
    """Sends finished files of a local folder, a few at a time.

    That folder, `room`, never holds more than the files under way and the one that is being written.
    """

    def __init__(self, place: str, room: Path) -> None:
        self.room = room
        self._place = place
        self._store = cast(ObjectStore, store_of(place))
        self._filesystem = connect_for_writing(*root_of(place))
        self._pool = ThreadPoolExecutor(_SENDERS, thread_name_prefix="streameval-send")
        self._under_way: deque[Future[None]] = deque()
        self._stopped = threading.Event()
        self._sizes: dict[str, int] = {}

    def send(self, name: str) -> None:
        """Send a finished file and remove it here; waits while the most that may be are under way.

        An error of this file or of an earlier one is raised: the store refuses it, or does not answer.
        """
        while len(self._under_way) >= _SENDERS:
            self._under_way.popleft().result()
        self._under_way.append(self._pool.submit(self._send, name))

    def _send(self, name: str) -> None:
        path, target = self.room / name, f"{self._place}/{UNFINISHED}/{name}"
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
            raise OutsideError(f"{self._place}: given up")

    def wait(self) -> None:
        """Wait until all files have been sent."""
        while self._under_way:
            self._under_way.popleft().result()

    def stop(self) -> None:
        """Send no more; what is on its way ends with its piece."""
        self._stopped.set()
        self._pool.shutdown(wait=True, cancel_futures=True)

    def name(self, last: str) -> None:
        """Give the files their names, `last` last; an `OutsideError` where one has another size than was sent."""
        self.send(last)
        self.wait()
        _each(self._copy, [name for name in self._sizes if name != last])
        self._copy(last)

    def _copy(self, name: str) -> None:
        source, target = (self._store.key(f"{self._place}/{prefix}{name}") for prefix in (f"{UNFINISHED}/", ""))

        def copy() -> int:
            self._store.filesystem.copy_file(source, target)
            return int(self._store.filesystem.get_file_info(target).size or 0)

        if with_retries(f"{self._place}/{name}", copy) != self._sizes[name]:
            raise OutsideError(f"{self._place}/{name}: arrived incomplete", "run the same command again")


@contextmanager
def staged(place: str, last: str) -> Iterator[Sender]:
    """Fill a folder of an object store that appears whole or not at all.

    Args:
        place: URI. Nothing may be there but what a run that was killed has left, and that is removed.
        last: Name of a JSON file that lists the others in `files`; it appears last. It is to be in the sender's room,
            not sent, when the block ends.

    Yields:
        Sender: When the block ends its files get their names; whatever ends it early, an interruption too, removes
            them.

    Raises:
        InputError: There is something else; the store refuses.
        OutsideError: The store does not answer; the disk is full.
    """
    clear(place, last)
    with temporary_folder("streameval-work") as room:
        put(f"{place}/{UNFINISHED}/{_BEGUN}", b"")  # whether one may write there is known before the work
        sender = Sender(place, room)
        try:
            yield sender
            sender.wait()
            sender.name(last)
        except BaseException as error:
            sender.stop()
            _give_up(place, last, error)
            trouble = outside_trouble(error) if isinstance(error, OSError) else None
            if trouble is not None:
                raise trouble from error
            raise
        sender.stop()
    remove_unfinished(place)


def leftovers(place: str, last: str) -> list[str]:
    """List files that a run that did not end has given their names; an `InputError` where something else is there."""
    if kind_of(place) == "file":
        raise InputError(f"{place}: is a file", "give a new folder")
    there = names_in(place)
    # files get their names only when the last of them had been sent, so it lists all that may have one
    named = set(listed(get(f"{place}/{UNFINISHED}/{last}"))) & there
    if {name for name in there if not name.startswith(f"{UNFINISHED}/")} - named:
        raise InputError(f"{place}: is not empty", "give a new folder, or empty this one")
    return sorted(named)


def clear(place: str, last: str) -> None:
    """Remove what a run that did not end has left; errors as in `leftovers`."""
    _each(remove, [f"{place}/{name}" for name in leftovers(place, last)])
    remove_unfinished(place)


def remove_unfinished(place: str) -> None:
    """Remove the copies under temporary names, and their folder, of which S3 would keep an empty object."""
    _each(remove, walk(f"{place}/{UNFINISHED}"))
    remove_folder(f"{place}/{UNFINISHED}")


def names_in(place: str) -> set[str]:
    """Names of all files below a folder of a store."""
    return {path.removeprefix(f"{place}/") for path in walk(place)}


def listed(manifest: bytes | None) -> list[str]:
    """Names that a manifest lists in `files`; none where it is not one."""
    try:
        document = json.loads(manifest or b"{}")
    except ValueError:
        return []
    files = document.get("files") if isinstance(document, dict) else None
    return [name for name in files if isinstance(name, str)] if isinstance(files, list) else []


def _give_up(place: str, last: str, error: BaseException) -> None:
    """Remove what was sent; where the store does not allow that, say where it lies."""
    try:
        remove(f"{place}/{last}")  # first: without it the set is not whole
        clear(place, last)
    except StreamevalError:
        if isinstance(error, StreamevalError):
            lies = f"what was sent lies in {place}/{UNFINISHED}; the same command again removes it first"
            hint = lies if isinstance(error, OutsideError) or not error.hint else f"{error.hint}; {lies}"
            raise type(error)(error.what, hint) from error


def _each(work: Callable[[str], Any], items: Iterable[str]) -> None:
    """Do some requests at once; whatever ends them early, none is under way afterwards."""
    with ThreadPoolExecutor(_COPIES) as pool:
        try:
            for request in [pool.submit(work, item) for item in items]:
                request.result()
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)
            raise
