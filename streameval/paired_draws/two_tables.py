"""Two tables whose items have the same keys: scans of each, and a join of the tops on disk, part by part."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.paired_draws.join import Joined, KeySpill, hashes_of, join, part_bits
from streameval.paired_draws.kept import KeptColumns, in_draw_order, joined, kept_columns, keys_of
from streameval.paired_draws.pair import DrawnPair, Pair, PairedDraw, ScoreCutoffs
from streameval.paired_draws.rates import CutoffRates
from streameval.paired_draws.refused_keys import refuse_contradictions, refuse_disjoint, refuse_repeated
from streameval.paired_draws.tally import CutoffCounts
from streameval.paired_draws.top_rows import TopReader, TopScan, draws_of
from streameval.paired_draws.tops import check_sizes, may_hold, refuse_missing, tops_of
from streameval.progress import Progress, silent
from streameval.rankings.ranking import Ranking
from streameval.scans.checkpoints import Scans
from streameval.scans.jobs import Engine, OnWorkers, Partial, PartialBuilder, Task, partial_of
from streameval.scans.threads import Scanning
from streameval.scans.units import Unit
from streameval.spill.store import ScratchFile, Spill
from streameval.stores.temporary import temporary_folder
from streameval.typing import Int64Array

_MOST_ROWS = 1 << 24  # whose keys may come back from workers at once
_HASHES = ("low", "high", "code")


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
    sides = [_scan(one, pair, draw, side, scans, progress) for side, one in enumerate(rankings)]
    rates, tally = CutoffRates(draw.rates, draw.known), CutoffCounts(len(draw.rates), 1 + (pair.judge is not None))
    with temporary_folder("streameval-work") as folder, ScratchFile(folder / "keys") as file:
        spill = Spill(file, pair.a.options.memory * 1e9 / 4)
        bits = part_bits(sum(_most_rows(one, draw) for one in rankings))
        spills = [KeySpill(spill, bits) for _ in rankings]
        kept = [
            _spill(ranking, scan, Spilling(rates, draw.seed, keys), (scans.engine, progress))
            for ranking, scan, keys in zip(rankings, sides, spills, strict=True)
        ]
        found = join(spills[0], spills[1], tally, rates, draw.seed)
    for scan, ranking, repeated in zip(sides, rankings, found.repeated, strict=True):
        refuse_repeated(scan, repeated, ranking.rows.name)
    refuse_contradictions(sides[0], found.contradicted, pair)
    if not found.shared:
        refuse_disjoint(pair, sides)
    drawn = tally.drawn(found.counts, _table(found, kept, sides, tally))
    check_sizes(draw, rankings, drawn)
    return drawn


def _scan(ranking: Ranking, pair: Pair, draw: PairedDraw, side: int, scans: Scans, progress: Progress) -> TopScan:
    tops = tops_of(ranking, draw, side, scans, progress)
    units: Sequence[Unit] = ranking.rows.units() if ranking.order is None else ranking.order.units
    held = may_hold(ranking, tops, units)
    held[0] |= not held.any()
    read = [unit for unit, one in zip(units, held.tolist(), strict=True) if one]
    threads = tops.scan.threads if tops.scan is not None else ranking.options.threads or ranking.rows.readers
    return TopScan(read, (tops,), pair.key_types(ranking), pair.judge, threads)


def _most_rows(ranking: Ranking, draw: PairedDraw) -> int:
    """Most rows that may be in a top."""
    return ranking.n_items if isinstance(draw.cutoffs, ScoreCutoffs) else min(ranking.n_items, int(draw.cutoffs[-1]))


def _spill(ranking: Ranking, scan: TopScan, task: Spilling, run_by: tuple[Engine, Progress]) -> KeptColumns:
    """Scan one table, and return what is kept of its rows in the order of their hashes."""
    engine, progress = run_by
    kept, missing = [], 0
    for found in engine.run(SpillingScan(task, scan, np.arange(len(scan.units)), scan.threads), progress):
        columns = dict(found.columns)
        if away := {name: columns.pop(name) for name in _HASHES if name in columns}:  # what workers have found
            task.keys.add(away)  # type: ignore[union-attr]
        kept.append(columns)
        missing += found.missing
    ranking.rows.check_unchanged()
    refuse_missing([ranking], missing)
    return in_draw_order(joined(kept), scan.key, ranking.rows.name)


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
        return Partial(np.arange(0), self.reader.missing, joined(self.kept))


class SpillingScan(Scanning[TopScan]):
    """A scan whose keys workers send back as they read them, and threads keep where they go."""

    def for_workers(self) -> OnWorkers[Partial]:
        """See `Job.for_workers`."""
        task: Any = self.task
        bare = SpillingScan(replace(task, keys=None), self.scan.elsewhere(()), self.numbers[:0], 1)
        return OnWorkers(bare.run_share, most_rows=_MOST_ROWS)

    def run_share(self, first: int, last: int, units: Sequence[Any]) -> Iterator[tuple[int, int, Partial]]:
        """See `OnWorkers`: a partial of each unit."""
        for number, unit in enumerate(units, first):
            yield number, number + 1, partial_of(self.task, self.scan.elsewhere([unit]), range(1))


def _table(found: Joined, kept: Sequence[KeptColumns], sides: Sequence[TopScan], tally: CutoffCounts) -> pa.Table:
    """The items that are drawn: a key and a position of each is known of the table that has it in the earlier top."""
    drawn = found.columns()
    places = [_places(drawn, one) for one in kept]
    keys = [keys_of(one, side.key) for one, side in zip(kept, sides, strict=True)]
    of_a = places[0] >= 0
    every = pa.concat_arrays(keys)
    at = np.where(of_a, places[0], places[1] + len(keys[0]))
    columns = {
        "key": every.take(pa.array(at)),
        "first_a": drawn["first 0"].astype(np.int32),
        "first_b": drawn["first 1"].astype(np.int32),
        "u": drawn["u"],
        **{f"position_{name}": _positions(one, place) for name, one, place in zip("ab", kept, places, strict=True)},
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
