"""Two tables whose items have the same keys: scans of each, and a join of the tops on disk, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.jit import small
from streameval.kernels.parting import gather, parts_of
from streameval.kernels.sorted_sets import isin, setdiff1d, unique
from streameval.order.item_keys import as_whole
from streameval.order.scan import key_hashes
from streameval.paired_draws.pair import CutoffCounts, CutoffRates, DrawnPair, Pair, PairedDraw, ScoreCutoffs, first_key
from streameval.paired_draws.tops import (
    KeptColumns,
    TopReader,
    TopRows,
    TopScan,
    check_sizes,
    concatenate,
    draws_of,
    in_draw_order,
    kept_columns,
    keys_of,
    keys_of_table,
    may_hold,
    refuse_missing,
    repeated_keys,
    second_hashes,
    some,
    text_of,
    tops_of,
)
from streameval.progress import Progress, silent
from streameval.rankings.ranking import Ranking
from streameval.scans.checkpoints import Scans
from streameval.scans.jobs import Engine, OnWorkers, Partial, PartialBuilder, Task, partial_of
from streameval.scans.threads import Scanning
from streameval.scans.units import Unit
from streameval.spill.store import PartedSpill, ScratchFile, Spill
from streameval.stores.temporary import temporary_folder
from streameval.text import short
from streameval.typing import AnyArray, Int32Array, Int64Array, UInt64Array

_NAMED = 3
_LOOKED_FOR = 1 << 16  # keys of one table, in all of the other
_MOST_NAMED = 1 << 16  # hashes of keys that are refused: some of them are looked for in the tables
_SALT = np.uint64(0)
_LEAST_ROWS, _MOST_BITS = 1 << 20, 10
Hashes = tuple[UInt64Array, UInt64Array, Int64Array]  # tie hash, another hash, and code
_MOST_ROWS = 1 << 24  # whose keys may come back from workers at once
_HASHES = ("low", "high", "code")


def refuse_repeated(scan: TopScan, repeated: Sequence[UInt64Array], where: str) -> None:
    """Refuse keys that stand at several rows of a table, by their tie hashes."""
    hashes = np.concatenate([*repeated, np.empty(0, np.uint64)])
    if hashes.size:
        raise repeated_keys(_keys_with(scan, hashes), hashes.size, scan.key, where)


def refuse_contradictions(scan: TopScan, contradicted: Sequence[UInt64Array], pair: Pair) -> None:
    """Refuse items of which the judge says one thing in A and another in B."""
    hashes = np.concatenate([*contradicted, np.empty(0, np.uint64)])
    if hashes.size:
        named = ", ".join(f"'{short(text_of(value))}'" for value in _keys_with(scan, hashes).to_pylist())
        raise InputError(
            f"column '{pair.judge}' predicts one label in {pair.a.rows.name} and another in {pair.b.rows.name} of "
            f"{hashes.size:,} items (first: {named})",
            "a judge says one thing of an item",
        )


def refuse_disjoint(pair: Pair, sides: Sequence[TopScan]) -> None:
    """Refuse tables of which neither has a key of the other's tops anywhere; their tops have none in common."""
    for here, there in zip(sides, (pair.b, pair.a), strict=True):
        if _any_of(_some_hashes(here), there, pair):
            return
    first = [first_key(ranking, pair.key) for ranking in (pair.a, pair.b)]
    raise InputError(
        f"no key '{', '.join(pair.key)}' of {pair.a.rows.name} is in {pair.b.rows.name} (the first: {first[0]}; "
        f"{first[1]})",
        "name columns that hold the same identifiers in both lists",
    )


def _keys_with(scan: TopScan, hashes: UInt64Array) -> pa.Array:
    """The first keys, in stored order, that have one of some tie hashes."""
    reader, left, tables = TopReader(scan), unique(hashes), list[pa.Table]()
    for unit in scan.units:
        rows = reader.read(unit)
        here, at = np.unique(rows.hash, return_index=True)
        at = np.sort(at[isin(here, left)])[: _NAMED - sum(table.num_rows for table in tables)]
        tables.append(rows.keys.take(pa.array(at)))
        left = setdiff1d(left, rows.hash[at])
        if sum(table.num_rows for table in tables) == _NAMED:
            break
    return keys_of_table(pa.concat_tables(tables))


def _some_hashes(scan: TopScan) -> UInt64Array:
    """Tie hashes of some rows in a top."""
    reader, hashes, count = TopReader(scan), list[UInt64Array](), 0
    for unit in scan.units:
        hashes.append(reader.read(unit).hash)
        count += hashes[-1].size
        if count >= _LOOKED_FOR:
            break
    return unique(*hashes)[:_LOOKED_FOR]


def _any_of(hashes: UInt64Array, ranking: Ranking, pair: Pair) -> bool:
    """Tell whether a table has a key with one of some hashes."""
    key = list(pair.key)
    tables = (as_whole(unit.read(key).select(key), pair.whole) for unit in ranking.rows.units(key[0]))
    return any(bool(isin(key_hashes(table), hashes).any()) for table in tables)


def part_bits(rows: int) -> int:
    """Bits that tell apart the parts to make of the rows of both tables: each part is held in memory at once."""
    return min((rows // _LEAST_ROWS).bit_length(), _MOST_BITS)


def hashes_of(rows: TopRows, m: int) -> dict[str, AnyArray]:
    """128 bits that tell the key of each row, and a code: its first cutoff, of 0..m-1, plus m where it is predicted."""
    code = rows.first[0] + m * rows.predicted
    return {"low": rows.hash, "high": second_hashes(rows.keys), "code": code.astype(np.min_scalar_type(2 * m - 1))}


class KeySpill:
    """Keys of the rows in the tops of one table, as hashes in 2^bits parts.

    Args:
        spill: Where they wait; it may be that of another table too.
    """

    def __init__(self, spill: Spill, bits: int) -> None:
        self.bits, self._spill = bits, PartedSpill(spill, 1 << bits)

    def add(self, hashes: dict[str, AnyArray]) -> None:
        """Keep what `hashes_of` says of some rows, from any thread."""
        part = np.empty(hashes["low"].size, np.int32)
        with small(part.size):
            parts_of(hashes["low"], _SALT, 0, self.bits, part)
        self._spill.add_rows(part, hashes)

    def part(self, part: int) -> Hashes:
        """Give what was kept of one part, in any order."""
        rows = self._spill.whole(part)
        return rows.column("low"), rows.column("high"), rows.column("code").astype(np.int64)


@dataclass
class Joined:
    """Results of the join so far.

    Attributes:
        counts: Of the tally.
        drawn: Columns `u`, `second`, `first 0`, `first 1`, `predicted` of the items that are drawn, in any order.
        shared: Keys in a top of both tables.
        repeated: Tie hashes of keys that stand at several rows, of A and of B; and how many rows those are.
        contradicted: Tie hashes of keys of which the judge says different things in the two tables.
    """

    counts: Int64Array
    drawn: list[KeptColumns] = field(default_factory=list)
    shared: int = 0
    repeated: tuple[list[UInt64Array], list[UInt64Array]] = field(default_factory=lambda: ([], []))
    contradicted: list[UInt64Array] = field(default_factory=list)

    def columns(self) -> KeptColumns:
        """Columns of the items that are drawn, in the order of their hashes."""
        columns = concatenate(self.drawn)
        return some(columns, np.lexsort([columns["second"], columns["u"]]))


def join(a: KeySpill, b: KeySpill, tally: CutoffCounts, rates: CutoffRates, seed: int) -> Joined:
    """Count the items of both tables by their first cutoffs, and take those that are drawn."""
    both_tops = Joined(tally.zero())
    for part in range(1 << a.bits):
        _join_part(both_tops, (a.part(part), b.part(part)), tally, rates, seed)
    return both_tops


def _join_part(
    both_tops: Joined, sides: tuple[Hashes, Hashes], tally: CutoffCounts, rates: CutoffRates, seed: int
) -> None:
    low, high = (np.concatenate([side[i] for side in sides]) for i in (0, 1))
    which, at = np.empty(low.size, np.int32), np.empty(low.size, np.int32)
    items = gather(low, high, 0, which, at)
    low, high = low[at[:items]], high[at[:items]]
    split = sides[0][0].size
    # code of each item in each table: -1 where it is in no top of it
    codes = [
        _codes(some_of, side[2], items) for some_of, side in zip((which[:split], which[split:]), sides, strict=True)
    ]
    for where, of, repeated in zip(codes, (which[:split], which[split:]), both_tops.repeated, strict=True):
        if of.size > np.count_nonzero(where >= 0):
            repeated.append(low[np.bincount(of, minlength=items) > 1][:_MOST_NAMED])
    inside = [code >= 0 for code in codes]
    m = tally.cutoffs
    first = [np.where(is_inside, code % m, m) for is_inside, code in zip(inside, codes, strict=True)]
    says = [np.where(is_inside, code // m, -1) for is_inside, code in zip(inside, codes, strict=True)]
    both = inside[0] & inside[1]
    both_tops.shared += int(np.count_nonzero(both))
    both_tops.contradicted.append(low[both & (says[0] != says[1])][:_MOST_NAMED])
    predicted = np.maximum(*says)
    both_tops.counts += tally.count(first[0], first[1], predicted)
    u = draws_of(low, seed)
    drawn = rates.drawn(u, first[0], first[1])
    columns = {"u": u, "second": high, "first 0": first[0], "first 1": first[1], "predicted": predicted}
    both_tops.drawn.append(some(columns, drawn))


def _codes(which: Int32Array, code: Int64Array, items: int) -> Int64Array:
    out = np.full(items, -1, np.int64)
    out[which] = code
    return out


def draw_two_tables(pair: Pair, draw: PairedDraw, scans: Scans | None = None, progress: Progress = silent) -> DrawnPair:
    """Count and draw the items on which two tables differ, which are the same items where keys are equal.

    After the scans that find where tops end, one of each table reads its score, and the key of rows in a top. Of each
    such row 17 to 20 bytes wait in a temporary file, beyond what a quarter of the memory holds; the file is removed at
    the end, or after a crash by the next run. Memory: that of the scans for ranks; a part of the join, of about 2^20
    rows up to 10⁹ in all; and about 60 bytes for each row that is kept, and its key.

    Args:
        pair: Ties of both orders are broken by the hash of the key.
        scans: How scans are run, and where those that find ranks are saved until they are done.

    Raises:
        InputError: A key that is missing, null, or that of several rows in a top, or whose types do not go together;
            tables that have no key in common; a judge that contradicts itself; what `order.locate` refuses; rows that
            changed between two scans.
        OutsideError: The disk is full.
    """
    pair, scans = pair.checked(), scans or Scans()
    rankings = pair.a, pair.b
    sides = [_scan(ranking, pair, draw, side, scans, progress) for side, ranking in enumerate(rankings)]
    rates, tally = CutoffRates(draw.rates, draw.known), CutoffCounts(len(draw.rates), 1 + (pair.judge is not None))
    with temporary_folder("streameval-work") as folder, ScratchFile(folder / "keys") as file:
        spill = Spill(file, pair.a.options.memory * 1e9 / 4)
        bits = part_bits(sum(_most_rows(ranking, draw) for ranking in rankings))
        spills = [KeySpill(spill, bits) for _ in rankings]
        kept = [
            _spill(ranking, scan, Spilling(rates, draw.seed, keys), (scans.engine, progress))
            for ranking, scan, keys in zip(rankings, sides, spills, strict=True)
        ]
        both_tops = join(spills[0], spills[1], tally, rates, draw.seed)
    for scan, ranking, repeated in zip(sides, rankings, both_tops.repeated, strict=True):
        refuse_repeated(scan, repeated, ranking.rows.name)
    refuse_contradictions(sides[0], both_tops.contradicted, pair)
    if not both_tops.shared:
        refuse_disjoint(pair, sides)
    drawn = tally.drawn(both_tops.counts, _table(both_tops, kept, sides, tally))
    check_sizes(draw, rankings, drawn)
    return drawn


def _scan(ranking: Ranking, pair: Pair, draw: PairedDraw, side: int, scans: Scans, progress: Progress) -> TopScan:
    tops = tops_of(ranking, draw, side, scans, progress)
    units: Sequence[Unit] = ranking.rows.units() if ranking.order is None else ranking.order.units
    held = may_hold(ranking, tops, units)
    held[0] |= not held.any()
    read = [unit for unit, is_held in zip(units, held.tolist(), strict=True) if is_held]
    threads = tops.scan.threads if tops.scan is not None else ranking.options.threads or ranking.rows.readers
    return TopScan(read, (tops,), pair.key_types(ranking), pair.judge, threads)


def _most_rows(ranking: Ranking, draw: PairedDraw) -> int:
    """Most rows that may be in a top."""
    return ranking.n_items if isinstance(draw.cutoffs, ScoreCutoffs) else min(ranking.n_items, int(draw.cutoffs[-1]))


def _spill(ranking: Ranking, scan: TopScan, task: Spilling, run_by: tuple[Engine, Progress]) -> KeptColumns:
    """Scan one table, and return what is kept of its rows in the order of their hashes."""
    engine, progress = run_by
    kept, missing = [], 0
    for part in engine.run(SpillingScan(task, scan, np.arange(len(scan.units)), scan.threads), progress):
        columns = dict(part.columns)
        if away := {name: columns.pop(name) for name in _HASHES if name in columns}:  # what workers have found
            task.keys.add(away)  # type: ignore[union-attr]
        kept.append(columns)
        missing += part.missing
    ranking.rows.check_unchanged()
    refuse_missing([ranking], missing)
    return in_draw_order(concatenate(kept), scan.key, ranking.rows.name)


@dataclass(frozen=True)
class Spilling(Task[TopScan]):
    """The keys of all rows in a top, and the rows that may be drawn.

    Attributes:
        keys: Where keys go; None on a worker, whose partials have them.
    """

    rates: CutoffRates
    seed: int
    keys: KeySpill | None = field(repr=False)
    name: str = "pairs"

    def begin(self, scan: TopScan) -> PartialBuilder:
        """Nothing kept yet."""
        return _TopKeys(scan, self, TopReader(scan))


@dataclass
class _TopKeys:
    scan: TopScan
    task: Spilling
    reader: TopReader
    kept: list[KeptColumns] = field(default_factory=list)

    def add(self, number: int) -> None:
        rows = self.reader.read(self.scan.units[number])
        u = draws_of(rows.hash, self.task.seed)
        hashes = hashes_of(rows, len(self.task.rates.rate))
        columns = kept_columns(rows, u, self.task.rates.kept(u, rows.first[0]))
        if self.task.keys is not None:
            self.task.keys.add(hashes)
            hashes = {}
        self.kept.append({**columns, **hashes})

    def partial(self) -> Partial:
        return Partial(np.arange(0), self.reader.missing, concatenate(self.kept))


class SpillingScan(Scanning[TopScan]):
    """A scan whose keys workers send back as they read them, and threads keep where they go."""

    def for_workers(self) -> OnWorkers[Partial]:
        """See `Job.for_workers`."""
        task: Any = self.task
        bare = SpillingScan(replace(task, keys=None), self.scan.for_worker(()), self.numbers[:0], 1)
        return OnWorkers(bare.run_share, most_rows=_MOST_ROWS)

    def run_share(self, first: int, last: int, units: Sequence[Any]) -> Iterator[tuple[int, int, Partial]]:
        """See `OnWorkers`: a partial of each unit."""
        for number, unit in enumerate(units, first):
            yield number, number + 1, partial_of(self.task, self.scan.for_worker([unit]), range(1))


def _table(both_tops: Joined, kept: Sequence[KeptColumns], sides: Sequence[TopScan], tally: CutoffCounts) -> pa.Table:
    """The items that are drawn: a key and a position of each is known of the table that has it in the earlier top."""
    drawn = both_tops.columns()
    places = [_places(drawn, rows) for rows in kept]
    keys = [keys_of(rows, side.key) for rows, side in zip(kept, sides, strict=True)]
    of_a = places[0] >= 0
    every = pa.concat_arrays(keys)
    at = np.where(of_a, places[0], places[1] + len(keys[0]))
    columns = {
        "key": every.take(pa.array(at)),
        "first_a": drawn["first 0"].astype(np.int32),
        "first_b": drawn["first 1"].astype(np.int32),
        "u": drawn["u"],
        **{f"position_{name}": _positions(rows, place) for name, rows, place in zip("ab", kept, places, strict=True)},
    }
    return pa.table(columns | ({"predicted": drawn["predicted"].astype(np.int8)} if tally.predictions == 2 else {}))


def _places(drawn: KeptColumns, kept: KeptColumns) -> Int64Array:
    """Row of each drawn item among those kept of a table; -1 where it is none."""
    both = [np.stack([of["u"], of["second"]], axis=1).view("u8,u8").ravel() for of in (drawn, kept)]
    _, mine, theirs = np.intersect1d(both[0], both[1], assume_unique=True, return_indices=True)
    out = np.full(drawn["u"].size, -1, np.int64)
    out[mine] = theirs
    return out


def _positions(kept: KeptColumns, place: Int64Array) -> pa.Array:
    return pa.array(np.append(kept["position"], 0)[place], mask=place < 0)
