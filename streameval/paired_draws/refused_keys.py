"""Keys that two tables cannot be joined by; the tables are read again to name the first of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.sorted_sets import isin, setdiff1d, unique
from streameval.order.item_keys import as_whole
from streameval.order.tie_hashes import key_hashes
from streameval.paired_draws.kept import keys_of_table, repeated_keys, text_of
from streameval.paired_draws.pair import Pair, first_key
from streameval.paired_draws.top_rows import TopReader, TopScan
from streameval.rankings.ranking import Ranking
from streameval.text import short
from streameval.typing import UInt64Array

_NAMED = 3
_LOOKED_FOR = 1 << 16  # keys of one table, in all of the other


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
    first = [first_key(one, pair.key) for one in (pair.a, pair.b)]
    raise InputError(
        f"no key '{', '.join(pair.key)}' of {pair.a.rows.name} is in {pair.b.rows.name} (the first: {first[0]}; "
        f"{first[1]})",
        "name columns that hold the same identifiers in both lists",
    )


def _keys_with(scan: TopScan, hashes: UInt64Array) -> pa.Array:
    """The first keys, in stored order, that have one of some tie hashes."""
    reader, left, found = TopReader(scan), unique(hashes), list[pa.Table]()
    for unit in scan.units:
        rows = reader.read(unit)
        here, at = np.unique(rows.hash, return_index=True)
        at = np.sort(at[isin(here, left)])[: _NAMED - sum(table.num_rows for table in found)]
        found.append(rows.keys.take(pa.array(at)))
        left = setdiff1d(left, rows.hash[at])
        if sum(table.num_rows for table in found) == _NAMED:
            break
    return keys_of_table(pa.concat_tables(found))


def _some_hashes(scan: TopScan) -> UInt64Array:
    """Tie hashes of some rows in a top."""
    reader, found, count = TopReader(scan), list[UInt64Array](), 0
    for unit in scan.units:
        found.append(reader.read(unit).hash)
        count += found[-1].size
        if count >= _LOOKED_FOR:
            break
    return unique(*found)[:_LOOKED_FOR]


def _any_of(hashes: UInt64Array, ranking: Ranking, pair: Pair) -> bool:
    """Whether a table has a key with one of some hashes."""
    key = list(pair.key)
    tables = (as_whole(unit.read(key).select(key), pair.whole) for unit in ranking.rows.units(key[0]))
    return any(bool(isin(key_hashes(table), hashes).any()) for table in tables)
