"""Labelled lists of the same draws side by side: the difference of every metric, with its paired interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import combinations
from pathlib import Path
from string import ascii_lowercase
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa

from streameval.counting.influence import Clusters
from streameval.errors import InputError
from streameval.kinds.curve.comparison import subtract
from streameval.kinds.exact import ROWS
from streameval.kinds.labelled_list.results import ListResult
from streameval.kinds.results import HeldAgainst, StudyResult
from streameval.kinds.side_by_side import SideBySide
from streameval.metrics.intervals import CONFIDENCE, claim_at, widening
from streameval.metrics.paired_samples import PairedDifference, classes_of, difference_decides, holm, paired_difference
from streameval.metrics.sampled_rows import BINS_IN_USE, HASHES, OF_NONE, column_of
from streameval.questions import Against, Condition, Question
from streameval.questions.printed import measure_of
from streameval.study.results import SKETCH, Result
from streameval.text import number_of

_DIFFERENCES = pa.schema(
    [(name, pa.string()) for name in ("metric", "argument", "first", "second")]
    + [(name, pa.float64()) for name in ("value_first", "value_second", "difference", "standard_error", "low", "high",
                                         "p_value", "p_holm")]
    + [(name, pa.string()) for name in ("higher", "no_interval")]
)  # fmt: skip
_MAIN = ("average_precision", "roc_auc", "r_precision", "precision_at", "precision_at_score", "recall_at_score",
         "f1_at_score")  # fmt: skip
_SAME_ITEMS = "evaluate each on the same items; --sample-of names the key of what was drawn in all of them"
_SAME_LABELS = "label both by the same judgements"
_ANOTHER_ORDER = "is one stored in another order? Then draw by a key: --sample-of COLUMN"


# what is compared by counts and hashes: its column, what it counts, and what to do where these differ
_COMPARED = (("items", "items", "rows", _SAME_ITEMS), ("labels", "positives", "positive rows", _SAME_LABELS))
# what a difference of lists that are no samples says
_OF_LISTS = ("exact, of these lists and not of what they were drawn from",
             ("A difference is exact of these lists, and not of what they were drawn from.",))  # fmt: skip


@dataclass(frozen=True, repr=False)
class SamplesComparison(SideBySide):
    """Two or more labelled lists of the same draws.

    Attributes:
        folders: Of their results; the first is called a.
        drawn: What was drawn: "each user".
        confidence: Of each interval, approximately.
        differences: Of every metric that both lists of a pair have: `metric`, `argument`, `first` and `second` of the
            pair ("a", "b" …), their values, `difference` (first − second), its `standard_error`, `low` and `high`,
            `p_value`, the same raised by Holm's rule over all pairs of the main metrics, which are shown at once
            (`p_holm`, null of other metrics), `higher` where that is below 1 − confidence, and `no_interval`: why there
            is none.
        unchecked: What could not be checked of the items and labels, in a sentence; empty where all could.
    """

    kind: ClassVar[str] = "labelled_list"

    folders: Sequence[str]
    drawn: str
    confidence: float
    differences: pa.Table = field(repr=False)
    unchecked: str = ""

    @property
    def claim(self) -> str:
        """Say what the intervals promise."""
        return f"{claim_at(self.confidence)}: {self.drawn}"

    @property
    def letters(self) -> dict[str, str]:
        """Folders by the letter that they are called by."""
        return dict(zip(ascii_lowercase, self.folders, strict=False))


def is_sample(result: object) -> bool:
    """Tell whether results hold what two samples are compared by."""
    return isinstance(result, ListResult) and SKETCH in result.tables


def refuse_without_sums(paths: Sequence[Path], results: Sequence[Result]) -> None:
    """Refuse labelled lists without sums where another is a sample: what its draws say would be left out."""
    if not any("sample" in result.summary for result in results):
        return
    several = len(paths) > 2
    without = [str(path) for path, result in zip(paths, results, strict=True)
               if not is_sample(result) and (several or isinstance(result, ListResult))]  # fmt: skip
    if without:
        have = "has" if len(without) == 1 else "have"
        raise InputError(f"{' and '.join(without)} {have} no sums of a sample, by which samples are compared",
                         "make them with exact again: --sample-of COLUMN says what was drawn")  # fmt: skip


def compared_samples(paths: Sequence[Path], results: Sequence[ListResult], confidence: float) -> SamplesComparison:
    """Compare lists of the same draws; an `InputError` says in what they are not the same."""
    if len(paths) > len(ascii_lowercase):
        raise InputError(f"{len(paths)} results are more than the {len(ascii_lowercase)} that are compared at once")
    for path, result in zip(paths[1:], results[1:], strict=True):
        _refuse_other_draws(paths[0], results[0], path, result)
    sides = {letter: _Sketched.of(result) for letter, result in zip(ascii_lowercase, results, strict=False)}
    rows = [row for name in sides["a"].rows for row in _of_metric(name, sides, confidence)]
    raise_by_holm(main_rows(rows), confidence)
    table = pa.Table.from_pylist(rows, schema=_DIFFERENCES)
    folders = [str(path) for path in paths]
    return SamplesComparison(folders, _drawn(results[0]), confidence, table, _unchecked(paths, results))


def held_against(question: Question, paths: Sequence[Path], results: Sequence[StudyResult]) -> HeldAgainst:
    """Hold a metric of a list against that of another one, exactly; of samples by the interval of their difference.

    Raises:
        InputError: One list is no exact result, or is a sample and the other is none, or samples are not of the same
            draws.
    """
    demand, (result, other) = question.demand, results
    if not (isinstance(demand, Against) and isinstance(result, ListResult) and isinstance(other, ListResult)):
        raise InputError(f"{question}: a list whose every item has a label is held against another such list",
                         "`compare` has the difference of others")  # fmt: skip
    refuse_without_sums(paths, results)
    mine, theirs = (each.bounds(question.measure) for each in results)
    margin = float(demand.margin)
    moved = [side + margin for side in (theirs.upper, theirs.lower)]
    lower, upper = subtract([mine.lower, mine.upper], moved).tolist()
    if not is_sample(result):
        outcome = Condition(demand.operator, Decimal(0)).outcome(lower, upper)
        return HeldAgainst(lower + margin, upper + margin, math.nan, math.nan, outcome, *_OF_LISTS)
    _refuse_other_draws(paths[0], result, paths[1], other)
    gap = _interval_of(question, _Sketched.of(result), _Sketched.of(other))
    claim = f"{claim_at()}: {_drawn(result)}"
    sentences = difference_decides(claim), _unchecked(paths, [result, other])
    return HeldAgainst.of_samples(question, (lower + margin, upper + margin), (gap.low, gap.high), claim, sentences,
                                  gap.reason)  # fmt: skip


def _interval_of(question: Question, first: _Sketched, second: _Sketched) -> PairedDifference:
    names = [name for name in first.rows if measure_of(*name) == str(question.measure)]
    if not names or names[0] not in second.rows:
        return PairedDifference(math.nan, reason="no sums were kept of it")
    return _difference(names[0], first, second, CONFIDENCE)


def _drawn(result: ListResult) -> str:
    of = result.summary["sample"]["of"]
    return Clusters(() if of == ROWS else tuple(of)).each


def main_rows(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Give the differences of the main metrics, which are shown at once."""
    shown = [row for row in rows if row["metric"] in _MAIN and row["no_interval"] != OF_NONE]
    return sorted(shown, key=lambda row: _MAIN.index(row["metric"]))  # stable: cutoffs stay in order


def raise_by_holm(rows: Sequence[dict[str, Any]], confidence: float) -> None:
    """Raise p of differences that are shown at once by Holm's rule, and say which list is higher apart from chance."""
    raised = holm([math.nan if row["p_value"] is None else row["p_value"] for row in rows])
    for row, p in zip(rows, raised, strict=True):
        row["p_holm"] = None if math.isnan(p) else p
        if p < 1 - confidence:
            row["higher"] = row["first"] if row["difference"] > 0 else row["second"]


@dataclass(frozen=True)
class _Sketched:
    rows: Mapping[tuple[str, str], Mapping[str, Any]]
    sketch: pa.Table

    @staticmethod
    def of(result: ListResult) -> _Sketched:
        rows = {(row["metric"], row["argument"]): row for row in result.metrics.to_pylist()}
        return _Sketched(rows, result.tables[SKETCH])

    def has(self, name: tuple[str, str]) -> bool:
        """Tell whether a metric can be compared."""
        return column_of(*name) in self.sketch.column_names

    def influence(self, name: tuple[str, str]) -> np.ndarray:
        """Give what each bin adds to a metric."""
        return np.asarray(self.sketch.column(column_of(*name)).to_numpy())


def _refuse_other_draws(a: Path, first: ListResult, b: Path, second: ListResult) -> None:
    """Refuse results of other items, of other labels, or of draws that were told apart in another way."""
    samples = [result.summary["sample"] for result in (first, second)]
    for what in ("of", "seed", "bins"):
        if samples[0][what] != samples[1][what]:
            raise InputError(f"{a} and {b} are not of the same draws: --sample-of {_told(samples[0][what])} and "
                             f"{_told(samples[1][what])}", _SAME_ITEMS)  # fmt: skip
    tables = first.tables[SKETCH], second.tables[SKETCH]
    hashed = _has_hashes(first) and _has_hashes(second) and _key_of(first) == _key_of(second)
    by_place = samples[0]["of"] == ROWS
    for (what, column, meant, hint), hashes in zip(_COMPARED, HASHES, strict=True):
        hint = _ANOTHER_ORDER if by_place else hint
        counts = [table.column(column).to_numpy() for table in tables]
        if other := int(np.sum(counts[0] != counts[1])):
            sums = " and ".join(f"{int(count.sum()):,}" for count in counts)
            raise InputError(f"{a} and {b} are not of the same {what}: {sums} {meant}, which differ in "
                             f"{number_of(other, 'bin')} of {counts[0].size:,}", hint)  # fmt: skip
        if hashed and (other := _differing(tables, hashes)):
            raise InputError(f"{a} and {b} are not of the same {what}: as many {meant}, but others, in "
                             f"{number_of(other, 'bin')} of {counts[0].size:,}", hint)  # fmt: skip


def _differing(tables: Sequence[pa.Table], column: str) -> int:
    """Count the bins in which a column of two tables differs."""
    first, second = (table.column(column).to_numpy() for table in tables)
    return int(np.sum(first != second))


def _has_hashes(result: ListResult) -> bool:
    return set(HASHES) <= set(result.tables[SKETCH].column_names)


def _key_of(result: ListResult) -> tuple[str, ...]:
    """Name the columns that tell the rows of a draw apart."""
    return tuple(result.summary["ranking"].get("key", ()))


def _unchecked(paths: Sequence[Path], results: Sequence[ListResult]) -> str:
    """Say what could not be checked of items and labels of results that are compared; empty where all could."""
    if old := [str(path) for path, result in zip(paths, results, strict=True) if not _has_hashes(result)]:
        have = "has" if len(old) == 1 else "have"
        return (f"Of items and labels only counts by bin were compared: {' and '.join(old)} {have} no hash sums "
                "(exact makes them now).")  # fmt: skip
    if len(keys := {_key_of(result): None for result in results}) > 1:
        named = " and ".join(f"--key {','.join(key)}" if key else "no --key" for key in keys)
        return f"Of items and labels only counts by bin were compared: results were made with {named}."
    of = results[0].summary["sample"]["of"]
    if any(keys):
        return ""
    if of == ROWS:
        return "Rows were told apart by their place: labels agree at every place, and items were not compared (--key)."
    return f"Rows of one {' and '.join(of)} were not told apart (--key)."


def _told(value: object) -> str:
    return ",".join(value) if isinstance(value, list) else str(value)


def _of_metric(name: tuple[str, str], sides: Mapping[str, _Sketched], confidence: float) -> Iterator[dict[str, Any]]:
    """Give the difference of a metric for each pair of lists; none of a metric that one of them does not have."""
    if not all(name in side.rows for side in sides.values()):
        return
    for a, b in combinations(sides, 2):
        gap = _difference(name, sides[a], sides[b], confidence)
        values = [sides[letter].rows[name]["estimate"] for letter in (a, b)]
        yield {
            "metric": name[0], "argument": name[1], "first": a, "second": b,
            "value_first": values[0], "value_second": values[1],
            "difference": None if None in values else gap.value, **gap.as_dict(), "p_holm": None, "higher": None,
        }  # fmt: skip


def _difference(name: tuple[str, str], a: _Sketched, b: _Sketched, confidence: float) -> PairedDifference:
    rows = a.rows[name], b.rows[name]
    if None in (values := [row["estimate"] for row in rows]):
        return PairedDifference(math.nan, reason="it is undefined")
    gap = values[0] - values[1]
    for side, row in zip((a, b), rows, strict=True):
        if not side.has(name):
            return PairedDifference(gap, reason=row["no_interval"] or "too few draws for a difference")
    bins = min(row[BINS_IN_USE] for row in rows)
    items, positives = (a.sketch.column(column).to_numpy() for column in ("items", "positives"))
    return paired_difference(gap, a.influence(name) - b.influence(name), bins, confidence, wider=widening(items),
                             classes=classes_of(name[0], items, positives))  # fmt: skip
