"""Presentation of a comparison of many rankings: sentences, a picture and a page."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from streameval.kinds.curve.comparison_page import COLOURS, difference_number, names, side_labels, write_comparison
from streameval.kinds.rankings.comparison import RankingsComparison, compare_rankings
from streameval.kinds.side_by_side import two
from streameval.metrics.intervals import claim_at
from streameval.questions.printed import measure_of, p_text, without_interval
from streameval.reporting.charts import GREY, Spec, difference_chart, spec, still
from streameval.reporting.layout import STACKED, Section, document, highlight, soft
from streameval.reporting.text import Columns, Paragraph
from streameval.stores import atomic
from streameval.text import escape, number_of

HEAD = ("", "a", "b", "a - b", "low", "high", "p", "higher", "a wins", "b wins")
_NUMBERS = ("a", "b", "estimate", "low", "high")
_FACTS = ("a", "b", "rankings", "only_a", "only_b", "unlike", "confidence")
_OPEN = "neither in every order of ties"


def compare(paths: Sequence[Path], confidence: float) -> RankingsComparison:
    """Compare two results of many rankings."""
    return compare_rankings(*two(paths), confidence)


def save(comparison: RankingsComparison, out: Path | None, plot: Path | None, existing: atomic.Existing) -> None:
    """Write the table into a folder and the picture into a file, where asked for (`atomic.write_out`)."""
    facts = {name: getattr(comparison, name) for name in _FACTS}
    pictures = partial(page, comparison), partial(figure, comparison)
    write_comparison({"differences": comparison.differences}, facts, pictures, out, plot, existing)


def shared_sentence(comparison: RankingsComparison) -> str:
    """Say how many rankings are in both, and what was left out."""
    only = (("a", comparison.only_a, "b"), ("b", comparison.only_b, "a"))
    text = f"{number_of(comparison.rankings, 'ranking')} {'is' if comparison.rankings == 1 else 'are'} in both."
    text += "".join(f" {count:,} that {name} alone has {'is' if count == 1 else 'are'} left out, which favours {other}."
                    for name, count, other in only if count)  # fmt: skip
    if comparison.unlike:
        text += (
            f" In {number_of(comparison.unlike, 'ranking')} a and b do not count the same number of positives, so only "
            "precision, success and reciprocal rank can be compared: evaluate --positives takes one table for both."
        )
    return text


def meaning(comparison: RankingsComparison) -> str:
    """Say what is exact, and what intervals are about."""
    return (
        "Means and differences are exact for these rankings. The higher one is named where it is so in every order "
        "of tied items. From low to high, of the mean paired difference: "
        f"{claim_at(comparison.confidence)} of many more."
    )


def cells(comparison: RankingsComparison) -> list[list[str]]:
    """A line for each mean, under `HEAD`."""
    return [
        [measure_of(row["metric"], row["argument"]), *(difference_number(row[key], "-") for key in _NUMBERS),
         p_text(row["p_value"]), row["higher"] or "-", f"{row['a_higher'] or 0:,}", f"{row['b_higher'] or 0:,}"]
        for row in comparison.differences.to_pylist()
    ]  # fmt: skip


def page(comparison: RankingsComparison) -> str:
    """Draw the report of a comparison: every mean difference, and who wins how often. It has no scripts."""
    both, drawn = names(comparison.a, comparison.b), still(spec(figure(comparison)))
    title = f"{both[0]} and {both[1]} compared"
    higher = comparison.differences.column("higher").to_pylist()
    verdict = "; ".join(
        f"{side} is higher in {higher.count(side)} of {number_of(len(higher), 'mean')}" for side in "ab"
    )
    about = "Mean of a - b over the rankings, and its interval."
    label = escape(f"Chart: mean paired differences of {both[0]} and {both[1]}. {about}")
    picture = f"<div class='chart wide start' role='img' aria-label='{label}'>{drawn}</div>"
    lead = [
        *map(soft, (f"a: {comparison.a}", f"b: {comparison.b}", shared_sentence(comparison))),
        highlight(f"{verdict}, in every order of tied items."),
    ]
    return document(f"streameval: {title}", title, lead, [
        Section("Differences", f"{about} {meaning(comparison)}", picture),
        Section("All means", table=Columns(HEAD, cells(comparison)), kind=STACKED, label="All means",
                remarks=[*filter(None, _without(comparison))]),
    ])  # fmt: skip


def _without(comparison: RankingsComparison) -> list[str]:
    return without_interval((measure_of(row["metric"], row["argument"]), row)
                            for row in comparison.differences.to_pylist())  # fmt: skip


def figure(comparison: RankingsComparison) -> Spec:
    """Draw the mean difference of every metric, with its interval."""
    labels = side_labels(comparison.a, comparison.b)
    rows = [
        {"metric": measure_of(row["metric"], row["argument"]), "difference": row["estimate"],
         "low": row["low"], "high": row["high"], "higher": labels.get(row["higher"], _OPEN)}
        for row in comparison.differences.to_pylist() if row["estimate"] is not None
    ]  # fmt: skip
    colours = dict(zip([*labels.values(), _OPEN], [*COLOURS, GREY], strict=True))
    return difference_chart(rows, colours, "a - b")


def describe(comparison: RankingsComparison) -> tuple[dict[str, Any], list[Paragraph]]:
    """Say how many rankings are compared, and the difference of every mean."""
    facts, rows = {name: getattr(comparison, name) for name in _FACTS}, comparison.differences.to_pylist()
    lines: list[Paragraph] = [
        f"a: {comparison.a}",
        f"b: {comparison.b}",
        shared_sentence(comparison),
        "",
        Columns(HEAD, cells(comparison)),
        "",
        meaning(comparison),
        *_without(comparison),
    ]
    return {**facts, "differences": rows}, lines
