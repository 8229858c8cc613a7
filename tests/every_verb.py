"""Commands that have every verb, method and kind of study asked for their kernels, in a folder of their own."""

import os
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.cli import run

N = 40_000
LABELS = "--labels list.parquet --on id --label label"
COMMANDS = f"""
plan list.parquet --study loguniform --seed 1 --score score --key id --budget 900
scan loguniform --shard 1/2
scan loguniform
scan loguniform
select loguniform --export tasks.csv
evaluate loguniform {LABELS}
labels loguniform
show loguniform precision@100
check loguniform 'precision@100 >= 0.01'
cut loguniform precision:0.5 --out best
cut loguniform 1000
extrapolate loguniform precision@recall:0.75 --items 100000
sql loguniform 'SELECT count(*) AS n FROM plan'
report loguniform
publish loguniform published
plan list.parquet --study stored --seed 2 --budget 900
select stored
evaluate stored --labels list.parquet --on id --label label --misses 50 --label-error 0.01
compare loguniform stored
plan missed.parquet --study missed --seed 3 --budget 300
select missed
evaluate missed --labels missed.parquet --on id --label label
evaluate stored --misses missed
report loguniform stored --out both.html
plan list.parquet --study paula --method paula(epsilon=0.1,window=20)
select paula
evaluate paula {LABELS}
evaluate paula --assume independent
plan list.parquet --study independent --method paula(epsilon=0.1,window=20,assume=independent)
select independent
evaluate independent {LABELS}
plan list.parquet --study stratified --method stratified(epsilon=0.3,claim=factor) --alpha 0.5 --seed 1
select stratified
evaluate stratified {LABELS}
plan list.parquet --study uniform --method uniform --budget 900 --seed 1
select uniform
evaluate uniform {LABELS}
plan list.parquet --study hypergeometric --method uniform(interval=hypergeometric) --alpha 0.1 --seed 1
select hypergeometric
evaluate hypergeometric {LABELS}
plan list.parquet --study stages --budget 900 --stages 3 --seed 1
select stages
evaluate stages {LABELS}
plan list.parquet --study growing --budget 900 --stages 3:later --seed 1
select growing
evaluate growing {LABELS}
grow growing --budget 400
select growing
evaluate growing {LABELS}
grow growing --alpha 0.175
plan list.parquet --study adaptive --budget 900 --stages adaptive --seed 1
select adaptive
evaluate adaptive {LABELS}
grow adaptive
select adaptive
evaluate adaptive {LABELS}
plan list.parquet --study judge --judge llm(0.3,0.6) --budget 900 --seed 1
select judge
evaluate judge {LABELS}
report judge
plan list.parquet --study gate --for 'precision@1000 >= 0.6 zone 0.1' --seed 1
select gate
evaluate gate {LABELS}
plan list.parquet --study points --for 'precision@500,2000 within 0.1' --seed 1
select points
evaluate points {LABELS}
plan list.parquet --study deepest --for 'cut precision 0.5' --seed 1
select deepest
evaluate deepest {LABELS}
plan list.parquet --study recall --for 'recall@1000 >= 0.9' --seed 1
select recall
evaluate recall {LABELS}
select recall
evaluate recall {LABELS}
plan list.parquet --study positives --for 'positives within 60%' --seed 1
select positives
evaluate positives {LABELS}
select positives
evaluate positives {LABELS}
plan list.parquet --study sampled --judge sample=4000,accuracy=0.9 --budget 900 --seed 1
select sampled --export ask.csv
judge sampled ask.csv --label llm
select sampled
evaluate sampled {LABELS}
plan list.parquet --study sliced --by part --score score --budget 900 --seed 1
select sliced
evaluate sliced {LABELS}
report sliced
plan parts --study folders --by country --budget 900 --seed 1
select folders
evaluate folders {LABELS}
plan list.parquet --study keyed --on id --seed 7 --budget 900 --score score
select keyed
evaluate keyed {LABELS}
plan list.parquet --study named --on word --seed 7 --budget 900 --score score
select named
plan again.parquet --study reused --on id --seed 7 --reuse keyed --labels-unseen-by-model yes --budget 900 --score score
select reused
evaluate reused {LABELS}
plan list.parquet --study drawn --per query --budget 1000 --for precision@5,10 --score score --seed 5
select drawn
evaluate drawn {LABELS}
evaluate drawn --positives labels-beyond.parquet --key id
show drawn precision@5
report drawn
plan again.parquet --study drawn-again --per query --budget 1000 --for precision@5,10 --score score --seed 5
select drawn-again
evaluate drawn-again {LABELS}
plan list.parquet --study drawn-judge --per query --budget 1000 --for precision@5,10 --judge llm --score score --seed 5
select drawn-judge
evaluate drawn-judge {LABELS}
plan list.parquet --study drawn-names --per name --budget 200 --for precision@2 --seed 5
select drawn-names
evaluate drawn-names {LABELS}
adopt list.parquet --study adopted --labels sample.csv --on id --drawn uniform(size=800) --score score
evaluate adopted
adopt list.parquet --study strata --labels by-rank.csv --drawn strata(sizes=ranges.csv)
evaluate strata
adopt list.parquet --study poisson --labels by-rank.csv --drawn poisson(probability=0.02)
evaluate poisson
adopt list.parquet --study adopted-stages --labels by-rank.csv --drawn uniform(size=800) --stages 2:later --seed 1
evaluate adopted-stages
grow adopted-stages --budget 400
select adopted-stages
evaluate adopted-stages {LABELS}
plan list.parquet --study pair --against again.parquet --score score --key id --for 'gain@100, 500' --seed 1
select pair
evaluate pair {LABELS}
show pair precision_gain@100
report pair
monitor 2026-11-21=loguniform 2026-11-22=keyed 'precision@100 >= 0.1' --out history.parquet
cost --items 2000000000 --alpha 0.05
cost list.parquet --stages adaptive
cost --items 1000000 --drawn uniform(size=2000)
cost list.parquet --stages 4
cost --items 1000000 --judge sample=10000,accuracy=0.9
simulate list.parquet --label label --replicates 3 --judge llm --score score --budget 900
exact list.parquet --label label --out exact
exact list.parquet --label label --score score --key id --method paula(window=20),paula(window=100) --misses 30
exact list.parquet --label label --method paula(window=20,epsilon=0.1)
exact list.parquet --label label --score score --sample-of id
exact list.parquet --label truth --labels truth.parquet --on id
exact again.parquet --label label --out exact-again
compare exact exact-again
exact list.parquet --label label --per query --score score --key id --at 3,10 --out rankings
exact list.parquet --label grade --per query(gain=exponential) --score score --key id --positives grades-beyond.parquet
exact list.parquet --label label --per query(ties=trec_eval) --score score --key id
exact list.parquet --label label --per query(ties=scikit-learn) --score score
exact list.parquet --label label --per name --score score --memory 0.3
exact again.parquet --label label --per query --score score --key id --at 3,10 --out rankings-again
compare rankings rankings-again
"""
EVERY = COMMANDS.split("\n")[1:-1]


def write_list(rng):
    """A list with everything that the commands name; what it holds."""
    share = np.linspace(0.8, 0.02, N)
    positive = (rng.random(N) < share).astype(np.int8)
    table = pa.table({
        "id": rng.permutation(N), "word": [f"w{i}" for i in range(N)],
        "name": [f"n{i}" for i in rng.integers(0, N // 4, N)], "query": rng.integers(0, 800, N),
        "score": np.round(share, 3), "label": positive, "grade": positive * rng.integers(1, 4, N),
        "part": np.arange(N) % 3, "llm": np.clip(positive + rng.normal(0, 0.4, N), 0, 1),
        "text": [f"item {i}" for i in range(N)]})  # fmt: skip
    pq.write_table(table, "list.parquet", row_group_size=N // 4, write_page_index=True, data_page_size=8_000)
    return table, share, positive


def write_lists():
    """That list, a later version of it, and label tables."""
    rng = np.random.default_rng(1)
    table, share, positive = write_list(rng)
    noise = np.round(share + rng.normal(0, 0.01, N), 3)
    pq.write_table(table.set_column(4, "score", pa.array(noise)), "again.parquet", write_page_index=True)
    for country in range(2):
        Path(f"parts/country={country}").mkdir(parents=True)
        pq.write_table(
            table.slice(country * N // 2, N // 2), f"parts/country={country}/a.parquet", write_page_index=True
        )
    pq.write_table(table.select(["id"]).append_column("truth", table.column("label")), "truth.parquet")
    for column in ("label", "grade"):
        beyond = pa.table({"query": np.arange(50), "id": np.arange(50) + 2 * N, column: np.ones(50, np.int64)})
        pq.write_table(beyond, f"{column}s-beyond.parquet")
    pq.write_table(pa.table({"id": np.arange(2_000) + 2 * N, "label": rng.integers(0, 2, 2_000)}), "missed.parquet")
    ranks = np.sort(rng.choice(N, 800, replace=False))
    write_csv("sample.csv", ("id", "label"), table.column("id").to_numpy()[ranks], positive[ranks])
    write_csv("by-rank.csv", ("rank", "label"), ranks + 1, positive[ranks])
    write_csv(
        "ranges.csv", ("last_rank", "drawn"), [N // 2, N], [int((ranks < N // 2).sum()), int((ranks >= N // 2).sum())]
    )


def write_csv(path, names, *columns):
    """A table of numbers."""
    rows = [",".join(map(str, row)) for row in zip(*columns, strict=True)]
    Path(path).write_text("\n".join([",".join(names), *rows]) + "\n")


def commands_of(*words):
    """The commands with any of these words."""
    return [line for line in EVERY if set(words) & set(shlex.split(line))]


def run_commands(place, commands, write=write_lists):
    """Run them in a new folder, as a person would."""
    before = os.getcwd()
    place.mkdir(parents=True)
    os.chdir(place)
    try:
        write()
        for line in commands:
            status = run(shlex.split(line))
            if status not in (0, 1):  # 1: a condition is not met
                raise SystemExit(f"{line}: ended with {status}")
    finally:
        os.chdir(before)
