"""`streameval exact`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from streameval.cli.batch import Batch, copied, job, record, stage
from streameval.cli.exact_per import exact_per
from streameval.cli.forecasts import lines_of, rehearsed
from streameval.cli.options import EngineFlags, Whole
from streameval.cli.output import Output, columns, progress
from streameval.cli.ranking import ManyFlags, ScoredFlags
from streameval.errors import InputError

# what a terminal shows of metrics.parquet
_OVERALL = (
    ("average_precision", "positives"), ("roc_auc", ""), ("max_f1", ""), ("max_f1_rank", ""), ("max_f1_score", ""),
    ("breakeven", ""), ("r_precision", ""),
)  # fmt: skip


@job
def exact(
    *ranking: str,
    label: str,
    labels: str | None = None,
    on: str | None = None,
    misses: Whole = 0,
    window: str | None = None,
    epsilon: str = "0.03",
    out: Path | None = None,
    publish: str | None = None,
    flags: ScoredFlags = ScoredFlags(),
    many: ManyFlags = ManyFlags(),
    engine: EngineFlags = EngineFlags(),
    batch: Batch = Batch(),
    output: Output = Output(),
) -> None:
    """Evaluate a list whose every item has a label: exactly, in one stream, in fixed memory.

    Example: streameval exact ranking/ --label is_correct --score confidence --out results
    Example: streameval exact ranking/ --label is_correct --out results --engine spark --spark-remote sc://spark:15002
    Example: streameval exact runs/ --per query --label grade --score score --item document --at 10,100 --out results

    Args:
        ranking: Parquet files, folders or globs; their stored order is the ranking, best first, without --score. With
            it every item needs a score: a float, an integer or a date (decimals have to be cast).
        label: Column with every item's label: 0/1 or a boolean; of the ranking, or of --labels.
        labels: Label table beside the ranking (any source that evaluate takes): one label for every item.
        on: Columns by which it is joined to the items, separated by commas (default: its rank).
        misses: Positives that the list never returned.
        window: Window lengths, separated by commas: are the PAULA paper's assumptions true of this list with them?
        epsilon: Grid ratios minus one for these windows, separated by commas.
        out: Folder for curve.parquet, envelope.parquet, metrics.parquet, evaluation.json, report.html and study.duckdb.
        publish: Folder or object store (s3://bucket/folder) to copy these files to, their manifest.json last; needs
            --out.
    """
    if publish is not None and out is None:
        raise InputError("--publish copies the files of a folder", "name the folder with --out DIR")
    if many != ManyFlags():
        others = {"--labels": labels, "--on": on, "--misses": misses, "--window": window,
                  "--epsilon": epsilon != "0.03", "--dry-run": batch.dry_run}  # fmt: skip
        strangers = [name for name, given in others.items() if given]
        exact_per(ranking, label, (many, strangers), (flags, engine), (out, publish), output)
        return
    if batch.dry_run:
        _rehearse((ranking, flags), label, labels, (out, publish), output)
        return
    from streameval.metrics import headlines
    from streameval.reporting.sentences import TIES
    from streameval.study.label_tables import forecast_labels
    from streameval.study.result_files import EXACT
    from streameval.verbs.exact import Windows
    from streameval.verbs.exact import exact as verb

    windows = Windows(tuple(_whole(text) for text in (window or "").split(",") if text.strip()),
                      tuple(text.strip() for text in epsilon.split(",")))  # fmt: skip
    with stage("exact", output) as told:
        with progress("items", output) as bar:
            found = verb(list(ranking), label=label, labels=labels, on=on, misses=misses, windows=windows, out=out,
                         options=flags.options(), engine=engine.create(), progress=bar)  # fmt: skip
        summary, rows = found.summary, found.metrics.to_pylist()
        told |= {"rows": summary["n_items"], **{name: summary[name] for name in ("n_items", "positives", "how")}}
    if out is not None:
        beside = [asdict(one) for one in forecast_labels([labels] if labels else [])]
        read = {"source": list(ranking), "n_items": summary["n_items"], **summary["ranking"], "label": label,
                "labels": beside, **engine.facts()}  # fmt: skip
        record(out, "exact", read, [out / name for name in EXACT], output)
    known = headlines(rows)
    cuts = [row for row in known.values() if row["metric"] == "precision_at"]
    overall = [known[name] for name in _OVERALL if name in known]
    missed = f", {misses:,} more were never returned" if misses else ""
    lines = [
        f"Items: {summary['n_items']:,}, {summary['positives']:,} of them positive{missed} ({summary['how']}).",
        *([TIES] if summary["ties"] == "open" else []),
        "",
        *_table(["first k", "precision"], [(f"{int(row['argument']):,}", row) for row in cuts]),
        "",
        *_table(["metric", "value"], [(row["metric"], row) for row in overall]),
        *_windows(summary["diagnostics"]),
        *([f"Report: {out / 'report.html'}"] if out else []),
    ]
    if publish is not None and out is not None:
        from streameval.verbs.publish import publish_exact

        copied(lambda: publish_exact(found, out, publish), output)
        lines.append(f"Published: {publish}")
    output.say({**summary, "metrics": rows, "report": str(out / "report.html") if out else None}, lines)


def _rehearse(
    what: tuple[Sequence[str], ScoredFlags],
    label: str,
    labels: str | None,
    places: tuple[Path | None, str | None],
    output: Output,
) -> None:
    from streameval.rankings.forecasts import forecast_exact
    from streameval.study.label_tables import forecast_labels
    from streameval.study.result_files import EXACT
    from streameval.verbs.publish import MANIFEST

    ranking, flags = what
    n_items, read = forecast_exact(list(ranking), flags.options(), label if labels is None else None)
    writes = [str(places[0] / name) for name in EXACT] if places[0] else []
    writes += [f"{places[1].rstrip('/')}/{name}" for name in (*EXACT, MANIFEST)] if places[1] else []
    facts = rehearsed({"items": n_items, "n_items": n_items, "source": list(ranking)}, read, writes,
                      forecast_labels([] if labels is None else [labels]))  # fmt: skip
    output.say(facts, [f"Would evaluate all {n_items:,} items.", *lines_of(facts)])


def _table(head: list[str], rows: Sequence[tuple[str, Mapping[str, Any]]]) -> list[str]:
    """A line for each metric; where ties leave the order open, its values in the worst and the best one beside it."""
    if not any(row["lower"] != row["upper"] for _, row in rows):
        return columns(head, [[name, _cell(row, "estimate")] for name, row in rows])
    lines = [[name, *(_cell(row, side) for side in ("estimate", "lower", "upper"))] for name, row in rows]
    return columns([*head, "worst order", "best order"], lines)


def _cell(row: Mapping[str, Any], side: str) -> str:
    if row[side] is None:
        return "undefined"
    return f"{row[side]:,.0f}" if row["metric"].endswith("_rank") else f"{row[side]:.6g}"


def _whole(text: str) -> int:
    from streameval.errors import InputError

    try:
        return int(text)
    except ValueError:
        raise InputError(f"--window: {text.strip()!r} is not a whole number", "such as --window 50,100,200") from None


def _windows(diagnostics: Mapping[str, Any]) -> list[str]:
    """What is true of the paper's assumptions, a line for each window."""
    if not diagnostics["windows"]:
        return []
    head = ["window", "epsilon", "A.1", "A.2", "first broken", "ranks that rise", "largest rise"]
    rows = [
        [f"{one['window']:,}", f"{one['epsilon']:g}", *("holds" if one[name]["holds"] else "fails" for name in _BOTH),
         *_broken(one["A.2"])]
        for one in diagnostics["windows"]
    ]  # fmt: skip
    smallest = diagnostics["smallest_window"]
    verdict = f"A.2 holds with a window of {smallest:,}." if smallest else "A.2 holds with none of these windows."
    return ["", *columns(head, rows), f"A.1 and A.2 are the assumptions of PAULA. {verdict}"]


_BOTH = ("A.1", "A.2")


def _broken(found: Mapping[str, Any]) -> list[str]:
    if found["holds"]:
        return ["-", "-", "-"]
    return [f"rank {found['first_rank']:,}", f"{found['ranks']:,}", f"{found['largest_rise']:.4f}"]
