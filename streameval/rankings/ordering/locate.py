"""Find the stored positions of wanted ranks: count bins, split those that matter, pick.

Memory is set by the limit, whatever the data: bins and candidates share it, and where too many items lie in the bins of
wanted ranks (quantised scores, one tie block with half the list), the bins are split again, by key, then by tie hash,
then by position, as often as needed.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streameval.errors import InputError
from streameval.kernels.bins import mark
from streameval.kernels.orderkeys import LAST
from streameval.rankings import Progress, silent
from streameval.rankings.ordering.bins import HASH, LOW, FirstStage, Stage, Words, first_stage, next_stage
from streameval.rankings.ordering.keeping import Keeper
from streameval.rankings.ordering.scores import Keys
from streameval.rankings.ordering.sieve import Sieve, flags
from streameval.rankings.ordering.tasks import SUM, Collecting, Counting, Sampling
from streameval.rankings.ordering.units import Scan
from streameval.types import Int64Array

_MOST_BINS = 1 << 22
_LEAST_BINS = 1 << 12
_BYTES_PER_BIN = 48  # of the merged counts, their sums and marks, and of two threads
_BYTES_PER_CANDIDATE = 80  # four words, the sort and its order
_SAMPLE_UNITS = 32
_SAMPLE_ROWS = 1 << 18


@dataclass(frozen=True)
class Located:
    """Where wanted ranks are stored.

    Attributes
    ----------
    position : int64 array, shape (n,)
        0-based stored position of each wanted rank, in rank order.
    keys : Keys
        Their order keys, from which scores come back.
    tied : bool array, shape (n,)
        Whether another item of the list has the same score.
    equal_keys : int
        Pairs of neighbours in the order that agree in score and in all key columns, among the candidates read: told
        apart by stored position only.
    missing : int
        Rows whose score is null or NaN.
    scans : int
        Times the scores were read.
    """

    position: Int64Array
    keys: Keys
    tied: npt.NDArray[np.bool_]
    equal_keys: int
    missing: int
    scans: int


@dataclass
class _Search:
    scan: Scan
    wanted: Int64Array
    n_items: int
    most_bins: int
    most_candidates: int
    keeper: Keeper
    progress: Progress
    stages: list[FirstStage | Stage] = field(default_factory=list)
    bins: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    counts: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    base: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    lumped: Int64Array = field(default_factory=lambda: np.empty(0, np.int64))
    missing: int = 0
    scans: int = 0

    @property
    def hashed(self) -> str:
        """Whether a stage splits by tie hash, so that it is needed of every row."""
        deep = any(np.any(stage.kind >= HASH) for stage in self.stages if isinstance(stage, Stage))
        return "now" if deep else "later"

    def sieve(self) -> Sieve:
        """Lets through the rows in wanted bins of the last but one stage."""
        return Sieve.of(self.scan, self.stages, self.bins, self.hashed)


def least_memory(n_wanted: int) -> int:
    """Bytes for bins and candidates without which wanted ranks cannot be found."""
    return 4 * _LEAST_BINS * _BYTES_PER_BIN + 2 * n_wanted * _BYTES_PER_CANDIDATE


def locate(
    scan: Scan,
    wanted: Int64Array,
    memory: float,
    nan: str = "refuse",
    progress: Progress = silent,
    keeper: Keeper | None = None,
) -> Located:
    """Find the stored positions of wanted ranks.

    Parameters
    ----------
    scan : Scan
        Units that hold the whole list.
    wanted : int64 array, strictly increasing, in 1..N
    memory : float
        Bytes for bins and candidates. Bins follow from it and not from the number of threads, so that partials of
        different machines go together.
    nan : {"refuse", "last"}
        What becomes of scores that are null or NaN.
    progress : callable(done, total), optional
    keeper : Keeper, optional
        Keeps the partials of scans.

    Raises
    ------
    InputError
        The memory is less than `least_memory`. Scores that are null or NaN, with their count and first
        places. A list that changed between two scans.
    UnfinishedError
        Other processes share the scans, and have not done their part.
    """
    if memory < least_memory(wanted.size):
        raise InputError(f"{memory / 1e6:g} MB of memory cannot hold the bins of {wanted.size:,} wanted ranks")
    most_candidates = int(memory / 2 / _BYTES_PER_CANDIDATE)
    most_bins = int(min(_MOST_BINS, memory / 2 / _BYTES_PER_BIN))
    # counters that fit a cache are quick to reach: no more of them than the candidates' room asks for
    runs = 1 + int(np.sum(np.diff(wanted) > 1))
    first_bins = min(most_bins, max(_LEAST_BINS, 2 * runs * scan.n_items // most_candidates, 4 * runs))
    search = _Search(scan, wanted, scan.n_items, most_bins, most_candidates, keeper or Keeper(), progress)
    search.stages.append(first_stage(_sample(search), first_bins))
    _count(search)
    if search.missing and nan == "refuse":
        raise _missing(scan, search.missing)
    while (search.counts - search.lumped).sum() > search.most_candidates:
        wide = LOW if scan.order.kind == "decimal" else HASH
        before = search.stages[-1]
        search.stages.append(next_stage(before, search.bins, search.counts, most_bins, search.n_items - 1, wide))
        _count(search)
    return _pick(search, _collect(search))


def _missing(scan: Scan, count: int) -> InputError:
    places = "; ".join(f"{unit.where}, row {row:,}" for unit, row in scan.missing_places())
    return InputError(
        f"{count:,} items have no {scan.score} (null or NaN; first: {places})",
        "every item needs a score, or put these last with --nan last",
    )


def _sample(search: _Search) -> npt.NDArray[np.uint64]:
    """Keys of some rows from all over the list."""
    task = Sampling(_SAMPLE_UNITS, _SAMPLE_ROWS)
    sample = search.keeper.run(search.scan, task, search.progress).columns["key"]
    known = sample[sample != LAST]
    return known if known.size else sample


def _count(search: _Search) -> None:
    """Scan once, and find the bins of the last stage that hold wanted ranks."""
    stage, sieve = search.stages[-1], search.sieve()
    task = Counting(tuple(search.stages), search.bins, search.hashed)
    counted = search.keeper.run(search.scan, task, search.progress)
    search.missing = counted.missing
    search.scans += 1
    lumps = np.zeros(stage.count, np.int64)
    at, rows = _lump_bins(search, sieve)
    np.add.at(lumps, at, rows)
    counts: Int64Array = counted.columns[SUM] + lumps
    if isinstance(stage, FirstStage):
        before = np.cumsum(counts) - counts
        if counts.sum() != search.n_items:
            raise InputError("the list changed while it was counted", "run the command again")
    else:
        totals = np.add.reduceat(counts, stage.base[:-1])
        if not np.array_equal(totals, search.counts):
            raise InputError("the list changed between two scans of it", "run the command again")
        within = np.cumsum(counts) - counts
        cell = np.repeat(np.arange(totals.size), np.diff(stage.base))
        before = search.base[cell] + within - within[stage.base[:-1]][cell]
    ends = before + counts
    # bins without items share their end with the bin before: the first bin that ends at or after a rank holds it
    search.bins = np.unique(np.searchsorted(ends, search.wanted, side="left"))
    search.counts, search.base, search.lumped = counts[search.bins], before[search.bins], lumps[search.bins]


def _lump_bins(search: _Search, sieve: Sieve) -> tuple[Int64Array, Int64Array]:
    """Bins of the lumps at the last stage, and the rows of each."""
    lumps, stage = search.scan.lumps, search.stages[0]
    if isinstance(stage, FirstStage) and len(search.stages) == 1:
        everything = np.full(stage.count // 64 + 1, np.iinfo(np.uint64).max, np.uint64)
        rows, bins = np.empty(lumps.key.size, np.int64), np.empty(lumps.key.size, np.int64)
        mark(lumps.key, stage.bounds, stage.first, stage.inner, everything, rows, bins)
        return bins, lumps.rows
    bins, words = sieve.settle(_lump_words(search))
    return bins, lumps.rows[words.position.astype(np.int64)]


def _lump_words(search: _Search) -> Words:
    """Lumps as items, their number in place of a position."""
    key = search.scan.lumps.key
    low = np.zeros(key.size if search.scan.order.kind == "decimal" else 0, np.uint64)
    return Words(key, low, np.zeros(key.size, np.uint64), np.arange(key.size, dtype=np.uint64))


def _collect(search: _Search) -> Words:
    """Scan once more, and keep the items in wanted bins."""
    task = Collecting(tuple(search.stages), search.bins, search.hashed)
    found = search.keeper.run(search.scan, task, search.progress).columns
    search.scans += 1
    if found["key"].size != (search.counts - search.lumped).sum():
        raise InputError("the list changed between two scans of it", "run the command again")
    return Words(found["key"], found.get("low", np.empty(0, np.uint64)), found["hash"], found["position"])


def _pick(search: _Search, items: Words) -> Located:
    """Sort the candidates, and take those at wanted ranks."""
    if search.scan.keys and search.hashed == "later":
        items = _hash_ties(search.scan, items)
    n_items = items.key.size
    items, rows = _with_lumps(search, items)
    words = [items.position, items.hash, *([items.low] if items.low.size else []), items.key]
    order = np.lexsort(words)
    bin_of = np.searchsorted(search.base, search.wanted, side="left") - 1
    # rows of the candidates' bins up to each wanted rank; a lump counts as many as it stands for
    inside = np.cumsum(search.counts)[bin_of] - search.counts[bin_of] + search.wanted - search.base[bin_of]
    at = np.searchsorted(np.cumsum(rows[order]), inside, side="left")
    if np.any(order[at] >= n_items):
        raise InputError("the statistics of some row group contradict its scores", "they have to be written anew")
    position, tie = items.position[order], items.hash[order]
    same = _same_score(items, order)
    tied = _either(same)
    # a bin that splits a tie block may hold only one of its items
    split = [kind >= HASH for kind in search.stages[-1].ranges(search.bins)[0].tolist()]
    twins = int(np.sum(same & (tie[1:] == tie[:-1])))
    return Located(
        position=position[at].astype(np.int64),
        keys=Keys(items.key[order[at]], items.low[order[at]] if items.low.size else items.low, search.missing),
        tied=tied[at] | np.array(split, dtype=np.bool_)[bin_of],
        equal_keys=twins if search.scan.keys else 0,
        missing=search.missing,
        scans=search.scans,
    )


def _with_lumps(search: _Search, items: Words) -> tuple[Words, Int64Array]:
    """Add the lumps in wanted bins to the candidates; how many rows each entry stands for."""
    wanted = flags(search.stages[-1].count, search.bins)
    bins, rows = _lump_bins(search, search.sieve())
    kept = wanted[bins]
    if not np.any(kept):
        return items, np.ones(items.key.size, np.int64)
    words = _lump_words(search)
    if len(search.stages) > 1:
        bins, words = search.sieve().settle(words)
    words = words.where(kept)
    joined = Words(*(np.concatenate([a, b]) for a, b in zip(items.parts, words.parts, strict=True)))
    return joined, np.concatenate([np.ones(items.key.size, np.int64), rows[kept]])


def _same_score(items: Words, order: Int64Array) -> npt.NDArray[np.bool_]:
    """Whether each item, in some order, has the score of the one before it; of all but the first."""
    key = items.key[order]
    same: npt.NDArray[np.bool_] = key[1:] == key[:-1]
    if items.low.size:
        low = items.low[order]
        same &= low[1:] == low[:-1]
    return same


def _either(same: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    tied = np.zeros(same.size + 1, np.bool_)
    tied[1:] |= same
    tied[:-1] |= same
    return tied


def _hash_ties(scan: Scan, items: Words) -> Words:
    """Read the key columns of items that tie in score, and of no others."""
    order = np.lexsort([*([items.low] if items.low.size else []), items.key])
    rows = order[_either(_same_score(items, order))] if order.size else order
    hashes = items.hash.copy()
    if rows.size:
        hashes[rows] = scan.key_hashes(items.position[rows].astype(np.int64))
    return Words(items.key, items.low, hashes, items.position)
