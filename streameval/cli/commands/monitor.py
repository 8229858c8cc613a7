"""`streameval monitor`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from streameval.cli.options import Whole
from streameval.cli.output import Output, columns
from streameval.errors import EXIT_DONE, EXIT_FAILS, EXIT_INCONCLUSIVE

_SHOWN = 14


def monitor(
    *studies: Path,
    at_score: str | None = None,
    at_rank: Whole | None = None,
    precision: str | None = None,
    confidence: float | None = None,
    day: str | None = None,
    allow: Annotated[list[str] | None, Parameter(negative_iterable="")] = None,
    incomplete: Annotated[bool, Parameter(negative="")] = False,
    out: Path | None = None,
    output: Output = Output(),
) -> int:
    """Watch the precision of successive days: a change is named only when it is established.

    Exit status 4: the mean precision since the last change is proven to be below --precision, or a day that this call
    added is, or this call named a fall on any day. Else 0; but 5 where --precision is given, and it is not proven that
    the mean is at least that. With nothing to add, the status is that of the mean.

    Example: streameval monitor studies/2026-11-22 --at-score 0.7 --precision 0.9 --out history.parquet

    Args:
        studies: Folders of evaluated studies, in the order of their days; one that the history has adds nothing, or the
            labels that were missing when its day was taken.
        at_score: Cutoff: every item of this score or better; they are counted, by one scan of each list.
        at_rank: Cutoff: the first so many items.
        precision: To keep, as .9 or 90%: the mean since the last change, and each day, passes, fails or is
            inconclusive.
        confidence: Of all bounds and changes together, whenever one looks (default .95).
        day: Day of a single study (default: the date in its folder's name).
        allow: What may differ between days, such as vote or score; may be repeated.
        incomplete: Take days of which planned labels are missing: bounds allow for whatever these say. Given again when
            they are in, the study brings them; a label that counted has to be what it was.
        out: history.parquet, to append to; history.html is beside it. What it was begun with need not be given again.
    """
    from streameval.reporting.history import COLUMNS, cells, news, sentences
    from streameval.text import number_of
    from streameval.verbs.monitor import monitor as verb

    found = verb(studies, at_score=at_score, at_rank=at_rank, precision=precision, confidence=confidence, day=day,
                 allow=allow or (), incomplete=incomplete, out=out)  # fmt: skip
    said = [*sentences(found), *news(found)]
    kept = [name for name in found.table.column_names if name not in ("positives", "negatives", "counted")]
    rows = [{**row, "day": str(row["day"]), "run_since": str(row["run_since"])}
            for row in found.table.select(kept).to_pylist()]  # fmt: skip
    lines = [*columns(COLUMNS, cells(found, _SHOWN)), "", *said]
    if out is not None:
        lines.append(f"{out} and {out.with_suffix('.html')}: {number_of(found.table.num_rows, 'day')}")
    added, falls = ([str(one) for one in days] for days in (found.added, found.falls))
    for row in rows:
        if row["day"] in added or row is rows[-1]:
            bad = row["day"] in falls or "fail" in (row["outcome"], row["run_outcome"])
            output.outcome("monitor", not bad, **row)
    output.say({"settings": found.settings.as_dict(), "outcome": found.outcome, "added": added, "falls": falls,
                "days": rows, "said": said}, [*lines, *(["", found.outcome] if found.outcome else [])])  # fmt: skip
    return {"fail": EXIT_FAILS, "inconclusive": EXIT_INCONCLUSIVE}.get(str(found.outcome), EXIT_DONE)
