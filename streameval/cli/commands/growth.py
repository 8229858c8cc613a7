"""`streameval growth`."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Any

from streameval.cli.options import Switch, existing
from streameval.cli.output import Output, columns


def growth(
    before: Path,
    after: Path,
    *,
    on: str | None = None,
    out: Path | None = None,
    overwrite: Switch = False,
    output: Output = Output(),
) -> None:
    """Say what a study of an earlier list is worth for a later one: what stays valid, what moved, what to label.

    Example: streameval growth studies/monday studies/tuesday --on item_id --out known.parquet

    Args:
        before: Folder of the earlier study.
        after: Folder of the later study, planned and selected; nobody has to have labelled anything.
        on: Columns, separated by commas, that tell items apart (default: the later plan's --key).
        out: Parquet file for the labels that the later study's items have already, to give to evaluate.
        overwrite: Replace files that are there and differ.
    """
    from streameval.verbs.growth import growth as verb

    found = verb(before, after, on=on, out=out, existing=existing(overwrite)).summary
    output.event("growth", **{key: found[key] for key in ("planned", "known", "labelled", "to_label")})
    moved = found["moved"]
    rows = [[f"{one['rank']:,}", f"{one['first_rank']:,}", f"{one['last_rank']:,}"] for one in found["cutoffs"]]
    lines = [
        f"{found['items_before']:,} items before, {found['items_after']:,} now.",
        found["valid"],
        f"{found['planned']:,} items are planned now: {found['known']:,} were selected before, {found['labelled']:,} "
        f"of them labelled. To label: {found['to_label']:,}.",
        f"Of those known, {moved['same_rank']:,} keep their rank, {moved['up']:,} rose and {moved['down']:,} fell, by "
        f"{moved['median_shift']:,.0f} ranks in the median and {moved['largest_shift']:,} at most.",
        *(["", *columns(["rank before", "now from", "to"], rows)] if rows else []),
        *_next(shlex.join([str(before), str(after), *(["--on", on] if on else [])]), after, out, found),
    ]
    output.say({**found, "out": str(out) if out else None}, lines)


def _next(asked: str, after: Path, out: Path | None, found: dict[str, Any]) -> list[str]:
    """What leads to the labels that the later study lacks."""
    study = shlex.quote(str(after))
    if not found["labelled"]:
        return [f"Next: streameval select {study} --export tasks.csv"]
    if out is None:
        return [f"Next: streameval growth {asked} --out known.parquet"]
    lines = [f"Next: streameval evaluate {study} --labels {shlex.quote(str(out))}"]
    return [*lines, *[f"Then: streameval select {study} --remaining --export tasks.csv"] * bool(found["to_label"])]
