"""Rankings in stored order: the rows of Parquet files, one after another, best first.

A rank is found from row counts alone; only pages that hold planned ranks are read (`paging`), of several files at once.
The list itself is never loaded.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, did_you_mean
from streameval.rankings import Fetched, Forecast, Progress, Ranking, RankingOptions, check_ranks, silent, total
from streameval.rankings.files import DataFile, list_files
from streameval.rankings.footers import Footer, common_schema, fingerprint, read_footers, refuse_changed
from streameval.rankings.parts import Part
from streameval.rankings.where import chosen, keys_table
from streameval.stores import is_remote, store_of
from streameval.types import Int64Array

if TYPE_CHECKING:
    from streameval.rankings.paging.slabs import Slab

# row groups of one job at most, pages of one job at least (about), and jobs whose pages are found ahead
_JOB_PARTS = 32
_LEAST_BUCKETS = 16
_WAVE = 64


@dataclass(frozen=True)
class StoredRanking:
    """Parquet files whose stored order is the ranking.

    Attributes
    ----------
    source : tuple of str
        As given.
    options : RankingOptions
    footers : tuple of Footer
        In rank order.
    schema : pyarrow.Schema
        That all files share.
    last_rank : int64 array, shape (row groups of all files,)
        Rank of the last row of each row group.
    """

    source: tuple[str, ...]
    options: RankingOptions
    footers: tuple[Footer, ...]
    schema: pa.Schema
    last_rank: Int64Array

    @property
    def n_items(self) -> int:
        """N, from row counts."""
        return int(self.last_rank[-1]) if self.last_rank.size else 0

    @property
    def fingerprint(self) -> str:
        """Hash over the files' relative paths, sizes and footers."""
        return fingerprint(self.footers)

    @property
    def threads(self) -> int:
        """Readers at work at once."""
        return _threads(self.options, self.footers[0].file.path)

    def description(self) -> dict[str, Any]:
        """What the ranking is, JSON-ready."""
        return {
            "fingerprint": self.fingerprint,
            "files": len(self.footers),
            "order": "stored",
            **({} if self.options.where is None else {"where": self.options.where}),
        }

    def location(self) -> dict[str, Any]:
        """Where it lies and how to read it, JSON-ready."""
        return {
            "source": list(self.source),
            "file_order": self.options.file_order,
            "memory": self.options.memory,
            "threads": self.options.threads,
            **({} if self.options.verify == "on" else {"verify": self.options.verify}),
        }

    def columns(self) -> list[str]:
        """Columns in the files, then partition keys that are not among them."""
        names = list(self.schema.names)
        return names + [key for key, _ in self.footers[0].file.keys if key not in names]

    def fetch(
        self,
        ranks: Int64Array,
        columns: Sequence[str],
        progress: Progress = silent,
        cutoffs: Int64Array | None = None,
    ) -> Fetched:
        """Read the items at `ranks`.

        Parameters
        ----------
        ranks : int64 array, strictly increasing, in 1..N
        columns : sequence of str
            Of `columns()`.
        progress : callable(done, total), optional
        cutoffs : int64 array, optional
            Not used: a stored order has no scores.

        Raises
        ------
        InputError
            Ranks that are not in 1..N or do not increase. A damaged file or one that changed, with file and place.
        """
        check_ranks(ranks, self.n_items)
        known = set(self.columns())
        for name in columns:
            if name not in known:
                raise InputError(f"{self.source[0]}: there is no column '{name}'", did_you_mean(name, self.columns()))
        from streameval.rankings.paging.slabs import fallbacks

        parts = self.parts(ranks)
        slabs = self._read(parts, tuple(columns), progress)
        table = _joined([slab.table for slab in slabs])
        found: dict[str, Any] = {"rank": ranks}
        for name, values in zip(columns, table.columns, strict=True):
            found[free_name(name, found)] = values
        return Fetched(
            pa.table(found),
            rows_read=sum(slab.rows_read for slab in slabs),
            row_groups_read=len(parts),
            pages_read=sum(slab.pages_read for slab in slabs),
            bytes_read=sum(slab.bytes_read for slab in slabs),
            fallbacks=fallbacks(slabs),
        )

    def forecast(self, ranks: Int64Array, columns: Sequence[str]) -> Forecast:
        """Say what `fetch` would read; footers and page indexes are read for it."""
        from streameval.rankings.paging.forecast import measure

        parts = self.parts(ranks)
        files = [list(of) for _, of in groupby(parts, key=lambda part: part.footer)]
        with ThreadPoolExecutor(self.threads) as pool:
            return total(list(pool.map(lambda mine: measure(mine, columns), files)))

    def parts(self, ranks: Int64Array) -> list[Part]:
        """Group planned ranks by the row group that holds them."""
        group = np.searchsorted(self.last_rank, ranks)
        first_rank = np.concatenate([[1], self.last_rank[:-1] + 1]).astype(np.int64)
        group_of_file = np.concatenate([[0], np.cumsum([f.row_group_rows.size for f in self.footers])])
        wanted, starts = np.unique(group, return_index=True)
        parts = []
        for g, mine in zip(wanted.tolist(), np.split(ranks, starts[1:]), strict=True):
            file = int(np.searchsorted(group_of_file, g, side="right")) - 1
            footer, index = self.footers[file], g - int(group_of_file[file])
            parts.append(
                Part(
                    footer=footer,
                    row_group=index,
                    first_row=int(np.sum(footer.row_group_rows[:index])),
                    n_group_rows=int(footer.row_group_rows[index]),
                    rows=mine - first_rank[g],
                )
            )
        return parts

    def _read(self, parts: list[Part], columns: tuple[str, ...], progress: Progress) -> list[Slab]:
        """Find pages some jobs ahead, so that the disk fetches them while others are decoded."""
        from streameval.rankings.paging.slabs import find_job, read_job

        runs = _runs(parts, self.threads, self.options.score)
        limit = int(self.options.memory * 1e9 / self.threads)
        slabs: list[Slab] = []
        with ThreadPoolExecutor(self.threads) as pool:
            try:
                for begin in range(0, len(runs), _WAVE):
                    wave = runs[begin : begin + _WAVE]
                    jobs = list(pool.map(lambda run: find_job(run, columns), wave))
                    ahead = int(self.options.memory * 1e9)
                    for job in jobs:
                        ahead -= job.advise(ahead)
                    for slab in pool.map(lambda job: read_job(job, limit), jobs):
                        slabs.append(slab)
                        progress(len(slabs), len(runs))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        self.check_unchanged({part.footer.file.path: part.footer for part in parts}.values())
        return slabs

    def check_unchanged(self, footers: Iterable[Footer]) -> None:
        """Refuse files that changed since the ranking was opened.

        Raises
        ------
        InputError
            One did; named.
        """
        with ThreadPoolExecutor(self.threads) as pool:
            list(pool.map(refuse_changed, footers))


def _joined(tables: list[pa.Table]) -> pa.Table:
    """One table; types are widened only where they differ, because Arrow loses rows when it widens structs."""
    alike = all(table.schema.equals(tables[0].schema) for table in tables)
    return pa.concat_tables(tables, promote_options="none" if alike else "permissive")


def _runs(parts: list[Part], threads: int, score: str | None) -> list[list[Part]]:
    """Cut and join parts into jobs: long enough to share work, short enough to keep every thread busy.

    Each is of one type of score. Windows crowd at the top of a ranking, so its first row groups are cut.
    """
    total = sum(part.buckets.size for part in parts)
    most = max(_LEAST_BUCKETS, -(-total // (4 * threads)))
    runs: list[list[Part]] = []
    room, last = 0, None
    kind = None
    for piece in (piece for part in parts for piece in part.cut(most)):
        place = (piece.footer.file.path, piece.row_group)
        own = piece.footer.schema.field(score).type if score is not None else None
        room -= piece.buckets.size
        if room < 0 or place == last or len(runs[-1]) == _JOB_PARTS or own != kind:
            runs.append([])
            room = most - piece.buckets.size
        runs[-1].append(piece)
        last, kind = place, own
    return runs


@dataclass(frozen=True)
class _Opener:
    def accepts(self, source: Any) -> bool:
        return isinstance(source, str | os.PathLike) or (
            isinstance(source, list | tuple) and all(isinstance(one, str | os.PathLike) for one in source)
        )

    def open(self, source: Any, options: RankingOptions) -> Ranking:
        if options.score is None:
            return open_stored(source, options)
        from streameval.rankings.byscore import open_scored

        return open_scored(source, options)


def open_stored(source: Any, options: RankingOptions) -> StoredRanking:
    """Open Parquet files as a ranking in stored order.

    Raises
    ------
    InputError
        See `list_files`, `chosen`, `stored_from`.
    """
    files = list_files(source, options.file_order)
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    places = tuple(os.fspath(p) if is_remote(os.fspath(p)) else os.path.abspath(p) for p in given)
    if options.where is not None:
        kept = chosen(keys_table([file.keys for file in files]), options.where, os.fspath(given[0]))
        files = [file for file, wanted in zip(files, kept, strict=True) if wanted]
    return stored_from(files, places, options)


def stored_from(files: Sequence[DataFile], source: tuple[str, ...], options: RankingOptions) -> StoredRanking:
    """Open files as a ranking in the order given.

    Parameters
    ----------
    files : sequence of DataFile
    source : tuple of str
        What finds them again.

    Raises
    ------
    InputError
        See `read_footers`, `common_schema`; no rows.
    """
    threads = _threads(options, files[0].path)
    limit = int(options.memory * 1e9 / threads)
    footers = tuple(
        replace(footer, verify=options.verify, limit=limit) for footer in read_footers(files, options.score, threads)
    )
    schema = common_schema(footers, options.score)
    keys = [tuple(key for key, _ in footer.file.keys) for footer in footers]
    for footer, own in zip(footers, keys, strict=True):
        if own != keys[0]:
            raise InputError(f"{footer.file.path}: partition keys {list(own)}, but {list(keys[0])} elsewhere")
    rows = np.concatenate([footer.row_group_rows for footer in footers])
    ranking = StoredRanking(source, options, footers, schema, np.cumsum(rows))
    if ranking.n_items == 0:
        raise InputError(f"{source[0]}: no rows in {len(footers):,} file(s)", "a ranking needs at least one item")
    return ranking


def _threads(options: RankingOptions, path: str) -> int:
    """As asked; else one per core, and more where readers wait for a store rather than for a core."""
    return options.threads or max(os.cpu_count() or 1, store_of(path).readers)


def free_name(name: str, taken: Collection[str]) -> str:
    """Suffix an item's column that collides with ours."""
    while name in ("rank", "stratum", "se_task", "se_study") or name in taken:
        name += "_item"
    return name


OPENER = _Opener()
