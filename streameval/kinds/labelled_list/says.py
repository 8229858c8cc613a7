"""Texts of `exact` about one list."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streameval.metrics import headlines
from streameval.questions.printed import measure_of, open_ends, without_interval
from streameval.reporting.sentences import TIES
from streameval.reporting.text import Columns, Paragraph, Text
from streameval.rows.options import typed_score
from streameval.study.results import Evaluation
from streameval.text import number_of

# what a terminal shows of metrics.parquet
_OVERALL = (
    ("average_precision", "positives"), ("roc_auc", ""), ("max_f1", ""), ("max_f1_rank", ""), ("max_f1_score", ""),
    ("breakeven", ""), ("r_precision", ""), ("brier", ""), ("log_loss", ""), ("calibration_error", ""),
)  # fmt: skip

_AT_SCORE = [f"{name}_at_score" for name in ("precision", "recall", "f1", "accuracy", "specificity", "mcc")]
_REVERSED = 0.3  # area under the ROC curve below which a list is said to look reversed


def text(result: Evaluation) -> Text:
    """Say how many are positive, and precision at cutoffs."""
    summary, by_name = result.summary, headlines(result.metrics.to_pylist())
    cuts = [row for row in by_name.values() if row["metric"] == "precision_at"]
    missed = f", {summary['misses']:,} more were never returned" if summary["misses"] else ""
    items = number_of(summary["n_items"], "item")
    remarks = [
        f"{items}, {summary['positives']:,} of them positive{missed} ({summary['how']}).",
        *meaning_lines(summary),
        *([TIES] if summary["ties"] == "open" else []),
        *_reversal_lines(summary["ranking"], by_name.get(("roc_auc", ""))),
        *([f"From low to high: {summary['sample']['claim']}."] if "sample" in summary else []),
    ]
    table = _table(["first k", "precision"], [(f"{int(row['argument']):,}", row) for row in cuts])
    return Text(f"{number_of(summary['n_items'], 'item')}, each with a label.", "", table, remarks)


def lines(result: Evaluation) -> list[Paragraph]:
    """Lay out for a terminal what results say, and the main metrics."""
    shown_text, by_name = text(result), headlines(result.metrics.to_pylist())
    overall = [(by_name[name]["metric"], by_name[name]) for name in _OVERALL if name in by_name]
    windows = _windows(result.summary["diagnostics"])
    overall += [(measure_of(*name), row) for name, row in by_name.items() if name[0] in _AT_SCORE]
    cuts = [(measure_of(*name), row) for name, row in by_name.items() if name[0] == "precision_at"]
    without = [*open_ends([*cuts, *overall]), *without_interval([*cuts, *overall])]
    return [*shown_text.remarks, "", shown_text.table, "", _table(["metric", "value"], overall), *without, *windows]


def meaning_lines(summary: Mapping[str, Any]) -> list[str]:
    """Say which labels are positive, where that is not plain, and what a table of labels leaves out or has too many."""
    parameters, unnamed = summary["parameters"], summary["account"].get("unnamed", 0)
    words = {name: ", ".join(parameters[name]) for name in ("positive", "negative") if parameters.get(name)}
    lines = [f"Positive are labels {parameters['relevant']}."] if parameters.get("relevant") else []
    if words.get("positive"):
        lines.append(f"Positive: {words['positive']}. Negative: {words.get('negative', 'all other words')}.")
    if unnamed:
        are = "is" if unnamed == 1 else "are"
        lines.append(f"{number_of(unnamed, 'item')} that the table of positives does not name {are} negative.")
    if count := summary["account"].get("of_no_item", 0):
        rows = f"{number_of(count, 'row')} of the table of labels"
        lines.append(f"{rows} {'is' if count == 1 else 'are'} of no item of the list.")
    return lines


def _reversal_lines(ranking: Mapping[str, Any], area: Mapping[str, Any] | None) -> list[str]:
    """Say where the best items stand last, as they do where a score is read the wrong way round."""
    value = None if area is None else area["estimate"]
    if value is None or value >= _REVERSED:
        return []
    by_score = ranking.get("order") == "score"
    way = typed_score(ranking.get("score"), not ranking.get("ascending"))
    what = (
        f"is a low score the better one? --score={way} turns it round"
        if by_score
        else "is it stored from the worst to the best?"
    )
    return [f"The list looks reversed: positives stand near its end (ROC AUC {value:.3g}); {what}."]


def _table(head: list[str], rows: Sequence[tuple[str, Mapping[str, Any]]]) -> Columns:
    """Give a line to each metric; where ties leave the order open, with its worst and its best value."""
    tied = any(row["lower"] != row["upper"] for _, row in rows)
    heads = {"estimate": head[-1], **({"lower": "worst order", "upper": "best order"} if tied else {})}
    if any("low" in row for _, row in rows):
        heads |= {"standard_error": "standard error", "low": "low", "high": "high"}
    return Columns([head[0], *heads.values()], [[name, *(_cell(row, side) for side in heads)] for name, row in rows])


def _cell(row: Mapping[str, Any], side: str) -> str:
    if row[side] is None:
        return "-" if side in ("standard_error", "low", "high") else "undefined"
    whole = row["metric"].endswith("_rank") or row["metric"] in ("rank_at_score", "yield_at_score")
    return f"{row[side]:,.0f}" if whole else f"{row[side]:.6g}"


def _windows(diagnostics: Mapping[str, Any]) -> list[Paragraph]:
    """Say what is true of the paper's assumptions, a line for each window."""
    if not diagnostics["windows"]:
        return []
    head = ["window", "epsilon", "A.1", "A.2", "first broken", "ranks that rise", "largest rise"]
    rows = [
        [f"{row['window']:,}", f"{row['epsilon']:g}", *("holds" if row[name]["holds"] else "fails" for name in _BOTH),
         *_broken(row["A.2"])]
        for row in diagnostics["windows"]
    ]  # fmt: skip
    smallest = diagnostics["smallest_window"]
    verdict = f"A.2 holds with a window of {smallest:,}." if smallest else "A.2 holds with none of these windows."
    return ["", Columns(head, rows), f"A.1 and A.2 are the assumptions of PAULA. {verdict}"]


_BOTH = ("A.1", "A.2")


def _broken(assumption: Mapping[str, Any]) -> list[str]:
    if assumption["holds"]:
        return ["-", "-", "-"]
    return [f"rank {assumption['first_rank']:,}", f"{assumption['ranks']:,}", f"{assumption['largest_rise']:.4f}"]
