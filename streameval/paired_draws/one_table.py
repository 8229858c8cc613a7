"""One set of rows in two orders: where the tops end is found by scans of each, and one more scan counts and keeps."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.paired_draws.pair import CutoffCounts, CutoffRates, DrawnPair, Pair, PairedDraw
from streameval.paired_draws.tops import (
    KeptColumns,
    TopReader,
    TopScan,
    check_sizes,
    concatenate,
    draws_of,
    in_draw_order,
    kept_columns,
    keys_of,
    may_hold,
    refuse_missing,
    some,
    tops_of,
)
from streameval.progress import Progress, silent
from streameval.scans.checkpoints import Checkpoints, Scans
from streameval.scans.jobs import SUM, Partial, PartialBuilder, Task
from streameval.typing import Int64Array


def draw_one_table(pair: Pair, draw: PairedDraw, scans: Scans | None = None, progress: Progress = silent) -> DrawnPair:
    """Count and draw the items on which two orders of the same rows differ.

    At most a few scans of each score find where the tops end, and one more reads both scores, and the key of rows that
    are in a top. Memory: that of the scans for ranks, and about 60 bytes for each row that is kept, whatever its key
    takes besides. Nothing depends on the engine, the number of threads, or the order of the rows.

    Args:
        pair: Both rankings are of the same rows; one of them may be in their stored order.
        scans: How scans are run, and where they are saved until they are done.

    Raises:
        InputError: Rows that are not the same; a key that is missing, null, or that of several rows read; what
            `order.locate` refuses; rows that changed between two scans.
        UnfinishedError: Other shards have not done their part.
    """
    pair, scans = pair.checked(), scans or Scans()
    rows = pair.a.rows
    if rows.fingerprint != pair.b.fingerprint:
        raise InputError(f"{rows.name} and {pair.b.rows.name} are not the same rows", "join them by key as two tables")
    tops = tops_of(pair.a, draw, 0, scans, progress), tops_of(pair.b, draw, 1, scans, progress)
    ordered = next((ranking.order for ranking in (pair.a, pair.b) if ranking.order is not None), None)
    if ordered is None:
        raise InputError(f"{rows.name}: both rankings are the stored order", "name a column of scores for one of them")
    units = ordered.units
    held = may_hold(pair.a, tops[0], units) | may_hold(pair.b, tops[1], units)
    held[0] |= not held.any()
    read = [unit for unit, is_held in zip(units, held.tolist(), strict=True) if is_held]
    threads = min(top_scan.threads for top_scan in (of.scan for of in tops) if top_scan is not None)
    scan = TopScan(read, tops, pair.key_types(), pair.judge, threads)
    rates, tally = CutoffRates(draw.rates, draw.known), CutoffCounts(len(draw.rates), 1 + (pair.judge is not None))
    task = Pairing(rates, draw.seed, tally)
    checkpoints = Checkpoints(task.identity(pair), scans.folder, engine=scans.engine)
    with checkpoints.saving():
        scanned = checkpoints.run(scan, task, progress)
        rows.check_unchanged()
    refuse_missing((pair.a, pair.b), scanned.missing)
    table = task.table({name: values for name, values in scanned.columns.items() if name != SUM}, scan.key, rows.name)
    drawn = task.tally.drawn(scanned.columns[SUM], table)
    check_sizes(draw, (pair.a, pair.b), drawn)
    return drawn


@dataclass(frozen=True)
class Pairing(Task[TopScan]):
    """Counts of items by cutoff, and the rows that may be drawn."""

    rates: CutoffRates
    seed: int
    tally: CutoffCounts
    name: str = "pairs"

    def identity(self, pair: Pair) -> str:
        """Hash of the rows and both orders."""
        facts = [pair.a.description(), pair.b.description(), pair.key, pair.judge]
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    @property
    def digest(self) -> str:
        """Hash of what is counted and kept; where the tops end follows from that and the rows."""
        facts = repr((self.name, self.seed, self.tally)).encode()
        return hashlib.sha256(facts + self.rates.rate.tobytes() + self.rates.known.tobytes()).hexdigest()

    def begin(self, scan: TopScan) -> PartialBuilder:
        """Nothing counted yet."""
        return _Pairs(scan, self, TopReader(scan), self.tally.zero())

    def table(self, kept: KeptColumns, key: pa.Schema, where: str) -> pa.Table:
        """Give those of the rows kept that are drawn; an `InputError` names keys that stand at several of the rows."""
        kept = in_draw_order(kept, key, where)
        kept = some(kept, self.rates.drawn(kept["u"], kept["first 0"], kept["first 1"]))
        columns = {
            "key": keys_of(kept, key),
            "first_a": kept["first 0"].astype(np.int32),
            "first_b": kept["first 1"].astype(np.int32),
            "u": kept["u"],
            "position_a": kept["position"],
            "position_b": kept["position"],
        }
        return pa.table(
            columns | ({"predicted": kept["predicted"].astype(np.int8)} if self.tally.predictions == 2 else {})
        )


@dataclass
class _Pairs:
    scan: TopScan
    task: Pairing
    reader: TopReader
    counts: Int64Array
    kept: list[KeptColumns] = field(default_factory=list)
    done: list[int] = field(default_factory=list)

    def add(self, number: int) -> None:
        rows = self.reader.read(self.scan.units[number])
        u = draws_of(rows.hash, self.task.seed)
        kept = self.task.rates.kept(u, np.minimum(*rows.first))
        self.kept.append(kept_columns(rows, u, kept))
        self.counts += self.task.tally.count(rows.first[0], rows.first[1], rows.predicted)
        self.done.append(number)

    def partial(self) -> Partial:
        columns = {SUM: self.counts.copy(), **concatenate(self.kept)}
        return Partial(np.sort(self.done).astype(np.int64), self.reader.missing, columns)
