"""Two systems on the same rankings: the difference of every mean, and of every ranking."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from streameval.errors import InputError, StudyError
from streameval.kinds.rankings.results import RankingsEvaluation
from streameval.kinds.results import HeldAgainst, StudyResult
from streameval.kinds.side_by_side import SideBySide
from streameval.metrics import ROUNDING
from streameval.metrics.intervals import CONFIDENCE, claim_at
from streameval.metrics.means import mean_difference
from streameval.metrics.paired_samples import difference_decides
from streameval.order.scan import key_hashes
from streameval.per_query.measured import metric_names
from streameval.per_query.options import OptionalMeasures
from streameval.questions import Question
from streameval.questions.printed import measure_of
from streameval.rows import Rows, open_rows
from streameval.rows.options import RankingOptions
from streameval.study import Study
from streameval.study.results import EXACT
from streameval.text import number_of
from streameval.typing import FloatArray, Int64Array, UInt64Array

_DIFFERENCES = pa.schema(
    [(name, pa.string()) for name in ("metric", "argument")]
    + [(name, pa.float64()) for name in ("a", "b", "lower", "estimate", "upper")]
    + [("higher", pa.string())]
    + [(name, pa.int64()) for name in ("rankings", "a_higher", "b_higher")]
    + [(name, pa.float64()) for name in ("standard_error", "low", "high", "p_value")]
    + [("no_interval", pa.string())]
)


@dataclass(frozen=True, repr=False)
class RankingsComparison(SideBySide):
    """Two results of many rankings side by side, on the rankings that both have.

    Attributes:
        a, b: Folders.
        rankings: That both have; with `no_positives` "skip", those of them with a positive on both sides.
        only_a, only_b: That one has alone: they are left out, which favours the other.
        unlike: How many of the shared have another number of positives, returned or not, on the other side: what is
            divided by it cannot be compared, and neither side is called higher in it.
        confidence: Of each interval, approximately.
        differences: Of every mean that both have: `metric`, `argument`, means `a` and `b`, `lower`, `estimate`, `upper`
            of a − b with tied items in every order, `higher` "a", "b" or null where tied items leave the sign open (or
            `unlike` is above 0, but for precision, success and reciprocal rank); how
            many `rankings` it is over, and in how many a or b is higher; `standard_error`, `low`, `high` and `p_value`
            of the mean paired difference, as of rankings drawn at random from many more, or `no_interval`: why there is
            none.
    """

    kind: ClassVar[str] = "rankings"

    a: str
    b: str
    rankings: int
    only_a: int
    only_b: int
    unlike: int
    confidence: float
    differences: pa.Table = field(repr=False)


def compare_rankings(a: Path, b: Path, confidence: float) -> RankingsComparison:
    """Compare two results of many rankings; an `InputError` where they share no ranking or are not of one kind."""
    sides = [_RankingsSide.read(path) for path in (a, b)]
    left, right = sides
    if left.per != right.per:
        raise InputError(f"{a} is per {', '.join(left.per)}, {b} per {', '.join(right.per)}", "compare like with like")
    left.refuse_other(right)
    first, second = _shared_rows(left.names(), right.names())
    if not first.size:
        raise InputError(f"{a} and {b} have no ranking in common", "compare two systems on the same queries")
    relevant = [side.positives()[rows] for side, rows in zip(sides, (first, second), strict=True)]
    unlike = int(np.sum(relevant[0] != relevant[1]))
    if left.policy == "skip":
        kept = (relevant[0] > 0) & (relevant[1] > 0)
        first, second = first[kept], second[kept]
    rows = []
    for name, k in metric_names(sorted(set(left.cuts) & set(right.cuts)), left.optional):
        column = f"{name}_{k}" if k else name
        if any(column not in side.rows.schema.names for side in sides):  # a result of an earlier version
            continue
        values = [side.values(column) for side in sides]
        row = _row(name, k, values, (first, second), confidence)
        rows.append({**row, "higher": None} if unlike and _WITHOUT_ALL_POSITIVES.match(name) is None else row)
    table = pa.Table.from_pylist(rows, schema=_DIFFERENCES)
    only = left.size - relevant[0].size, right.size - relevant[0].size
    return RankingsComparison(str(a), str(b), int(first.size), *only, unlike, confidence, table)


def held_against(question: Question, paths: Sequence[Path], results: Sequence[StudyResult]) -> HeldAgainst:
    """Hold a mean against that of another system, by the interval of their paired difference.

    Raises:
        InputError: The other results are of no such rankings, of others, or both cannot be compared in this.
    """
    if not isinstance(results[1], RankingsEvaluation):
        raise InputError(f"{question}: means over many rankings are held against other such means",
                         "`compare` has the difference of others")  # fmt: skip
    results[0].bounds(question.measure)  # which says what there is
    compared = compare_rankings(paths[0], paths[1], CONFIDENCE)
    if left_out := compared.only_a + compared.only_b:
        raise InputError(f"{question}: only one of the two has {number_of(left_out, 'ranking')} of all",
                         "`compare` has the difference on those that both have")  # fmt: skip
    row = next((row for row in compared.differences.to_pylist() if row["rankings"]
                and measure_of(row["metric"], row["argument"]) == str(question.measure)), None)  # fmt: skip
    if row is None or (compared.unlike and not _WITHOUT_ALL_POSITIVES.match(row["metric"].removeprefix("mean_"))):
        why = "" if row is None else f": {number_of(compared.unlike, 'ranking')} with other positives"
        raise InputError(f"{question}: there is no difference of the two{why}", "evaluate both alike")
    claim = f"{claim_at()}: each ranking"
    interval = (math.nan, math.nan) if row["low"] is None else (row["low"], row["high"])
    return HeldAgainst.of_samples(question, (row["lower"], row["upper"]), interval, claim,
                                  [difference_decides(claim)], row["no_interval"])  # fmt: skip


# they depend on the items returned alone
_WITHOUT_ALL_POSITIVES = re.compile(r"(precision_at|set_precision|judged_at|success_at|reciprocal_rank(_at)?|rbp\..*)$")


@dataclass(frozen=True)
class _RankingsSide:
    path: Path
    results: RankingsEvaluation
    rows: Rows

    @staticmethod
    def read(path: Path) -> _RankingsSide:
        results = Study(path).results(RankingsEvaluation.read)
        rows = open_rows(str(path / "rankings.parquet"), RankingOptions())
        if rows.n_rows != results.summary["rankings"]:
            raise StudyError(f"{path / 'rankings.parquet'}: is of another evaluation than the rest", EXACT)
        return _RankingsSide(path, results, rows)

    @property
    def per(self) -> list[str]:
        return list(self.results.summary["per"])

    @property
    def cuts(self) -> list[int]:
        return list(self.results.summary["parameters"]["at"])

    @property
    def optional(self) -> OptionalMeasures:
        return OptionalMeasures.parse(self.results.summary["parameters"].get("measures", ()))

    @property
    def size(self) -> int:
        return self.rows.n_rows

    def refuse_other(self, other: _RankingsSide) -> None:
        """Refuse metrics that do not mean the same on both sides."""
        for name in ("gain", "ties", "no_positives", "relevant"):
            ours, theirs = (side.results.summary["parameters"].get(name, ">=1") for side in (self, other))
            if ours != theirs:
                raise InputError(f"{self.path} was evaluated with {name}={ours}, {other.path} with {theirs}",
                                 "evaluate both alike")  # fmt: skip

    @property
    def policy(self) -> str:
        return str(self.results.summary["parameters"]["no_positives"])

    def positives(self) -> Int64Array:
        """Positives of each ranking, those included that it never returned."""
        parts = [sum(column.to_numpy() for column in table.columns) for table in self._read(["positives", "misses"])]
        return np.concatenate(parts)

    def names(self) -> UInt64Array:
        """Hash of what names each ranking, 128 bits in two columns."""
        parts = [
            np.stack([key_hashes(table), key_hashes(table, np.uint64(1))], axis=1) for table in self._read(self.per)
        ]
        return np.concatenate(parts)

    def values(self, column: str) -> FloatArray:
        """Worst, expected and best value of each ranking, shape (rankings, 3); NaN where it is undefined."""
        names = [f"{column}_worst", column, f"{column}_best"]
        parts = [
            np.stack([column_values.to_numpy() for column_values in table.columns], axis=1)
            for table in self._read(names)
        ]
        return np.concatenate(parts)

    def _read(self, names: list[str]) -> Iterator[pa.Table]:
        for unit in self.rows.units(names[0]):
            yield unit.read(names).select(names)


def _shared_rows(a: UInt64Array, b: UInt64Array) -> tuple[Int64Array, Int64Array]:
    """Rows of the same rankings, in both."""
    pair = np.dtype([("low", "u8"), ("high", "u8")])
    left, right = (np.ascontiguousarray(digests).view(pair).ravel() for digests in (a, b))
    _, first, second = np.intersect1d(left, right, assume_unique=True, return_indices=True)
    return first, second


def _row(
    name: str, argument: str, sides: list[FloatArray], shared: tuple[Int64Array, Int64Array], confidence: float
) -> dict[str, Any]:
    a, b = (values[rows] for values, rows in zip(sides, shared, strict=True))
    if name == "roc_auc":
        defined = ~(np.isnan(a[:, 1]) | np.isnan(b[:, 1]))
        a, b = a[defined], b[defined]
    a, b = (
        np.nan_to_num(a),
        np.nan_to_num(b),
    )  # without a positive: 0, as in the means; where they leave such out, none is here
    facts: dict[str, Any] = {"metric": f"mean_{name}", "argument": argument, "rankings": a.shape[0]}
    if not a.shape[0]:
        return facts
    mean_a, mean_b = (math.fsum(side[:, 1].tolist()) / side.shape[0] for side in (a, b))
    lower, upper = (math.fsum((a[:, i] - b[:, 2 - i]).tolist()) / a.shape[0] for i in (0, 2))
    pairs = a[:, 1] - b[:, 1]
    pairs = np.where(np.abs(pairs) <= ROUNDING * np.maximum(a[:, 1], b[:, 1]), 0.0, pairs)
    middle = min(max(math.fsum(pairs.tolist()) / pairs.size, lower), upper)
    gap = mean_difference(pairs, middle, confidence)
    rounding = ROUNDING * max(mean_a, mean_b)
    return {
        **facts, "a": mean_a, "b": mean_b, "lower": lower, "estimate": middle, "upper": upper,
        "higher": "a" if lower > rounding else "b" if upper < -rounding else None,
        "a_higher": int(np.sum(pairs > 0)), "b_higher": int(np.sum(pairs < 0)),
        **gap.as_dict(),
    }  # fmt: skip
