"""What has to be kept of a fully labelled list: partial sums that merge, whatever its length.

A block of 2^20 ranks leaves four numbers and the corners of its concave hull; 2·10⁹ ranks leave 1,908 of them. Floats
are summed rank by rank inside a block and block by block after, so chunks and threads change no byte of a result.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from streameval.errors import InputError
from streameval.kernels.exact import (
    BLOCK,
    CORNERS,
    LAST,
    MOST_CORNERS,
    POSITIVES,
    RANK_SUM,
    SEEN,
    add_labels,
    push_corner,
)
from streameval.types import FloatArray, Int64Array


@dataclass(frozen=True)
class Block:
    """The sums of one block.

    Attributes
    ----------
    seen, positives : int
        Ranks, and positives among them.
    rank_sum : int
        Sum of the positives' ranks, counted from the start of the block.
    weighted, inverse : float
        Σ j/r and Σ 1/r over the block's positives, j counted in the block, r in the list.
    corner : int64 array, shape (k, 2)
        Upper concave hull of (ranks, positives) inside the block: the largest of any quotient that rises with
        positives and falls with ranks stands on one of them.
    """

    seen: int
    positives: int
    rank_sum: int
    weighted: float
    inverse: float
    corner: Int64Array = field(repr=False)


@dataclass
class Sums:
    """Partial sums of consecutive ranks.

    `Sums()` is empty: merging it changes nothing. `merge` is associative. Ranks up to `before` belong to others:
    a scan that several share is cut at multiples of `streameval.kernels.exact.BLOCK`.
    """

    before: int = 0
    blocks: list[Block] = field(default_factory=list)
    _whole: Int64Array = field(default_factory=lambda: np.zeros(5, np.int64), repr=False)
    _real: FloatArray = field(default_factory=lambda: np.zeros(2), repr=False)
    _corner: Int64Array = field(default_factory=lambda: np.empty((MOST_CORNERS, 2), np.int64), repr=False)

    def __post_init__(self) -> None:
        """Refuse a start inside a block."""
        if self.before < 0 or self.before % BLOCK:
            raise InputError(f"partial sums begin after rank {self.before:,}", f"cut at multiples of {BLOCK:,}")

    @property
    def last_rank(self) -> int:
        """Rank of the last label added."""
        return self.before + len(self.blocks) * BLOCK + int(self._whole[SEEN])

    def add(self, labels: npt.NDArray[np.uint8]) -> None:
        """Add the labels of the next ranks.

        Parameters
        ----------
        labels : uint8 array, shape (n,)

        Raises
        ------
        InputError
            A label that is neither 0 nor 1; names its rank.
        """
        at = 0
        while at < labels.size:
            part = labels[at : at + BLOCK - int(self._whole[SEEN])]
            start = self.before + len(self.blocks) * BLOCK
            bad = add_labels(part, start, self._whole, self._real, self._corner)
            if bad >= 0:
                raise InputError(f"the label at rank {self.last_rank + bad + 1:,} is {part[bad]}, not 0 or 1")
            at += part.size
            if self._whole[SEEN] == BLOCK:
                self.blocks.append(self._open())
                self._whole[:] = 0
                self._real[:] = 0

    def merge(self, later: Sums) -> Sums:
        """Join the sums of the ranks that follow.

        Raises
        ------
        InputError
            `later` does not begin where these end.
        """
        if not later.all_blocks():
            return self
        if not self.all_blocks():
            return later
        if later.before != self.last_rank:
            raise InputError(
                f"partial sums end at rank {self.last_rank:,} and go on after {later.before:,}",
                "merge neighbours, cut at whole blocks",
            )
        arrays = (later._whole.copy(), later._real.copy(), later._corner.copy())
        return Sums(self.before, self.all_blocks() + later.blocks, *arrays)

    def all_blocks(self) -> list[Block]:
        """Every block, the open one too."""
        return self.blocks + ([self._open()] if self._whole[SEEN] else [])

    def _open(self) -> Block:
        whole, corner, size = self._whole, self._corner, int(self._whole[CORNERS])
        corner = corner[: size + 1].copy()
        if whole[LAST] == 1:
            size = push_corner(corner, size, int(whole[SEEN]), int(whole[POSITIVES]))
        return Block(
            int(whole[SEEN]),
            int(whole[POSITIVES]),
            int(whole[RANK_SUM]),
            float(self._real[0]),
            float(self._real[1]),
            corner[:size],
        )

    def compute(self) -> Totals:
        """Add the blocks up.

        Raises
        ------
        InputError
            The first ranks are missing.
        """
        if self.before:
            raise InputError(f"the sums of ranks 1..{self.before:,} are missing")
        blocks = self.all_blocks()
        found = np.concatenate([[0], np.cumsum([block.positives for block in blocks])]).astype(np.int64)
        parts, rank_sum = [], 0
        for i, (block, earlier) in enumerate(zip(blocks, found.tolist(), strict=False)):
            parts += [block.weighted, earlier * block.inverse]
            rank_sum += block.rank_sum + i * BLOCK * block.positives
        shift = [np.array([[i * BLOCK, earlier]]) for i, earlier in enumerate(found[:-1].tolist())]
        corners = [block.corner + at for block, at in zip(blocks, shift, strict=True)]
        return Totals(
            self.last_rank,
            rank_sum,
            math.fsum(parts),
            found,
            np.concatenate([np.empty((0, 2), np.int64), *corners]),
        )


@dataclass(frozen=True)
class Totals:
    """A whole list, summed.

    Attributes
    ----------
    n_items : int
        N.
    rank_sum : int
        Σ r_j over positives, of any size.
    precision_sum : float
        Σ j/r_j over positives.
    block_yield : int64 array, shape (blocks + 1,)
        Y at 0, 2^20, 2·2^20 …, N.
    corner : int64 array, shape (k, 2)
        (r, Y(r)) among which every quotient that rises with Y and falls with r has its largest value, over the
        list and over any run of whole blocks.
    """

    n_items: int
    rank_sum: int
    precision_sum: float
    block_yield: Int64Array
    corner: Int64Array = field(repr=False)

    @property
    def positives(self) -> int:
        """Y(N)."""
        return int(self.block_yield[-1])
