"""How often something false is said while labels come late, contradict one another, and are forgotten.

The verbs are run as people run them, on short lists of which nothing is true that they could prove:

- months: a watch over nights of equal precision. A part of each night's labels is there when it is watched first; a
  second annotator contradicts some; a file of wrong ones is forgotten. False is a change that is named, and bounds of a
  night, or of all nights together, that leave out the precision.
- challengers: rankings that are no better than the one there is (gain 0), all in one history, labelled in two parts.
  False is one that is proven to be better.
- gates: a question whose answer is no by one item, looked at whenever answers come. A tenth of the items gets a
  second and, where the two differ, later a third answer; all answers of one batch are forgotten, and given again. False
  is a yes.

Beside each count stands how likely as many or more are, if the stated chance holds: below .001 something is wrong.

Run: nice python -m benchmarks.late_labels [--months 200] [--histories 40] [--gates 300] [--readme]
"""

from __future__ import annotations

import argparse
import math
import tempfile
from collections.abc import Callable
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

import streameval
from benchmarks.readme import markdown, write_section

ITEMS, CUTOFF, CHALLENGERS = 400, 200, 20
DELTA = 0.05  # what every study, history and gate is asked for
COLUMNS: dict[str, Any] = {"annotator": "annotator", "time": "time"}
ALLOWED = ["incomplete", "about"]  # nights of one annotator and of several differ in what they are about
Ints = npt.NDArray[np.int64]


def month(rng: np.random.Generator, folder: Path, nights: int = 4) -> bool:
    """Watch nights of the same precision, and tell whether anything false was said."""
    wrong, history = False, folder / "history.parquet"
    for day in range(nights):
        study, truth = folder / str(date(2026, 1, 1) + timedelta(day)), _mixed(rng, CUTOFF, 170)
        streameval.plan(_stored(pa.table({"id": np.arange(ITEMS)}), folder), study, budget=80, seed=_seed(rng))
        ranks = streameval.select(study).table.column("rank").to_numpy()
        right = np.concatenate([truth, _mixed(rng, ITEMS - CUTOFF, 60)])[ranks - 1]
        early = rng.random(ranks.size) < 0.7
        torn = early & (rng.random(ranks.size) < 0.1)
        streameval.evaluate(study, labels=_votes(ranks, 1 - right, rng.random(ranks.size) < 0.2, "bad"), **COLUMNS)
        streameval.labels(study, forget=[path.stem for path in (study / "votes").glob("*.parquet")])
        part = [_votes(ranks, right, early, "ann"), _votes(ranks, 1 - right, torn, "ben")]
        streameval.evaluate(study, labels=[one for one in part if one.num_rows], **COLUMNS)
        asked = f"precision@{CUTOFF} >= 0.8"
        wrong |= _is_wrong(streameval.monitor([study], asked, out=history, allow=ALLOWED))
        late = [_votes(ranks, right, ~early, "ann"), _votes(ranks, right, torn, "cleo")]
        streameval.evaluate(study, labels=[one for one in late if one.num_rows], **COLUMNS)
        wrong |= _is_wrong(streameval.monitor([study], out=history, allow=ALLOWED))
    return wrong


def _stored(table: pa.Table, folder: Path) -> str:
    pq.write_table(table, path := str(folder / f"list-{len(list(folder.iterdir()))}.parquet"))
    return path


def _seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1 << 40))


def _mixed(rng: np.random.Generator, items: int, positives: int) -> Ints:
    return rng.permutation((np.arange(items) < positives).astype(np.int64))


def _votes(ranks: Ints, label: Ints, chosen: npt.NDArray[np.bool_], name: str, time: int = 1) -> pa.Table:
    at = np.flatnonzero(chosen)
    who = {"annotator": [name] * at.size, "time": [time] * at.size}
    return pa.table({"rank": ranks[at], "label": label[at], **who})


def _is_wrong(history: streameval.History) -> bool:
    """Whether a history of nights of .85 names a change, or has bounds that leave it out."""
    rows = history.table.select(["precision_lower", "precision_upper", "run_lower", "run_upper", "change"]).to_pylist()
    return any(row["change"] is not None or not row["precision_lower"] <= 0.85 <= row["precision_upper"]
               or not row["run_lower"] <= 0.85 <= row["run_upper"] for row in rows)  # fmt: skip


def challengers(rng: np.random.Generator, folder: Path, many: int = CHALLENGERS) -> bool:
    """Put rankings that are no better into one history, and tell whether one is proven to be."""
    history = folder / "history.parquet"
    for number in range(many):
        lists, study = _stored(_no_better(rng), folder), folder / f"challenger-{number}"
        how: dict[str, Any] = {
            "against": lists,
            "score": "new",
            "against_score": "old",
            "key": "id",
            "questions": ["gain@50 within 20%", "gain@50 > 0"],
        }
        streameval.plan(lists, study, seed=_seed(rng), **how)
        tasks = streameval.select(study).table
        ids, right = tasks.column("id").to_numpy(), tasks.column("right").to_numpy()
        first = rng.random(ids.size) < 0.6
        for part in filter(np.any, (first, ~first)):
            labels = pa.table({"id": ids[part], "label": right[part]})
            streameval.evaluate(study, labels=labels, on="id")
            streameval.monitor([study], "gain@50 > 0", out=history, allow="incomplete")
    return streameval.monitor([study], out=history).outcome == "pass"


def _no_better(rng: np.random.Generator) -> pa.Table:
    """A list in two orders, whose tops of 50 differ in 20 items and have as many positives."""
    place = np.arange(ITEMS)
    other = np.concatenate([place[20:50], rng.permutation(place[50:70]), place[:20], place[70:]])
    right = np.concatenate([_mixed(rng, 20, 14), _mixed(rng, 30, 21), _mixed(rng, 20, 14), _mixed(rng, ITEMS - 70, 90)])
    new = np.empty(ITEMS)
    new[other] = -place
    columns = {"id": place, "old": -place.astype(float), "new": new, "right": right}
    return pa.table(columns)


def gate(rng: np.random.Generator, folder: Path) -> bool:
    """Ask whether .8 of a top are positive where one less is, and tell whether it was answered with yes at any time."""
    truth = np.concatenate([_mixed(rng, CUTOFF, 159), _mixed(rng, ITEMS - CUTOFF, 60)])
    study, votes = folder / "gate", folder / "gate" / "votes"
    listed = _stored(pa.table({"id": np.arange(ITEMS)}), folder)
    streameval.plan(listed, study, questions=f"precision@{CUTOFF} >= 0.8", seed=_seed(rng))
    for batch in range(4):
        if not (ranks := streameval.select(study).table.column("rank").to_numpy()).size:
            break
        right, before = truth[ranks - 1], {path.stem for path in votes.glob("*.parquet")}
        second = rng.random(ranks.size) < 0.1
        differ = second & (rng.random(ranks.size) < 0.3)
        everyone = np.ones(ranks.size, bool)
        contrary = np.where(differ, 1 - right, right)
        given = [_votes(ranks, right, everyone, "ann"), _votes(ranks, contrary, second, "ben"),
                 _votes(ranks, right, differ, "cleo")]  # fmt: skip
        if any(_is_answered_yes(study, labels) for labels in given):
            return True
        if batch == 1:
            streameval.labels(study, forget={path.stem for path in votes.glob("*.parquet")} - before)
            if any(_is_answered_yes(study, labels) for labels in ((), _votes(ranks, right, everyone, "dan"))):
                return True
    return False


def _is_answered_yes(study: Path, labels: pa.Table | tuple[()]) -> bool:
    """Evaluate with labels that came, and look."""
    streameval.evaluate(study, labels=labels if len(labels) else (), **COLUMNS)
    return streameval.check(study).outcome == "pass"


def count(attempt: Callable[[np.random.Generator, Path], bool], many: int) -> int:
    """Attempts in which something false was said, each with a seed of its own."""
    false = 0
    for number in range(many):
        with tempfile.TemporaryDirectory() as folder:
            false += attempt(np.random.default_rng(number), Path(folder))
    return false


def as_many(false: int, many: int) -> float:
    """Chance of at least so many of all, each with chance DELTA."""
    fewer = (math.comb(many, some) * DELTA**some * (1 - DELTA) ** (many - some) for some in range(false))
    return 1 - math.fsum(fewer)


def main() -> None:
    """Run, print, and write the README's table if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--months", type=int, default=200)
    parser.add_argument("--histories", type=int, default=40)
    parser.add_argument("--gates", type=int, default=300)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    rows = []
    asked = [("months of 4 nights", month, options.months), ("histories of 20 challengers", challengers,
             options.histories), ("gates, false by one item", gate, options.gates)]  # fmt: skip
    for name, attempt, many in asked:
        false = count(attempt, many)
        rows.append([name, str(many), str(false), f"{DELTA * many:g}", f"{as_many(false, many):.2g}"])
        print(*rows[-1], sep="  ", flush=True)
    if options.readme:
        head = ["", "run", "something false was said", "at most expected", "chance of as many"]
        write_section("late labels", markdown(head, rows))


if __name__ == "__main__":
    main()
