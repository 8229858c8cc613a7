"""Two rankings in words: which is better at which cutoff, and how surely."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from streameval.questions.comparing import MOST_CUTOFFS
from streameval.questions.cutoffs import Cutoff
from streameval.reporting.said import Columns, Told
from streameval.study.results import Result
from streameval.text import number_of, printable
from streameval.types import Plan

_CERTAIN = "These bounds are certain: a changed item without a label counts as what is worst for each of them."
_BETTER = {"b": "B", "a": "A", "neither": "neither", "open": "-"}


def subject(plan: Plan) -> str:
    """What a plan compares: B, the ranking that was planned, and A, the one that it is held against."""
    names = names_of(plan)
    return f"{names['b']} (B) against {names['a']} (A)"


def names_of(plan: Plan) -> dict[str, str]:
    """How people call the two rankings, "b" and "a"."""
    orders = {"b": plan.notes["order"], "a": plan.notes["against"]}
    by = {side: "stored order" if (score := one.get("score")) is None else f"order by {score}"
          for side, one in orders.items()}  # fmt: skip
    if "against" not in plan.location:
        return {side: f"the {order}" for side, order in by.items()}
    copied = plan.location.get("against_copied", {})
    places = {"b": plan.read_from, "a": copied.get("source") or plan.location["against"] or []}
    unnamed = {"b": "the list", "a": "the other list"}
    return {side: f"{_short(places[side]) or unnamed[side]} in {by[side]}" for side in by}


def _short(source: Sequence[str]) -> str:
    """The last part of each place that a list was read from."""
    return ", ".join(printable(PurePath(one).name or one) for one in source)


def shown(cutoffs: Sequence[str]) -> list[int]:
    """Which of some cutoffs tables and figures show: of every rank, powers of ten and the last one.

    >>> shown(["100", "score:0.5"])
    [0, 1]
    >>> shown([str(rank) for rank in range(1, 235)])
    [0, 9, 99, 233]
    """
    if len(cutoffs) <= MOST_CUTOFFS:
        return list(range(len(cutoffs)))
    last = len(cutoffs) - 1
    return [at for at, one in enumerate(cutoffs) if at == last or one == f"1{'0' * (len(one) - 1)}"]


def shown_rows(found: Result) -> list[dict[str, Any]]:
    """The rows of the table of differences that are shown."""
    differences = found.tables["differences"]
    rows: list[dict[str, Any]] = differences.take(shown(differences.column("cutoff").to_pylist())).to_pylist()
    return rows


def sentence(row: Mapping[str, Any]) -> str:
    """What is known of one cutoff: "at 10,000, B has 41 to 173 more positives than A".

    >>> sentence({"cutoff": "10000", "lower": 41, "upper": 173})
    'at 10,000, B has 41 to 173 more positives than A'
    >>> sentence({"cutoff": "score:0.7", "lower": -9, "upper": -2})
    'at score 0.7, B has 2 to 9 fewer positives than A'
    >>> sentence({"cutoff": "1%", "lower": -3, "upper": 12})
    'at 1%, B has between 3 fewer and 12 more positives than A'
    """
    low, high, at = row["lower"], row["upper"], place(row["cutoff"])
    if low == high:
        return f"at {at}, {_exactly(low)}"
    if low >= 0:
        return f"at {at}, B has {low:,} to {high:,} more positives than A"
    if high <= 0:
        return f"at {at}, B has {-high:,} to {-low:,} fewer positives than A"
    return f"at {at}, B has between {-low:,} fewer and {high:,} more positives than A"


def _exactly(difference: int) -> str:
    if not difference:
        return "B has as many positives as A"
    return f"B has exactly {abs(difference):,} {'more' if difference > 0 else 'fewer'} {_positives(difference)} than A"


def _positives(count: int) -> str:
    return "positive" if abs(count) == 1 else "positives"


def place(cutoff: str) -> str:
    """A cutoff as a sentence has it."""
    read = Cutoff.of(cutoff)
    return f"{int(read.value):,}" if read.kind == "rank" else str(read).replace(":", " ")


def verdict(found: Result) -> str:
    """The sentence of every cutoff, those first that are decided."""
    rows = shown_rows(found)
    decided = [row for row in rows if row["better"] in ("a", "b")]
    if len(rows) > 1 and not any(row["lower"] or row["upper"] for row in rows):
        differences = [f"at every cutoff, {_exactly(0)}"]
    else:
        differences = [*map(sentence, decided or rows[-1:])]
    said = "; ".join([*differences, *measure_sentences(found)])
    return f"{said[0].upper()}{said[1:]}."


def measure_sentences(found: Result) -> list[str]:
    """Of every measure that weighs items by rank, by how much that of B is larger, and what the largest is."""
    return [f"the {row['measure'].replace('@', ' at ')} of B less that of A lies within {row['lower']:.4g} … "
            f"{row['upper']:.4g}, where one of positives alone has {row['whole']:.4g}"
            for row in found.tables["measures"].to_pylist()]  # fmt: skip


def promise(found: Result) -> str:
    """What holds of all cutoffs together."""
    claim = found.summary["claim"]
    if claim["coverage"] == "none":
        return ("These bounds promise nothing: a ranking was made with labels that are reused here. Planned anew into "
                "another folder, with a seed of its own, those are counted exactly, and bounds hold.")  # fmt: skip
    if claim["confidence"] == 1.0:
        exact = all(row["lower"] == row["upper"] for row in found.tables["differences"].to_pylist())
        return "Exact: every item that changed sides has a label." if exact else _CERTAIN
    where = "every rank" if found.summary.get("every") else "all cutoffs"
    return (f"The bounds at {where} hold together with probability {claim['confidence']:g}, "
            f"whenever they are looked at; assumed: {claim['assumes']}.")  # fmt: skip


def told(found: Result) -> Told:
    """Say what is proven at every cutoff, and what to know of it."""
    rows = shown_rows(found)
    head = ["cutoff", "only in B", "only in A", "drawn", "labelled", "B - A at least", "estimate", "at most", "better"]
    table = Columns(head, [_cells(row) for row in rows])
    return Told(f"{verdict(found)} {promise(found)}", table, [*_remarks(rows), *_of_every(found)])


def _cells(row: Mapping[str, Any]) -> list[str]:
    drawn = row["gains_drawn"] + row["losses_drawn"]
    labelled = drawn - row["gains_missing"] - row["losses_missing"]
    estimate = "-" if row["estimate"] is None else f"{row['estimate']:,.0f}"
    numbers = (row["gains"], row["losses"], drawn, labelled)
    return [place(row["cutoff"]), *(f"{one:,}" for one in numbers),
            f"{row['lower']:,}", estimate, f"{row['upper']:,}", _BETTER[row["better"]]]  # fmt: skip


def _remarks(rows: list[dict[str, Any]]) -> Iterator[str]:
    missing = sum(row["gains_missing"] + row["losses_missing"] for row in rows)
    if missing:
        yield "An item without a label counts as what is worst for each bound."
    if uneven := [row for row in rows if row["items_a"] != row["items_b"]]:
        sizes = ((row["items_b"], row["items_a"], place(row["cutoff"])) for row in uneven)
        named = ", ".join(f"{b:,} in B and {a:,} in A at {at}" for b, a, at in sizes)
        yield f"The tops are of different sizes ({named}): the difference counts positives, and is none of precision."
    if any(row["better"] == "neither" for row in rows):
        yield "Neither: the bounds lie within the planned half-width around 0."
    decided = [row for row in rows if row["decided_after"] is not None]
    if decided:
        each = ", ".join(f"{number_of(row['decided_after'], 'label')} at {place(row['cutoff'])}" for row in decided)
        yield f"Which is better was certain after {each}."
    yield "These labels are of what changed between the two rankings; they give no curve of either."


def _of_every(found: Result) -> Iterator[str]:
    if found.summary.get("every"):
        yield "Every rank has bounds: ask show and check for gain@K and precision_gain@K, whatever K is."


def planned_lines(plan: Plan) -> Iterator[str]:
    """What changed between two rankings, and what is to be labelled of it."""
    notes, labels = plan.notes, plan.table.num_rows
    told = f"{number_of(labels, 'item')} to label, of those that one top holds and the other does not."
    yield f"{subject(plan)}: {told if labels else _nothing_to_label(plan)}"
    columns = ("cutoffs", "size_a", "size_b", "gains", "losses", "probability")
    each = list(zip(*map(notes.get, columns), strict=True))
    for cutoff, of_a, of_b, gains, losses, probability in (each[at] for at in shown(notes["cutoffs"])):
        alike = f"{(gains + losses) / 2 / max(of_b, 1):.1%} changed"
        share = f" ({alike if of_a == of_b else f'{of_b:,} in B, {of_a:,} in A'})"
        labelled = f"about {probability * (gains + losses):,.0f} labels" if probability else "no label needed"
        yield f"  at {place(cutoff)}: {gains:,} only in B, {losses:,} only in A{share}: {labelled}"
    for one in notes.get("measures", ()):
        expected = sum(rate * items for rate, items in zip(one["rates"], one["items"], strict=True))
        yield f"  {one['name']}: {sum(one['items']):,} count differently in B and in A: about {expected:,.0f} labels"
    if labels:
        yield _planned_width(plan)


def _nothing_to_label(plan: Plan) -> str:
    """Why a plan has no items."""
    notes = plan.notes
    if "measures" in notes:
        return "nothing to label: of what changed, nothing was drawn."
    if not any((*notes["gains"], *notes["losses"])):
        why = "both tops hold the same items at every cutoff"
        return f"nothing to label, as {why}: B has exactly as many positives as A."
    within = plan.parameters["within"]
    wide = f"within ±{within}" if notes["size_a"] == notes["size_b"] else f"within ±{within} of the larger top"
    return f"nothing to label, as so few items changed that every difference is {wide}, whatever they are."


def _planned_width(plan: Plan) -> str:
    """How wide the bounds are planned to be."""
    within, notes = plan.parameters["within"], plan.notes
    of = "precision" if (same := notes["size_a"] == notes["size_b"]) else "positives"
    wide = within if same else f"{within} of the larger top"
    where = "every rank" if "bounded" in notes else "all cutoffs"
    return f"Planned half-width of the bounds on the difference in {of}: {wide}, at {where} together."
