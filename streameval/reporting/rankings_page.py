"""The report of many rankings: their means, how they are distributed, and who does badly."""

from __future__ import annotations

import html
from collections.abc import Callable, Sequence
from importlib import resources
from typing import Any

from streameval.reporting.charts import POLICY
from streameval.reporting.tables import account, table
from streameval.study.rankings_files import RankingsEvaluation
from streameval.study.rankings_sample import RankingsSample
from streameval.text import number_of, printable
from streameval.types import TRUTH

_WIDTH, _HEIGHT = 280, 90
_PICTURED = ("average_precision", "reciprocal_rank", "ndcg", "roc_auc")


def render(name: str, found: RankingsEvaluation) -> str:
    """Draw one page, without scripts."""
    summary = found.summary
    body = [
        f"<h1>Rankings of {_text(name)}</h1>",
        f"<p class='soft'>{_text(headline(summary))}</p>",
        f'<p class="verdict">{_text(claim_sentence(summary))}</p>',
        "<h2>Means</h2>",
        _means(found),
        *_distributions(found),
        "<h2>By number of items</h2>",
        _sizes(found),
        *_lowest(summary),
        "<h2>Provenance</h2>",
        _provenance(summary),
    ]
    return _page(name, found.evaluation_id, body)


def render_sample(name: str, found: RankingsSample) -> str:
    """Draw the page of rankings that were drawn."""
    body = [
        f"<h1>Rankings of {_text(name)}</h1>",
        f'<p class="verdict">{_text(sample_sentence(found))}</p>',
        "<h2>Means</h2>",
        table(*sample_table(found, number)),
        *(f"<p class='soft'>{_text(one)}</p>" for one in remarks(found.summary)),
        "<h2>Labels</h2>",
        account(found.summary["account"]),
        "<h2>Provenance</h2>",
        _provenance(found.summary),
    ]
    return _page(name, found.evaluation_id, body)


def sample_table(found: RankingsSample, shown: Callable[[float | None], str]) -> tuple[list[str], list[list[str]]]:
    """Head and rows of a table of the means; of a judge, the widths with it and without."""
    head, cells, judge = ["metric", "lower", "estimate", "upper", "normal from", "to"], [], found.summary.get("judge")
    for row in found.metrics.to_pylist():
        own = [row[side] for side in ("lower", "estimate", "upper", "normal_lower", "normal_upper")]
        own += [row["upper"] - row["lower"], row["width_without_judge"]] if judge is not None else []
        cells.append([f"{row['metric']} {row['argument']}", *map(shown, own)])
    return [*head, *(["width", "without judge"] if judge is not None else [])], cells


def remarks(summary: Any) -> list[str]:
    """What to know of the means."""
    judge = summary.get("judge")
    said = f"The bounds use what '{judge}' says of every ranking, as a judge: {WHATEVER_IT_SAYS}. "
    said += "The last column has the width that the same labels give without it."
    return [*([] if judge is None else [said]), NORMAL, UNKNOWN if summary.get("pool") is None else _pooled(summary),
            *([] if summary["ranking"]["score"] is None else [TIED])]  # fmt: skip


def sample_sentence(found: RankingsSample) -> str:
    """What the bounds of drawn rankings claim."""
    claim, account, pool = found.summary["claim"], found.summary["account"], found.summary.get("pool")
    said = (
        f"{account['labelled']:,} of {account['planned']:,} labels, of {found.summary['parameters']['rankings']:,} of "
    )
    said += f"{found.summary['rankings']:,} rankings."
    caution = "" if claim["about"] == TRUTH else f" This is no claim about the truth: {claim['why']}."
    condition = "" if pool is None else _IF_COMPLETE if pool["complete"] else _IF_RIGHT
    if claim["confidence"] is None:
        return (
            "Every ranking was drawn, and every label that these means depend on is there: they are exact"
            f"{condition}. ({said}){caution}"
        )
    names = [f"{row['metric']} {row['argument']}" for row in found.metrics.to_pylist() if row["coverage"] == "exact"]
    exact = f" Exact: {', '.join(names)}." if names else ""
    return (
        f"With probability {claim['confidence']:g}, all of these means over all rankings lie inside their bounds, "
        f"whatever the rankings are{condition}.{exact} ({said}){caution}"
    )


_IF_RIGHT = ", and those of recall, average precision and nDCG if the table of positives is right"
_IF_COMPLETE = f"{_IF_RIGHT} and complete"
WHATEVER_IT_SAYS = "they hold whatever it says, and only their width depends on it"
NORMAL = (
    "The normal interval is that of each mean alone, and an approximation: where nearly all rankings are 0, or nearly "
    "all are 1, it misses far more often than it says, and where all drawn rankings are alike its width is 0."
)
UNKNOWN = (
    "Average precision, recall and nDCG depend on items below the first k, about which these labels say nothing: "
    "nothing is claimed about them."
)
TIED = "Tied items stand in a fixed, arbitrary order (by a hash of where they are stored); the means are of that order."


def _pooled(summary: Any) -> str:
    """What the table of positives says."""
    pool = summary["pool"]
    said = (
        f"The table of positives names {number_of(pool['rows'], 'positive')}, {pool['beyond']:,} of them of drawn "
        "rankings and not among their items to label. It is right if it names only positives, "
        f"{names_right(pool['item'])}. Recall, average precision and nDCG count rankings without "
        "a positive as 0. "
    )
    return said + _matched(pool) + (_COMPLETE if pool["complete"] else _INCOMPLETE)


def _matched(pool: Any) -> str:
    """How far the table and the labels name the same items, which shows where they write names differently."""
    again = f", {pool['again']:,} of them there twice" if pool.get("again") else ""
    said = f"Rows of drawn rankings: {pool['drawn']:,}{again}. "
    if not pool["drawn"] or pool["item"] is None:
        return said
    said += f"Of {number_of(pool['positive'], 'item')} labelled positive the table names {pool['named']:,}, "
    said += f"and of those labelled negative {pool['denied']:,}, whose labels count. "
    if pool["positive"] and not pool["named"]:
        said += f"If list and table write '{pool['item']}' differently, items count twice, and these bounds are wrong. "
    return said


def names_right(item: str | None) -> str:
    """Conditions on item names in the table of positives, with a column that names the item and without."""
    return "each once, and none that is an item to label" if item is None else "by the names that the list has for them"


_COMPLETE = (
    "Bounds on these three hold if it is right, and if it and the labels have every positive of the drawn rankings "
    "(evaluate --assume complete)."
)
_INCOMPLETE = (
    "If it is right, upper bounds on these three hold whatever else is positive; lower ones are 0 unless the table is "
    "stated to have every positive of the drawn rankings (evaluate --assume complete)."
)


def _page(name: str, identity: str, body: Sequence[str]) -> str:
    style = (resources.files("streameval.reporting") / "page.css").read_text(encoding="utf-8")
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="streameval-evaluation" content="{identity}"><link rel="icon" href="data:,">'
        f"<title>streameval: {_text(name)}</title><style>{style}</style></head><body><main>\n"
        + "\n".join(body)
        + "\n</main></body></html>\n"
    )


def headline(summary: dict[str, Any] | Any) -> str:
    """How many rankings, items and positives."""
    said = (
        f"{number_of(summary['rankings'], 'ranking')} by {', '.join(summary['per'])}, "
        f"{number_of(summary['n_items'], 'item')}, "
        f"{summary['positives']:,} of them positive ({summary['how']})."
    )
    if summary["misses"]:
        said += f" {number_of(summary['misses'], 'positive')} {_were(summary['misses'])} never returned."
    if gone := summary.get("positives_left_out"):
        said += (
            f" {number_of(gone, 'row')} of the table of positives {_were(gone)} left out: the ranking returned "
            f"{'its' if gone == 1 else 'their'} item, or {'it is' if gone == 1 else 'they are'} there twice."
        )
    return said


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


_TIES = {
    "all": "between the worst and the best order of tied items",
    "trec_eval": "with tied items in the order of trec_eval",
    "scikit-learn": "with the values of scikit-learn for average precision, AUC and nDCG, and all others between the "
    "worst and the best order of tied items",
}


def claim_sentence(summary: Any) -> str:
    """What the means are."""
    without, policy = summary["without_positives"], summary["parameters"]["no_positives"]
    said = f"Every item has a label: the means are exact, {_TIES[summary['parameters']['ties']]}."
    if without:
        one = without == 1
        kept = f"count{'s' * one} as 0" if policy == "zero" else f"{'is' if one else 'are'} left out"
        said += f" {number_of(without, 'ranking')} {'has' if one else 'have'} no positive: in the means "
        said += f"{'it' if one else 'they'} {kept}."
    return said


NO_POSITIVES = {"zero": "rankings without a positive as 0", "skip": "only rankings with a positive"}


def _means(found: RankingsEvaluation) -> str:
    rows = found.metrics.to_pylist()
    other = {(row["metric"], row["argument"]): row for row in rows[len(rows) // 2 :]}
    policy = rows[-1]["no_positives"]
    cells = [
        [f"{row['metric']} {row['argument']}".strip(), *(number(row[end]) for end in ("estimate", "lower", "upper")),
         number(other[row["metric"], row["argument"]]["estimate"])]
        for row in rows[: len(rows) // 2]
    ]  # fmt: skip
    head = ["metric", "mean", "worst order", "best order", "other mean"]
    return f"<p class='soft'>Other mean: {NO_POSITIVES[policy]}.</p>{table(head, cells)}"


def _distributions(found: RankingsEvaluation) -> list[str]:
    drawn = []
    by_metric: dict[str, list[tuple[float, int]]] = {}
    for row in found.histograms.to_pylist():
        if row["metric"] in _PICTURED:
            by_metric.setdefault(row["metric"], []).append((row["at_least"], row["rankings"]))
    for name, bars in by_metric.items():
        if any(count for _, count in bars):
            drawn.append(f"<figure><figcaption>{_text(name)}</figcaption>{_bars(name, bars)}</figure>")
    if not drawn:
        return []
    said = "How many rankings with a positive have each metric in each twentieth of 0 to 1."
    return ["<h2>Distributions</h2>", f"<p class='soft'>{said}</p><div class='small'>{''.join(drawn)}</div>"]


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
    label = _text(f"Chart: {name} of rankings, at most {most:,} in one bar. The table of means holds its mean.")
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
_AT_LAST = ("precision_at", "recall_at", "ndcg_at")  # at the deepest cutoff, where short rankings fall short


def _sizes(found: RankingsEvaluation) -> str:
    last = max(found.summary["parameters"]["at"])
    metrics = [*_WHOLE, *(f"{name}_{last}" for name in _AT_LAST)]
    names = [f"mean_{name}" for name in metrics]
    head = ["items", "rankings", "no positive", *names]
    rows = [
        [_range(row["items_from"], row["items_to"]), f"{row['rankings']:,}", f"{row['without_positives']:,}",
         *(number(row[name]) for name in names)]
        for row in found.by_size.to_pylist()
    ]  # fmt: skip
    said = "Means over the rankings with a positive, by the number of items returned. by_size.parquet has every metric."
    return f"<p class='soft'>{said}</p>{table(head, rows)}"


def _range(first: int, last: int) -> str:
    return f"{first:,}" if first == last else f"{first:,} to {last:,}".replace(" ", "\N{NO-BREAK SPACE}")


def _lowest(summary: Any) -> list[str]:
    rows = summary["lowest"]
    if not rows:
        return []
    cells = [[printable(str(row[name])) if name in summary["per"] else number(row[name]) for name in rows[0]]
             for row in rows]  # fmt: skip
    return ["<h2>Lowest average precision</h2>", table(list(rows[0]), cells)]


def _provenance(summary: Any) -> str:
    said = {"evaluation": summary["evaluation_id"], "version": summary["version"], **summary["parameters"]}
    said |= {"judge": summary["judge"]} if summary.get("judge") else {}
    said |= {f"positives {key}": value for key, value in (summary.get("pool") or {}).items()}
    said |= {f"ranking {key}": value for key, value in summary["ranking"].items()}
    return table(["", ""], [[name, printable(str(value))] for name, value in said.items()])


def number(value: float | int | None) -> str:
    """A count, or a share with six digits; a dash where there is none."""
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int) else f"{value:.6f}"


def _text(value: object) -> str:
    return html.escape(printable(str(value)))
