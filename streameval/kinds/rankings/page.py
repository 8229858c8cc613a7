"""The report of many rankings: their means, how they are distributed, and who does badly."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from streameval.metrics.intervals import claim_at
from streameval.questions.printed import measure_of
from streameval.reporting.layout import Section, highlight, soft, study_page
from streameval.reporting.text import Columns, Text
from streameval.study.results import Result
from streameval.text import escape, number_of, printable

_WIDTH, _HEIGHT = 280, 90
_PICTURED = ("average_precision", "reciprocal_rank", "ndcg", "roc_auc")


def render(name: str, result: Result, title: str | None = None) -> str:
    """Draw the means, how they are distributed, and who does badly."""
    result_text = text(result)
    sections = [
        Section("Means", table=result_text.table),
        *_distributions(result),
        _sizes(result),
        *_lowest(result.summary),
    ]
    lead = [highlight(result_text.promise), soft(result_text.headline)]
    return study_page(result, title, (name, f"Rankings of {name}"), lead, sections)


def text(result: Result) -> Text:
    """Say how many there are, what the means are, and the means."""
    claim, table = claim_sentence(result.summary), means_table(result)
    if "low" in table.head:
        claim += f" Each mean over many more rankings lies from low to high with a confidence of {claim_at()}."
    return Text(headline(result.summary), claim, table)


def headline(summary: Mapping[str, Any]) -> str:
    """Say how many rankings, items and positives."""
    text = (
        f"{number_of(summary['rankings'], 'ranking')} by {', '.join(summary['per'])}, "
        f"{number_of(summary['n_items'], 'item')}, "
        f"{summary['positives']:,} of them positive ({summary['how']})."
    )
    if summary["misses"]:
        text += f" {number_of(summary['misses'], 'positive')} {_were(summary['misses'])} never returned."
    if gone := summary.get("positives_left_out"):
        text += (
            f" {number_of(gone, 'row')} of the table of positives {_were(gone)} left out: the ranking returned "
            f"{'its' if gone == 1 else 'their'} item, or {'it is' if gone == 1 else 'they are'} there twice."
        )
    if empty := summary.get("returned_nothing"):
        text += f" {number_of(empty, 'ranking')} returned nothing, and {'counts' if empty == 1 else 'count'}."
    if unjudged := summary.get("unjudged"):
        text += (
            f" {number_of(unjudged, 'ranking')} of which nothing was judged {_were(unjudged)} left out"
            f" ({number_of(summary['unjudged_items'], 'item')})."
        )
    return text


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


_TIES = {
    "all": "between the worst and the best order of tied items",
    "trec_eval": "with tied items in the order of trec_eval",
    "scikit-learn": "with the values of scikit-learn for average precision, AUC and nDCG, and all others between the "
    "worst and the best order of tied items",
}


def claim_sentence(summary: Mapping[str, Any]) -> str:
    """Say what the means are."""
    without, policy = summary["without_positives"], summary["parameters"]["no_positives"]
    text = f"Every item has a label: the means are exact, {_TIES[summary['parameters']['ties']]}."
    if without:
        singular = without == 1
        kept = f"count{'s' * singular} as 0" if policy == "zero" else f"{'is' if singular else 'are'} left out"
        text += f" {number_of(without, 'ranking')} {'has' if singular else 'have'} no positive: in the means "
        text += f"{'it' if singular else 'they'} {kept}."
    return text


_NO_POSITIVES = {"zero": "rankings without a positive as 0", "skip": "only rankings with a positive"}


def means_table(result: Result) -> Columns:
    """A line for each mean, beside it what the order of tied items leaves open, and the mean under the other rule."""
    rows = result.metrics.to_pylist()
    half = len(rows) // 2
    head, sides = ["", "mean"], ["estimate"]
    if any(row["lower"] != row["upper"] for row in rows):
        head, sides = [*head, "worst order", "best order"], [*sides, "lower", "upper"]
    ends = ("low", "high") if any(row.get("low") is not None for row in rows) else ()
    head += ends
    leaves_out = bool(result.summary["without_positives"])
    head += [_NO_POSITIVES[rows[-1]["no_positives"]]] * leaves_out
    cells = [
        [measure_of(row["metric"], row["argument"]), *(row[side] for side in sides),
         *("-" if row[end] is None else row[end] for end in ends), *[other["estimate"]] * leaves_out]
        for row, other in zip(rows[:half], rows[half:], strict=True)
    ]  # fmt: skip
    return Columns(head, cells)


def _distributions(result: Result) -> list[Section]:
    drawn = []
    by_metric: dict[str, list[tuple[float, int]]] = {}
    for row in result.tables["histograms"].to_pylist():
        if row["metric"] in _PICTURED:
            by_metric.setdefault(row["metric"], []).append((row["at_least"], row["rankings"]))
    for name, bars in by_metric.items():
        if any(count for _, count in bars):
            mean_name = measure_of(f"mean_{name}", "")
            drawn.append(f"<figure><figcaption>{escape(mean_name)}</figcaption>{_bars(mean_name, bars)}</figure>")
    note = "How many rankings with a positive have each metric in each twentieth of 0 to 1."
    return [Section("Distributions", note, f"<div class='small'>{''.join(drawn)}</div>")] if drawn else []


def _bars(name: str, bars: Sequence[tuple[float, int]]) -> str:
    most, width = max(count for _, count in bars), _WIDTH / len(bars)
    top = _round_up(most)
    drawn = "".join(
        f'<rect x="{i * width + 1:.1f}" y="{_HEIGHT * (1 - count / top):.1f}" width="{width - 2:.1f}" '
        f'height="{_HEIGHT * count / top:.1f}"><title>from {low:g}: {count:,}</title></rect>'
        for i, (low, count) in enumerate(bars)
    )
    ticks = "".join(f'<text x="{_WIDTH * at:.0f}" y="{_HEIGHT + 13}" text-anchor="middle">{at:g}</text>'
                    for at in (0, 0.5, 1))  # fmt: skip
    levels = "".join(
        f'<line x1="0" x2="{_WIDTH}" y1="{_HEIGHT * (1 - share):g}" y2="{_HEIGHT * (1 - share):g}"/>'
        f'<text x="-5" y="{_HEIGHT * (1 - share) + 3.5:g}" text-anchor="end" stroke="none">{_short(top * share)}</text>'
        for share in ((0, 0.5, 1) if top % 2 == 0 else (0, 1))
    )
    label = escape(f"Chart: {name} of rankings, at most {most:,} in one bar. The table of means holds its mean.")
    return (
        f'<svg role="img" aria-label="{label}" viewBox="-44 -8 {_WIDTH + 52} {_HEIGHT + 26}" width="{_WIDTH + 52}" '
        'font-size="10" font-family="sans-serif" fill="currentColor"><g stroke="currentColor" stroke-opacity=".25">'
        f'{levels}</g><g fill="#2f6db0">{drawn}</g>{ticks}</svg>'
    )


def _round_up(count: int) -> int:
    """The next of 1, 2, 4, 5, 6, 8, 10, 20, 40 and so on: the top of an axis."""
    power = int(10 ** (len(str(count)) - 1))
    return next(step * power for step in (1, 2, 4, 5, 6, 8, 10) if step * power >= count)


def _short(count: float) -> str:
    """A count as an axis has room for it."""
    for power, letter in ((10**9, "G"), (10**6, "M"), (10**3, "k")):
        if count >= power:
            return f"{count / power:g}{letter}"
    return f"{count:g}"


_WHOLE = ("average_precision", "reciprocal_rank", "ndcg")
_AT_LAST = ("precision", "recall", "ndcg")  # at the deepest cutoff, where short rankings fall short


def _sizes(result: Result) -> Section:
    last = result.summary["parameters"]["at"][-1:]
    metrics = [*((name, "") for name in _WHOLE), *((f"{name}_at", str(k)) for k in last for name in _AT_LAST)]
    names = ["_".join(filter(None, (f"mean_{name}", argument))) for name, argument in metrics]
    head = ["items", "rankings", "no positive", *(measure_of(f"mean_{name}", argument) for name, argument in metrics)]
    rows = [
        [_range(row["items_from"], row["items_to"]), f"{row['rankings']:,}", f"{row['without_positives']:,}",
         *(row[name] for name in names)]
        for row in result.tables["by_size"].to_pylist()
    ]  # fmt: skip
    note = "Means over the rankings with a positive, by the number of items returned. by_size.parquet has every metric."
    return Section("By number of items", note, table=Columns(head, rows))


def _range(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,} to {last:,}".replace(" ", "\N{NO-BREAK SPACE}")


def _lowest(summary: Mapping[str, Any]) -> list[Section]:
    rows = summary["lowest"]
    if not rows:
        return []
    cells = [[printable(str(row[name])) if name in summary["per"] else row[name] for name in rows[0]]
             for row in rows]  # fmt: skip
    head = [name if name in summary["per"] else name.replace("_", " ") for name in rows[0]]
    return [Section("Lowest average precision", table=Columns(head, cells))]
