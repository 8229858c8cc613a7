"""Lines about labels that came in: what does not count as it stands, or by a guess; what came in again; agreement.

What came in again has the `--forget` that drops what should not count.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streameval.labelling.hints import cells, naming_word
from streameval.labelling.options import NamedWords, is_finite
from streameval.study.vote_store import read_with
from streameval.text import number_of, short

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 20  # words
_MOST_FILES = 4  # that are named
_TROUBLE = ("undecided", "skipped", "doubled", "contradictory", "untimed", "unreadable", "unknown")


def trouble(issues: pa.Table, account: Mapping[str, int]) -> list[str]:
    """Count what is in issues.parquet; an item that cannot be read once, however often its file was read."""
    unreadable, missing = _items(issues, "unreadable"), _items(issues, "missing")
    lost = len(unreadable & missing)
    notes = [f"{account['missing']:,} missing{f', {lost:,} of them unreadable' if lost else ''}"]
    counts = dict(account) | {"unreadable": unreadable_items(issues, account["unreadable"]) - lost}
    return (notes if account["missing"] else []) + [f"{counts[kind]:,} {kind}" for kind in _TROUBLE if counts.get(kind)]


def unreadable_items(issues: pa.Table, rows: int) -> int:
    """Items of so many rows that cannot be read; rows whose item is unknown, or that are not listed, are one each."""
    return rows - len(_rows_of(issues, "unreadable").drop_null()) + len(_items(issues, "unreadable"))


def _items(issues: pa.Table, kind: str) -> set[int]:
    return set(_rows_of(issues, kind).drop_null().to_pylist())


def _rows_of(issues: pa.Table, kind: str) -> pa.ChunkedArray:
    """Ranks of the rows of a kind, null where no rank is known."""
    import pyarrow.compute as pc

    return issues.filter(pc.equal(issues.column("kind"), kind)).column("rank")


def label_lines(issues: pa.Table, summary: Mapping[str, Any]) -> list[str]:
    """Say what could not be read, which words were taken as negative, what was not planned, and what was rejected."""
    sources, account = summary["sources"], summary["account"]
    unreadable = _unreadable(issues, unreadable_items(issues, account["unreadable"]))
    return [
        *unreadable,
        *_words(sources),
        *_unnamed_lines(sources),
        *_unplanned_lines(sources),
        *_rejected_lines(account.get("rejected", 0)),
    ]


def _unreadable(issues: pa.Table, count: int) -> Iterator[str]:
    """The first row that cannot be read: a typing error, or words that have to be mapped."""
    from streameval.labelling.issues import place_of

    at = issues.column("kind").index("unreadable").as_py()
    if at >= 0:
        (first,) = issues.slice(at, 1).to_pylist()
        more = f", and {count - 1:,} more" if count > 1 else ""
        value = first["value"] or ""
        split = cells(value)
        mapped = "" if split or is_finite(value) else f"; {naming_word(value.strip(), NamedWords()).partition(':')[0]}"
        where = place_of({**first, "value": None} if split else first).removeprefix("unreadable ")
        where = f"{where.removeprefix('at ')} {split}" if split else where
        yield f"Unreadable: {where}{more}{mapped}."


def _words(sources: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Words that are negative for being none of those named as positive: a typing error may be among them."""
    for source in sources:
        shown = [f"{short(word)} ({rows:,})" for word, rows in source["read_as_negative"].items()]
        more = [f"and {len(shown) - _SHOWN:,} more"] if len(shown) > _SHOWN else []
        if shown:
            yield f"Read as negative in {source['source']}: {', '.join([*shown[:_SHOWN], *more])}."


def _unnamed_lines(sources: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Items that are negative because a table of positives does not name them."""
    for source in sources:
        if items := source.get("unnamed"):
            which = f"{number_of(items, 'item')} that it does not name {'is' if items == 1 else 'are'} negative"
            yield f"{source['source']} lists positives alone: {which}."


def _unplanned_lines(sources: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Rows about items that nobody planned."""
    fate = {True: "was not planned and is not used", False: "were not planned and are not used"}
    for source in sources:
        if rows := source["unplanned"]:
            yield f"{number_of(rows, 'row')} of {source['source']} {fate[rows == 1]}."


def _rejected_lines(rows: int) -> Iterator[str]:
    """Work that its tool says was rejected or discarded."""
    if rows:
        yield f"{number_of(rows, 'row')} of work that was rejected or discarded: no {'vote' if rows == 1 else 'votes'}."


def agreement_lines(summary: Mapping[str, Any]) -> list[str]:
    """Say how far annotators agree, and on which items that is measured on purpose.

    Args:
        summary: evaluation.json.
    """
    measured, twice = summary["agreement"], overlap_line(summary)
    if not measured["items"]:
        return twice
    alpha = f" (Krippendorff's alpha {measured['alpha']:.3f})" if measured["alpha"] is not None else ""
    items = f"{number_of(measured['items'], 'item')} with several votes"
    return [f"On {items}, {measured['percent']:.1%} of pairs of votes agree{alpha}.", *twice]


def overlap_line(summary: Mapping[str, Any]) -> list[str]:
    """Tell which tasks are given to two people on purpose; nothing where none are."""
    share = summary.get("overlap")
    if not share:
        return []
    return [f"{share:.1%} of the tasks, drawn at random, are given to two people; where these differ, a third decides."]


def given_again(study: Path, summary: Mapping[str, Any], new: Mapping[str, bool]) -> list[str]:
    """Say what `evaluate` says of the sources that it was given now, and of all that it has."""
    twice_ids = {source["id"] for source in summary["given_twice"]}
    now = [source for source in summary["sources"] if new.get(source["id"])]
    lines = doubt_lines(study, summary)
    for source in now:
        if before := [id for id in source["earlier"] if id not in twice_ids]:
            lines.append(f"{source['source']} was given before with other answers, and those stay: "
                         "if it replaces them, "
                         f"`{_forget(study, before[-1:])}`.")  # fmt: skip
        if former := [each for each in source["otherwise"] if each["id"] not in twice_ids]:
            how = " and with ".join(read_with(each["columns"], source["columns"]) for each in former)
            lines.append(f"{source['source']} was read before with {how}, and those votes stay: "
                         f"if that was a mistake, `{_forget(study, [each['id'] for each in former])}`.")  # fmt: skip
    return lines


def doubt_lines(study: Path, summary: Mapping[str, Any]) -> list[str]:
    """Say what may have come in twice, and what counts for nothing because it names nobody."""
    lines = []
    if twice := summary["given_twice"]:
        names = {one["source"] for one in twice}
        others = (name for one in twice for name in one["others"] if name not in names)
        answers = sum(one["answers"] for one in twice)
        lines.append(
            f"All {answers:,} answers of {_shown_names(one['source'] for one in twice)} "
            f"are in {_shown_names(others)} too. "
            "If they are the same answers, they count twice, and agreement looks higher than it is: "
            f"`{_forget(study, [one['id'] for one in twice])}`."
        )
    if alike := summary["nameless"]:
        lines.append(
            f"{len(alike['sources']):,} files share {alike['items']:,} items and name no annotator, so they are read "
            f"as one person's: {alike['answers']:,} answers contradict each other and do not count. If several people "
            f"answered, `{_forget(study, alike['ids'])}`, and give the files again with `--annotator file`, which "
            "names each person by the file (or with a column `annotator`)."
        )
    return lines


def _forget(study: Path, ids: Sequence[str]) -> str:
    return f"streameval labels {shlex.quote(str(study))} --forget {' '.join(ids)}"


def _shown_names(names: Iterable[str]) -> str:
    unique = list(dict.fromkeys(names))
    more = f" and {len(unique) - _MOST_FILES:,} more" if len(unique) > _MOST_FILES else ""
    return ", ".join(unique[:_MOST_FILES]) + more
