"""The ranks of slices in the list, and how many items of each slice are among its first k."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError
from streameval.kernels.order import count_before
from streameval.kernels.slicing import count_between, find_in_order
from streameval.kernels.sorted_sets import unique
from streameval.order.bins import OrderWords
from streameval.order.by_score import ByScore
from streameval.order.locate import Located, locate
from streameval.order.scan import Scan
from streameval.progress import Progress, silent
from streameval.rankings.ranking import Ranking
from streameval.scans.threads import each_unit
from streameval.scans.units import Unit
from streameval.slices.column import Slices
from streameval.text import those_with
from streameval.typing import Int64Array, UInt64Array


@dataclass(frozen=True)
class SlicePositions:
    """Ranks of slices in the list.

    Attributes:
        rank (list of int64 arrays, one per slice): Rank in the list of each wanted rank of the slice.
        inside (int64 array, shape (k, slices)): Items of each slice among the first `cutoffs[j]` of the list.
    """

    rank: list[Int64Array]
    inside: Int64Array


def locate_slices(
    ranking: Ranking, slices: Slices, wanted: Sequence[Int64Array], cutoffs: Int64Array, progress: Progress = silent
) -> SlicePositions:
    """Find wanted ranks of slices in the list.

    Args:
        ranking: In stored order, no file is read again. By score, its scores are read once or a little more for every
            slice, and once more to count.
        wanted (sequence of int64 arrays, one per slice): Ranks within the slice, strictly increasing.
        cutoffs (int64 array, strictly increasing): Ranks of the list; the last is N.
    """
    if ranking.order is None:
        return _as_stored(slices, wanted, cutoffs)
    placed = _by_score(ranking.order, slices, wanted, cutoffs, progress)
    ranking.rows.check_unchanged()
    return placed


def _as_stored(slices: Slices, wanted: Sequence[Int64Array], cutoffs: Int64Array) -> SlicePositions:
    ends = np.cumsum([ranks.size for ranks in wanted]).astype(np.int64)
    at = np.concatenate([[0], ends[:-1]]).astype(np.int64)
    flat = np.concatenate([np.empty(0, np.int64), *wanted])
    positions, seen = np.zeros(flat.size, np.int64), np.zeros(len(slices.names), np.int64)
    counts = np.zeros((cutoffs.size, len(slices.names)), np.int64)
    for first, codes in slices.blocks():
        find_in_order(codes, first, seen, flat, at, ends, positions)
        count_between(codes, first, cutoffs, counts)
    return SlicePositions(np.split(positions, ends[:-1]), np.cumsum(counts, axis=0))


@dataclass(frozen=True)
class _SliceScan(Scan):
    """A scan to which the items of all other slices have no score, so that they come last."""

    slices: Slices | None = None
    code: int = 0

    def numbers(self, unit: Unit, room: UInt64Array) -> None:
        """None: some have no score."""

    def column(self, unit: Unit) -> pa.ChunkedArray:
        """Scores of a unit's rows; null outside the slice."""
        scores = super().column(unit)
        if self.slices is None:
            return scores
        codes = self.slices.codes[unit.first_position : unit.first_position + unit.rows]
        plain = scores.combine_chunks()
        return pa.chunked_array([pc.if_else(pa.array(codes == self.code), plain, pa.scalar(None, plain.type))])


def _by_score(
    order: ByScore, slices: Slices, wanted: Sequence[Int64Array], cutoffs: Int64Array, progress: Progress
) -> SlicePositions:
    """Find every slice's ranks by scans of its own, then count what lies between all that was found."""
    limit_bytes = order.budget(max([cutoffs.size, *(ranks.size for ranks in wanted)]))
    scan = order.scan_all(cutoffs.size)  # statistics say nothing of a slice
    located = [locate(scan, cutoffs, limit_bytes, order.options.nan, progress)]
    if located[0].missing:
        raise InputError(
            f"{those_with(located[0].missing, 'item')} no {scan.score}, first: {next(scan.missing_rows())}",
            "to count slices or classes every item needs one",
        )
    searched = [code for code, ranks in enumerate(wanted) if ranks.size]
    for code in searched:
        of_scan = {field.name: getattr(scan, field.name) for field in fields(Scan)}
        scanned = _SliceScan(**of_scan, slices=slices, code=code)
        located.append(locate(scanned, wanted[code], limit_bytes, "last", progress))
    words, places = _marks(scan, located)
    at, by_code = places[0], dict(zip(searched, places[1:], strict=True))
    marks = [by_code.get(code, np.empty(0, np.int64)) for code in range(len(wanted))]
    ends = np.append(at, words.shape[1])  # the last is for items after all marks
    edges = [unique(ends, of_slice) for of_slice in marks]
    rank, inside = _count(scan, slices, words, edges, progress)
    counted = [up_to[np.searchsorted(edge, mine)] for up_to, edge, mine in zip(inside, edges, marks, strict=True)]
    _check(counted, wanted, rank[at], cutoffs)
    counts = [up_to[np.searchsorted(edge, at)] for up_to, edge in zip(inside, edges, strict=True)]
    return SlicePositions([rank[of_slice] for of_slice in marks], np.stack(counts, axis=1))


def _marks(scan: Scan, located: Sequence[Located]) -> tuple[UInt64Array, list[Int64Array]]:
    """Words of all items that were located, sorted and each once, and where those of each search stand among them."""
    together = np.concatenate([part.position for part in located])
    position, first, back = np.unique(together, return_index=True, return_inverse=True)
    keys = [part.keys for part in located]
    key, low = np.concatenate([words.key for words in keys]), np.concatenate([words.low for words in keys])
    hashes = scan.tie_hashes(position)
    low = low[first] if low.size else low  # scores of most types have one word
    words = OrderWords(key[first], low, hashes, position.view(np.uint64)).matrix
    order = np.lexsort(words[::-1])
    place = np.empty(order.size, np.int64)
    place[order] = np.arange(order.size)
    return words[:, order], np.split(place[back], np.cumsum([part.position.size for part in located])[:-1])


def _count(
    scan: Scan, slices: Slices, marks: UInt64Array, edges: Sequence[Int64Array], progress: Progress
) -> tuple[Int64Array, list[Int64Array]]:
    """Count the list's items up to each mark, and those of each slice up to each of its edges, which are marks.

    Not those of every slice up to every mark: 200 slices of 50,000 marks would take 16 GB.
    """
    many = marks.shape[1] + 1
    flat = np.concatenate([code * many + slice_edges for code, slice_edges in enumerate(edges)])

    def work(unit: Unit) -> tuple[Int64Array, Int64Array]:
        keys = scan.scores(unit)
        everything = np.arange(unit.rows, dtype=np.uint32)
        hashes = scan.hashes(unit) if scan.key_columns else None
        before = count_before(scan.words(unit.first_position, keys, everything, hashes).matrix, marks)
        codes = np.asarray(slices.codes[unit.first_position : unit.first_position + unit.rows])
        inside = np.searchsorted(flat, codes * np.int64(many) + before)
        return np.bincount(before, minlength=many), np.bincount(inside, minlength=flat.size)

    rank, inside = np.zeros(many, np.int64), np.zeros(flat.size, np.int64)
    for _, counts in each_unit(work, scan.units, scan.threads, progress):
        rank += counts[0]
        inside += counts[1]
    ends = np.cumsum([slice_edges.size for slice_edges in edges])[:-1]
    return np.cumsum(rank), [np.cumsum(part) for part in np.split(inside, ends)]


def _check(inside: Sequence[Int64Array], wanted: Sequence[Int64Array], rank: Int64Array, cutoffs: Int64Array) -> None:
    """Refuse located ranks unless counting again gives the same: a list that changed is one reason."""
    if not all(np.array_equal(*pair) for pair in [*zip(inside, wanted, strict=True), (rank, cutoffs)]):
        raise InputError(
            "ranks of slices could not be told apart",
            "the list changed while it was read, or its scores reach the end of their integer type: cast them wider",
        )
