"""Draws of a design, and their order: they are nested, each at its own rate.

A rank that was drawn at the rate π is kept at the rate π' < π where a number of its own, uniform on [0, 1) and
independent of all others, is below π'/π. So the same numbers give nested draws, and each is one of independent ranks.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from streameval.kernels.sorted_sets import isin
from streameval.methods.loguniform.design import Blocks
from streameval.typing import BoolArray, FloatArray, Int32Array, Int64Array

_JUDGED, _LABELLED, _EARLY = (np.uint64(0x6A75_6467_6500_0000 + i) for i in range(3))  # one stream for each purpose


def draw(design: Blocks, seed: int) -> tuple[Int64Array, Int64Array | None]:
    """Draw the ranks to label, and those that a judge answers for, where it does not for all."""
    from streameval.kernels.draw import draw_independent
    from streameval.kernels.jit import small

    number = np.uint64(seed % 2**64)
    if design.judged is None:
        with small(design.ends.size + 2 * design.labels):
            return draw_independent(design.ends, design.rate, number), None
    judged = draw_independent(design.ends, design.judged, number ^ _JUDGED)
    return labelled_of(design, judged, seed), judged


def labelled_of(design: Blocks, judged: Int64Array, seed: int) -> Int64Array:
    """Of ranks that a judge answers for, those that people label."""
    at = np.searchsorted(design.ends, judged)
    return judged[_numbers(judged, seed, _LABELLED) < design.phases[2][at]]


def belong_to(rank: Int64Array, seed: int, whole: Blocks, part: Blocks) -> BoolArray:
    """Tell which ranks of a draw belong to a part of it, whose rates are lower."""
    at = np.searchsorted(whole.ends, rank)
    share: FloatArray = part.rate / whole.rate
    return np.asarray(_numbers(rank, seed, _EARLY) < share[at])


def batch_of(rank: Int64Array, seed: int, designs: list[Blocks]) -> Int32Array:
    """Number of the first of nested designs, the last of which is the whole, that holds each rank; from 1."""
    held = [belong_to(rank, seed, designs[-1], design) for design in designs]
    return np.asarray(1 + np.argmax(held, axis=0), np.int32)


def table(design: Blocks, rank: Int64Array) -> pa.Table:
    """`rank`, `stratum`, `stratum_last`, `probability`."""
    block = np.searchsorted(design.ends, rank).astype(np.int32)
    last, rate = design.ends[block], design.rate[block]
    return pa.table({"rank": rank, "stratum": block, "stratum_last": last, "probability": rate})


def _numbers(rank: Int64Array, seed: int, purpose: np.uint64) -> FloatArray:
    from streameval.kernels.draw import mix_each, uniforms

    return uniforms(rank, mix_each(np.array([np.uint64(seed % 2**64) ^ purpose]))[0])


def ranks_added(now: Blocks, before: Blocks | None, seed: int, look: int) -> Int64Array:
    """Give what a look draws beside the one before, None of the first: the union of independent draws is one."""
    if before is None:
        return draw(now, seed)[0]
    left = 1 - before.rate
    more = np.divide(now.rate - before.rate, left, out=np.zeros(left.size), where=left > 0)
    return draw(Blocks(now.ends, more), seed ^ (look << 48))[0]


def grown_table(before: pa.Table, design: Blocks, came: Mapping[int, int]) -> pa.Table:
    """The table of a plan that has grown: `came` has the look with which each of its ranks came."""
    rank, earlier = np.array(sorted(came), np.int64), before.column("batch").to_numpy()
    batch = np.full(rank.size, 1 + earlier.max(), np.int32)
    batch[isin(rank, before.column("rank").to_numpy())] = earlier
    look = np.array([came[item_rank] for item_rank in rank.tolist()], np.int32)
    return table(design, rank).append_column("look", pa.array(look)).append_column("batch", pa.array(batch))
