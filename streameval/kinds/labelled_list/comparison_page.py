"""What a comparison of labelled lists says, in sentences, as a picture and as a page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, cast

from streameval.kinds import results_of
from streameval.kinds.curve import comparison_page as of_curves
from streameval.kinds.curve.comparison import Comparison
from streameval.kinds.curve.comparison_page import difference_number, write_comparison
from streameval.kinds.labelled_list.comparison import (
    SamplesComparison,
    compared_samples,
    is_sample,
    main_rows,
    refuse_without_sums,
)
from streameval.kinds.labelled_list.results import ListResult
from streameval.questions.printed import measure_of, p_text, without_interval
from streameval.reporting.charts import GREY, SEVERAL, Spec, difference_chart, spec, still
from streameval.reporting.layout import STACKED, Section, document, fold, highlight, soft, table
from streameval.reporting.text import Columns, Paragraph
from streameval.stores import atomic
from streameval.study import Study
from streameval.text import escape, printable

_NUMBERS = ("value_first", "value_second", "difference", "low", "high")
_ABOUT = "These intervals are of the differences. Both values vary with the same draws, which cancels in part."


def compare(paths: Sequence[Path], confidence: float) -> SamplesComparison | Comparison:
    """Compare samples of the same draws by their sums; lists that are no samples, by what they have.

    Raises:
        InputError: Some lists are samples, and others have no sums to compare these by.
    """
    results = [results_of(Study(path)) for path in paths]
    if all(map(is_sample, results)):
        return compared_samples(paths, cast("Sequence[ListResult]", results), confidence)
    refuse_without_sums(paths, results)
    return of_curves.compare(paths, confidence)


def save(comparison: SamplesComparison, out: Path | None, plot: Path | None, existing: atomic.Existing) -> None:
    """Write the table into a folder and the picture into a file, where asked for (`atomic.write_out`)."""
    pictures = partial(page, comparison), partial(figure, comparison)
    write_comparison({"differences": comparison.differences}, _facts(comparison), pictures, out, plot, existing)


def _facts(comparison: SamplesComparison) -> dict[str, Any]:
    return {"results": comparison.letters, "confidence": comparison.confidence, "claim": comparison.claim,
            **({"unchecked": comparison.unchecked} if comparison.unchecked else {})}  # fmt: skip


def describe(comparison: SamplesComparison) -> tuple[dict[str, Any], list[Paragraph]]:
    """Say what is compared, and the difference of the main metrics."""
    rows = comparison.differences.to_pylist()
    named = [f"{letter}: {folder}" for letter, folder in comparison.letters.items()]
    reasons = without_interval((_name(row), row) for row in main_rows(rows))
    sentence = verdict(comparison)
    lines: list[Paragraph] = [*named, "", sentence, "", _table(comparison, main_rows(rows)), "",
                              meaning(comparison), *_remark(comparison), *reasons]  # fmt: skip
    return {**_facts(comparison), "verdict": sentence, "differences": rows}, lines


def _remark(comparison: SamplesComparison) -> list[str]:
    return [comparison.unchecked] if comparison.unchecked else []


def meaning(comparison: SamplesComparison) -> str:
    """Say what intervals and p-values promise."""
    return f"From low to high: {comparison.claim}. p (Holm) is p as Holm's rule raises it over what is shown."


def verdict(comparison: SamplesComparison) -> str:
    """Say which list is better in what, apart from chance."""
    rows = main_rows(comparison.differences.to_pylist())
    if all(row["p_value"] is None for row in rows):
        return "No difference could be judged."
    higher: dict[str, list[str]] = {}
    for row in rows:
        if row["higher"]:
            other = row["second"] if row["higher"] == row["first"] else row["first"]
            higher.setdefault(f"{row['higher']} is higher than {other}", []).append(_name(row))
    if not higher:
        return "No difference is larger than chance explains."
    text = "; ".join(f"{which} in {', '.join(names)}" for which, names in higher.items())
    level = f"{1 - comparison.confidence:g}"
    return f"{text} (p below {level}, by Holm's rule over all rows of the table)."


def page(comparison: SamplesComparison) -> str:
    """Draw the report of a comparison: the differences, and their intervals. It has no scripts."""
    names = [printable(Path(folder).name or folder) for folder in comparison.folders]
    title, drawn = f"{' and '.join(names)} compared", still(spec(figure(comparison)))
    label = escape(f"Chart: paired differences of {title}. {meaning(comparison)}")
    picture = f"<div class='chart wide start' role='img' aria-label='{label}'>{drawn}</div>"
    rows = comparison.differences.to_pylist()
    main, every = main_rows(rows), _table(comparison, rows)
    reasons = [line for line in without_interval((_name(row), row) for row in main) if line]
    lead = [
        *(soft(f"{letter}: {folder}") for letter, folder in comparison.letters.items()),
        highlight(verdict(comparison)),
        *map(soft, _remark(comparison)),
    ]
    return document(f"streameval: {title}", title, lead, [
        Section("Differences", f"{meaning(comparison)} {_ABOUT}", picture),
        Section("Main metrics", table=_table(comparison, main), kind=STACKED, label="Main metrics", remarks=reasons),
        fold("All differences", table(every.head, every.cells(str), label="All differences")),
    ])  # fmt: skip


def figure(comparison: SamplesComparison) -> Spec:
    """Draw the difference of the main metrics of each pair, with its interval."""
    several = len(comparison.folders) > 2
    rows = [
        {"metric": f"{_name(row)}{f': {_pair(row)}' if several else ''}", "difference": row["difference"],
         "low": row["low"], "high": row["high"], "higher": row["higher"] or "neither"}
        for row in main_rows(comparison.differences.to_pylist()) if row["low"] is not None
    ]  # fmt: skip
    names = list(dict.fromkeys(row["higher"] for row in rows if row["higher"] != "neither"))
    colours = {name: SEVERAL[at % len(SEVERAL)] for at, name in enumerate(sorted(names))}
    return difference_chart(rows, {**colours, "neither": GREY}, "difference" if several else "a - b")


def _name(row: Mapping[str, Any]) -> str:
    return measure_of(row["metric"], row["argument"])


def _pair(row: Mapping[str, Any]) -> str:
    return f"{row['first']} - {row['second']}"


def _table(comparison: SamplesComparison, rows: Sequence[Mapping[str, Any]]) -> Columns:
    """Give a line to each difference, with p as Holm raises it; of several pairs with the pair."""
    several = len(comparison.folders) > 2
    head = ["pair", "first", "second", "difference"] if several else ["a", "b", "a - b"]
    cells = [[_name(row), *[_pair(row)] * several, *_numbers(row), p_text(row["p_value"]), p_text(row["p_holm"])]
             for row in rows]  # fmt: skip
    return Columns(["", *head, "low", "high", "p", "p (Holm)"], cells)


def _numbers(row: Mapping[str, Any]) -> list[str]:
    return [difference_number(row[key], "-") for key in _NUMBERS]
