"""Parquet files, one after another: a row is found from row counts alone, only pages that hold wanted rows are read.

Several files are read at once, and none is ever loaded.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, NoRowsError
from streameval.parquet.account import Forecast, total
from streameval.parquet.files import DataFile, list_files
from streameval.parquet.footers import Footer, Trust, common_schema, fingerprint, read_footers, refuse_changed
from streameval.parquet.pages import Part
from streameval.parquet.statistics import ChunkBounds
from streameval.process.threads import ThreadPool
from streameval.progress import Progress, silent
from streameval.rows import Rows, Taken
from streameval.rows.options import RankingOptions
from streameval.rows.row_groups import FEW_FILES, MOST_FILES, row_groups
from streameval.rows.where import choose, keys_table
from streameval.scans.units import Unit
from streameval.stores import is_remote, store_of
from streameval.struct_fields import own_columns
from streameval.typing import Int64Array

if TYPE_CHECKING:
    from streameval.parquet.read_items import DecodedRows, ReadJob
    from streameval.rows import ColumnBounds, WholeReader

# row groups of one job at most, pages of one job at least (about), jobs whose pages are found ahead, and pages that
# one thread reads sooner than two
_JOB_PARTS = 32
_LEAST_BUCKETS = 16
_WAVE = 64
_FEW_PAGES = 4096


@dataclass(frozen=True)
class ParquetRows(Rows):
    """Rows of Parquet files.

    Attributes:
        places: What finds them again.
        files: In the order of their rows.
    """

    places: tuple[str, ...]
    options: RankingOptions
    files: tuple[DataFile, ...]

    @property
    def source(self) -> Sequence[str]:
        """Say what opens these rows again."""
        return self.places

    @cached_property
    def footers(self) -> tuple[Footer, ...]:
        """Footers of all files, read once; an `InputError` for a damaged file, or files whose partition keys differ."""
        limit = int(self.options.memory * 1e9 / self.readers)
        footers = read_footers(self.files, self.options.score, self.readers, Trust(self.options.verify, limit))
        first = [key for key, _ in self.files[0].keys]
        for file in self.files:
            if (keys := [key for key, _ in file.keys]) != first:
                raise InputError(f"{file.path}: partition keys {keys}, but {first} elsewhere")
        return footers

    @cached_property
    def schema(self) -> pa.Schema:
        """Columns that all files have."""
        return common_schema(self.footers)

    @cached_property
    def ends(self) -> Int64Array:
        """Rows up to the last of each row group, over all files."""
        return np.cumsum(np.concatenate([footer.row_group_rows for footer in self.footers]))

    @property
    def n_rows(self) -> int:
        """From row counts."""
        return int(self.ends[-1]) if self.ends.size else 0

    @property
    def fingerprint(self) -> str:
        """Hash over the files' relative paths, sizes and footers."""
        return fingerprint(self.footers)

    @property
    def readers(self) -> int:
        """As asked; else one per core, and more where readers wait for a store rather than for a core."""
        return self.options.threads or max(os.cpu_count() or 1, store_of(self.files[0].path).readers)

    def facts(self) -> dict[str, Any]:
        """Say what the rows are, JSON-ready."""
        where = {} if self.options.where is None else {"where": self.options.where}
        return {"fingerprint": self.fingerprint, "files": len(self.files), **where}

    def columns(self) -> list[str]:
        """Columns in the files, then partition keys that are not among them."""
        names = own_columns(self.footers[0].schema)
        return names + [key for key, _ in self.files[0].keys if key not in names]

    def types(self, column: str) -> list[tuple[str, pa.DataType]]:
        """Of every file; partition keys are text."""
        of_files = []
        for schema, footers in self._alike():
            kind = schema.field(column).type if column in schema.names else pa.large_string()
            of_files += [(footer.file.path, kind) for footer in footers]
        return of_files

    def _alike(self) -> Iterator[tuple[pa.Schema, list[Footer]]]:
        """Footers one after another, by the schema that they share."""
        for _, footers in groupby(self.footers, key=lambda footer: id(footer.schema)):
            of = list(footers)
            yield of[0].schema, of

    def units(self, column: str | None = None) -> Sequence[Unit]:
        """Row groups."""
        return row_groups(self.footers)

    def bounds(self, column: str) -> Sequence[ColumnBounds]:
        """Statistics of the scores; of no other column are any kept."""
        if column != self.options.score:
            return ()
        by_schema = []
        for schema, footers in self._alike():
            stated = [footer.score_bounds for footer in footers if footer.score_bounds is not None]
            live = np.concatenate([footer.row_group_rows for footer in footers]) > 0
            by_schema.append((schema.field(column).type, ChunkBounds.joined(stated).chosen(live)))
        return by_schema

    def nulls(self, column: str) -> Mapping[str, int]:
        """From statistics of the scores; of no other column are any kept."""
        return {footer.file.path: footer.score_nulls for footer in self.footers if column == self.options.score}

    def take(self, positions: Int64Array, columns: Sequence[str], progress: Progress = silent) -> Taken:
        """Read rows page by page; see `Rows.take`."""
        from streameval.parquet.read_items import fallbacks

        there = self.all_names()
        for name in columns:
            if name not in there:
                raise InputError(f"{self.name}: there is no column '{name}'", self.hint_for(name))
        parts = self.parts(positions)
        decoded_runs = self._read(parts, tuple(columns), progress)
        table = _join([decoded.table for decoded in decoded_runs])
        return Taken(
            pa.table(dict(zip(columns, table.columns, strict=True))),
            rows_read=sum(decoded.rows_read for decoded in decoded_runs),
            row_groups_read=len(parts),
            pages_read=sum(decoded.pages_read for decoded in decoded_runs),
            bytes_read=sum(decoded.bytes_read for decoded in decoded_runs),
            fallbacks=fallbacks(decoded_runs),
        )

    def stretches(
        self, positions: Int64Array, columns: Sequence[str]
    ) -> Iterator[tuple[Int64Array, WholeReader | None]]:
        """Cut by row group: those of which most rows are wanted are decoded whole."""
        from streameval.parquet.whole_row_groups import batches, worthwhile

        for part in self.parts(positions):
            here, positions = positions[: part.rows.size], positions[part.rows.size :]
            yield here, partial(batches, part, columns) if worthwhile(part, columns) else None

    def forecast(self, positions: Int64Array, columns: Sequence[str]) -> Forecast:
        """Say what `take` would read; footers and page indexes are read for it."""
        from streameval.parquet.forecast import measure

        files = [list(of) for _, of in groupby(self.parts(positions), key=lambda part: part.footer)]
        with ThreadPool(self.readers) as pool:
            return total(list(pool.in_order(lambda mine: measure(mine, columns), files)))

    def forecast_first(self, n_rows: int, columns: Sequence[str]) -> Forecast:
        """Say what reading columns of the first rows would take, row group by row group."""
        from streameval.parquet.forecast import measure_whole

        wanted: list[tuple[Footer, int]] = []
        before = 0
        for footer in self.footers:
            begins = before + np.cumsum(footer.row_group_rows) - footer.row_group_rows
            wanted.append((footer, int(np.count_nonzero((begins < n_rows) & (footer.row_group_rows > 0)))))
            before += int(footer.row_group_rows.sum())
        with ThreadPool(self.readers) as pool:
            held = [(footer, groups) for footer, groups in wanted if groups]
            return total(list(pool.in_order(lambda part: measure_whole(part[0], part[1], columns), held)))

    def parts(self, positions: Int64Array) -> list[Part]:
        """Group wanted rows by the row group that holds them."""
        if not positions.size:
            return []
        ends = np.searchsorted(positions, self.ends)
        first = np.append(0, self.ends[:-1])
        groups_before = np.append(0, np.cumsum([footer.row_group_rows.size for footer in self.footers]))
        wanted = np.flatnonzero(np.diff(ends, prepend=0))
        of = np.searchsorted(groups_before, wanted, side="right") - 1
        by_group = zip(wanted.tolist(), of.tolist(), np.split(positions, ends[wanted[:-1]]), strict=True)
        return [
            Part(
                footer=self.footers[file],
                row_group=g - int(groups_before[file]),
                n_group_rows=int(self.ends[g] - first[g]),
                rows=mine - first[g],
            )
            for g, file, mine in by_group
        ]

    def _read(self, parts: list[Part], columns: tuple[str, ...], progress: Progress) -> list[DecodedRows]:
        """Find pages some jobs ahead, so that the disk fetches them while others are decoded."""
        from streameval.parquet.read_items import find_job, read_job, read_small_items

        readers = self._worthwhile(parts, len(columns))
        runs = _runs(parts, readers, self.options.score)
        limit = int(self.options.memory * 1e9 / readers)
        share = int(self.options.memory * 1e9 / max(1, min(_WAVE, len(runs))))  # of the system's cache
        decoded_runs: list[DecodedRows] = []

        def find(run: list[Part]) -> ReadJob | list[Part]:
            if _are_small(run):
                return run
            job = find_job(run, columns)
            if job.size <= share:
                job.advise()
            return job

        def read(job: ReadJob | list[Part]) -> DecodedRows:
            if isinstance(job, list):
                if (decoded := read_small_items(job, columns)) is not None:
                    return decoded
                job = find_job(job, columns)
            if job.size > share:
                job.advise()
            return read_job(job, limit)

        with ThreadPool(readers) as pool:
            for begin in range(0, len(runs), _WAVE):
                jobs = list(pool.in_order(find, runs[begin : begin + _WAVE]))
                for decoded in pool.in_order(read, jobs):
                    decoded_runs.append(decoded)
                    progress(len(decoded_runs), len(runs))
        self._check({part.footer.file.path: part.footer for part in parts}.values())
        return decoded_runs

    def _worthwhile(self, parts: list[Part], n_columns: int) -> int:
        """One reader for few pages of a disk: each takes so little that two mostly wait for Python's lock."""
        pages = n_columns * sum(part.buckets.size for part in parts)
        return self.readers if pages > _FEW_PAGES or store_of(self.files[0].path).readers > 1 else 1

    def check_unchanged(self) -> None:
        """Refuse files that changed since they were opened."""
        self._check(self.footers)

    def _check(self, footers: Iterable[Footer]) -> None:
        if store_of(self.files[0].path).readers == 1:
            for footer in footers:
                refuse_changed(footer)
            return
        with ThreadPool(self.readers) as pool:
            list(pool.in_order(refuse_changed, footers))


def _join(tables: list[pa.Table]) -> pa.Table:
    """One table; types are widened only where they differ, because Arrow loses rows when it widens structs."""
    alike = all(table.schema.equals(tables[0].schema) for table in tables)
    return pa.concat_tables(tables, promote_options="none" if alike else "permissive")


def _are_small(run: Sequence[Part]) -> bool:
    """Tell whether to read files whole and at once: they are small, and many."""
    return run[0].footer.is_small and len(run) >= FEW_FILES


def _runs(parts: list[Part], threads: int, score: str | None) -> list[list[Part]]:
    """Cut and join parts into jobs: long enough to share work, short enough to keep every thread busy.

    Each is of one type of score. Windows crowd at the top of a ranking, so its first row groups are cut.
    """
    total = sum(part.buckets.size for part in parts)
    most = max(_LEAST_BUCKETS, -(-total // (4 * threads)))
    runs: list[list[Part]] = []
    room, last = 0, None
    alike = None
    for piece in (piece for part in parts for piece in part.cut(most)):
        place = (piece.footer.file.path, piece.row_group)
        small, schema = piece.footer.is_small, piece.footer.schema
        kind = (small, schema if small or score is None else schema.field(score).type)
        room -= piece.buckets.size
        # a file that two jobs share is opened by both
        most_parts = _JOB_PARTS if last is not None and place[0] == last[0] else _JOB_PARTS // 2
        if room < 0 or place == last or len(runs[-1]) >= (MOST_FILES if small else most_parts) or kind != alike:
            runs.append([])
            room = most - piece.buckets.size
        runs[-1].append(piece)
        last, alike = place, kind
    return runs


@dataclass(frozen=True)
class _FileOpener:
    def accepts(self, source: Any) -> bool:
        return isinstance(source, str | os.PathLike) or (
            isinstance(source, list | tuple) and all(isinstance(path, str | os.PathLike) for path in source)
        )

    def open(self, source: Any, options: RankingOptions) -> Rows:
        """Open files; raises what `list_files`, `choose`, `read_footers` and `common_schema` do, and without rows."""
        files = list_files(source, options.order_of_files)
        sources = [source] if isinstance(source, str | os.PathLike) else list(source)
        places = tuple(os.fspath(p) if is_remote(os.fspath(p)) else os.path.abspath(p) for p in sources)
        if options.where is not None:
            kept = choose(keys_table([file.keys for file in files]), options.where, os.fspath(sources[0]))
            files = [file for file, wanted in zip(files, kept, strict=True) if wanted]
        rows = ParquetRows(places, options, tuple(files))
        _ = rows.schema  # files that do not go together are refused now
        if rows.n_rows == 0:
            raise NoRowsError(f"{rows.name}: no rows in {len(files):,} file(s)", "a ranking needs at least one item")
        return rows


OPENER = _FileOpener()
