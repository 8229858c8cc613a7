"""`streameval evaluate`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import Parameter

from streameval.cli.batch import Batch, copied, job, record, stage
from streameval.cli.forecasts import lines_of, of_plan, rehearsed
from streameval.cli.given_again import agreement_lines, given_again
from streameval.cli.label_lines import label_lines
from streameval.cli.many import evaluate_per, is_of_many
from streameval.cli.options import Flags, Whole, flags_of
from streameval.cli.output import Output, columns
from streameval.cli.panels import LABELS
from streameval.errors import InputError
from streameval.labelling.options import Judging, LabelColumns
from streameval.text import short

if TYPE_CHECKING:
    from streameval.slices.files import SliceResult
    from streameval.types import Plan


@flags_of(LabelColumns, Judging, panel=LABELS)
class LabelFlags(Flags):
    """Which columns of a label table say what, and how votes become labels."""


_LABELS = LabelFlags()
Sources = Annotated[list[str] | None, Parameter(consume_multiple=True, negative_iterable="")]

# what a terminal shows of metrics.parquet
_OVERALL = (("average_precision", "positives"), ("roc_auc", ""), ("max_f1", ""), ("r_precision", ""))
_OF_THE_JUDGE = ("on", "label", "positive", "negative")
_SHOWN = 20  # slices
_TROUBLE = ("missing", "undecided", "skipped", "doubled", "contradictory", "untimed", "unreadable", "unknown")


@job
def evaluate(
    study: Path,
    *,
    labels: Sources = None,
    judge_labels: Sources = None,
    how: LabelFlags = _LABELS,
    misses: Whole = 0,
    misses_from: Path | None = None,
    positives: Path | None = None,
    item: str | None = None,
    publish: str | None = None,
    batch: Batch = Batch(),
    output: Output = Output(),
) -> None:
    """Join labels back and write the curve with its bounds, the metrics and the report.

    Example: streameval evaluate my-study --labels tasks.csv

    Args:
        study: Folder of the study.
        labels: Label tables (Parquet, CSV, TSV, JSON, JSONL), exports of Label Studio and Prodigy, or
            duckdb:FILE#QUERY, sqlite:///FILE#QUERY, postgresql://...#QUERY; each row is a vote, and what was given
            before adds nothing.
        judge_labels: What the judge of a plan with --judge-sample said, in the same formats. It is frozen before there
            are labels; items without an answer are a class of their own.
        misses: Positives that the ranking never returned.
        misses_from: Evaluated study of the items that were never returned: misses are bounded by its labels, and both
            share the confidence.
        positives: Of many rankings (`plan --per`): Parquet file with a row for each known positive, its --per columns
            and --item: bounds recall, average precision and nDCG at k from above, with --assume complete on both sides.
        item: Column that names the item in --positives and in the list. Without it every row is a positive that is not
            among the items to label.
        publish: Folder or object store (s3://bucket/folder) to copy the results to, their manifest.json last.
    """
    from streameval.cli.picture import picture
    from streameval.reporting.sentences import (
        band_meaning,
        estimate_sentence,
        half_width_sentence,
        next_command,
        remarks,
        verdict,
    )
    from streameval.study import Study, result_files
    from streameval.study.provenance import way_out
    from streameval.verbs.evaluate import evaluate as verb

    if is_of_many(study):
        others = {"--misses": misses, "--misses-from": misses_from, "--judge-labels": judge_labels,
                  "--dry-run": batch.dry_run}  # fmt: skip
        if strangers := [name for name, given in others.items() if given]:
            raise InputError(f"this study has many rankings, and does not go with {', '.join(strangers)}",
                             "leave it out")  # fmt: skip
        pool = {"positives": positives, "item": item}
        evaluate_per(study, labels or [], {**how.given(), **pool}, publish, output)
        return
    if strangers := [name for name, given in (("--positives", positives), ("--item", item)) if given is not None]:
        raise InputError(f"{strangers[0]} is for many rankings, and this study has one",
                         "count positives that were never returned with --misses, or bound them with --misses-from"
                         )  # fmt: skip
    if batch.dry_run:
        _rehearse(study, labels or [], publish, output)
        return
    if judge_labels:
        frozen = _freeze(study, judge_labels, how)
        if not labels and not Study(study).labels.sources():
            output.say({"study": str(study), "plan_id": frozen[0].plan_id, **frozen[1]}, frozen[2])
            return
    with Study(study).changing():
        with stage("evaluate", output) as told:
            found = verb(study, labels=labels or [], misses=misses, misses_from=misses_from, **how.given())
            sources = _sources(labels or [], found.summary["sources"])
            sizes = [one["bytes"] for one in sources if one["bytes"] is not None]
            told |= {"rows": sum(one["rows"] for one in sources), "bytes": sum(sizes) if sizes else None}
            told |= {"evaluation_id": found.evaluation_id, **found.summary["account"]}
            told |= {key: found.summary[key] for key in ("half_width", "claim")}
        read = {"study": found.summary["study"], "evaluation_id": found.evaluation_id, "labels": sources}
        record(study, "evaluate", read, result_files(study, Study(study).plan()), output)
    cuts = [row for row in found.metrics.to_pylist() if row["metric"] == "precision_at"]
    rows = [[f"{int(r['argument']):,}", *(_number(r[k]) for k in ("lower", "estimate", "upper"))] for r in cuts]
    account = found.summary["account"]
    notes = [f"{value:,} {key}" for key, value in account.items() if value and key in _TROUBLE]
    given = [{**one, "new": found.new[one["id"]]} for one in found.summary["sources"]]
    lines = [
        verdict(found),
        *filter(None, (half_width_sentence(found), estimate_sentence(found.curve.basis), *remarks(found))),
        *([f"Labels: {', '.join(notes)} (all listed in issues.parquet)."] if notes else []),
        *label_lines(found.issues, found.summary),
        *_kept(account),
        *agreement_lines(found.summary["agreement"]),
        *given_again(study, found.summary, found.new),
        "",
        *columns(["first k", "lower", "estimate", "upper"], rows),
        *picture(found.curve),
        f"Precision among the first k items; {band_meaning(found.curve.claim)}.",
        *_overall(found.metrics.to_pylist()),
        *_slices(found.slices, found.summary.get("by")),
        "",
        f"Report: {study / 'report.html'}",
    ]
    result = {**found.summary, "sources": given, "precision_at": cuts, "report": str(study / "report.html")}
    plan = Study(study).plan()
    if found.curve.claim.coverage == "none":
        result["next"] = way_out(plan, found.summary, str(study))
        lines.append(f"Next: {result['next']}.")
    elif command := next_command(plan, found, str(study))[1]:
        result["next"] = f"streameval {command}"
        lines.append(f"Next: {result['next']}")
    if publish is not None:
        from streameval.verbs.publish import publish as copy

        result["published"] = copied(lambda: copy(study, publish), output)
        lines.append(f"Published: {publish}")
    output.say(result, lines)


def _freeze(study: Path, sources: list[str], how: LabelFlags) -> tuple[Plan, dict[str, Any], list[str]]:
    """Freeze what the judge said; the plan, its facts and how they are told."""
    from streameval.judge.classes import counts_of
    from streameval.verbs.freeze_judge import freeze_judge

    columns = {name: value for name, value in how.given().items() if name in _OF_THE_JUDGE}
    plan = freeze_judge(study, sources, **columns)
    counts = counts_of(plan)
    said = ", ".join(f"{name}: {items:,}" for name, items in counts.items() if items)
    head = f"The judge's answers are frozen ({sum(counts.values()):,} items; {said})."
    missing = counts.get("no answer", 0)
    warning = (
        f"{missing / sum(counts.values()):.1%} of the items have no answer: they stay a class of their own for good."
    )
    following = f"Next: streameval select {shlex.quote(str(study))} --export tasks.csv"
    return (
        plan,
        {"judge": counts, "next": following.removeprefix("Next: ")},
        [head, *[warning] * bool(missing), following],
    )


def _rehearse(study: Path, labels: list[str], publish: str | None, output: Output) -> None:
    from streameval.parquet.account import Forecast
    from streameval.study import Study, published, result_files
    from streameval.study.label_tables import forecast_labels
    from streameval.verbs.publish import MANIFEST

    plan = Study(study).plan()
    copies = [] if publish is None else [f"{publish.rstrip('/')}/{name}" for name in (*published(plan), MANIFEST)]
    writes = [*result_files(study, plan), *copies]
    facts = rehearsed(of_plan(plan), Forecast(), writes, forecast_labels(labels))
    head = f"Would evaluate {plan.table.num_rows:,} planned items, with the labels that the study has already."
    output.say(facts, [head, *lines_of(facts)])


def _sources(labels: list[str], read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was read of each label table, with its bytes."""
    from streameval.study.label_tables import forecast_labels

    sizes = forecast_labels(labels)
    return [{**one, "bytes": size.bytes} for one, size in zip(read, sizes, strict=True)]


def _overall(rows: list[dict[str, Any]]) -> list[str]:
    """Metrics of the whole list, where they are bounded."""
    known = {(row["metric"], row["argument"]): row for row in rows}
    shown = [known[name] for name in _OVERALL if name in known and known[name]["lower"] is not None]
    cells = [[row["metric"], *(_number(row[side]) for side in ("lower", "estimate", "upper"))] for row in shown]
    return ["", *columns(["metric", "lower", "estimate", "upper"], cells)] if cells else []


def _slices(slices: tuple[SliceResult, ...], by: str | None) -> list[str]:
    """Precision of every slice as a whole."""
    if not slices:
        return []
    cells = []
    for one in slices[:_SHOWN]:
        size = one.curve.n_items
        bounds = (_number(value) for value in one.curve.precision_at(size))
        cells.append([short(one.name), f"{size:,}", f"{one.labelled:,}", *bounds])
    more = [f"… and {len(slices) - _SHOWN:,} smaller slices (slice_metrics.parquet)."] if len(slices) > _SHOWN else []
    return ["", *columns([f"slice by {by}", "items", "labels", "lower", "precision", "upper"], cells), *more]


def _number(value: float | None) -> str:
    return "unknown" if value is None or value != value else f"{value:.4f}"


def _kept(account: dict[str, int]) -> list[str]:
    """What became of answers that do not count as they stand, though nothing is wrong with them."""
    lines = [f"{account['superseded']:,} answers were superseded by later ones."] if account["superseded"] else []
    if account["untimed"]:
        lines.append(
            "Times that cannot be read are ignored: write them in ISO 8601, as in 2026-01-31T09:30:00Z "
            "(in UTC, where no zone is named)."
        )
    return lines
