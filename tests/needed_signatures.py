"""Run journeys, and print the signatures of all kernels that they ask for, one a line: `scripts/signatures` keeps them.

Nothing is run as plain Python here, so that what only long lists need is asked for as well. With `verbs` as an
argument, the commands of `every_verb` alone; with `few`, those of them that ask for most, of a short list.
"""

import contextlib
import io
import itertools
import sys
import tempfile
from pathlib import Path

import every_verb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from every_verb import EVERY, run_commands, write_list

import streameval
from streameval.kernels import jit
from streameval.kernels.cache import KernelCache
from streameval.rows.options import RankingOptions

N_LONG, N_SHORT, N_SHORTEST = 5_000_000, 800_000, 200_000  # beyond rank 2^22 sums are made in another way
SCORES, LABELS = ("float32", "float64", "int64"), ("int8", "bool", "int64")
FEW = [
    line
    for line in EVERY
    if line.startswith(("plan", "exact")) and ("paula(" in line or "--study gate" in line)
    if not line.endswith(("independent)", "epsilon=0.1)"))
]
BY_SCORE = RankingOptions(score="score")
PLAIN = {"id": "DELTA_BINARY_PACKED", "query": "PLAIN", "score": "PLAIN", "label": "PLAIN", "text": "PLAIN"}
STORED = [  # ways in which a list may be stored
    {"write_page_index": True},
    {"write_page_index": True, "compression": "lz4", "use_dictionary": False, "column_encoding": PLAIN},
    {"compression": "zstd", "data_page_version": "2.0"},
    {"write_page_index": True, "compression": "none", "write_page_checksum": True},
    {"write_page_index": True, "compression": "none", "use_dictionary": False, "column_encoding": PLAIN},
    {"compression": "snappy", "use_dictionary": False, "column_encoding": PLAIN},
]


def recorded(signatures):
    """Have every signature that a kernel is asked for added to `signatures`."""
    load = KernelCache.load_overload

    def note(cache, sig, context):
        signatures.add(f"{cache.kernel} ({''.join(f'{argument!r}, ' for argument in sig)})")
        return load(cache, sig, context)

    KernelCache.load_overload = note


def write(folder, n, shuffled, score="float32", label="int8", with_text=False, **options):
    """A list of n items in four files, in the order of its scores or shuffled, of rankings of 100 items."""
    rng = np.random.default_rng(1)
    value = np.sort(rng.integers(0, 2 * n, n))[::-1]
    positive = rng.random(n) < value / (2 * n)
    order = rng.permutation(n) if shuffled else np.arange(n)
    scores = value if score == "int64" else (value / (2 * n)).astype(score)
    table = pa.table({"id": rng.permutation(n)[order], "query": order // 100, "score": scores[order],
                      "label": positive[order].astype(label)})  # fmt: skip
    if with_text:
        table = table.append_column("text", pa.array([f"item {i}" for i in order]))
        table = table.append_column("words", pa.array([["a", "b"][: i % 3] for i in order]))
    folder.mkdir(parents=True)
    for part in range(4):
        pq.write_table(
            table.slice(part * n // 4, n // 4), folder / f"part-{part}.parquet", data_page_size=20_000, **options
        )
    return positive


def label_study(study, positive):
    """Label all that is planned."""
    rank = pq.read_table(study / "plan.parquet", columns=["rank"]).column("rank").to_numpy()
    streameval.evaluate(study, labels=pa.table({"rank": rank, "label": positive[rank - 1].astype(np.int8)}))


def ways_of_storing(place):
    """Short lists, stored in several ways, and with scores and labels of several types."""
    for i, options in enumerate(STORED):
        for shuffled in (False, True):
            ranking = place / f"stored-{i}-{shuffled}"
            everything(ranking, write(ranking, N_SHORT, shuffled, with_text=not shuffled, **options), shuffled)
    for score, label in itertools.product(SCORES, LABELS):
        ranking = place / f"{score}-{label}"
        everything(ranking, write(ranking, N_SHORTEST, True, score, label), True)
        streameval.exact(ranking, label="label", score="score", key="id")


def everything(ranking, positive, shuffled):
    """Plan, select, evaluate, and evaluate with every label, by score where the list is shuffled."""
    study = ranking.with_name(f"{ranking.name}-study")
    streameval.plan(ranking, study, seed=1, options=BY_SCORE if shuffled else None)
    streameval.select(study)
    label_study(study, positive)
    streameval.exact(ranking, label="label", score="score")
    streameval.exact(ranking, label="label", per="query", score="score", at=[10])


def long_lists(place):
    """What only long lists ask for."""
    for shuffled in (False, True):
        ranking = place / f"long-{shuffled}"
        everything(ranking, write(ranking, N_LONG, shuffled), shuffled)
    streameval.exact(place / "long-False", label="label")
    streameval.exact(place / "long-True", label="label", score="score", memory=0.3)
    for name, score in (("whole", "int64"), ("double", "float64")):  # whole ones are counted one by one
        write(place / name, N_LONG, True, score)
        streameval.exact(place / name, label="label", score="score")
    streameval.plan(place / "double", place / "few-wanted", seed=1, budget=300, options=BY_SCORE)
    streameval.select(place / "few-wanted")
    table = pq.read_table(place / "long-True")
    close = pa.array(0.5 + table.column("score").to_numpy() / 2)  # of one exponent: so are those of 32 bits
    pq.write_table(table.set_column(2, "score", close), place / "close.parquet", row_group_size=N_LONG // 4)
    streameval.exact(place / "close.parquet", label="label", score="score")
    tied = pa.array(np.round(table.column("score").to_numpy() * 4))  # ties of a million items
    pq.write_table(table.set_column(2, "score", tied), place / "tied.parquet")
    same = table.set_column(2, "score", pa.array(np.ones(N_LONG)))  # a single tie, whose items are told apart by id
    pq.write_table(same, place / "same.parquet")
    for ranking, key in (("long-True", ()), ("tied.parquet", ()), ("same.parquet", ("id",))):
        options = RankingOptions(score="score", memory=0.11, key=key)
        streameval.plan(place / ranking, place / f"{ranking}-narrow", seed=1, budget=3_000, options=options)
        streameval.select(place / f"{ranking}-narrow")


def vast_rankings(place):
    """What rankings of more rows than memory holds ask for, the second of them a single tie; with a judge, too."""
    n = N_LONG // 2
    write(place / "rows", n, True)
    table = pq.read_table(place / "rows")
    second = np.arange(n) >= n // 2
    score = pa.array(np.where(second, 1, table.column("score").to_numpy()))
    table = table.set_column(2, "score", score).append_column("half", pa.array(second.astype(np.int64)))
    pq.write_table(table.append_column("judge", table.column("label").cast("float64")), place / "halves.parquet")
    limits = {"per": "half", "score": "score", "memory": 0.05}
    streameval.exact(place / "halves.parquet", label="label", **limits)
    streameval.plan(place / "halves.parquet", place / "judged", budget=20, judge="judge", seed=1, **limits)
    label_study(place / "judged", table.column("label").to_numpy())


def main():
    signatures = set()
    recorded(signatures)
    jit._left[0] = -1  # what is done by kernels on long lists is so on short ones
    every_verb.N = 2_000 if "few" in sys.argv else every_verb.N
    with tempfile.TemporaryDirectory() as place, contextlib.redirect_stdout(io.StringIO()):
        if "few" in sys.argv:
            run_commands(Path(place, "few"), FEW, lambda: write_list(np.random.default_rng(1)))
        else:
            run_commands(Path(place, "verbs"), EVERY)
        if len(sys.argv) == 1:
            ways_of_storing(Path(place, "short"))
            long_lists(Path(place, "long"))
            vast_rankings(Path(place, "vast"))
    sys.stdout.write("".join(f"{line}\n" for line in sorted(signatures)))


if __name__ == "__main__":
    main()
