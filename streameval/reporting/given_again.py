"""What commands say of answers that came in again, each with the `--forget` that drops what should not count."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from streameval.study.vote_store import read_with
from streameval.text import number_of

_MOST = 4  # files that are named


def agreement_lines(found: Mapping[str, Any]) -> list[str]:
    """How far annotators agree, and on which items that is measured on purpose.

    Args:
        found: evaluation.json.
    """
    measured, twice = found["agreement"], overlap_line(found)
    if not measured["items"]:
        return twice
    alpha = f"; Krippendorff's alpha {measured['alpha']:.3f}" if measured["alpha"] is not None else ""
    items = f"{number_of(measured['items'], 'item')} with several votes"
    return [f"Agreement on {items}: {measured['percent']:.1%} of pairs{alpha}.", *twice]


def overlap_line(found: Mapping[str, Any]) -> list[str]:
    """Which tasks are given to two people on purpose; nothing where none are."""
    share = found.get("overlap")
    if not share:
        return []
    return [f"{share:.1%} of the tasks, drawn at random, are given to two people; where these differ, a third decides."]


def given_again(study: Path, summary: Mapping[str, Any], new: Mapping[str, bool]) -> list[str]:
    """What `evaluate` says of the sources that it was given now, and of all that it has."""
    told = {one["id"] for one in summary["given_twice"]}
    now = [one for one in summary["sources"] if new[one["id"]]]
    lines = doubt_lines(study, summary)
    for one in now:
        if before := [id for id in one["earlier"] if id not in told]:
            lines.append(f"{one['source']} was given before with other answers, and those stay: if it replaces them, "
                         f"`{_forget(study, before[-1:])}`.")  # fmt: skip
        if former := [each for each in one["otherwise"] if each["id"] not in told]:
            how = " and with ".join(read_with(each["columns"], one["columns"]) for each in former)
            lines.append(f"{one['source']} was read before with {how}, and those votes stay: "
                         f"if that was a mistake, `{_forget(study, [each['id'] for each in former])}`.")  # fmt: skip
    return lines


def doubt_lines(study: Path, found: Mapping[str, Any]) -> list[str]:
    """What may have come in twice, and what counts for nothing because it names nobody."""
    lines = []
    if twice := found["given_twice"]:
        names = {one["source"] for one in twice}
        others = (name for one in twice for name in one["others"] if name not in names)
        answers = sum(one["answers"] for one in twice)
        lines.append(
            f"All {answers:,} answers of {_listed(one['source'] for one in twice)} are in {_listed(others)} too. "
            "If they are the same answers, they count twice, and agreement looks higher than it is: "
            f"`{_forget(study, [one['id'] for one in twice])}`."
        )
    if alike := found["nameless"]:
        lines.append(
            f"{len(alike['sources']):,} files share {alike['items']:,} items and name no annotator, so they are read "
            f"as one person's: {alike['answers']:,} answers contradict each other and do not count. If several people "
            f"answered, `{_forget(study, alike['ids'])}`, and give the files again with `--annotator file`, which "
            "names each person by the file (or with a column `annotator`)."
        )
    return lines


def _forget(study: Path, ids: Sequence[str]) -> str:
    return f"streameval labels {shlex.quote(str(study))} --forget {' '.join(ids)}"


def _listed(names: Iterable[str]) -> str:
    known = list(dict.fromkeys(names))
    more = f" and {len(known) - _MOST:,} more" if len(known) > _MOST else ""
    return ", ".join(known[:_MOST]) + more
