"""JSON objects whose keys are each there once: of two values of one key, parsers differ in which they take."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

KEEP_ONE = "keep one of the two: some programs read the first, others the last"


class RepeatedKeyError(ValueError):
    """An object has a key twice; the message says which."""


def with_keys_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object of its pairs, as the `object_pairs_hook` of a decoder; a `RepeatedKeyError` names a key twice."""
    repeated = first_repeated(key for key, _ in pairs)
    if repeated is not None:
        raise RepeatedKeyError(f"the key '{repeated}' twice")
    return dict(pairs)


def first_repeated(keys: Iterable[str]) -> str | None:
    """Find the first key that is there more than once; None where each is there once.

    >>> first_repeated(["a", "b", "b"]), first_repeated("ab")
    ('b', None)
    """
    return next((key for key, count in Counter(keys).items() if count > 1), None)
