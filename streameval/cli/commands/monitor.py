"""`streameval monitor`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from streameval.cli.options import Whole
from streameval.cli.output import Output, columns
from streameval.errors import EXIT_DONE, EXIT_FAILS

_SHOWN = 14


def monitor(
    *studies: Path,
    at_score: str | None = None,
    at_rank: Whole | None = None,
    precision: str | None = None,
    confidence: float | None = None,
    day: str | None = None,
    allow: Annotated[list[str] | None, Parameter(negative_iterable="")] = None,
    out: Path | None = None,
    output: Output = Output(),
) -> int:
    """Watch the precision of successive days: a change is named only when it is established. Exit status 4 on a fall.

    Example: streameval monitor studies/2026-11-22 --at-score 0.7 --precision 0.9 --out history.parquet

    Args:
        studies: Folders of evaluated studies, in the order of their days; one that the history has adds nothing.
        at_score: Cutoff: every item of this score or better; they are counted, by one scan of each list.
        at_rank: Cutoff: the first so many items.
        precision: To keep, as .9 or 90%: each day passes, fails (exit status 4 if it is the last) or is inconclusive.
        confidence: Of all bounds and changes together, whenever one looks (default .95).
        day: Day of a single study (default: the date in its folder's name).
        allow: What may differ between days, such as vote or score; may be repeated.
        out: history.parquet, to append to; history.html is beside it. What it was begun with need not be given again.
    """
    from streameval.reporting.history import COLUMNS, cells, sentences
    from streameval.text import number_of
    from streameval.verbs.monitor import days_of
    from streameval.verbs.monitor import monitor as verb

    found = verb(studies, at_score=at_score, at_rank=at_rank, precision=precision, confidence=confidence, day=day,
                 allow=allow or (), out=out)  # fmt: skip
    said = sentences(found)
    kept = [name for name in found.table.column_names if name not in ("positives", "negatives")]
    rows = [{**row, "day": str(row["day"]), "run_since": str(row["run_since"])}
            for row in found.table.select(kept).to_pylist()]  # fmt: skip
    lines = [*columns(COLUMNS, cells(found, _SHOWN)), "", *said]
    if out is not None:
        lines.append(f"{out} and {out.with_suffix('.html')}: {number_of(found.table.num_rows, 'day')}")
    now = {str(one) for one, _ in days_of(studies, day)}
    for row in rows:
        if row["day"] in now:
            output.outcome("monitor", not _is_bad(row), **row)
    output.say({"settings": found.settings.as_dict(), "days": rows, "said": said}, lines)
    last = rows[-1]
    if max(now) != last["day"]:
        return EXIT_DONE  # earlier days again: the last one was judged by its own run
    return EXIT_FAILS if _is_bad(last) else EXIT_DONE


def _is_bad(row: dict[str, Any]) -> bool:
    return bool(row["outcome"] == "fail" or row["change"] == "fall")
