"""Two rankings of the same items, what is to be drawn of them and at which rates, and what was, counted by cutoff.

Items are counted by pairs of first cutoffs, (m + 1)² cells: the cutoffs are few.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.order.by_score import by_score
from streameval.order.item_keys import as_keys, check_key, family, is_hashed_by_value, key_type, sample, types_of_both
from streameval.paired.rates import item_probability
from streameval.rankings.draw_by_key import limits
from streameval.rankings.ranking import Ranking
from streameval.typing import BoolArray, FloatArray, Int64Array, UInt64Array

COUNTS = ("size_a", "size_b", "gains", "losses", "gains_predicted", "losses_predicted")  # of each cutoff


@dataclass(frozen=True)
class CutoffRates:
    """Rates of the cutoffs.

    Attributes:
        rate (float64 array, shape (m,)): In [0, 1]; 1 draws every item.
        known (uint64 array, rising): Hashes that are drawn wherever their items gain or lose.
    """

    rate: FloatArray
    known: UInt64Array = field(default_factory=lambda: np.empty(0, np.uint64))

    def kept(self, hashes: UInt64Array, first: Int64Array) -> BoolArray:
        """Tell whether rows are kept whose first top of either ranking is that of cutoff `first`, in 0..m-1.

        Whatever cutoff of the other ranking holds them first, or none, those that are `drawn` are among them.
        """
        most = np.maximum.accumulate(self.rate[::-1])[::-1]
        kept: BoolArray = are_below(hashes, most[first]) | self.among_known(hashes)
        return kept

    def drawn(self, hashes: UInt64Array, first_a: Int64Array, first_b: Int64Array) -> BoolArray:
        """Tell whether items are drawn: at the largest rate of the cutoffs at which they gain or lose, or if known."""
        drawn = are_below(hashes, item_probability(first_a, first_b, self.rate))
        is_known: BoolArray = self.among_known(hashes) & (first_a != first_b)
        return drawn | is_known

    def among_known(self, hashes: UInt64Array) -> BoolArray:
        """Tell which hashes are known."""
        if not self.known.size:
            return np.zeros(hashes.size, np.bool_)
        at = np.minimum(np.searchsorted(self.known, hashes), self.known.size - 1)
        is_known: BoolArray = self.known[at] == hashes
        return is_known


def are_below(hashes: UInt64Array, rate: FloatArray) -> BoolArray:
    """Tell which items are drawn: those whose hash is less than their rate times 2⁶⁴; a rate of 1 draws all."""
    drawn: BoolArray = (hashes < limits(rate)) | (rate >= 1)
    return drawn


@dataclass(frozen=True)
class CutoffCounts:
    """Counter of items by their first cutoffs.

    Attributes:
        cutoffs: m.
        predictions: 2 where items are counted by the prediction of a judge, else 1.
    """

    cutoffs: int
    predictions: int

    @property
    def shape(self) -> tuple[int, int, int]:
        """Of the counts, before they are made flat."""
        return (self.predictions, self.cutoffs + 1, self.cutoffs + 1)

    def zero(self) -> Int64Array:
        """Counts of nothing, flat."""
        return np.zeros(int(np.prod(self.shape)), np.int64)

    def count(self, first_a: Int64Array, first_b: Int64Array, predicted: Int64Array) -> Int64Array:
        """Counts of some items, flat.

        Args:
            predicted (int64 array): 0 or 1; all 0 without a judge.
        """
        m = self.cutoffs + 1
        at = (predicted * m + first_a) * m + first_b
        return np.bincount(at, minlength=self.predictions * m * m).astype(np.int64)

    def drawn(self, flat: Int64Array, table: pa.Table) -> DrawnPair:
        """Put counts beside the items that were drawn."""
        sums = np.cumsum(_steps(flat.reshape(self.shape)), axis=2)[:, :, : self.cutoffs]
        gains, losses, size_a, size_b = sums.sum(axis=0)
        predicted = sums[1] if self.predictions == 2 else np.zeros_like(sums[0])
        return DrawnPair(table, gains, losses, predicted[0], predicted[1], size_a, size_b)


def _steps(cells: Int64Array) -> Int64Array:
    """Give what each cutoff adds to gains, losses and both tops: its sums along the cutoffs are counts."""
    above, below = np.tril(cells, -1), np.triu(cells, 1)  # of gains first_b < first_a, of losses first_a < first_b
    gains = above.sum(axis=1) - above.sum(axis=2)
    losses = below.sum(axis=2) - below.sum(axis=1)
    return np.stack([gains, losses, cells.sum(axis=2), cells.sum(axis=1)], axis=1)


@dataclass(frozen=True)
class ScoreCutoffs:
    """Cutoffs at scores: a top is all items with this score of a cutoff, or a better one.

    Attributes:
        a, b (sequences of length m): As typed, from the best to the worst, of A and of B.
    """

    a: Sequence[Any]
    b: Sequence[Any]


@dataclass(frozen=True)
class PairedDraw:
    """Parameters of a draw.

    Attributes:
        cutoffs (int64 array, strictly increasing, shape (m,), or ScoreCutoffs): Ranks, where one beyond a
            list stands for all of it.
        rates (float64 array, shape (m,)): With which items are drawn that gain or lose at each cutoff, at most.
        seed: Of the hash that draws; it may not be known before both orders are fixed.
        known (uint64 array, rising): Hashes by this seed of items that were labelled before there was one: they are
            drawn wherever they gain or lose.
    """

    cutoffs: Int64Array | ScoreCutoffs
    rates: FloatArray
    seed: int
    known: UInt64Array = field(default_factory=lambda: np.empty(0, np.uint64))

    def __post_init__(self) -> None:
        """Check that there is a rate in [0, 1] for every cutoff, and that ranks increase from 1 on."""
        at = self.cutoffs
        sizes = {len(at.a), len(at.b)} if isinstance(at, ScoreCutoffs) else {len(at)}
        if sizes != {len(self.rates)} or sizes == {0}:
            raise InputError(f"there are {len(self.rates)} rates for {' and '.join(map(str, sizes))} cutoffs")
        if not np.all((self.rates >= 0) & (self.rates <= 1)):
            raise InputError("a rate of drawing lies outside [0, 1]")
        if not isinstance(at, ScoreCutoffs) and (at[0] < 1 or np.any(np.diff(at) <= 0)):
            raise InputError("cutoffs have to increase from 1 on", "give each once, the smallest first")


@dataclass(frozen=True)
class Pair:
    """Rankings A and B.

    Attributes:
        key: Columns that tell items apart, the same in both.
        judge: Column that predicts labels, 0 or 1 or a probability, which counts as 1 from 0.5 on; null counts as 0.
    """

    a: Ranking
    b: Ranking
    key: tuple[str, ...]
    judge: str | None = None

    @property
    def one_table(self) -> bool:
        """Tell whether both order the same rows; lists at two places are two tables, even if one is a copy."""
        return self.a.fingerprint == self.b.fingerprint and self.a.rows.source == self.b.rows.source

    def checked(self) -> Pair:
        """Give the same with ties of both orders broken by the hash of the key; an `InputError` where that cannot be.

        Otherwise ties alone would be gains and losses.
        """
        if not self.key:
            raise InputError("no column is named that tells items apart", "name it with --key ID")
        rankings = (self.b,) if self.one_table else (self.b, self.a)
        for name in (*self.key, *([self.judge] if self.judge else [])):
            _refuse_absent(rankings, name)
        for ranking in rankings:
            _check_types(ranking, self.key, self.judge)
        for name in self.key:
            if not self._meet(name, rankings):
                b, a = (f"{first_key(ranking, [name])} in {ranking.rows.name}" for ranking in rankings)
                raise InputError(f"no key of one list meets one of the other: the first {b}, {a}",
                                 f"give both one type, in SQL {name}::text")  # fmt: skip
        tied_a, tied_b = (_tied_by(ranking, self.key, self.whole) for ranking in (self.a, self.b))
        return replace(self, a=tied_a, b=tied_b)

    def _meet(self, name: str, rankings: Sequence[Ranking]) -> bool:
        """Tell whether keys of both lists may be equal: text meets UUIDs if that of the first row is one."""
        if len({family(plain_type(ranking, name)) for ranking in rankings}) == 1:
            return True
        if self.shared.get(name) != pa.uuid():
            return name in self.shared
        try:
            wanted = pa.schema([(name, pa.uuid())])
            return all(
                as_keys(_first_row(ranking, [name]), wanted, ranking.rows.name).num_rows < 2 for ranking in rankings
            )
        except InputError:
            return False

    @cached_property
    def shared(self) -> dict[str, pa.DataType]:
        """Key columns that are of one type in one list and of another in the other, and a type for both."""
        return types_of_both(self.key, self.b.rows.schema, self.a.rows.schema)

    @property
    def whole(self) -> tuple[str, ...]:
        """Key columns that are hashed by value, so that ties agree where the types of the lists do not."""
        kinds = {name: [of.rows.schema.field(name).type for of in (self.a, self.b)] for name in self.shared}
        return tuple(name for name, both in kinds.items() if is_hashed_by_value(self.shared[name], both))

    def key_types(self, of: Ranking | None = None) -> pa.Schema:
        """Types of the key columns as they are returned of one of the rankings; of A, unless one is given."""
        return pa.schema([(name, self.shared.get(name) or plain_type(of or self.a, name)) for name in self.key])

    def some_keys(self) -> pa.Table:
        """Key of the first row of A, as keys are returned."""
        return as_keys(_first_row(self.a, self.key), self.key_types(), self.a.rows.name)


def first_key(ranking: Ranking, key: Sequence[str]) -> str:
    """Show the key of the first row of a ranking, with its types, for messages."""
    return sample(_first_row(ranking, key))


def _first_row(ranking: Ranking, key: Sequence[str]) -> pa.Table:
    rows = ranking.rows
    return rows.take(np.zeros(min(1, rows.n_rows), np.int64), list(key)).table.select(list(key))


def plain_type(ranking: Ranking, column: str) -> pa.DataType:
    """The type in which a key is returned; see `order.item_keys`."""
    kinds = [key_type(kind) for _, kind in ranking.rows.types(column)]
    for (place, stored), kind in zip(ranking.rows.types(column), kinds, strict=True):
        if kind != kinds[0]:
            raise InputError(f"{place}: key column '{column}' is {stored}, and {kinds[0]} in other files")
    return kinds[0]


def _refuse_absent(rankings: Sequence[Ranking], name: str) -> None:
    """Refuse a column that a ranking lacks; both need it."""
    without = [ranking for ranking in rankings if name not in ranking.rows.all_names()]
    if without:
        where = " and ".join(ranking.rows.name for ranking in without)
        both = "both lists need it; " if len(without) < len(rankings) else ""
        raise InputError(f"{where}: there is no column '{name}'", both + without[0].rows.hint_for(name))


def _check_types(ranking: Ranking, key: tuple[str, ...], judge: str | None) -> None:
    for name in key:
        for place, kind in ranking.rows.types(name):
            check_key(kind, name, place)
    for place, kind in ranking.rows.types(judge) if judge else ():
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise InputError(f"{place}: judge column '{judge}' is {kind}", "it holds 0 and 1, or probabilities")


def _tied_by(ranking: Ranking, key: tuple[str, ...], whole: tuple[str, ...]) -> Ranking:
    """Break ties by the hash of the key; those of `whole` are hashed by value, so that ties agree."""
    order = ranking.order
    if order is None:
        return ranking
    if order.options.key == key:
        return replace(ranking, order=replace(order, whole=whole))
    if order.options.key:
        raise InputError(
            f"{ranking.rows.name}: ties are broken by {', '.join(order.options.key)}, not by {', '.join(key)}",
            "equal scores have to be ordered by one hash of the item in both rankings: leave --key of the order out",
        )
    options = replace(ranking.options, key=key)
    return Ranking(ranking.rows, options, replace(by_score(ranking.rows, options), whole=whole))


@dataclass(frozen=True)
class DrawnPair:
    """Two rankings at cutoffs j = 0..m-1, and a sample of the items whose side changes at one of them.

    Attributes:
        table: The sample, in the order of `u`, and of another hash of the key where two are equal. `key` (a struct
            where several columns are the key); `first_a`, `first_b`, int32: the first cutoff whose top of A, of B,
            holds the item, m where none does; `u`, uint64: the hash that draws; `position_a`, `position_b`, int64:
            where the item is stored, null where that was not looked for; `predicted`, int8, where there is a judge.
        gains, losses (int64 arrays, shape (m,)): Items that only the top of B, of A, holds.
        gains_predicted, losses_predicted (int64 arrays, shape (m,)): Those of them that the judge takes for positive;
            0 without a judge.
        size_a, size_b (int64 arrays, shape (m,)): Items in each top.
    """

    table: pa.Table
    gains: Int64Array
    losses: Int64Array
    gains_predicted: Int64Array
    losses_predicted: Int64Array
    size_a: Int64Array
    size_b: Int64Array
