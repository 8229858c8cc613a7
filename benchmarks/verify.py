"""`python -m benchmarks.verify [--items 1e7] [--data DIR] [--readme]`: what verifying checksums and statistics costs.

CPU seconds of one process, with and without `--verify off` in turn, so that whatever else runs on the machine falls on
both; the best of each, and the median of the ratios of pairs.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.data import Dataset
from benchmarks.readme import markdown, write_section
from benchmarks.windows import planned

_FILES = {"checksums": "sums", "none": "pages"}


def _fetch(dataset: Dataset, options: Any) -> int:
    from streameval import open_ranking

    return int(open_ranking(str(dataset.folder), options).fetch(planned(dataset.n_items), ["id"]).table.num_rows)


def _exact(dataset: Dataset, options: Any) -> int:
    from streameval import exact

    return int(exact(str(dataset.folder), label="label", options=options).curve.n_items)


_WORK = {
    "windows": ("narrow", None, _fetch),
    "windows by score": ("shuffled", "score", _fetch),
    "exact": ("narrow", None, _exact),
    "exact by score": ("shuffled", "score", _exact),
}


def pairs(dataset: Dataset, work: str, rounds: int) -> list[tuple[float, float]]:
    """CPU seconds, verified and not, of each round after one that is not counted."""
    from streameval import RankingOptions

    _, score, call = _WORK[work]
    found: list[tuple[float, float]] = []
    for _ in range(rounds + 1):
        took = []
        for verify in ("on", "off"):
            began = time.process_time()
            call(dataset, RankingOptions(score=score, verify=verify))
            took.append(time.process_time() - began)
        found.append((took[0], took[1]))
    return found[1:]


def rows(root: Path, n_items: int, rounds: int) -> list[list[str]]:
    """Of each work and kind of file: least seconds with and without, and by how much the median pair differs."""
    found = []
    for work, (kind, _, _) in _WORK.items():
        for files, index in _FILES.items():
            dataset = Dataset(root, n_items, kind, index=index)
            dataset.make()
            took = pairs(dataset, work, rounds)
            on, off = (min(one) for one in zip(*took, strict=True))
            more = statistics.median(one / other for one, other in took) - 1
            found.append([work, files, f"{on:.3f}", f"{off:.3f}", f"{on / off - 1:+.0%}", f"{more:+.0%}"])
            print(*found[-1], flush=True)
    return found


def main() -> None:
    """Print the table, and write it to benchmarks/README.md where asked to."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[2].strip())
    parser.add_argument("--items", type=float, default=1e7)
    parser.add_argument("--data", type=Path, help="folder of lists, which are made where they are not there")
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("--readme", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = rows(given.data or Path(scratch), int(given.items), given.rounds)
    table = markdown(["", "checksums in the files", "CPU s", "--verify off", "of the least", "of pairs"], found)
    print(table)
    if given.readme:
        write_section("verify", table)


if __name__ == "__main__":
    main()
