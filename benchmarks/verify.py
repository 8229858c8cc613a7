"""What it costs to verify checksums and statistics: on and off, of files with and without checksums."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

from benchmarks.case import Case, Context, Runner
from benchmarks.data import Dataset
from benchmarks.windows import planned

_FILES = {"checksums": "sums", "no checksums": "pages"}


def _fetch(dataset: Dataset, options: Any) -> int:
    from streameval import open_ranking

    return int(open_ranking(str(dataset.folder), options).fetch(planned(dataset.n_items), ["id"]).table.num_rows)


def _exact(dataset: Dataset, options: Any) -> int:
    from streameval import exact

    return int(exact(str(dataset.folder), label="label", options=options).curve.n_items)


_WORK: dict[str, tuple[str, str | None, Callable[[Dataset, Any], int]]] = {
    "windows": ("narrow", None, _fetch),
    "by score": ("shuffled", "score", _fetch),
    "exact, stored": ("narrow", None, _exact),
    "exact by score": ("shuffled", "score", _exact),
}


def _runner(work: str, files: str, verify: str) -> Runner:
    kind, score, call = _WORK[work]

    def prepare(context: Context) -> Callable[[], int]:
        from streameval import RankingOptions

        options = RankingOptions(score=score, threads=context.threads, verify=verify)
        small = Dataset(context.scratch, 10_000, kind)
        small.make()
        call(small, options)  # compiled before the clock runs, on a list of its own
        return lambda: call(context.dataset(kind, index=_FILES[files]), options)

    return prepare


def check(context: Context, found: int) -> dict[str, Any]:
    assert found in (context.n_items, planned(context.n_items).size)
    return {}


CASE = Case(
    title="Verifying checksums and statistics of {n} items: on (the default) and off",
    runners={
        f"{work}, {files}, verify {verify}": _runner(work, files, verify)
        for work, files, verify in product(_WORK, _FILES, ("on", "off"))
    },
    datasets=lambda context: [
        context.dataset(kind, index=index) for kind, index in product(("narrow", "shuffled"), _FILES.values())
    ],
    check=check,
)
