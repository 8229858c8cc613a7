"""`streameval monitor`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from streameval.cli.output import Output, columns
from streameval.errors import EXIT_DONE, EXIT_FAILS, EXIT_INCONCLUSIVE

_SHOWN = 14
_MEASURE = re.compile(r".*@.*|[\w.]*gain\b[^/]*")


def monitor(
    *studies: str,
    confidence: float | None = None,
    allow: Annotated[list[str] | None, Parameter(negative_iterable="")] = None,
    out: Path | None = None,
    output: Output = Output(),
) -> int:
    """Watch the precision of successive days, or challengers one after another: all bounds hold together.

    Exit status 5: the first new study of which planned labels are missing ends the call (`waiting`): it is taken when
    they are in. 4: the mean precision since the last change is proven to be below the one to keep, or a day that this
    call added is, or this call named a fall on any day. Else 0; but 5 where a precision is to be kept, and it is not
    proven that the mean is at least that. With nothing to add, the status is that of the mean. Of comparisons of two
    rankings it is 4 where a study of this call is proven not to meet the condition, 0 where all are proven to, else 5.

    Example: streameval monitor studies/2026-11-22 "precision@score:0.7 >= 0.9" --out history.parquet

    Args:
        studies: Folders of evaluated studies, in the order of their days. The day is the last date in the path, or
            stands before it, as in 2026-11-22=my-study. A study that the history has adds nothing, or the labels that
            were missing when it was taken. Last, what is watched: precision@score:0.7 (every item of
            this score or better; they are counted, by one scan of each list), precision@10000 or precision@1%. With
            >= 0.9 behind it, each day and the mean since the last change passes, fails or is inconclusive. Studies of
            two rankings need no day; of them gain@10000 is watched, precision_gain@10000 or dcg_gain@1000, perhaps with
            a condition: "gain@10000 > 0".
        confidence: Of all bounds and changes together, whenever one looks (default .95).
        allow: What may differ between studies, such as vote or score; may be repeated. incomplete takes studies of
            which planned labels are missing: bounds allow for whatever these say. Given again when they are in, the
            study brings them; a label that counted has to be what it was.
        out: history.parquet, to append to; history.html is beside it. What it was begun with need not be given again.
    """
    from streameval.kinds import named
    from streameval.text import number_of
    from streameval.verbs.monitor import monitor as verb

    measure = next((one for one in studies[-1:] if _MEASURE.fullmatch(one) and not Path(one).exists()), None)
    folders = studies if measure is None else studies[:-1]
    record = verb(folders, measure, confidence=confidence, allow=allow or (), out=out)
    lines, notes = list[str](), list[str]()
    if record.table.num_rows:
        shown, notes = named(record.settings.kind).history_says(record, _SHOWN)
        lines = [*columns(shown.head, shown.cells()), ""]
    if record.waiting:
        notes = [*notes, f"{record.waiting}. It is taken when they are in, and what comes behind it; "
                 "--allow=incomplete takes it now, and the rest when it comes."]  # fmt: skip
    notes += [f"Labels that the history counts have changed since, of {one}. They count as they were; "
              "a new history of all studies is about the corrected ones." for one in record.corrected]  # fmt: skip
    lines += notes
    if out is not None and record.table.num_rows:
        count = number_of(record.table.num_rows, record.rows_are.removesuffix("s"))
        lines.append(f"{out} and {out.with_suffix('.html')}: {count}")
    facts = record.facts
    rows = facts[record.rows_are]
    told = facts.get("given", [*facts["added"], *(row[record.key] for row in rows[-1:])])
    for row in rows:
        if row[record.key] in told:
            bad = row[record.key] in facts.get("falls", ()) or "fail" in (row["outcome"], row.get("run_outcome"))
            output.outcome("monitor", not bad, **row)
    output.say({**facts, "said": notes}, [*lines, *(["", record.outcome] if record.outcome else [])])
    return {None: EXIT_DONE, "pass": EXIT_DONE, "fail": EXIT_FAILS}.get(record.outcome, EXIT_INCONCLUSIVE)
