"""Lists of scores of every shape, scans of them in memory, and their order by a full sort."""

import itertools

import numpy as np
import pyarrow as pa

from streameval.kernels.order import position_hashes
from streameval.order.scan import Scan, key_hashes
from streameval.order.scores import order_of
from streameval.rows import RowRun
from streameval.rows.memory import TableRows


def scan_of(table, pieces=5, key=(), ascending=False, threads=2):
    cuts = np.linspace(0, table.num_rows, pieces + 1).astype(int)
    units = [RowRun(int(a), int(b - a), TableRows(table)) for a, b in itertools.pairwise(cuts) if b > a]
    order = order_of([("memory", table.schema.field("s").type)], "s", ascending)

    def hashes(positions):
        return key_hashes(table.select(list(key)).take(pa.array(positions)))

    return Scan(units, order, "s", key, threads, hashes)


def sorted_positions(table, key=(), ascending=False):
    """A full sort by (score, tie hash, position), in plain Python."""
    scores = table.column("s").to_pylist()
    hashes = key_hashes(table.select(list(key))) if key else position_hashes(np.arange(table.num_rows))
    sign = 1 if ascending else -1
    gone = [value is None or value != value for value in scores]
    known = [scores[i] for i in range(len(scores)) if not gone[i]]
    place = {value: i for i, value in enumerate(sorted(set(known)))}
    return sorted(
        range(len(scores)),
        key=lambda i: (gone[i], 0 if gone[i] else sign * place[scores[i]], int(hashes[i]), i),
    )


SCORES = {
    "float32 -log u": lambda n, rng: -np.log(rng.random(n).astype(np.float32)),
    "float64 beta": lambda n, rng: rng.beta(8, 1, n),
    "cosine": lambda n, rng: np.cos(rng.random(n) * 7),
    "quantised": lambda n, rng: rng.integers(0, 7, n) / 8,
    "half tied": lambda n, rng: np.where(rng.random(n) < 0.5, 0.25, rng.random(n)),
    "all equal": lambda n, rng: np.full(n, 3.5),
    "heavy tails": lambda n, rng: np.exp(rng.normal(0, 100, n)),
    "correlated": lambda n, rng: np.sort(rng.random(n))[:: -1 if n % 2 else 1],
    "zeros and infinities": lambda n, rng: rng.choice([0.0, -0.0, np.inf, -np.inf, 1e-310, 2.0], n),
    "int8": lambda n, rng: rng.integers(-128, 128, n).astype(np.int8),
    "int64": lambda n, rng: rng.integers(-(2**63), 2**63, n),
    "uint64": lambda n, rng: rng.integers(0, 2**64, n, dtype=np.uint64),
}
