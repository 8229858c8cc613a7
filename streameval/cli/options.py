"""Options that several verbs share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from streameval.engines import Engine
    from streameval.rows.options import RankingOptions
    from streameval.stores.atomic import Existing


def whole(kind: Any, tokens: Sequence[Any]) -> int:
    """Read a whole number: 2000000, 2_000_000, 2,000,000 and 2e6 are one; 2.5 is refused, not rounded."""
    text = tokens[0].value.replace("_", "").replace(",", "")
    try:
        value = Decimal(text)
    except InvalidOperation:
        raise ValueError(f"{tokens[0].value!r} is no whole number") from None
    if not value.is_finite() or abs(value) > 2**63 or value != int(value):
        raise ValueError(f"{tokens[0].value!r} is no whole number")
    return int(value)


Whole = Annotated[int, Parameter(converter=whole)]
Overwrite = Annotated[bool, Parameter(negative="")]


def existing(overwrite: bool) -> Existing:
    """What becomes of files that stand where a command writes, and differ."""
    return "replaced" if overwrite else "kept"


@Parameter(name="*")
@dataclass(frozen=True)
class MethodOptions:
    """Parameters of the method."""

    epsilon: Annotated[
        str | None, Parameter(help="paula, stratified: grid ratio minus one, in (0, 1] (default 0.03).")
    ] = None
    window: Annotated[Whole | None, Parameter(help="paula: labels per grid point (default 100).")] = None
    head: Annotated[
        Whole | None,
        Parameter(help="paula, stratified: ranks labelled from the top (default (window + 2) / epsilon, window 100)."),
    ] = None
    tail: Annotated[
        Literal["open", "closed"] | None,
        Parameter(help="paula, stratified: leave the last ranks unknown, or label there too (default open)."),
    ] = None
    alpha: Annotated[
        float | None, Parameter(help="Half-width to plan for, relative to precision (default 0.08; paula: 0.0812).")
    ] = None
    confidence: Annotated[
        float | None,
        Parameter(help="Sampling methods, paula --assume independent: probability of the claim (default 0.95)."),
    ] = None
    min_precision: Annotated[
        float | None, Parameter(help="Sampling methods: precision that the list is expected to keep (default 0.5).")
    ] = None
    budget: Annotated[Whole | None, Parameter(help="Labels to spend at most, instead of --alpha.")] = None
    at: Annotated[Whole | None, Parameter(help="uniform: estimate the precision of the first so many items only.")] = (
        None
    )
    looks: Annotated[
        Whole | None,
        Parameter(help="loguniform: how often the plan may be evaluated and enlarged (default 1)."),
    ] = None
    interval: Annotated[
        Literal["hoeffding", "hypergeometric", "dkwm"] | None,
        Parameter(help="uniform: the interval that becomes the curve (default hoeffding)."),
    ] = None
    assume: Annotated[
        Literal["a2", "independent"] | None,
        Parameter(help="paula: rest on A.2, or on independent labels whose probability never rises (default a2)."),
    ] = None
    claim: Annotated[
        Literal["printed", "factor"] | None,
        Parameter(help="stratified: the paper's claim as printed, or the factor its theorem needs (default printed)."),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True)
class ListFlags:
    """What describes a list whose every item has a score, or that is stored in its order."""

    score: Annotated[
        str | None, Parameter(help="Column whose order is the ranking, largest first, whatever the storage order.")
    ] = None
    ascending: Annotated[bool, Parameter(negative="", help="Small scores come first.")] = False
    key: Annotated[str | None, Parameter(help="Columns, separated by commas, whose hash breaks ties in score.")] = None
    file_order: Annotated[
        Literal["natural", "lexical"] | None, Parameter(help="Order of files where part_2 and part_10 make it unclear.")
    ] = None
    where: Annotated[
        str | None, Parameter(help="Condition on partition keys, in SQL: day >= '2026-11-01'. Other files are no part.")
    ] = None
    memory: Annotated[float, Parameter(help="GB that reading may take beyond what is selected.")] = 2.0
    threads: Annotated[Whole | None, Parameter(help="Readers at work at once (default: one per core).")] = None
    verify: Annotated[
        Literal["on", "off"],
        Parameter(help="Whether checksums and statistics are held against what is read; off reads damaged files."),
    ] = "on"

    def options(self) -> RankingOptions:
        """Return what the library takes."""
        from streameval.rows.options import RankingOptions

        values = {name: value for name, value in asdict(self).items() if value is not None}
        if self.key is not None:
            values["key"] = tuple(name.strip() for name in self.key.split(","))
        return RankingOptions(**values)


@Parameter(name="*")
@dataclass(frozen=True)
class RankingFlags(ListFlags):
    """What describes the ranking; kept in plan.json."""

    nan: Annotated[
        Literal["refuse", "last"] | None,
        Parameter(help="What becomes of scores that are null or NaN (default refuse)."),
    ] = None


@Parameter(name="*")
@dataclass(frozen=True)
class EngineFlags:
    """What runs the scans of a list; what they find does not depend on it."""

    engine: Annotated[str, Parameter(help="local (threads of this process), or spark.")] = "local"
    spark_remote: Annotated[
        str | None,
        Parameter(help="sc://HOST:15002 of a Spark Connect or Sail server (default: the session there is, or a new)."),
    ] = None

    def facts(self) -> dict[str, str | None]:
        """Name the engine and its server, for records: without names, tokens and settings that an address may hold."""
        address = re.sub(r"^(\w+://)?(?:[^/;@]*@)?([^/;?]*).*", r"\1\2", self.spark_remote or "")
        return {"engine": self.engine, "spark_remote": address or None}

    def create(self) -> Engine:
        """Return what the library takes."""
        from streameval.engines import create
        from streameval.errors import InputError

        if self.spark_remote is not None and self.engine != "spark":
            raise InputError("a Spark server was named, but another engine", "add --engine spark")
        return create(self.engine, {"remote": self.spark_remote})


@Parameter(name="*")
@dataclass(frozen=True)
class LabelFlags:
    """Which columns of a label table say what."""

    on: Annotated[
        str | None,
        Parameter(help="Column, or columns a,b, that say which item a row is about (default: se_task, se_rank, rank)."),
    ] = None
    label: Annotated[
        str, Parameter(help="Column with the label: 1/0, true/false, yes/no, or a grade; blank where there is none.")
    ] = "label"
    annotator: Annotated[
        str | None, Parameter(help="Column with who answered (default: annotator, where there is one).")
    ] = None
    time: Annotated[
        str | None,
        Parameter(help="Column with the moment: a later answer replaces the annotator's earlier (default: time)."),
    ] = None
    source: Annotated[
        str | None, Parameter(help="Column with the kind of annotator, for --prefer (default: source).")
    ] = None

    def options(self) -> dict[str, Any]:
        """Return what `streameval.evaluate` takes."""
        return asdict(self)


@Parameter(name="*")
@dataclass(frozen=True)
class JudgingFlags:
    """How votes become labels."""

    vote: Annotated[
        str, Parameter(help="majority, any, all or latest; with >=X for grades, such as 'mean>=3' (quote it).")
    ] = "majority"
    prefer: Annotated[
        str | None, Parameter(help="Sources, best first (person,llm): on each item only the best one's votes count.")
    ] = None
    label_error: Annotated[
        float, Parameter(help="Widen every bound for labels that are wrong with at most this probability.")
    ] = 0.0
    assume: Annotated[
        Literal["a2", "independent"] | None,
        Parameter(help="Of paula: read its labels under another assumption than the plan's."),
    ] = None
    strict: Annotated[
        bool, Parameter(negative="", help="Exit with 2 if anything is missing, doubled, contradictory or unreadable.")
    ] = False

    def options(self) -> dict[str, Any]:
        """Return what `streameval.evaluate` takes."""
        names = [name.strip() for name in self.prefer.split(",")] if self.prefer else []
        return {**asdict(self), "prefer": names}


@Parameter(name="*")
@dataclass(frozen=True)
class TaskFlags:
    """What an export holds."""

    remaining: Annotated[bool, Parameter(negative="", help="Export only items that have no label yet.")] = False
    repeats: Annotated[
        Whole, Parameter(help="Show so many of the tasks twice: whether people agree with themselves.")
    ] = 0
    controls: Annotated[
        str | None, Parameter(help="Table of items with a known label, put among the tasks: whether people are right.")
    ] = None
    question: Annotated[
        str | None, Parameter(help="What people are asked of every item, such as 'Do both mean the same?'.")
    ] = None
    yes: Annotated[str | None, Parameter(help="Word for a positive answer (default: yes to a question).")] = None
    no: Annotated[str | None, Parameter(help="Word for a negative answer (default: no to a question).")] = None

    def options(self) -> dict[str, Any]:
        """Return what `streameval.select` takes."""
        return asdict(self)
