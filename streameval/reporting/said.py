"""What is said of results: sentences, tables and pictures, whatever shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streameval.curve import Curve


@dataclass(frozen=True)
class Columns:
    """A table of text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Picture:
    """A small picture of a curve, where there is room for one."""

    curve: Curve


Said = str | Columns | Picture


@dataclass(frozen=True)
class Told:
    """What is said of results in tables and sentences alone: what they claim, their metrics, what to know of them."""

    claim: str
    table: Columns
    remarks: Sequence[str]
