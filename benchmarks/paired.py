"""Labels that the comparison of two rankings takes, how wide its bounds are, and how often they miss.

    python -m benchmarks.paired [--parts overlap,models,scans] [--runs 200] [--readme]

`overlap` draws from gains and losses of given sizes, through the rates and bounds that studies use. `models` trains two
models on half of a real list, and compares their rankings of the other half by whole studies, drawn again and again
(`../shared/data` has the lists). Both take about five minutes on two cores. `scans` plans comparisons of long tables,
for which it writes 8 GB to the folder of temporary files, and removes them again.
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import streameval
from benchmarks.machine import description
from benchmarks.paired_scans import scans
from benchmarks.readme import markdown, write_section
from streameval.kinds.paired.cost import costs_of
from streameval.order.scan import key_hashes
from streameval.paired.count import ChangedSample, limits
from streameval.paired.looks import count_error
from streameval.paired.rates import probabilities
from streameval.questions.comparing import Comparing

N, K, CONFIDENCE = 10**7, 10**6, 0.95
DATA = Path(__file__).parents[2] / "shared" / "data"


def _floor(changed: int, half: float, precision: float) -> int:
    """Labels of one look if labels were normal: no bound is narrower."""
    z, total = NormalDist().inv_cdf(1 - (1 - CONFIDENCE) / 2), 2 * changed
    rate = 1 / (1 + (half * K / z) ** 2 / (precision * (1 - precision) * total))
    return round(rate * total)


def overlap(runs: int) -> str:
    """Labels and widths by precision, overlap and half-width, at one cutoff and at five."""
    rows, missed, count = [], 0, 0
    rng = np.random.default_rng(1)
    for precision, share, half in _cases():
        changed = round((1 - share) * K)
        cells = [f"{precision:g}", f"{share:.0%}", f"{half:.1%}", f"{_floor(changed, half, precision):,}"]
        for m, looks in ((1, "one"), (1, "both"), (5, "one")):
            labels, widths, wrong = _drawn((precision, changed, half), (m, looks), runs, rng)
            cells += [f"{np.mean(labels):,.0f}", f"{np.median(widths):.2%}"]
            missed, count = missed + wrong, count + runs
        curves = costs_of(Comparing("80%", questions=f"gain@{K} within {100 * half:g}% expect {precision}"), N)[-1][
            "labels"
        ]
        rows.append([*cells, f"{curves:,}"])
        print(*rows[-1], sep="  ", flush=True)
    head = ["precision", "overlap", "within", "normal theory", "one look: labels", "half-width", "both: labels",
            "half-width", "one look, five cutoffs: labels", "half-width", "two curves"]  # fmt: skip
    allowed = f"{(1 - CONFIDENCE) * count:,.0f} are allowed"
    return f"{markdown(head, rows)}\n\nBounds at 10⁶: {missed} missed of {count:,}; {allowed}."


def _cases() -> list[tuple[float, float, float]]:
    return [(0.5, 0.5, 0.02), (0.5, 0.8, 0.01), (0.5, 0.8, 0.02), (0.5, 0.95, 0.01), (0.5, 0.95, 0.02),
            (0.9, 0.8, 0.01), (0.9, 0.8, 0.02), (0.9, 0.95, 0.01)]  # fmt: skip


def _drawn(
    case: tuple[float, int, float], how: tuple[int, Any], runs: int, rng: np.random.Generator
) -> tuple[list[int], list[float], int]:
    """Labels and half-widths of draws at one of m alike cutoffs, and how many miss the truth."""
    precision, changed, half = case
    m, looks = how
    sides = np.full(m, changed, np.int64)
    rate = probabilities(sides, sides, np.full(m, K, np.int64), within=half, confidence=CONFIDENCE,
                         variance=precision * (1 - precision), looks=looks)[0]  # fmt: skip
    positives = [round(precision * changed), round(precision * changed * 0.98)]
    labels, widths, missed = [], [], 0
    for _ in range(runs):
        drawn = rng.binomial(changed, rate, 2)
        found = [int(rng.hypergeometric(one, changed - one, size)) for one, size in zip(positives, drawn, strict=True)]
        gains, losses = (ChangedSample(changed, int(size), one) for size, one in zip(drawn, found, strict=True))
        lower, upper = limits(gains, losses, count_error(CONFIDENCE, m, looks))
        labels.append(int(drawn.sum()))
        widths.append((upper - lower) / 2 / K)
        missed += not lower <= positives[0] - positives[1] <= upper
    return labels, widths, missed


def models(runs: int) -> str:
    """Two rankings of real lists, compared by studies."""
    rows = []
    for name, table, at, within in _rankings():
        with tempfile.TemporaryDirectory() as home:
            rows += _compared(name, table, (at, within), max(2, runs // 10), Path(home))
    head = ["list", "cutoff", "items", "changed", "true difference", "labels: mean", "half-width", "missed",
            "two curves"]  # fmt: skip
    return markdown(head, rows)


def _compared(name: str, table: pa.Table, how: tuple[list[int], float], runs: int, home: Path) -> list[list[str]]:
    """A row for each cutoff, of studies with draws of their own."""
    at, within = how
    source = home / "list.parquet"
    pq.write_table(table, source)
    label = table.column("label").to_numpy()
    ties = key_hashes(table.select(["item_id"]))  # which order items of one score, here as in the study
    order = {side: np.lexsort([ties, -table.column(side).to_numpy()]) for side in ("old", "new")}
    truth = {k: int(label[order["new"][:k]].sum() - label[order["old"][:k]].sum()) for k in at}
    found: dict[int, list[dict[str, Any]]] = {k: [] for k in at}
    for run in range(runs):
        study = home / f"study{run}"
        streameval.plan(source, study, score="new", against=source, against_score="old", key="item_id",
                        questions=f"gain@{', '.join(map(str, at))} within {100 * within:g}%", seed=run)  # fmt: skip
        tasks = streameval.select(study).table
        given = tasks.select(["se_task"]).append_column("label", tasks.column("label"))
        for row in streameval.evaluate(study, labels=given).tables["differences"].to_pylist():
            found[int(row["cutoff"])].append(row)
    curves = costs_of(Comparing("80%", questions=f"gain@{at[-1]} within {100 * within:g}%"), table.num_rows)[-1][
        "labels"
    ]
    rows = []
    for k in at:
        labels = [row["gains_drawn"] + row["losses_drawn"] for row in found[k]]
        half = np.median([(row["upper"] - row["lower"]) / 2 / k for row in found[k]])
        missed = sum(not row["lower"] <= truth[k] <= row["upper"] for row in found[k])
        changed = (found[k][0]["gains"] + found[k][0]["losses"]) / 2 / k
        rows.append([name, f"{k:,}", f"{table.num_rows:,}", f"{changed:.0%}", f"{truth[k] / k:+.3f}",
                     f"{np.mean(labels):,.0f}", f"{half:.3f}", f"{missed} of {runs}", f"{curves:,}"])  # fmt: skip
        print(*rows[-1], sep="  ", flush=True)
    return rows


def _rankings() -> Sequence[tuple[str, pa.Table, list[int], float]]:
    """Real lists with two scores: digits and paraphrases by two trained models each, a screening by two systems."""
    clef = pq.read_table(DATA / "clef_tar2017_amc.parquet", columns=["item_id", "score", "score_uwaterloo", "label"])
    clef = clef.rename_columns(["item_id", "old", "new", "label"])
    return [("digits", _digits(), [100, 1_000], 0.02), ("ppdb", _paraphrases(), [1_000, 5_000], 0.03),
            ("clef, two systems", clef.filter(_known(clef)), [1_000, 10_000], 0.02)]  # fmt: skip


def _known(table: pa.Table) -> pa.Array:
    scores = np.column_stack([table.column(side).to_numpy(zero_copy_only=False) for side in ("old", "new")])
    return pa.array(np.isfinite(scores.astype(np.float64)).all(axis=1))


def _digits() -> pa.Table:
    """Every image with every digit, by two models' probabilities that it shows it."""
    from sklearn.datasets import load_digits
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import SVC

    data = load_digits()
    train, test = np.arange(400), np.arange(400, data.target.size)
    models = LogisticRegression(C=1e-4, max_iter=200), SVC(probability=True, random_state=0)
    scores = [one.fit(data.data[train], data.target[train]).predict_proba(data.data[test]).ravel() for one in models]
    label = (data.target[test][:, None] == np.arange(10)).ravel().astype(np.int8)
    return pa.table({"item_id": np.arange(label.size), "old": scores[0], "new": scores[1], "label": label})


def _paraphrases() -> pa.Table:
    """Pairs of phrases, by two models of how much their letters and words have in common."""
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.linear_model import LogisticRegression

    table = pq.read_table(DATA / "ppdb_human.parquet")
    pairs = zip(table.column("p1").to_pylist(), table.column("p2").to_pylist(), strict=True)
    features, label = np.array([_features(*pair) for pair in pairs]), table.column("label").to_numpy()
    half = np.random.default_rng(0).random(label.size) < 0.5
    models = LogisticRegression(max_iter=500), HistGradientBoostingClassifier(random_state=0)
    scores = [one.fit(features[half], label[half]).predict_proba(features[~half])[:, 1] for one in models]
    return pa.table({"item_id": table.column("item_id").to_numpy()[~half], "old": scores[0], "new": scores[1],
                     "label": label[~half]})  # fmt: skip


def _features(a: str, b: str) -> list[float]:
    words = set(a.split()), set(b.split())
    letters = {a[i : i + 3] for i in range(len(a))}, {b[i : i + 3] for i in range(len(b))}
    shared = [len(one & other) / max(1, len(one | other)) for one, other in (words, letters)]
    return [*shared, abs(len(a) - len(b)), len(words[0]), len(words[1]), math.log1p(len(a)), float(a[:1] == b[:1])]


PARTS = {"overlap": overlap, "models": models, "scans": scans}


def main() -> None:
    """Run the parts, print their tables, and write them to benchmarks/README.md where asked to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--runs", type=int, default=200, help="draws of each case; a tenth of them of a whole study")
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    for name in options.parts.split(","):
        text = f"{PARTS[name](options.runs)}\n\n{description()}."
        print(text, flush=True)
        if options.readme:
            write_section(f"paired_{name}", text)


if __name__ == "__main__":
    main()
