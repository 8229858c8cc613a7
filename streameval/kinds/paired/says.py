"""Two rankings in words: which is better at which cutoff, and how surely."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import PurePath
from typing import Any

from streameval.kinds.first_rule import late_rule_sentence
from streameval.questions.cutoffs import Cutoff
from streameval.reporting.next_step import closer_bounds
from streameval.reporting.text import NOTHING, Columns, Text
from streameval.study.results import Result
from streameval.text import number_of, printable
from streameval.types import Plan

_CERTAIN = "These bounds are certain, as a changed item without a label counts as the worst for each of them"
_BETTER = {"b": "B", "a": "A"}


def subject(plan: Plan) -> str:
    """Say what a plan compares: B, the ranking that was planned, and A, the one that it is held against."""
    names = names_of(plan)
    return f"{names['b']} (B) against {names['a']} (A)"


def names_of(plan: Plan) -> dict[str, str]:
    """Say how people call the two rankings, "b" and "a"."""
    orders = {"b": plan.notes["order"], "a": plan.notes["against"]}
    by = {side: "stored order" if (score := order.get("score")) is None else f"order by {score}"
          for side, order in orders.items()}  # fmt: skip
    if "against" not in plan.location:
        return {side: f"the {order}" for side, order in by.items()}
    places = places_of(plan)
    unnamed = {"b": "the list", "a": "the other list"}
    return {side: f"{_short(places[side]) or unnamed[side]} in {by[side]}" for side in by}


def places_of(plan: Plan) -> dict[str, list[str]]:
    """Say what the two rankings, "b" and "a", were read from; none of a table in memory."""
    if "against" not in plan.location:
        return dict.fromkeys("ba", plan.read_from)
    copied = plan.location.get("against_copied", {})
    return {"b": plan.read_from, "a": copied.get("source") or plan.location["against"] or []}


def _short(source: Sequence[str]) -> str:
    """The last part of each place that a list was read from."""
    return ", ".join(printable(PurePath(place_read).name or place_read) for place_read in source)


def sentence(row: Mapping[str, Any]) -> str:
    """Say what is known of one cutoff: "at 10,000, B has 41 to 173 more positives than A".

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
    read = Cutoff.parse(cutoff)
    return f"{int(read.value):,}" if read.kind == "rank" else str(read).replace(":", " ")


def verdict(result: Result) -> str:
    """The sentence of every cutoff, those first that are decided."""
    rows = result.tables["differences"].to_pylist()
    decided = [row for row in rows if row["better"] in ("a", "b")]
    if len(rows) > 1 and not any(row["lower"] or row["upper"] for row in rows):
        differences = [f"at every cutoff, {_exactly(0)}"]
    else:
        differences = [*map(sentence, decided or rows[-1:])]
    answer = "; ".join(differences)
    return f"{answer[0].upper()}{answer[1:]}."


def promise(result: Result) -> str:
    """Say what holds of all cutoffs together, and what another rule said first."""
    return f"{_promise(result)} {late_rule_sentence(result.summary)}".rstrip()


def _promise(result: Result) -> str:
    claim = result.summary["claim"]
    if claim["coverage"] == "none":
        return (
            "These bounds prove nothing, because a ranking was made with labels that are reused here. Plan the "
            "comparison into another folder with a new seed: it counts those labels exactly, and its bounds hold."
        )
    if claim["confidence"] == 1.0:
        exact = all(row["lower"] == row["upper"] for row in result.tables["differences"].to_pylist())
        certain = "Exact: every item that changed sides has a label" if exact else _CERTAIN
        return f"{certain}{result.claim.if_right}. {result.caution}".rstrip()
    once = result.summary["parameters"]["look"] == "one"
    when = "" if once else ", whenever one looks"
    only = " They hold for one look at the labels. Missing labels only widen them." if once else ""
    held = f"The bounds at all cutoffs hold at once with {100 * claim['confidence']:.6g} % confidence{when}"
    return f"{held}{result.claim.condition}.{only} {result.caution}".rstrip()


def text(result: Result, plan: Plan | None = None, study: str = "STUDY") -> Text:
    """Say what is proven at every cutoff, and what to know of it."""
    rows = result.tables["differences"].to_pylist()
    head = ["cutoff", "only in B", "only in A", "drawn", "labelled", "B - A at least", "estimate", "at most", "better"]
    table = Columns(head, [*map(_cells, rows)])
    following = NOTHING if plan is None else closer_bounds(plan, result, study, places_of(plan))
    return Text(verdict(result), promise(result), table, [*_remarks(rows)], following)


def _cells(row: Mapping[str, Any]) -> list[str]:
    drawn, missing = (row[f"gains_{side}"] + row[f"losses_{side}"] for side in ("drawn", "missing"))
    estimate = "-" if row["estimate"] is None else f"{row['estimate']:,.0f}"
    numbers = (row["gains"], row["losses"], drawn, drawn - missing)
    return [place(row["cutoff"]), *(f"{count:,}" for count in numbers),
            f"{row['lower']:,}", estimate, f"{row['upper']:,}", _BETTER.get(row["better"], row["better"])]  # fmt: skip


def _remarks(rows: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    if any(row["gains_missing"] + row["losses_missing"] for row in rows):
        yield "An item without a label counts as the worst for each bound."
    if unknown := "; ".join(place(row["cutoff"]) for row in rows if row["estimate"] is None):
        yield f"There is no estimate at {unknown}: no item that only one side has is labelled."
    if uneven := [row for row in rows if row["items_a"] != row["items_b"]]:
        sizes = ((row["items_b"], row["items_a"], place(row["cutoff"])) for row in uneven)
        named = ", ".join(f"{b:,} in B and {a:,} in A at {at}" for b, a, at in sizes)
        yield f"The tops differ in size ({named}), so the difference is one of positives, not of precision."
    if any(row["better"] == "neither" for row in rows):
        yield "Neither: the bounds lie within the planned half-width around 0."
    decided = [row for row in rows if row["decided_after"] is not None]
    if decided:
        each = ", ".join(f"{number_of(row['decided_after'], 'label')} at {place(row['cutoff'])}" for row in decided)
        yield f"It took {each} to decide which is better."


def planned_lines(plan: Plan, labelled: int = 0) -> Iterator[str]:
    """Say what changed between two rankings, and how much of it is to be labelled or has a label already."""
    notes, items = plan.notes, plan.table.num_rows
    yield f"{subject(plan)}: {_to_label(items, labelled) if items else _nothing_to_label(plan)}"
    columns = ("cutoffs", "size_a", "size_b", "gains", "losses", "probability")
    together = 0.0
    for at, (cutoff, of_a, of_b, gains, losses, probability) in enumerate(zip(*map(notes.get, columns), strict=True)):
        alike = f"{(gains + losses) / 2 / max(of_b, 1):.1%} changed"
        share = f" ({alike if of_a == of_b else f'{of_b:,} in B, {of_a:,} in A'})"
        needed = probability * (gains + losses - _n_known(plan, at))
        labels = f"about {needed:,.0f} labels" if needed else "no label needed"
        together += needed
        yield f"  at {place(cutoff)}: {gains:,} only in B, {losses:,} only in A{share}: {labels}"
    if together > items + 1 and len(plan.notes["cutoffs"]) > 1:
        yield "Cutoffs share items, and a shared item is labelled once."
    yield from _shorter(plan)
    if items:
        yield _planned_width(plan)


def _to_label(items: int, labelled: int) -> str:
    """Say how many of the planned items people are asked about."""
    left = number_of(items - labelled, "item") if items > labelled else "nothing"
    had = f" {number_of(labelled, 'label')} more {'is' if labelled == 1 else 'are'} there already." * bool(labelled)
    return f"{left} to label, drawn from the items that only one of the two tops has.{had}"


def _n_known(plan: Plan, at: int) -> int:
    """Items that had a label before the draw, of those that changed sides at a cutoff."""
    if "known" not in plan.table.column_names:
        return 0
    was_known, first, second = (plan.table.column(name).to_numpy() for name in ("known", "first_a", "first_b"))
    return int((was_known & ((first <= at) != (second <= at))).sum())


def _shorter(plan: Plan) -> Iterator[str]:
    """Say so where a list ends before a cutoff: there all of it is its top."""
    for cutoff, a, b in zip(*(plan.notes[name] for name in ("cutoffs", "size_a", "size_b")), strict=True):
        if a != b and Cutoff.parse(cutoff).kind != "score":
            yield (f"{'A' if a < b else 'B'} has only {number_of(min(a, b), 'item')}. At larger cutoffs its top is "
                   "the whole list, and the bounds are on positives, not on precision.")  # fmt: skip
            return


def _nothing_to_label(plan: Plan) -> str:
    """Why a plan has no items."""
    notes = plan.notes
    if not any((*notes["gains"], *notes["losses"])):
        why = "both tops hold the same items at every cutoff"
        return f"nothing to label, as {why}, so B has exactly as many positives as A."
    within = plan.parameters["within"]
    wide = f"within ±{within}" if notes["size_a"] == notes["size_b"] else f"within ±{within} of the larger top"
    return f"nothing to label, as so few items changed that every difference is {wide}, whatever their labels."


def _planned_width(plan: Plan) -> str:
    """Say how wide the bounds are planned to be."""
    within, notes = plan.parameters["within"], plan.notes
    of = "precision" if (same := notes["size_a"] == notes["size_b"]) else "positives"
    wide = within if same else f"{within} of the larger top"
    return f"Planned half-width of the bounds on the difference in {of}: {wide}, at all cutoffs together."
