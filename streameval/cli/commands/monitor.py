"""`streameval monitor`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from streameval.cli.output import Output, columns
from streameval.errors import EXIT_DONE, EXIT_FAILS, EXIT_INCONCLUSIVE

_SHOWN = 14


def monitor(
    *studies: str,
    confidence: float | None = None,
    allow: Annotated[list[str] | None, Parameter(negative_iterable="")] = None,
    out: Path | None = None,
    output: Output = Output(),
) -> int:
    """Watch the precision of successive days: a change is named only when it is established.

    Exit status 4: the mean precision since the last change is proven to be below the one to keep, or a day that this
    call added is, or this call named a fall on any day. Else 0; but 5 where a precision is to be kept, and it is not
    proven that the mean is at least that. With nothing to add, the status is that of the mean.

    Example: streameval monitor studies/2026-11-22 "precision@score:0.7 >= 0.9" --out history.parquet

    Args:
        studies: Folders of evaluated studies, in the order of their days. The day is the last date in the path, or
            stands before it, as in 2026-11-22=my-study. A study that the history has adds nothing, or the labels that
            were missing when its day was taken. Last, what is watched: precision@score:0.7 (every item of
            this score or better; they are counted, by one scan of each list), precision@10000 or precision@1%. With
            >= 0.9 behind it, each day and the mean since the last change passes, fails or is inconclusive.
        confidence: Of all bounds and changes together, whenever one looks (default .95).
        allow: What may differ between days, such as vote or score; may be repeated. incomplete takes days of which
            planned labels are missing: bounds allow for whatever these say. Given again when they are in, the study
            brings them; a label that counted has to be what it was.
        out: history.parquet, to append to; history.html is beside it. What it was begun with need not be given again.
    """
    from streameval.reporting.history import COLUMNS, cells, news, sentences
    from streameval.text import number_of
    from streameval.verbs.monitor import monitor as verb

    measure = next((one for one in studies[-1:] if "@" in one and not Path(one).exists()), None)
    folders = studies if measure is None else studies[:-1]
    record = verb(folders, measure, confidence=confidence, allow=allow or (), out=out)
    notes = [*sentences(record), *news(record)]
    kept = [name for name in record.table.column_names if name not in ("positives", "negatives", "counted")]
    rows = [{**row, "day": str(row["day"]), "run_since": str(row["run_since"])}
            for row in record.table.select(kept).to_pylist()]  # fmt: skip
    lines = [*columns(COLUMNS, cells(record, _SHOWN)), "", *notes]
    if out is not None:
        lines.append(f"{out} and {out.with_suffix('.html')}: {number_of(record.table.num_rows, 'day')}")
    added, falls = ([str(one) for one in days] for days in (record.added, record.falls))
    for row in rows:
        if row["day"] in added or row is rows[-1]:
            bad = row["day"] in falls or "fail" in (row["outcome"], row["run_outcome"])
            output.outcome("monitor", not bad, **row)
    output.say({"settings": record.settings.as_dict(), "outcome": record.outcome, "added": added, "falls": falls,
                "days": rows, "said": notes}, [*lines, *(["", record.outcome] if record.outcome else [])])  # fmt: skip
    return {"fail": EXIT_FAILS, "inconclusive": EXIT_INCONCLUSIVE}.get(str(record.outcome), EXIT_DONE)
