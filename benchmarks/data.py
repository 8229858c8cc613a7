"""Seeded ranked lists of any length: every value is a function of the rank, so any item can be checked.

id       a permutation of 0..2^k - 1 (k bits of N): int64 that no encoding shrinks, as in real ranked lists
score    float32, falls with the rank, with ties where N is large; in "beta" lists float64, the quantiles of Beta(8, 1);
         the middle half of "tied" ones has one score
label    1 with a probability that falls with the rank
text     (wide lists only) about 1 kB of words, compressible tenfold
"""

from __future__ import annotations

import math
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numba as nb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

_FILES = {"narrow": 100, "wide": 10, "shuffled": 100, "beta": 100, "tied": 100}
_SCATTERED = ("shuffled", "beta", "tied")
_GROUP_ROWS = 1 << 20
# the default, and what suits wide rows: other columns are then not read for 20 times the rows of a page of text
_PAGE_ROWS = {"narrow": 20_000, "wide": 4096, "shuffled": 20_000, "beta": 20_000, "tied": 20_000}
_TEXT_BYTES = 1000
_CORPUS_BYTES = 1 << 15
_BLOCK_ROWS = 1 << 20
_WIDE_BLOCK_ROWS = 1 << 17


@dataclass(frozen=True)
class Dataset:
    """A ranked list in a folder of Parquet files.

    Attributes
    ----------
    root : Path
        Folder of all data of the benchmark.
    n_items : int
    kind : {"narrow", "wide", "shuffled", "beta", "tied"}
        "wide" has a text column of 1 kB; "shuffled" is the narrow list in scattered order, and so are "beta" and
        "tied", with other scores, in an order that chance could have made.
    seed : int
    index : {"pages", "sums", "none"}
        Whether the files carry a page index; "sums": and checksums.
    """

    root: Path
    n_items: int
    kind: str = "narrow"
    seed: int = 7
    index: str = "pages"

    @property
    def folder(self) -> Path:
        return self.root / f"{self.kind}-{self.n_items}-{self.seed}-{self.index}"

    @property
    def files(self) -> list[Path]:
        return sorted(self.folder.glob("part-*.parquet"))

    @property
    def disk_bytes(self) -> int:
        """What it will take on disk, from lists made before."""
        return int(self.n_items * {"narrow": 4.6, "wide": 150, "shuffled": 9, "beta": 17, "tied": 12}[self.kind])

    @property
    def complete(self) -> bool:
        return len(self.files) == self.n_files

    @property
    def n_files(self) -> int:
        return min(_FILES[self.kind], max(1, self.n_items // 1000))

    def make(self) -> None:
        """Write what is not there yet; each file appears whole or not at all."""
        self.folder.mkdir(parents=True, exist_ok=True)
        cuts = np.linspace(0, self.n_items, self.n_files + 1).astype(np.int64)
        jobs = [(f"part-{i:03d}.parquet", int(a), int(b)) for i, (a, b) in enumerate(pairwise(cuts))]
        with ThreadPoolExecutor(os.cpu_count()) as pool:
            list(pool.map(lambda job: self._file(*job), [j for j in jobs if not (self.folder / j[0]).exists()]))

    def _file(self, name: str, begin: int, end: int) -> None:
        encodings = {"id": "DELTA_BINARY_PACKED", "score": "PLAIN", "label": "PLAIN"}
        options = {
            "use_dictionary": False,
            "column_encoding": encodings | ({"text": "PLAIN"} if self.kind == "wide" else {}),
            "compression": "lz4",
            "max_rows_per_page": _PAGE_ROWS[self.kind],
            "write_page_index": self.index != "none",
            "write_page_checksum": self.index == "sums",
        }
        temporary = self.folder / f"_{name}"
        block = _WIDE_BLOCK_ROWS if self.kind == "wide" else _BLOCK_ROWS
        with pq.ParquetWriter(temporary, self.items(np.arange(1, 2)).schema, **options) as writer:
            for first in range(begin, end, block):
                ranks = np.arange(first + 1, min(first + block, end) + 1)
                if self.kind in _SCATTERED:
                    ranks = self.scattered(ranks)
                if self.kind != "wide":
                    writer.write_table(self.items(ranks), row_group_size=_GROUP_ROWS)
                else:
                    writer.write_batch(self.items(ranks).combine_chunks().to_batches()[0], row_group_size=_GROUP_ROWS)
        os.replace(temporary, self.folder / name)

    def scattered(self, places: np.ndarray) -> np.ndarray:
        """Rank of the item at each place (int64, 1-based) of the scattered list.

        "shuffled": by a step prime to N, about .618 N; else by a hash.
        """
        if self.kind != "shuffled":
            return 1 + walk(places - 1, self.n_items, self.seed + 1)
        step = max(1, int(0.6180339887 * self.n_items))
        while math.gcd(step, self.n_items) > 1:
            step += 1
        return 1 + (places - 1) * step % self.n_items

    def items(self, ranks: np.ndarray) -> pa.Table:
        """The items at `ranks` (int64, 1-based), without reading any file."""
        columns = {"id": ids(ranks, self.n_items, self.seed), "score": self.scores(ranks)}
        columns["label"] = labels(ranks, self.n_items, self.seed)
        if self.kind == "wide":
            columns["text"] = texts(ranks, self.seed)
        return pa.table(columns)

    def scores(self, ranks: np.ndarray) -> np.ndarray:
        """Scores of the items at `ranks`."""
        if self.kind == "beta":
            return (1.0 - (ranks - 0.5) / self.n_items) ** (1 / 8)
        if self.kind == "tied":
            middle = (4 * ranks > self.n_items) & (4 * ranks <= 3 * self.n_items)
            ranks = np.where(middle, max(1, self.n_items // 2), ranks)
        return scores(ranks, self.n_items)


@nb.njit(nogil=True, cache=True)
def _mix(x):
    x = (x ^ (x >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    x = (x ^ (x >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return x ^ (x >> np.uint64(31))


@nb.njit(nogil=True, cache=True)
def ids(ranks, n_items, seed):
    """A permutation of k-bit numbers, k the bits of N: odd factors and xor-shifts are undone one by one."""
    bits = np.uint64(1)
    while (np.uint64(1) << bits) <= np.uint64(n_items):
        bits += np.uint64(1)
    mask, half = (np.uint64(1) << bits) - np.uint64(1), (bits + np.uint64(1)) // np.uint64(2)
    odd = _mix(np.uint64(seed)) | np.uint64(1)
    found = np.empty(ranks.size, np.int64)
    for i in range(ranks.size):
        x = (np.uint64(ranks[i]) * odd) & mask
        x ^= x >> half
        x = (x * np.uint64(0x9E3779B97F4A7C15)) & mask
        x ^= x >> half
        found[i] = np.int64(x)
    return found


def walk(places: np.ndarray, n_items: int, seed: int) -> np.ndarray:
    """A permutation of 0..N-1: the one of k-bit numbers, again and again until it hits one of them."""
    found = ids(places, n_items, seed)
    while (beyond := np.flatnonzero(found >= n_items)).size:
        found[beyond] = ids(found[beyond], n_items, seed)
    return found


@nb.njit(nogil=True, cache=True)
def scores(ranks, n_items):
    found = np.empty(ranks.size, np.float32)
    for i in range(ranks.size):
        found[i] = np.float32(1.0 - np.sqrt(np.sqrt(ranks[i] / (n_items + 1.0))))
    return found


@nb.njit(nogil=True, cache=True)
def labels(ranks, n_items, seed):
    found = np.empty(ranks.size, np.int8)
    for i in range(ranks.size):
        precision = 0.98 / (1.0 + 20.0 * ranks[i] / n_items)
        hashed = _mix(np.uint64(ranks[i]) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(seed))
        found[i] = np.float64(hashed >> np.uint64(11)) * 2.0**-53 < precision
    return found


def texts(ranks: np.ndarray, seed: int) -> pa.Array:
    """Windows of a fixed text, each headed by its rank: 1,000 bytes a row."""
    rng = np.random.default_rng(seed)
    words = ["".join(rng.choice(list("abcdefghijklmnopqrstuvwxyz"), size)) for size in rng.integers(2, 10, 900)]
    text = " ".join(words[i] for i in rng.zipf(1.3, 40_000) % 900).encode()[:_CORPUS_BYTES]
    corpus = np.lib.stride_tricks.sliding_window_view(np.frombuffer(text, np.uint8), _TEXT_BYTES)
    rows = corpus[(ranks * 2_654_435_761) % corpus.shape[0]]
    rows[:, :16] = np.frombuffer("".join(f"{rank:015d} " for rank in ranks.tolist()).encode(), np.uint8).reshape(-1, 16)
    offsets = np.arange(0, rows.size + 1, _TEXT_BYTES, dtype=np.int32)
    return pa.StringArray.from_buffers(len(ranks), pa.py_buffer(offsets), pa.py_buffer(rows))
