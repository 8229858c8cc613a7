"""`streameval evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from streameval.cli.batch import Batch, job, record
from streameval.cli.options import Whole
from streameval.cli.output import Output, columns

_PLAIN = Output()
_BATCH = Batch()


# what a terminal shows of metrics.parquet
_OVERALL = (("average_precision", "positives"), ("roc_auc", ""), ("max_f1", ""), ("r_precision", ""))
_TROUBLE = ("missing", "blank", "doubled", "contradictory", "undecided")


@job
def evaluate(
    study: Path,
    *,
    labels: Annotated[list[str] | None, Parameter(consume_multiple=True, negative_iterable="")] = None,
    on: str | None = None,
    label: str = "label",
    misses: Whole = 0,
    publish: str | None = None,
    batch: Batch = _BATCH,
    output: Output = _PLAIN,
) -> None:
    """Join labels back and write the curve with its bounds, the metrics and the report.

    Example: streameval evaluate my-study --labels tasks.csv

    Parameters
    ----------
    study
        Folder of the study.
    labels
        Parquet or CSV label tables; each row is a vote, and a file given again adds nothing.
    on
        Column that says which item a row is about (default: rank, se_rank or se_task).
    label
        Column with the label: 1/0, true/false, yes/no; blank where there is none.
    misses
        Positives that the ranking never returned.
    publish
        Folder or object store (s3://bucket/folder) to copy the results to, their manifest.json last.
    """
    from streameval.reporting.sentences import band_meaning, half_width_sentence, verdict
    from streameval.study import result_files
    from streameval.verbs.evaluate import evaluate as verb

    found = verb(study, labels=labels or [], on=on, label=label, misses=misses)
    cuts = [row for row in found.metrics.to_pylist() if row["metric"] == "precision_at"]
    output.event("evaluate", evaluation_id=found.evaluation_id, **found.summary["account"])
    sources = [{key: value for key, value in one.items() if key != "new"} for one in found.summary["sources"]]
    read = {"study": found.summary["study"], "evaluation_id": found.evaluation_id, "labels": sources}
    record(study, "evaluate", read, result_files(study), output)
    rows = [[f"{int(r['argument']):,}", *(f"{r[k]:.4f}" for k in ("lower", "estimate", "upper"))] for r in cuts]
    account = found.summary["account"]
    notes = [f"{value:,} {key}" for key, value in account.items() if value and key in _TROUBLE]
    notes += [f"{one['unplanned']:,} rows of {one['source']} about other items" for one in found.summary["sources"]
              if one["unplanned"]]  # fmt: skip
    lines = [
        verdict(found),
        *filter(None, (half_width_sentence(found), *found.curve.findings[1:])),
        *([f"Labels: {', '.join(notes)}."] if notes else []),
        "",
        *columns(["first k", "lower", "estimate", "upper"], rows),
        f"Precision among the first k items; {band_meaning(found.curve.claim)}.",
        *_overall(found.metrics.to_pylist()),
        "",
        f"Report: {study / 'report.html'}",
    ]
    result = {**found.summary, "precision_at": cuts, "report": str(study / "report.html")}
    if publish is not None:
        result["published"] = _publish(study, publish, output)
        lines.append(f"Published: {publish}")
    output.say(result, lines)


def _publish(study: Path, place: str, output: Output) -> dict[str, Any]:
    from streameval.verbs.publish import publish as verb

    done = verb(study, place)
    facts = {"place": done.place, "already_there": done.already_there, "files": done.manifest["files"]}
    output.event("publish", **facts)
    return facts


def _overall(rows: list[dict[str, Any]]) -> list[str]:
    """Metrics of the whole list, where they are bounded."""
    known = {(row["metric"], row["argument"]): row for row in rows}
    shown = [known[name] for name in _OVERALL if name in known and known[name]["lower"] is not None]
    cells = [[row["metric"], *(f"{row[side]:.4f}" for side in ("lower", "estimate", "upper"))] for row in shown]
    return ["", *columns(["metric", "lower", "estimate", "upper"], cells)] if cells else []
