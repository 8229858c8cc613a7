"""Files appear whole or not at all: written to a temporary folder next to their place, synced, renamed.

What a person asked for by name is written by `write_out`: it never replaces a file that differs from it, unless told
to. No record of our own files is needed: the same content is recognised by its bytes.
"""

from __future__ import annotations

import errno
import filecmp
import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError, OutsideError, StreamevalError, outside_trouble
from streameval.process.interrupts import hold_interrupts
from streameval.process.system import sync
from streameval.stores import checksum
from streameval.stores.temporary import temporary_folder
from streameval.text.options import flag

Writer = Callable[[str], None]
Existing = Literal["kept", "replaced"]
_LINKLESS = (errno.EPERM, errno.ENOTSUP, errno.ENOSYS, errno.EMLINK)
_ADDRESS = re.compile(r"(s3[an]?|gs|az|abfss?|hdfs|https?|file):/")


def write_all(files: Mapping[Path, Writer]) -> None:
    """Write several files, then move all of them into place.

    Args:
        files (mapping of path to writer): Each writer is given a temporary path in the folder of the final one. Renames
            happen in the mapping's order, after every file is complete and synced, so a crash leaves either the old
            file or the new one at each path.

    Raises:
        OutsideError: Full disk and the like; every temporary file is removed and nothing in place was touched.
        InputError: A folder that cannot be written to; an address.
    """

    def place(written: list[tuple[str, Path]]) -> None:
        for temporary, path in written:
            os.replace(temporary, path)

    _write(files, place)


def refuse_needless(existing: Existing, **places: object) -> None:
    """Refuse to replace files where none is written.

    Args:
        places: Where each option has files written, by its name; None where it was not given.

    Raises:
        InputError: They may be replaced, and none is named.
    """
    if existing == "replaced" and not any(place is not None for place in places.values()):
        named = " or ".join(map(flag, places))
        raise InputError("--overwrite replaces a file, and none is named", f"name it with {named}")


def write_out(files: Mapping[Path, Writer], existing: Existing = "kept", hint: str | None = None) -> None:
    """Write files that somebody asked for by name, where nothing is yet, or the same already.

    Args:
        files (mapping of path to writer): As for `write_all`.
        existing ({"kept", "replaced"}): What happens to a file that is there and differs.
        hint: The hint of the refusal, where `--overwrite` does not apply.

    Raises:
        InputError: A file is there and differs: somebody else wrote it, or it was changed since, or its source has
            changed. No file of the set is written then, unless it appeared meanwhile.
        OutsideError: See `write_all`.
    """
    if existing == "replaced":
        write_all(files)
        return

    def place(written: list[tuple[str, Path]]) -> None:
        missing = [(temporary, path) for temporary, path in written if not os.path.lexists(path)]
        for temporary, path in written:
            if os.path.lexists(path):
                _refuse_other(temporary, path, hint)
        for temporary, path in missing:
            try:
                os.link(temporary, path)  # unlike a rename, this replaces nothing that another process put there
            except FileExistsError:
                _refuse_other(temporary, path, hint)
            except OSError as error:
                if error.errno not in _LINKLESS:
                    raise
                os.replace(temporary, path)  # a file system without links

    _write(files, place)


def _refuse_other(temporary: str, path: Path, hint: str | None) -> None:
    if not (path.is_file() and filecmp.cmp(temporary, path, shallow=False)):
        raise InputError(
            f"{path} exists already, and differs from what would be written",
            hint or "name another file, or replace it with --overwrite",
        )


def _write(files: Mapping[Path, Writer], place: Callable[[list[tuple[str, Path]]], None]) -> None:
    """Write every file to a temporary folder, then have `place` put all of them in their places."""
    for path in files:
        refuse_address(path)
    rooms: dict[Path, Path] = {}
    written: list[tuple[str, Path]] = []
    path = Path()
    with ExitStack() as stack:
        try:
            for path, writer in files.items():
                if path.parent not in rooms:
                    make_folder(path.parent)
                    rooms[path.parent] = stack.enter_context(temporary_folder("streameval", path.parent))
                temporary = str(rooms[path.parent] / path.name)
                writer(temporary)
                sync(temporary)
                written.append((temporary, path))
            place(written)
            for folder in rooms:
                sync(str(folder))
        except (OSError, pa.ArrowException) as error:
            raise _trouble(error, path) or error from error


@contextmanager
def folder(path: Path, former: Collection[str] = ()) -> Iterator[Path]:
    """Fill a folder that appears whole or not at all.

    Args:
        path: Must not be there, or be a folder that holds nothing but files of the names in `former`.
        former: Names of files that the new folder replaces, all of them at once.

    Yields:
        Path: A temporary folder beside it. When the block ends its files are synced and the folder is renamed; whatever
            ends the block early, an interruption too, removes it.

    Raises:
        OutsideError: Full disk and the like.
        InputError: A path that is not empty or cannot be written to; an address.
    """
    refuse_address(path)
    path = Path(os.path.abspath(path))
    refuse_taken(path, former)
    try:
        make_folder(path.parent)
        with temporary_folder(path.name, path.parent) as temporary:
            yield temporary
            for file in temporary.iterdir():
                sync(str(file))
            sync(str(temporary))
            os.chmod(temporary, 0o777 & ~_umask())
            if former and path.is_dir():
                _replace(temporary, path, former)
            else:
                _move(temporary, path)
        sync(str(path.parent))
    except (OSError, pa.ArrowException) as error:
        raise _trouble(error, path) or error from error


def _move(folder: Path, path: Path) -> None:
    try:
        os.replace(folder, path)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        raise OutsideError(
            f"{path}: another command has just written to it",
            "run the same command again: it says whether that is the same",
        ) from error


def _replace(folder: Path, path: Path, former: Collection[str]) -> None:
    """Put a folder in the place of one that holds what is known; killed in between, neither is there."""
    with temporary_folder(path.name, path.parent) as room, hold_interrupts():
        aside = room / "former"
        os.replace(path, aside)
        try:
            refuse_taken(aside, former)  # now that nobody writes to it any more
            _move(folder, path)
        except BaseException as error:
            os.replace(aside, path)
            if isinstance(error, InputError):
                refuse_taken(path, former)
            raise


def make_folder(folder: Path) -> None:
    """Make a folder if it is not there, and sync its parent: a file in it is not safe before."""
    refuse_address(folder)
    try:
        new = [parent for parent in (folder, *folder.parents) if not parent.exists()]
        folder.mkdir(parents=True, exist_ok=True)
        for parent in new:
            sync(str(parent.parent))
    except OSError as error:
        raise _trouble(error, folder) or error from error


def refuse_address(path: Path, hint: str = "") -> None:
    """Refuse the address of a store where a local path belongs: it would become a folder named 's3:'."""
    if match := _ADDRESS.match(os.fspath(path)):
        raise InputError(
            f"{match[1]}://{os.fspath(path)[match.end() :].lstrip('/')}: is not a local path",
            hint or "this is written here; `streameval publish` copies results to a store",
        )


def refuse_taken(path: Path, former: Collection[str] = ()) -> None:
    """Refuse, as the place of a new folder, a file or a folder that holds more than files of some names."""
    if path.is_dir() and not {entry.name for entry in path.iterdir()} <= set(former):
        raise InputError(f"{path}: is not empty", "give a new folder, or empty this one")
    if path.exists() and not path.is_dir():
        raise InputError(f"{path}: is a file", "give a new folder")


def _trouble(error: OSError | pa.ArrowException, path: Path) -> StreamevalError | None:
    """The error of ours that an error of the disk stands for; None where it is of another kind."""
    trouble: StreamevalError | None = outside_trouble(error, path)
    if trouble is None and isinstance(error, OSError):
        trouble = InputError(f"{path}: cannot be written ({error.strerror or error})")
    return trouble


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def parquet(table: pa.Table, facts: Mapping[str, Any]) -> Writer:
    """Writer of a table as zstd Parquet with a checksum, and JSON facts in its metadata under the key `streameval`.

    Its name is one of them, `file`, so that a file in another's place is seen; None in `facts` lets it be renamed.
    """
    kept = {key: value for key, value in (table.schema.metadata or {}).items() if key != checksum.KEY.encode()}

    def write(path: str) -> None:
        description = json.dumps({"file": os.path.basename(path), **facts}, sort_keys=True)
        tags = {**kept, b"streameval": description, checksum.KEY.encode(): checksum.BLANK}
        tagged = table.replace_schema_metadata(tags)
        pq.write_table(tagged, path, compression="zstd", write_page_index=True, write_page_checksum=True)
        checksum.write(path)

    return write


def json_object(facts: Mapping[str, Any]) -> Writer:
    """Writer of a JSON object with a checksum as its last key."""
    whole = {**facts, checksum.KEY: checksum.BLANK}
    plain = text(json.dumps(whole, indent=2, ensure_ascii=False) + "\n")

    def write(path: str) -> None:
        plain(path)
        checksum.write(path)

    return write


def text(written: str) -> Writer:
    """Writer of UTF-8 text."""
    return content(written.encode())


def content(raw: bytes) -> Writer:
    """Writer of bytes."""

    def write(path: str) -> None:
        with open(path, "wb") as stream:
            stream.write(raw)

    return write
