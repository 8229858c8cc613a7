"""Items by score, one by one against a full sort by (score, tie hash, position)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks.case import Case, Context, Runner
from streameval.kernels.sorted_sets import unique

_MOST_ITEMS = 10_000_000
_SHAPES: dict[str, Callable[[int, np.random.Generator], np.ndarray]] = {
    "-log U": lambda n, rng: -np.log(rng.random(n)),
    "cosine": lambda n, rng: np.cos(rng.random(n) * 7),
    "Beta(8, 1)": lambda n, rng: rng.beta(8, 1, n),
    "quantised": lambda n, rng: rng.integers(0, 1000, n) / 1000,
    "half tied": lambda n, rng: np.where(rng.random(n) < 0.5, 0.5, rng.random(n)),
}
_TYPES = ("float32", "float64")


def _list(context: Context, shape: str, kind: str) -> tuple[Path, np.ndarray]:
    """The list, made where it is not there; and its scores."""
    n = min(_MOST_ITEMS, context.n_items)
    scores = _SHAPES[shape](n, np.random.default_rng(context.seed)).astype(kind)
    folder = context.scratch / f"{''.join(filter(str.isalnum, shape))}-{kind}-{n}"
    for i, rows in enumerate(np.array_split(np.arange(n), 7)):
        path = folder / f"part-{i}.parquet"
        if not path.exists():
            folder.mkdir(exist_ok=True)
            pq.write_table(pa.table({"score": scores[rows], "id": rows}), path, row_group_size=1 << 18)
    return folder, scores


def _ranks(n: int, seed: int) -> np.ndarray:
    """The first thousands, and others at random."""
    return unique(np.arange(1, min(n, 10_000) + 1), np.random.default_rng(seed).integers(1, n + 1, 30_000))


def _runner(shape: str, kind: str, context: Context) -> Callable[[], tuple[str, str, pa.Table]]:
    from streameval.rankings import open_ranking
    from streameval.rows.options import RankingOptions

    folder, scores = _list(context, shape, kind)
    options = RankingOptions(score="score", threads=context.threads, memory=0.4)

    def run() -> tuple[str, str, pa.Table]:
        ranking = open_ranking(str(folder), options)
        return shape, kind, ranking.fetch(_ranks(scores.size, context.seed), ["id"]).table

    return run


def check(context: Context, found: tuple[str, str, pa.Table]) -> dict[str, Any]:
    """Position and score of every item, bit for bit."""
    from streameval.kernels.order import position_hashes

    shape, kind, table = found
    _, scores = _list(context, shape, kind)
    order = np.lexsort([position_hashes(np.arange(scores.size)), -scores])
    expected = order[_ranks(scores.size, context.seed) - 1]
    assert np.array_equal(table.column("id").to_numpy(), expected), f"{shape}, {kind}"
    assert table.column("score").to_numpy().tobytes() == scores[expected].tobytes(), f"{shape}, {kind}"
    return {"equal": table.num_rows}


_RUNNERS: dict[str, Runner] = {
    f"{shape}, {kind}: equal": partial(_runner, shape, kind) for shape in _SHAPES for kind in _TYPES
}
CASE = Case(
    title="40,000 items by score of {n} (10⁷ at most), bit for bit those of a full sort",
    runners=_RUNNERS,
    datasets=lambda context: [],
    check=check,
)
