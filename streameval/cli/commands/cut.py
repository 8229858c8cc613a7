"""`streameval cut`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from streameval.cli.options import Whole
from streameval.cli.output import Output, columns, progress

_PLAIN = Output()


def cut(
    study: Path,
    *,
    precision: str | None = None,
    recall: str | None = None,
    rank: Whole | None = None,
    out: str | None = None,
    order: Literal["storage", "rank"] = "storage",
    misses: Whole | None = None,
    output: Output = _PLAIN,
) -> None:
    """Find the cutoff that the labels prove, and write the items above it as Parquet.

    Example: streameval cut my-study --precision 0.9 --out best/

    Parameters
    ----------
    study
        Folder of an evaluated study.
    precision
        The largest rank that is proven to have this precision, in (0, 1].
    recall
        The smallest rank that is proven to have this recall, in (0, 1].
    rank
        This rank.
    out
        New folder for the items: part-00000.parquet and so on, and a manifest.
    order
        Order of the items there; in rank order each has its rank.
    misses
        Positives that the ranking never returned (default: what evaluate was given).
    """
    from streameval.reporting.sentences import band_meaning
    from streameval.verbs.cut import cut as verb

    found = verb(study, precision=precision, recall=recall, rank=rank, misses=misses)
    facts = found.as_dict()
    rows = [
        [name, *(_number(found.holds[key], form) for key in (f"{name}_lower", name, f"{name}_upper"))]
        for name, form in (("precision", ".4f"), ("recall", ".4f"), ("yield", ",.0f"))
    ]
    at = "" if found.score is None else f", score {found.score}"
    meaning = band_meaning(found.claim)
    lines = [
        f"The first {found.rank:,} of {found.plan.n_items:,} items{at}",
        "",
        *columns(["", "lower", "estimate", "upper"], rows),
        f"{meaning[0].upper()}{meaning[1:]}. Assumed: {found.claim.assumes}.",
    ]
    if out is not None:
        with progress("writing items") as bar:
            made = found.write(out, order=order, progress=bar)
        facts |= {"out": str(made.folder), "rows": made.rows, "files": list(made.files), "columns": list(made.columns)}
        lines += ["", f"{made.rows:,} items in {made.folder} ({len(made.files)} files)"]
    output.event("cut", **facts)
    output.say(facts, lines)


def _number(value: float | None, form: str) -> str:
    return "undefined" if value is None else format(value, form)
