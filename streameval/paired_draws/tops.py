"""The tops of a ranking: its first items, down to each of some cutoffs; their rows, and those kept to be drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.draw import sample_hashes
from streameval.kernels.order import count_before
from streameval.order.bins import OrderWords
from streameval.order.by_score import ByScore
from streameval.order.count_at_score import as_score
from streameval.order.filter import BLOCK, Buffers
from streameval.order.item_keys import as_keys, key_text, missing
from streameval.order.locate import missing_scores
from streameval.order.scan import Scan, key_hashes
from streameval.order.scores import Keys
from streameval.paired_draws.pair import DrawnPair, PairedDraw, ScoreCutoffs
from streameval.progress import Progress
from streameval.rankings.ranking import Ranking
from streameval.scans.checkpoints import Scans
from streameval.scans.units import Unit
from streameval.text import short
from streameval.typing import AnyArray, BoolArray, Int64Array, UInt64Array

_NAMED = 3  # keys that a refusal names
KeptColumns = Mapping[str, AnyArray]
SECOND_SEED = np.uint64(0x7061697265643031)  # "paired01": with the tie hash, 128 bits that tell keys apart
_HALF = 0.5
_LAST = np.uint64(0xFFFFFFFFFFFFFFFF)
_NONE = np.empty(0, np.uint64)


def kept_columns(rows: TopRows, u: UInt64Array, kept: BoolArray) -> KeptColumns:
    """Columns of some rows.

    They are `u`, `second` (another hash of the key), `position`, `predicted`, `first 0` and so on for each order, and
    `key 0` and so on for each column of the key.
    """
    at = np.flatnonzero(kept)
    keys = rows.keys.take(pa.array(at))
    first = {f"first {i}": cutoffs[at] for i, cutoffs in enumerate(rows.first)}
    named = {f"key {i}": column.to_numpy() for i, column in enumerate(keys.columns)}
    return {"u": u[at], "second": second_hashes(keys), "position": rows.position[at],
            "predicted": rows.predicted[at], **first, **named}  # fmt: skip


def concatenate(parts: Sequence[KeptColumns]) -> dict[str, AnyArray]:
    """Columns of several parts, one after another; none of no part."""
    return {name: np.concatenate([part[name] for part in parts]) for name in (parts[0] if parts else ())}


def some(columns: KeptColumns, at: Int64Array | BoolArray) -> dict[str, AnyArray]:
    """Some of the rows."""
    return {name: values[at] for name, values in columns.items()}


def in_draw_order(columns: KeptColumns, key: pa.Schema, where: str) -> dict[str, AnyArray]:
    """Rows in the order of `u`, and of `second` where two are equal; an `InputError` names keys of several rows."""
    columns = some(columns, np.lexsort([columns["second"], columns["u"]]))
    same = (columns["u"][1:] == columns["u"][:-1]) & (columns["second"][1:] == columns["second"][:-1])
    again = 1 + np.flatnonzero(same)
    if not again.size:
        return columns
    first = again[np.argsort(columns["position"][again], kind="stable")]
    raise repeated_keys(keys_of(some(columns, first), key), again.size, key, where)


def repeated_keys(values: pa.Array, count: int, key: pa.Schema, where: str) -> InputError:
    """Make the error of keys that stand at several rows; `values` are keys of `count` of the rows."""
    named = list(dict.fromkeys(f"'{short(text_of(value))}'" for value in values.to_pylist()))[:_NAMED]
    return InputError(
        f"{where}: key '{', '.join(key.names)}' does not tell items apart: {count:,} of the rows read have the key of "
        f"another (first: {', '.join(named)})",
        "name columns that are unique together",
    )


def text_of(key: object) -> str:
    """A key as messages show it."""
    return ", ".join(map(key_text, key.values())) if isinstance(key, dict) else key_text(key)


def keys_of(columns: KeptColumns, key: pa.Schema) -> pa.Array:
    """The key of each row: a struct where several columns are the key."""
    return keys_of_table(pa.table([pa.array(columns[f"key {i}"], field.type) for i, field in enumerate(key)], key))


def keys_of_table(table: pa.Table) -> pa.Array:
    """Give the same of a table of the key columns."""
    parts = [pa.concat_arrays([*column.chunks, pa.array([], column.type)]) for column in table.columns]
    return parts[0] if len(parts) == 1 else pa.StructArray.from_arrays(parts, names=table.column_names)


@dataclass(frozen=True)
class TopRows:
    """Rows in a top.

    Attributes:
        position (int64 array, shape (n,)): Where they are stored.
        first (int64 arrays, shape (n,)): Of each ranking, first cutoff whose top holds the row; m where none does.
        hash (uint64 array, shape (n,)): Tie hash of the key.
        predicted (int64 array, shape (n,)): 0 or 1 as the judge says; 0 without a judge.
        keys: Key columns.
    """

    position: Int64Array
    first: tuple[Int64Array, ...]
    hash: UInt64Array
    predicted: Int64Array
    keys: pa.Table


@dataclass(frozen=True)
class TopScan:
    """Input of a scan: rows of one table that are in a top of one or several orders of it.

    Attributes:
        key: Types of the key columns, as they are returned.
    """

    units: Sequence[Unit]
    tops: tuple[Tops, ...]
    key: pa.Schema
    judge: str | None
    threads: int

    @property
    def scanned(self) -> Sequence[str]:
        """Columns that are read of every unit."""
        return [name for top in self.tops for name in top.columns]

    def for_worker(self, units: Sequence[Unit]) -> TopScan:
        """Give the same on a worker, which has some of the units."""
        return replace(self, units=units, tops=tuple(top.for_worker() for top in self.tops), threads=1)


@dataclass
class TopReader:
    """Reads units for one thread.

    Attributes:
        missing: Scores so far that are null or NaN.
    """

    scan: TopScan
    missing: int = 0
    _buffers: list[Buffers] = field(default_factory=list)

    def read(self, unit: Unit) -> TopRows:
        """Read a unit; an `InputError` names the place of a key that is null."""
        rows, keys = self._rows_inside(unit)
        if not rows.size:
            none = np.empty(0, np.int64)
            return TopRows(none, (none,) * len(self.scan.tops), none.view(np.uint64), none, self.scan.key.empty_table())
        names = [*self.scan.key.names, *([self.scan.judge] if self.scan.judge else [])]
        stored = unit.read(list(dict.fromkeys(names)))
        if rows.size < unit.rows:
            stored = stored.take(pa.array(rows))
        keys_as_stored = stored.select(self.scan.key.names)
        _refuse_nulls(keys_as_stored, unit)
        named = as_keys(keys_as_stored, self.scan.key, unit.place)
        hashes, position = key_hashes(named), rows + unit.first_position
        first = tuple(top.first(of, hashes, position) for top, of in zip(self.scan.tops, keys, strict=True))
        predicted = np.zeros(rows.size, np.int64)
        if self.scan.judge is not None:
            predicted = _predictions(stored.column(self.scan.judge))
        return _in_a_top(TopRows(position, first, hashes, predicted, named), self.scan.tops[0].ends.shape[1])

    def _rows_inside(self, unit: Unit) -> tuple[Int64Array, list[Keys]]:
        """Rows that may be in a top, by their first words, and these words of each order."""
        tops = self.scan.tops
        self._buffers = self._buffers or [Buffers() for _ in tops]
        sides = [top.blocks(unit, buffers) for top, buffers in zip(tops, self._buffers, strict=True)]
        rows, words = list[Int64Array](), [list[Keys]() for _ in tops]
        missing = 0
        for blocks in zip(*sides, strict=True):
            inside = np.logical_or.reduce([of.key <= top.last for top, (_, of) in zip(tops, blocks, strict=True)])
            at = np.flatnonzero(inside)
            missing += sum(of.missing for _, of in blocks)
            rows.append(at + blocks[0][0])
            for some, (_, of) in zip(words, blocks, strict=True):
                some.append(Keys(of.key[at], of.low[at] if of.low.size else of.low, 0))
        self.missing += missing
        return np.concatenate(rows), [_join(some) for some in words]


def draws_of(hashes: UInt64Array, seed: int) -> UInt64Array:
    """The hash that draws items, of the tie hashes of their keys: one to one, as `rankings.draw_by_key` draws."""
    return sample_hashes(hashes, np.uint64(seed % 2**64))


def second_hashes(keys: pa.Table) -> UInt64Array:
    """Another hash of keys, independent of the tie hash."""
    return key_hashes(keys, SECOND_SEED)


def _join(parts: list[Keys]) -> Keys:
    return Keys(np.concatenate([keys.key for keys in parts]), np.concatenate([keys.low for keys in parts]), 0)


def _in_a_top(rows: TopRows, m: int) -> TopRows:
    """Leave out rows that tie with the last item of a top, and come after it."""
    kept = np.logical_or.reduce([first < m for first in rows.first])
    if kept.all():
        return rows
    first = tuple(cutoffs[kept] for cutoffs in rows.first)
    keys = rows.keys.filter(pa.array(kept))
    return TopRows(rows.position[kept], first, rows.hash[kept], rows.predicted[kept], keys)


def _refuse_nulls(keys: pa.Table, unit: Unit) -> None:
    for name in keys.column_names:
        if count := missing(keys.column(name)):
            raise InputError(
                f"{unit.place}: key column '{name}' is null in {count:,} of the rows that are in a top",
                "every item needs a key: leave such rows out of both lists",
            )


def _predictions(column: pa.ChunkedArray) -> Int64Array:
    values = column.cast(pa.float64()).fill_null(0.0).to_numpy()
    return np.asarray(values >= _HALF, dtype=np.int64)


@dataclass(frozen=True)
class Tops:
    """The tops of a ranking.

    Attributes:
        scan: Reads its scores; None where the stored order is the ranking.
        ends (uint64 array, shape (words, m)): Words of the last item of each top, or, of a top that ends at a score,
            the last that there may be; ascending. A stored order has one word, the stored position.
    """

    scan: Scan | None
    ends: UInt64Array

    @property
    def columns(self) -> Sequence[str]:
        """Columns that are read to find who is in a top."""
        return [] if self.scan is None else [self.scan.score]

    @property
    def last(self) -> np.uint64:
        """First word of the last item of all tops."""
        return np.uint64(self.ends[0, -1])

    def for_worker(self) -> Tops:
        """Give the same on a worker."""
        return self if self.scan is None else replace(self, scan=self.scan.for_worker(()))

    def blocks(self, unit: Unit, buffers: Buffers) -> Iterator[tuple[int, Keys]]:
        """First words of a unit's rows, block by block, with the first row of each."""
        if self.scan is not None:
            yield from self.scan.order.blocks(self.scan.read(unit, buffers.numbers(unit.rows)), buffers.keys)
            return
        for first in range(0, unit.rows, BLOCK):
            position = unit.first_position + first
            words = np.arange(position, position + min(BLOCK, unit.rows - first), dtype=np.uint64)
            yield first, Keys(words, _NONE, 0)

    def first(self, keys: Keys, hashes: UInt64Array, positions: Int64Array) -> Int64Array:
        """First cutoff whose top holds each of some rows; m where none does.

        Args:
            keys: First words of the rows, and second ones where scores have them.
            hashes (uint64 array): Tie hashes.
            positions (int64 array): Where they are stored.
        """
        if self.scan is None:
            words = keys.key[None]
        else:
            words = OrderWords(keys.key, keys.low, hashes, positions.view(np.uint64)).matrix
        return count_before(np.ascontiguousarray(words), self.ends)


def tops_of(ranking: Ranking, draw: PairedDraw, side: int, scans: Scans, progress: Progress) -> Tops:
    """Find where the tops of A (`side` 0) or B (1) end; raises what `order.locate` does."""
    if isinstance(draw.cutoffs, ScoreCutoffs):
        return _at_scores(ranking, (draw.cutoffs.a, draw.cutoffs.b)[side])
    return _at_ranks(ranking, draw.cutoffs, scans, progress)


def _at_ranks(ranking: Ranking, ranks: Int64Array, scans: Scans, progress: Progress) -> Tops:
    inside = ranks[ranks < ranking.n_items]
    if ranking.order is None:
        return Tops(None, np.minimum(ranks, ranking.n_items).astype(np.uint64)[None] - np.uint64(1))
    words = 4 if ranking.order.order.kind == "decimal" else 3
    ends = np.full((words, ranks.size), _LAST)
    if inside.size:
        checkpoints = ranking.order.checkpoints(inside, scans)
        with checkpoints.saving():
            ends[:, : inside.size] = ranking.order.places(inside, progress, checkpoints).matrix
    return Tops(ranking.order.scan_all(1), ends)


def _at_scores(ranking: Ranking, scores: Sequence[Any]) -> Tops:
    order = ranking.order
    if order is None:
        raise InputError(f"{ranking.rows.name} is in its stored order, which has no scores", "name a column of scores")
    values = pa.array([as_score(score, order.kind, order.options.ascending) for score in scores], order.kind)
    keys = order.order.keys(values)
    words = np.stack([keys.key, *([keys.low] if keys.low.size else [])])
    if not np.all(_come_before(words[:, :-1], words[:, 1:])):
        raise InputError(f"scores {', '.join(map(str, scores))} do not go from the best to the worst")
    rest = np.full((2, words.shape[1]), _LAST)
    return Tops(order.scan_all(1), np.concatenate([words, rest]))


def _come_before(words: UInt64Array, after: UInt64Array) -> BoolArray:
    same = words == after
    before: BoolArray = words[-1] < after[-1]
    if words.shape[0] == 2:
        before = (words[0] < after[0]) | (same[0] & before)
    return before


def may_hold(ranking: Ranking, tops: Tops, units: Sequence[Unit]) -> BoolArray:
    """Tell which units may hold rows of a top, according to statistics."""
    if tops.scan is None:
        first = np.array([unit.first_position for unit in units], np.uint64)
    elif isinstance(ranking.order, ByScore) and ranking.order.bounds is not None:
        first = ranking.order.bounds[0]
    else:
        return np.ones(len(units), np.bool_)
    return first <= tops.last


def refuse_missing(rankings: Sequence[Ranking], count: int) -> None:
    """Refuse scores that are null or NaN, where an order does not put these last; `count` of them were met."""
    for ranking in rankings if count else ():
        if ranking.order is not None and ranking.order.options.nan == "refuse":
            scan = ranking.order.scan_all(1)
            if next(scan.missing_rows(), None) is not None:
                raise missing_scores(scan, count)


def check_sizes(draw: PairedDraw, rankings: Sequence[Ranking], drawn: DrawnPair) -> None:
    """Refuse rows that changed between two scans: then a top does not hold as many as its rank says."""
    if isinstance(draw.cutoffs, ScoreCutoffs):
        return
    for ranking, size in zip(rankings, (drawn.size_a, drawn.size_b), strict=True):
        if not np.array_equal(size, np.minimum(draw.cutoffs, ranking.n_items)):
            raise InputError(f"{ranking.rows.name} changed between two scans of it", "run the command again")
