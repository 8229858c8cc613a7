"""`streameval evaluate`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from streameval.cli.batch import Batch, job, record, stage
from streameval.cli.forecasts import lines_of, of_plan, rehearsed
from streameval.cli.options import Flags, flags_of
from streameval.cli.output import Output
from streameval.cli.panels import LABELS
from streameval.labelling.options import Judging, KnownPositives, LabelColumns, Misses


@flags_of(LabelColumns, Judging, Misses, KnownPositives, panel=LABELS)
class LabelFlags(Flags):
    """Which columns of a label table say what, how votes become labels, and what is known beside them."""


_LABELS = LabelFlags()
Sources = Annotated[list[str] | None, Parameter(consume_multiple=True, negative_iterable="")]


@job
def evaluate(
    study: Path,
    /,
    *,
    labels: Sources = None,
    how: LabelFlags = _LABELS,
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
    """
    from streameval.cli.picture import shown
    from streameval.kinds import kind_of
    from streameval.study import Study
    from streameval.verbs.evaluate import evaluate as verb

    kind, given = kind_of(study), how.changed()
    if batch.dry_run:
        kind.asked("evaluate", given)
        _rehearse(study, labels or [], output)
        return
    with Study(study).changing():
        with stage("evaluate", output) as told:
            evaluation = verb(study, labels=labels or [], **given)
            sources = _sources(labels or [], evaluation.summary["sources"])
            sizes = [one["bytes"] for one in sources if one["bytes"] is not None]
            told |= {"rows": sum(one["rows"] for one in sources), "bytes": sum(sizes) if sizes else None}
            told |= {"evaluation_id": evaluation.evaluation_id, **evaluation.summary["account"]}
            told |= {key: evaluation.summary[key] for key in ("half_width", "claim") if key in evaluation.summary}
        read = {"study": evaluation.summary["study"], "evaluation_id": evaluation.evaluation_id, "labels": sources}
        read |= {"positives": evaluation.summary["pool"]} if "pool" in evaluation.summary else {}
        record(study, "evaluate", read, [study / name for name in kind.files(Study(study).plan())], output)
    result = kind.facts(study, evaluation)
    result["report"] = str(study / "report.html")
    lines = [*shown(kind.lines(study, evaluation)), f"Report: {result['report']}"]
    if following := result.get("next"):
        lines.append(f"Next: {following}{'' if following.startswith('streameval ') else '.'}")
    output.say(result, lines)


def _rehearse(study: Path, labels: list[str], output: Output) -> None:
    from streameval.kinds import kind_of
    from streameval.parquet.account import Forecast
    from streameval.study import Study
    from streameval.study.label_tables import forecast_labels

    plan = Study(study).plan()
    writes = [study / name for name in kind_of(study).files(plan)]
    facts = rehearsed(of_plan(plan), Forecast(), writes, forecast_labels(labels))
    head = f"Would evaluate {plan.table.num_rows:,} planned items, with the labels that the study has already."
    output.say(facts, [head, *lines_of(facts)])


def _sources(labels: list[str], read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What was read of each label table, with its bytes."""
    from streameval.study.label_tables import forecast_labels

    sizes = forecast_labels(labels)
    return [{**one, "bytes": size.bytes} for one, size in zip(read, sizes, strict=True)]
