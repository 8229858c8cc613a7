"""Planned items without a label, by why they have none: one count of each, wherever it is told."""

from __future__ import annotations

from collections.abc import Mapping


def count_unlabelled(account: Mapping[str, int]) -> dict[str, int]:
    """Number of planned items without a label.

    Args:
        account: As `labelling.tally` counts, of this version or an earlier one.

    Returns:
        `open`: nobody has answered or skipped it; `undecided`: its answers tie or contradict each other; `skipped`: all
        others, which were answered without a label.
    """
    without = account["planned"] - account["labelled"]
    still, undecided = account.get("open", without), account.get("undecided", 0)
    return {"open": still, "skipped": max(0, without - still - undecided), "undecided": undecided}


def unlabelled_words(account: Mapping[str, int]) -> str:
    """Say how many items have no label, and why.

    >>> unlabelled_words({"planned": 50, "labelled": 40, "open": 2, "undecided": 5})
    '2 open, 3 skipped, 5 undecided'
    """
    return ", ".join(f"{number:,} {why}" for why, number in count_unlabelled(account).items() if number)
