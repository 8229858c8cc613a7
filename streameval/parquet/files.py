"""Files of a ranking, and their order."""

from __future__ import annotations

import glob
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import unquote

from streameval.errors import InputError
from streameval.stores import is_remote
from streameval.stores.clients import root_of

SUFFIXES = (".parquet", ".pq", ".parq")
_TEXTS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
_GLOB = re.compile(r"[*?\[]")
_ALIKE = str.maketrans("123456789", "0" * 9)
_HIVE = re.compile(r"([^=/]+)=([^/]*)")
HIVE_NULL = "__HIVE_DEFAULT_PARTITION__"
_MISSING = "check the spelling; a path without a leading / starts at the current folder"


@dataclass(frozen=True)
class DataFile:
    """One file of a ranking.

    Attributes:
        path: Where it lies: a path, or the URI of an object store.
        name: Its path relative to the source, with forward slashes: part of the fingerprint, so a moved lake is the
            same.
        keys: Hive partition keys of its folders; values are strings.
    """

    path: str
    name: str
    keys: tuple[tuple[str, str | None], ...]


def list_files(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], file_order: str | None
) -> list[DataFile]:
    """List the files of a ranking in the order that makes their rows the ranking.

    Args:
        source: A file, a folder (searched deeply; names that begin with `_` or `.` are skipped), a glob, or a list of
            these, in order.
        file_order ({None, "natural", "lexical"}): None refuses where the two differ.

    Raises:
        InputError: Nothing there, no Parquet file in it, a Delta or Iceberg table, a file named twice, an ambiguous
            order.
    """
    sources = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not sources:
        raise InputError("no ranking was given", "name its files, their folder or a glob, such as ranking/")
    links: list[str] = []
    files = [file for path in sources for file in _expand(os.fspath(path), file_order, links)]
    if len(sources) == 1 and not links:
        return files
    seen: set[str] = set()
    folders: dict[str, str] = {}
    for file in files:
        real = file.path if is_remote(file.path) else _real(file.path, folders)
        if real in seen:
            raise InputError(f"{file.path}: named twice in the ranking", "each file may be listed once")
        seen.add(real)
    return files


def _real(path: str, folders: dict[str, str]) -> str:
    """Tell where a local file is; `folders` are those whose place is known."""
    if os.path.islink(path):
        return os.path.realpath(path)
    folder, name = os.path.split(path)
    if folder not in folders:
        folders[folder] = os.path.realpath(folder)
    return os.path.join(folders[folder], name)


def _expand(source: str, file_order: str | None, links: list[str]) -> list[DataFile]:
    """Files of one source; `links` are added by which it may have one of them twice."""
    path = source.removeprefix("file://")
    if is_remote(path):
        root_of(path)
        return _objects(path.rstrip("/"), file_order)
    if os.path.isdir(path):
        return _folder(path, file_order, links)
    if os.path.isfile(path):
        return [DataFile(path, os.path.basename(path), _hive_keys(os.path.dirname(path)))]
    if _GLOB.search(path):
        links.append(path)  # nobody looked
        return _matching(path, file_order)
    if os.path.exists(path):
        raise InputError(f"{source}: not a file", "copy what a pipe or a device gives to a file first")
    raise InputError(f"{source}: no such file or folder", _MISSING)


def _objects(path: str, file_order: str | None) -> list[DataFile]:
    """Give the same of an object store, from one listing."""
    from streameval.stores.listing import kind_of, matches, walk

    kind = kind_of(path)
    if kind == "file":
        return [DataFile(path, path.rsplit("/", 1)[1], _hive_keys(path.rsplit("/", 1)[0]))]
    if kind == "nothing" and not _GLOB.search(path):
        raise InputError(f"{path}: no such file or folder", "check the spelling")
    root = path if kind == "folder" else _GLOB.split(path, maxsplit=1)[0].rsplit("/", 1)[0]
    names = [key.removeprefix(f"{root}/") for key in walk(root)]
    for name in names:
        _refuse_table_file(root, name)
    if kind == "folder":
        return _key_files(path, [name for name in names if _is_data(name)], file_order)
    chosen = [name for name in names if matches(f"{root}/{name}", path)]
    if not chosen:
        raise InputError(f"{path}: no file matches this pattern")
    return _in_order(root, chosen, path, file_order)


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(SUFFIXES)


def _is_data(name: str) -> bool:
    return _is_parquet(name) and not any(part.startswith(("_", ".")) for part in name.split("/"))


def _folder(path: str, file_order: str | None, links: list[str]) -> list[DataFile]:
    _refuse_table_formats(path)
    if all(os.path.isfile(os.path.join(path, name)) for name in ("plan.json", "plan.parquet")):
        raise InputError(f"{path}: a study, and no ranking", "name the files that it was planned of")
    return _key_files(path, sorted(filter(_is_parquet, list_below(path, links=links))), file_order)


def _key_files(path: str, names: list[str], file_order: str | None) -> list[DataFile]:
    if not names:
        raise InputError(
            f"{path}: no Parquet file in this folder, and no text",
            f"files end in {', '.join(SUFFIXES)}, .csv, .tsv or .jsonl; those that begin with '_' or '.' are skipped",
        )
    return _in_order(path, names, path, file_order)


def _in_order(path: str, names: list[str], where: str, file_order: str | None) -> list[DataFile]:
    """Files of a folder, by their names in it."""
    outer, begin = _hive_keys(path), os.path.join(path, "")
    return [
        DataFile(begin + name, name, outer + _hive_keys(name.rpartition("/")[0]))
        for name in in_file_order(names, where, file_order)
    ]


def matching(pattern: str) -> list[str]:
    """List the files that a pattern means, sorted as texts; an `InputError` where there is none."""
    paths = sorted(p for p in glob.glob(pattern, recursive=True) if os.path.isfile(p))
    if not paths:
        raise InputError(f"{pattern}: no file matches this pattern")
    return paths


def _matching(pattern: str, file_order: str | None) -> list[DataFile]:
    paths = matching(pattern)
    root = os.path.dirname(_GLOB.split(pattern, maxsplit=1)[0])
    for folder in {os.path.dirname(p) for p in paths}:
        _refuse_table_formats(folder)
    return [
        DataFile(p, Path(os.path.relpath(p, root or ".")).as_posix(), _hive_keys(os.path.dirname(p)))
        for p in in_file_order(paths, pattern, file_order)
    ]


def list_below(folder: str, above: str = "", links: list[str] | None = None) -> Iterator[str]:
    """Name the files of a folder, searched deeply, but for what begins with `_` or `.`; refuses Delta and Iceberg.

    Symbolic links among files and folders are added to `links`.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.name.startswith(("_", ".")):
                continue
            if links is not None and entry.is_symlink():
                links.append(entry.path)
            if entry.is_dir():
                _refuse_table_formats(entry.path)
                yield from list_below(entry.path, f"{above}{entry.name}/", links)
            elif entry.is_file():
                yield above + entry.name


def _refuse_table_formats(folder: str) -> None:
    if os.path.isdir(os.path.join(folder, "_delta_log")):
        raise _is_table(folder, "Delta")
    if glob.glob(os.path.join(glob.escape(folder), "metadata", "*.metadata.json")):
        raise _is_table(folder, "Iceberg")


def _refuse_table_file(root: str, name: str) -> None:
    """Give the same by the name of one of its files."""
    parts = f"{root}/{name}".split("/")
    if "_delta_log" in parts:
        raise _is_table("/".join(parts[: parts.index("_delta_log")]), "Delta")
    if parts[-2] == "metadata" and parts[-1].endswith(".metadata.json"):
        raise _is_table("/".join(parts[:-2]), "Iceberg")


def _is_table(folder: str, kind: str) -> InputError:
    return InputError(
        f"{folder}: {'an' if kind == 'Iceberg' else 'a'} {kind} table; read as plain Parquet, "
        "rows deleted from it would come back",
        f"give delta:{folder}" if kind == "Delta" else "give iceberg:CATALOG.NAMESPACE.TABLE",
    )


def holds_parquet(path: str) -> bool:
    """Tell whether a local path is called as Parquet files are, or is a folder with one of them."""
    return _is_parquet(path) or (os.path.isdir(path) and any(map(_is_parquet, list_below(path))))


def is_text(path: str) -> bool:
    """Tell whether a file is called as texts are, packed by gzip or not."""
    return path.lower().removesuffix(".gz").endswith(_TEXTS)


def has_pattern(path: str) -> bool:
    """Tell whether a path may be one for several files."""
    return bool(_GLOB.search(path))


def in_file_order(names: list[str], where: str, file_order: str | None) -> list[str]:
    """Put names of files, sorted as texts, in order; an `InputError` where it is unclear and `file_order` is None."""
    if len({name.translate(_ALIKE) for name in names}) == 1:  # numbers as long as each other: the two are the same
        return names
    natural = sorted(names, key=natural_key)
    if file_order == "natural":
        return natural
    if file_order is None and natural != names:
        first = next(i for i, (a, b) in enumerate(zip(names, natural, strict=True)) if a != b)
        raise InputError(
            f"{where}: the order of its files is unclear: is '{names[first]}' or '{natural[first]}' file {first + 1}?",
            "say --file-order=natural (2 before 10) or --file-order=lexical (10 before 2)",
        )
    return names


def natural_key(name: str) -> list[tuple[int, int, str]]:
    """Sort key in which numbers count as numbers.

    >>> sorted(["part_10", "part_2"], key=natural_key)
    ['part_2', 'part_10']
    """
    parts = re.split(r"([0-9]+)", name)
    return [(0, int(part), part) if i % 2 else (1, 0, part) for i, part in enumerate(parts)]


@lru_cache(maxsize=1024)
def _hive_keys(folder: str) -> tuple[tuple[str, str | None], ...]:
    keys = [_HIVE.fullmatch(part) for part in Path(folder).parts]
    return tuple((unquote(key[1]), None if key[2] == HIVE_NULL else unquote(key[2])) for key in keys if key is not None)
