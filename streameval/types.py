"""The nouns that cross floors: what a plan, a set of labels and a claim hold.

`Curve` lives one floor up (`streameval.curve`) because it can compute; these only hold.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from streameval.notebook import Tabular, facts
from streameval.notebook import table as html_table
from streameval.text import identity
from streameval.typing import BoolArray, Int8Array, Int64Array

Coverage = Literal["exact", "conditional", "pointwise", "simultaneous", "none"]
STRENGTH: tuple[Coverage, ...] = ("none", "conditional", "pointwise", "simultaneous", "exact")
"""What holds, from the weakest to the strongest."""
TRUTH = "the truth"
MAY_BE_WRONG = "no item's label is wrong with probability above"
"""What a claim assumes of labels that need not be right."""
_RIGHT = "every label is right"
_THE_DRAW = re.compile(r"nothing of (the list|the lists|either list): only that .*?labelled(?:$|(?:;|,) and that )")
_ANY = {"the list": "any list", "the lists": "any two lists", "either list": "any two lists"}


class Promise(str):
    """A sentence that begins with the probability of a claim, which can be told anew when the claim is another one."""

    confidence: float
    says: str

    def __new__(cls, confidence: float, says: str) -> Promise:
        """Put the probability before what it is the probability of."""
        promise = super().__new__(cls, f"With probability {confidence:g}, {says}")
        promise.confidence, promise.says = confidence, says
        return promise

    def only(self, condition: str) -> Promise:
        """Put a condition, such as ", if it rains", before the full stop."""
        return Promise(self.confidence, f"{self.says.removesuffix('.')}{condition}.")


@dataclass(frozen=True)
class Claim:
    """Promise of a curve's bounds.

    Attributes:
        coverage: One of `STRENGTH`. "exact": lower = estimate = upper = truth; of tied items, the worst and the
            best order. "conditional": the bounds hold wherever `assumes` is true.
            "simultaneous": all ranks at once, with probability `confidence` over the draw; "pointwise": each condition
            of a question by itself, and the answer to all of them. "none": a picture, not a bound.
        confidence: Probability in (0, 1]; None where the claim is not probabilistic.
        assumes: One sentence: what has to be true of the list for the claim to hold.
        about: What the bounds are bounds of: `TRUTH`, or what the annotators would say
            (`streameval.labelling.answers`).
        why: A clause that says who gave how many labels and how far they agree; empty of the truth.
    """

    coverage: Coverage
    confidence: float | None
    assumes: str
    about: str = TRUTH
    why: str = ""

    @property
    def caution(self) -> str:
        """A sentence for after what is claimed, where that is not about the truth; else empty."""
        why = f" {self.why[:1].upper()}{self.why[1:]}." if self.why else ""
        return "" if self.about == TRUTH else f"This is a claim about the truth only if {_RIGHT}.{why}"

    @property
    def if_right(self) -> str:
        """Condition of a claim about the truth, for its end: ", if every label is right".

        Empty where nothing is claimed, where labels may be wrong with some probability, and of what annotators would
        say (`caution`).
        """
        otherwise = self.about != TRUTH or MAY_BE_WRONG in self.assumes or _RIGHT in self.assumes
        return "" if self.coverage == "none" or otherwise else f", if {_RIGHT}"

    @property
    def assumed(self) -> str:
        """All that has to be true for the claim to hold: of the list, of the draw and of the labels."""
        if not self.if_right:
            return self.assumes
        return f"that {_RIGHT}" if self.assumes == "nothing" else f"{self.assumes}, and that {_RIGHT}"

    @property
    def meaning(self) -> str:
        """Say what lower and upper bounds are, in a clause: "the bounds hold at every rank at once …"."""
        chance = "" if self.confidence is None else f" with {100 * self.confidence:.6g} % confidence"
        of = "" if self.about == TRUTH else f" on {self.about}"
        return {
            "exact": f"every value is exact{of and f' for {self.about}'}",
            "conditional": f"the bounds{of} hold only under an assumption{chance and f', then{chance}'}",
            "simultaneous": f"the bounds{of} hold at every rank at once{chance}",
            "pointwise": f"each of the bounds{of} holds by itself{chance}",
            "none": f"the bounds{of} prove nothing",
        }[self.coverage]

    @property
    def condition(self) -> str:
        """Say when what is claimed holds, for its end: ", for any list, if every label is right".

        The draw, of which `assumes` speaks too, is the program's own. Empty where nothing is claimed.
        """
        if self.coverage == "none":
            return ""
        if self.coverage == "conditional":
            return f": {self.assumes}{'. Every label is taken to be right' if self.if_right else ''}"
        draw, rest = _THE_DRAW.match(self.assumes), self.assumes
        if draw is not None:
            rest = rest[draw.end() :]
        elif rest.startswith(("nothing", "every item")):
            rest = ""
        elif not rest.startswith((MAY_BE_WRONG, "that ")):
            return f" (assumed: {self.assumed})"
        needed = [_RIGHT] * bool(self.if_right) + [rest.removeprefix("that ")] * bool(rest)
        anything = draw is not None or rest.startswith("that ")
        of = f", for {_ANY[draw[1]] if draw else 'any list'}" if anything else ""
        return of + (f", if {' and '.join(needed)}" if needed else "")

    @property
    def promise(self) -> str:
        """Say what is claimed, and when it holds, in one sentence."""
        return f"{self.meaning[0].upper()}{self.meaning[1:]}{self.condition}."

    def as_dict(self) -> dict[str, Any]:
        """Return the claim as JSON-ready values."""
        return dict(self.__dict__)


@dataclass(frozen=True)
class SliceRecord:
    """A slice of a plan, as plan.json has it: a list of its own, with what differs from the whole plan's parameters."""

    name: str
    n_items: int
    seed: int
    parameters: Mapping[str, Any]
    notes: Mapping[str, Any]


SIDE_TABLES = {"slice_counts": "marks", **{name: name for name in ("judge_counts", "judge_sample", "known", "ahead")}}
"""Tables that a plan may have beside its own: the name of each one's file in a study, and its field in `Plan`."""


@dataclass(frozen=True)
class Plan(Tabular):
    """The ranks to label: the record of what was drawn, never regenerated from the seed.

    Attributes:
        method: Name of the method (`streameval.methods`).
        parameters (mapping of str to JSON values): The method's parameters, as typed (ε is kept as its decimal text).
        n_items: Items in the ranking.
        seed: Seed of the draw; methods that draw nothing keep it for the shuffle of the tasks.
        ranking (mapping of str to JSON values): What the ranking is (fingerprint, order, score …); empty for a plan of
            a bare N.
        table: `rank` int64, strictly increasing, 1-based; `stratum` int32, numbered from 0 by rank; then columns of the
            method's own.
        notes (mapping of str to JSON values): What the method wants remembered about the plan, for itself. What others
            ask of a plan lies there too, and has a property below.
        location (mapping of str to JSON values): Where the ranking lies and how to read it (source, file order, memory,
            threads), and where labels came from that the plan was made with; no part of `plan_id`, so that a lake may
            move.
        marks: Of a plan by slices: how many items of each slice are among the first items of the list
            (`streameval.slices.pool.marks_table`).
        judge_counts: Of a plan with a judge: `stratum_last` int64, `judge_class` int8, `items` int64, how many items of
            each block are in each class (`streameval.judges.classes`); `table` then has `judge_class` too.
        judge_sample: `rank` int64 of what a judge is asked about, or of all that may yet be planned; once it has
            answered, `judge_class` int8 too.
        known, ahead: Of a question: `rank` int64 and `label` int8 (-1 of what was skipped) of items that were known
            before it was planned; and the items that were drawn and are not asked for yet
            (`streameval.sequential.DrawnItems`).
        kind: Name of the kind of study (`streameval.kinds`); a method, and a curve, have only those of one ranking.
    """

    method: str
    parameters: Mapping[str, Any]
    n_items: int
    seed: int
    table: pa.Table
    ranking: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    location: Mapping[str, Any] = field(default_factory=dict)
    marks: pa.Table | None = None
    judge_counts: pa.Table | None = None
    judge_sample: pa.Table | None = None
    known: pa.Table | None = None
    ahead: pa.Table | None = None
    kind: str = "curve"

    def __repr__(self) -> str:
        labels = self.table.num_rows
        return f"<Plan by {self.method}: {labels:,} of {self.n_items:,} items to label, seed {self.seed}>"

    @property
    def ranks(self) -> Int64Array:
        """Planned ranks, int64, strictly increasing."""
        return np.asarray(self.table.column("rank").to_numpy())

    @property
    def side_tables(self) -> dict[str, pa.Table]:
        """Tables beside the plan's own, by the name of their file in a study."""
        return {
            name: table for name, attribute in SIDE_TABLES.items() if (table := getattr(self, attribute)) is not None
        }

    @cached_property
    def plan_id(self) -> str:
        """Sixteen hex digits, no number, that differ whenever anything that was planned differs."""
        digest = hashlib.sha256(json.dumps(self.header(), sort_keys=True).encode())
        for table in (self.table, *self.side_tables.values()):
            for name in table.column_names:
                digest.update(name.encode())
                for part in _content(table.column(name).combine_chunks()):
                    digest.update(part)
        return identity(digest.hexdigest())

    @property
    def study_ids(self) -> tuple[str, ...]:
        """`plan_id` of this plan and of the smaller ones that it grew from: tasks of all of them are its tasks."""
        return (self.plan_id, *self.notes.get("grown_from", ()))

    @property
    def grown(self) -> bool:
        """Tell whether the plan has grown beyond the one that was first made."""
        return "grown_from" in self.notes

    @property
    def grown_by(self) -> Sequence[Mapping[str, Any]]:
        """Requests by which the plan grew (`streameval.verbs.grow`)."""
        formerly = {"labels": "budget", "half_width": "alpha"}  # of earlier versions, which had `rest` too
        return tuple(
            {formerly.get(name, name): value for name, value in request.items() if name != "rest"}
            for request in self.notes.get("grown_by", ())
        )

    @property
    def look(self) -> int:
        """The look that the plan is for, from 1."""
        return int(self.notes.get("look", 1))

    @property
    def unknown_tail(self) -> int:
        """Tell how many of the last ranks the method leaves unknown, whatever the labels."""
        return int(self.notes.get("unknown_tail", 0))

    @property
    def labels_seen_by_model(self) -> bool:
        """Tell whether the ranking's order depends on labels that were reused, so that a draw from it is not random."""
        return bool(self.notes.get("labels_seen_by_model", False))

    @property
    def by(self) -> str | None:
        """Column of the slices; None where the plan has none."""
        return self.notes.get("by")

    @property
    def questions(self) -> tuple[str, ...]:
        """Say what is asked, as it prints; nothing where the whole curve is."""
        return tuple(self.notes.get("questions", ()))

    @property
    def draw_by(self) -> tuple[str, ...]:
        """Columns by whose hash items were drawn; none where they were not."""
        return tuple(self.notes.get("draw_by", ()))

    @property
    def key_columns(self) -> tuple[str, ...]:
        """Columns that tell items apart: those that order ties or the draw, or that name one of many rankings."""
        return tuple(dict.fromkeys([*self.ranking.get("key", ()), *self.draw_by, *self.notes.get("per", ())]))

    @property
    def slices(self) -> tuple[SliceRecord, ...]:
        """The slices, the largest first."""
        return tuple(SliceRecord(**record) for record in self.notes.get("slices", ()))

    @property
    def read_from(self) -> list[str]:
        """Source of its list: its place, or that of which the study holds a copy; none if it is in memory."""
        return self.location.get("copied", self.location).get("source") or []

    def with_notes(self, **notes: Any) -> Plan:
        """Return the plan with more to remember."""
        return replace(self, notes={**self.notes, **notes})

    def header(self) -> dict[str, Any]:
        """Everything but the table and the location, as JSON-ready values."""
        return {
            "method": self.method,
            "parameters": dict(self.parameters),
            "n_items": self.n_items,
            "seed": self.seed,
            "ranking": dict(self.ranking),
            "notes": dict(self.notes),
        }

    def _repr_html_(self) -> str:
        """Show in a notebook how much is to be labelled, and what speaks against it."""
        labels = self.table.num_rows
        shown: dict[str, object] = {
            "items": f"{self.n_items:,}",
            "to label": f"{labels:,} ({labels / self.n_items:.2%})",
        }
        shown |= {"method": self.method, "seed": self.seed, **({"slices by": self.by} if self.by else {})}
        return facts("Plan", {**shown, **({"doubt": self.location["doubt"]} if "doubt" in self.location else {})})


def _content(column: pa.Array) -> Iterator[bytes]:
    """The bytes of a column, however its table was cut."""
    if pa.types.is_list(column.type):  # by lengths and values: offsets depend on the cut
        yield np.ascontiguousarray(column.value_lengths().to_numpy()).tobytes()
        column = column.flatten()
    if pa.types.is_string(column.type):
        yield json.dumps(column.to_pylist()).encode()
    else:
        yield np.ascontiguousarray(column.to_numpy(zero_copy_only=False)).tobytes()


@dataclass(frozen=True)
class Labels(Tabular):
    """Label of each planned rank, in the plan's order, and an account of every row that came in.

    Attributes:
        rank: int64 array, shape (n_planned,).
        label (int8 array, shape (n_planned,)): 1 positive, 0 negative, -1 no label (never answered, skipped, or votes
            that tie).
        votes, positive_votes: int64 arrays, shape (n_planned,).
        account (mapping of str to int): Planned, labelled, missing, doubled, contradictory … (see
            `streameval.labelling.tally`).
        about, why: Whose answers they are, as in `Claim`.
        error_rate: Share of wrong labels that their disagreement suggests; 0 where it suggests none.
    """

    rank: Int64Array
    label: Int8Array
    votes: Int64Array
    positive_votes: Int64Array
    account: Mapping[str, int] = field(default_factory=dict)
    about: str = TRUTH
    why: str = ""
    error_rate: float = 0.0

    @property
    def known(self) -> BoolArray:
        """True where there is a label."""
        return np.asarray(self.label >= 0)

    @property
    def table(self) -> pa.Table:
        """`rank` int64, `label` int8 (null where there is none), `votes` int64, `positive_votes` int64."""
        return pa.table(
            {
                "rank": self.rank,
                "label": pa.array(self.label, mask=~self.known),
                "votes": self.votes,
                "positive_votes": self.positive_votes,
            }
        )

    def _repr_html_(self) -> str:
        """Show the account in a notebook."""
        counts = {
            "planned": self.label.size,
            "labelled": int(self.known.sum()),
            "positive": int(np.sum(self.label == 1)),
        }
        rows = [[key, f"{value:,}"] for key, value in {**counts, **self.account}.items()]
        return html_table("Labels", ["account", "ranks"], rows)

    def __repr__(self) -> str:
        labelled, positive = int(self.known.sum()), int(np.sum(self.label == 1))
        return f"<Labels of {labelled:,} of {self.label.size:,} planned items, {positive:,} positive>"

    @staticmethod
    def of(plan: Plan, label: npt.ArrayLike) -> Labels:
        """One vote per planned rank.

        Args:
            label (array-like of {1, 0, -1}, shape (n_planned,)): In the plan's order; -1 where there is no label.
        """
        values = np.asarray(label, dtype=np.int8)
        votes = (values >= 0).astype(np.int64)
        return Labels(plan.ranks, values, votes, (values == 1).astype(np.int64))
