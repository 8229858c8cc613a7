"""`python -m benchmarks.stages [--items 1e8] [--data DIR] [--readme]`: where the time of whole scans goes, by stage.

Processor time of all threads in ns a row, of the quickest of several runs. Kernels and a few functions are timed as
they are called, each without what it calls; beside them, decompressing the same pages and copying what they hold.
"""

from __future__ import annotations

import argparse
import importlib
import os
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.data import Dataset
from benchmarks.machine import description
from benchmarks.readme import markdown, write_section
from benchmarks.windows import planned

# stages, with the kernels and the functions (module, name) in which they are; other kernels and all else are "the rest"
STAGES: dict[str, tuple[tuple[str, ...], tuple[tuple[str, str], ...]]] = {
    "read": ((), (("parquet.chunks", "OpenFile.read"), ("parquet.chunks", "OpenFile.gather"),
                  ("rows.row_groups", "RowGroup.advise"))),
    "check": (
        ("page_headers", "sound_chunks", "plain_pages", "column_index", "find_fields", "chunk_facts",
         "sound_row_groups"),
        (("parquet.plain_chunks", "check_bytes"), ("parquet.plain_chunks", "unproven"),
         ("rows.row_groups", "refuse_changed")),
    ),
    "decompress and decode labels": (("label_chunks",), ()),
    "decompress and decode scores": (("chunk_numbers",), ()),
    "order keys, ties": (
        ("float32_words", "float32_keys", "leading_ties", "every_group"),
        (("counting.bit_rows", "set_repeats"), ("counting.bit_rows", "copy_bits")),
    ),
    "part": (("part_piles", "part_words", "even_bins", "segment_bins", "open_rows", "append_rows", "keep_open"), ()),
    "count, sort": (("count_piles", "sort_words", "unpack_words", "count_bins"), ()),
    "sum": (
        ("add_far_labels", "add_groups", "hull_of_labels"),
        (("kernels.exact", "add_labels"), ("counting.block_sums", "founds_of"),
         ("counting.block_sums", "counts_before")),
    ),
    "interpolated precision": (("best_of_labels", "best_of_groups"), ()),
    "metrics": ((), (("verbs.exact", "evaluation_of"), ("verbs.exact", "curve_of"))),
}  # fmt: skip
_REST, _WAITING = "the rest", "waiting, of both threads"
WORKS: dict[str, tuple[str, str | None, bool]] = {  # kind of list, score, whether every label is read
    "exact, labels": ("narrow", None, True),
    "exact, labels and scores": ("narrow", "score", True),
    "exact by score": ("shuffled", "score", True),
    "windows by score": ("shuffled", "score", False),
}


class Clock:
    """Processor time of stages over all threads, each without that of the stages that it calls."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._thread, self._lock = threading.local(), threading.Lock()

    def timed(self, stage: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same function, on the clock."""

        def on_the_clock(*arguments: Any, **named: Any) -> Any:
            inner = self._thread.__dict__.setdefault("inner", [0.0])
            inner.append(0.0)
            began = time.thread_time()
            try:
                return call(*arguments, **named)
            finally:
                took, within = time.thread_time() - began, inner.pop()
                inner[-1] += took
                with self._lock:
                    self.seconds[stage] += took - within

        return on_the_clock


def watch(clock: Clock) -> None:
    """Put the kernels and functions of all stages on the clock."""
    from streameval.kernels.jit import Kernel

    plain, stage_of = Kernel.__call__, {name: stage for stage, (names, _) in STAGES.items() for name in names}
    timed = {stage: clock.timed(stage, plain) for stage in STAGES}

    def call(kernel: Any, *arguments: Any, **named: Any) -> Any:
        stage = stage_of.get(kernel.__name__)
        return plain(kernel, *arguments, **named) if stage is None else timed[stage](kernel, *arguments, **named)

    Kernel.__call__ = call  # type: ignore[method-assign]
    for stage, (_, functions) in STAGES.items():
        for module, name in functions:
            owner: Any = importlib.import_module(f"streameval.{module}")
            *outer, last = name.split(".")
            for part in outer:
                owner = getattr(owner, part)
            setattr(owner, last, clock.timed(stage, getattr(owner, last)))


def run(work: str, dataset: Dataset, threads: int) -> None:
    """Do the work once."""
    from streameval import RankingOptions, exact, open_ranking

    _, score, labelled = WORKS[work]
    options = RankingOptions(score=score, threads=threads)
    if labelled:
        exact(str(dataset.folder), label="label", options=options)
    else:
        open_ranking(str(dataset.folder), options).fetch(planned(dataset.n_items), ["id"])


def profile(clock: Clock, work: str, dataset: Dataset, threads: int, rounds: int) -> dict[str, float]:
    """Seconds by stage, of the round in which the processor was busy for the shortest time, after one not counted."""
    found: list[tuple[float, dict[str, float]]] = []
    for _ in range(rounds + 1):
        clock.seconds.clear()
        wall, busy = time.perf_counter(), time.process_time()
        run(work, dataset, threads)
        wall, busy = time.perf_counter() - wall, time.process_time() - busy
        stages = {**clock.seconds, _REST: busy - sum(clock.seconds.values()), _WAITING: threads * wall - busy}
        found.append((busy, stages))
    return min(found[1:], key=lambda one: one[0])[1]


def alone(dataset: Dataset, column: str) -> tuple[float, float]:
    """Seconds to decompress all pages of a column with Arrow's codec, and to copy what they hold; one thread."""
    import pyarrow as pa

    from streameval import open_ranking
    from streameval.kernels import page_header as headers
    from streameval.parquet.checks import BODY, check_bytes
    from streameval.parquet.chunks import OpenFile
    from streameval.parquet.groups import KNOWN

    codec, took = pa.Codec("lz4_raw"), np.zeros(2)
    for footer in open_ranking(str(dataset.folder)).rows.footers:  # type: ignore[attr-defined]
        with OpenFile(footer) as file:
            for chunk in KNOWN.of(file, footer, [column])[1][0][0]:
                (raw,) = file.read([(chunk.begin, chunk.end - chunk.begin)])
                pages = check_bytes(chunk, raw, []).pages[:, [BODY, headers.PAGE_COMPRESSED, headers.PAGE_UNCOMPRESSED]]
                for begin, size, plain in pages.tolist():
                    at = time.thread_time()
                    body = np.frombuffer(codec.decompress(raw[begin : begin + size], plain), np.uint8)
                    middle = time.thread_time()
                    body.copy()
                    took += middle - at, time.thread_time() - middle
    return float(took[0]), float(took[1])


def table(root: Path, n_items: int, threads: int, rounds: int) -> str:
    """A row for each stage, a column for each work."""
    clock, columns, datasets = Clock(), dict[str, dict[str, float]](), dict[str, Dataset]()
    for kind in {kind for kind, _, _ in WORKS.values()}:
        datasets[kind] = Dataset(root, n_items, kind)
        datasets[kind].make()
    limits = {(kind, one): alone(datasets[kind], one) for kind in datasets for one in ("label", "score")}
    watch(clock)
    for work, (kind, score, labelled) in WORKS.items():
        columns[work] = profile(clock, work, datasets[kind], threads, rounds)
        read = [limits[kind, one] for one in ("label", "score") if (labelled if one == "label" else score)]
        for at, name in enumerate(("decompression alone", "copying what it yields alone")):
            columns[work][name] = sum(one[at] for one in read)
        print(work, {stage: round(seconds / n_items * 1e9, 2) for stage, seconds in columns[work].items()}, flush=True)
    stages = [*STAGES, _REST, _WAITING, "decompression alone", "copying what it yields alone"]
    cells = [[f"{columns[work].get(stage, 0.0) / n_items * 1e9:.2f}" for work in WORKS] for stage in stages]
    return markdown(["ns a row", *WORKS], [[stage, *row] for stage, row in zip(stages, cells, strict=True)])


def main() -> None:
    """Print the table, and write it to benchmarks/README.md where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[2].strip())
    parser.add_argument("--items", type=float, default=1e8)
    parser.add_argument("--data", type=Path, help="folder of lists, which are made where they are not there")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--readme", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = table(given.data or Path(scratch), int(given.items), given.threads, given.rounds)
    text = f"{found}\n\n{description()}, load {os.getloadavg()[0]:.0f} while it was measured."
    print(text)
    if given.readme:
        write_section("stages", text)


if __name__ == "__main__":
    main()
