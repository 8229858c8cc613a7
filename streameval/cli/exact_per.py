"""`streameval exact --per`: many rankings at once."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streameval.cli.batch import copied, record, stage
from streameval.cli.options import EngineFlags
from streameval.cli.output import Output, columns, progress
from streameval.cli.ranking import ManyFlags, ScoredFlags
from streameval.errors import InputError
from streameval.queries.options import PerRanking

# what to do where a flag of one ranking is given
_INSTEAD = {
    "--labels": "labels are a column of the list (--label)",
    "--on": "labels are a column of the list (--label)",
    "--misses": "positives that were never returned are a table (--positives)",
    "--window": "leave it out: windows slide over the ranks of one ranking",
    "--epsilon": "leave it out: it is of --window, which slides over the ranks of one ranking",
}


def exact_per(
    ranking: Sequence[str],
    label: str,
    asked: tuple[ManyFlags, list[str]],
    flags: tuple[ScoredFlags, EngineFlags],
    places: tuple[Path | None, str | None],
    output: Output,
) -> None:
    """Evaluate many rankings, and print their means.

    Args:
        asked: Their options, and flags of one ranking, which are refused.
        places: Where results are written, and where they are copied to.
    """
    (many, strangers), (out, publish) = asked, places
    options = PerRanking(**many.given())
    if not options.per:
        own = [name for name, value in many.given().items() if value != getattr(ManyFlags(), name)]
        raise InputError(f"--{own[0].replace('_', '-')} is for many rankings, and needs --per",
                         "name the columns of a ranking with --per")  # fmt: skip
    if strangers:
        raise InputError(f"--per does not go with {', '.join(strangers)}, for one ranking",
                         "; ".join(dict.fromkeys(_INSTEAD.get(flag, "leave it out") for flag in strangers))
                         )  # fmt: skip
    from streameval.reporting.rankings_page import claim_sentence, headline
    from streameval.study.rankings_files import FILES
    from streameval.verbs.exact import exact_per as verb

    with stage("exact", output) as told:
        with progress("items", output) as bar:
            found = verb(list(ranking), label, options, out=out, options=flags[0].options(), opened=None,
                         engine=flags[1].create(), progress=bar)  # fmt: skip
        summary = found.summary
        told |= {"rows": summary["n_items"], **{name: summary[name] for name in ("rankings", "positives", "how")}}
    if out is not None:
        read = {"source": list(ranking), "n_items": summary["n_items"], **summary["ranking"], "label": label,
                **flags[1].facts()}  # fmt: skip
        record(out, "exact", read, [out / name for name in FILES], output)
    lines = [headline(summary), claim_sentence(summary), "", *_table(found.metrics.to_pylist(), summary)]
    lines += [f"Report: {out / 'report.html'}"] if out else []
    if publish is not None and out is not None:
        from streameval.verbs.publish import publish_exact

        copied(lambda: publish_exact(found, out, publish), output)
        lines.append(f"Published: {publish}")
    output.say({**summary, "metrics": found.metrics.to_pylist(), "report": str(out / "report.html") if out else None},
               lines)  # fmt: skip


def _table(rows: list[dict[str, Any]], summary: Any) -> list[str]:
    """A line for each mean, beside it what the order of tied items leaves open, and the other mean."""
    from streameval.reporting.rankings_page import NO_POSITIVES

    half = len(rows) // 2
    others = rows[half:]
    head, sides = ["", "mean"], ["estimate"]
    if any(row["lower"] != row["upper"] for row in rows):
        head, sides = [*head, "worst order", "best order"], [*sides, "lower", "upper"]
    beside = bool(summary["without_positives"])
    if beside:
        head.append(NO_POSITIVES[others[0]["no_positives"]])
    cells = [
        [f"{row['metric']} {row['argument']}".strip(), *(_cell(row[side]) for side in sides),
         *([_cell(other["estimate"])] if beside else [])]
        for row, other in zip(rows[:half], others, strict=True)
    ]  # fmt: skip
    return columns(head, cells)


def _cell(value: float | None) -> str:
    return "undefined" if value is None else f"{value:.6g}"
