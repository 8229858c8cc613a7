"""`streameval cost`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from streameval.cli.methods import MethodFlags
from streameval.cli.options import Whole
from streameval.cli.output import Output
from streameval.cli.picture import columns
from streameval.cli.planning import CostAgainstFlags, QuestionFlags, Questions
from streameval.cli.ranking import CountedFlags
from streameval.errors import InputError


def cost(
    *ranking: str,
    items: Whole | None = None,
    price_per_label: float | None = None,
    sample_size: Whole | None = None,
    questions: Questions = None,
    question: QuestionFlags = QuestionFlags(),
    against: CostAgainstFlags = CostAgainstFlags(),
    parameters: MethodFlags = MethodFlags(),
    flags: CountedFlags = CountedFlags(),
    output: Output = Output(),
) -> None:
    """Count the labels that each method asks for, and the half-width they are planned for.

    Example: streameval cost --items 2000000000 --alpha 0.05 --price-per-label 0.05
    Example: streameval cost --items 2000000000 --budget 10000
    Example: streameval cost ranking/
    Example: streameval cost --items 2000000000 --for "precision@1000000 >= 0.9"
    Example: streameval cost --items 2000000000 --against 80% --at 10000,1000000

    Args:
        ranking: The list, as for plan: its rows are counted.
        items: Items in a list that is not at hand.
        price_per_label: Adds what the labels cost.
        sample_size: Say too what a uniform sample of this size is worth that somebody else drew (streameval adopt).
    """
    from streameval.verbs.cost import cost as verb
    from streameval.verbs.cost import worth

    if (items is None) != bool(ranking):
        what = "a list and a number of items were given" if ranking else "neither a list nor a number of items is given"
        raise InputError(what, "cost ranking/, or cost --items 2e9")
    given = (
        parameters.given()
        | question.changed()
        | against.changed()
        | ({} if questions is None else {"questions": questions})
    )
    costs = verb(items if items is not None else list(ranking), options=flags.options(),
                 price_per_label=price_per_label, **given)  # fmt: skip
    items, rows = costs.n_items, costs.methods
    if questions is not None or "against" in given:
        closing = _BOTH if questions is None else _wrong(given.get("confidence", 0.95))
        output.say({"items": items, "methods": rows}, [*_by_case(rows, price_per_label), closing])
        return
    head = ["method", "labels", "half-width", "claim", *(["price"] if price_per_label is not None else [])]
    lines = columns(head, [_cost_row(row, price_per_label) for row in rows])
    lines += [f"{row['method']}: {row['refused']}" for row in rows if "refused" in row]
    lines += [line for row in rows for line in _by_stage(row)]
    result: dict[str, Any] = {"items": items, "methods": rows}
    if sample_size is not None:
        wanted = parameters.given()
        result["adopted"] = worth(items, sample_size, wanted.get("confidence"), wanted.get("min_precision"))
        lines += ["", *_worth(result["adopted"])]
    output.say(result, [*lines, "", *_COST_NOTES])


_BOTH = "Only what changed is labelled; bounds on the difference in precision lie within --within at every cutoff."


def _wrong(confidence: float) -> str:
    """How seldom the answer to a question is wrong."""
    from streameval.kinds.question.says import seldom

    return f"An answer is wrong {seldom(confidence)}."


def _by_case(rows: Sequence[dict[str, Any]], price: float | None) -> list[str]:
    """What questions and comparisons take, case by case."""
    names = ["labels", "nine_in_ten", "most"]
    head = ["case", "labels", "nine times in ten", "at most", *(["price"] if price is not None else [])]
    told = [row for row in rows if any(row[name] is not None for name in names) or row["case"].startswith("if ")]
    cells = [[row["case"], *("-" if row[name] is None else f"{row[name]:,}" for name in names),
              *([f"{row['price']:,.2f}" if "price" in row else "-"] if price is not None else [])]
             for row in told]  # fmt: skip
    return [
        *(_untold(row) for row in rows if row not in told),
        *(columns(head, cells) if cells else []),
    ]


def _untold(row: dict[str, Any]) -> str:
    """What is said of a case without numbers: why it has none, or the case itself."""
    return f"{row['case']}: {row['refused']}." if "refused" in row else f"{row['case'][:1].upper()}{row['case'][1:]}."


def _by_stage(row: dict[str, Any]) -> list[str]:
    """How many labels there are in all after each stage."""
    if "stages" not in row:
        return []
    shown = [f"stage {one['stage']}: {one['labels']:,} (~{one['half_width']:.2%})" for one in row["stages"]]
    return ["", f"{row['method']}, labels in all and half-width by stage: {'; '.join(shown)}"]


def _worth(sample: dict[str, Any]) -> list[str]:
    """What a sample that was drawn elsewhere is worth."""
    widths = ", ".join(f"~{one['half_width']:.2%} at rank {one['rank']:,}" for one in sample["half_widths"])
    ours = sample["loguniform"]
    return [
        f"A uniform sample of {sample['labels']:,} drawn elsewhere: half-width {widths}; it says little before rank "
        f"{sample['begins']:,}.",
        *([] if ours is None else [f"loguniform with as many labels: ~{ours:.2%} at every rank."]),
    ]


_COST_NOTES = (
    "Half-widths are relative to precision. A forecast (~) depends on labels not yet seen: it is for lists that keep",
    "--min-precision. conditional: true only where the PAULA paper's assumptions are; simultaneous: at every rank at",
    "once with probability --confidence, whatever the list.",
)


def _cost_row(row: dict[str, Any], price: float | None) -> list[str]:
    if row["labels"] is None:
        return [row["method"], "-", "-", "-", *(["-"] if price is not None else [])]
    half_width = f"{'~' if row['forecast'] else ''}{row['accuracy']:.2%}" if row["accuracy"] < 0.9999 else "over 100%"
    cells = [row["method"], f"{row['labels']:,}", half_width, row["claim"]]
    return cells + ([f"{row['price']:,.2f}"] if price is not None else [])
