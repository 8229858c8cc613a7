"""Cost: how many labels each method would ask for, and how good they would be."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any

from streameval.errors import InputError
from streameval.kinds import kind_for
from streameval.methods import (
    create,
    parameters_of_any,
)
from streameval.notebook import Tabular
from streameval.options import takes
from streameval.questions.asking import Asking
from streameval.questions.comparing import Comparing
from streameval.rows.options import RankingOptions, described

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Costs(Tabular):
    """What each method costs on a list of `n_items`: one dict per method, and the `table` of what all methods have."""

    methods: tuple[dict[str, Any], ...]
    n_items: int

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.methods)

    @property
    def table(self) -> pa.Table:
        """`method`, `labels`, `accuracy`, `forecast`, `claim`, `price` and `refused`; null where a method has none."""
        import pyarrow as pa  # what a list costs is told in milliseconds, without it

        kinds = {"method": pa.string(), "labels": pa.int64(), "accuracy": pa.float64(), "forecast": pa.bool_(),
                 "claim": pa.string(), "price": pa.float64(), "refused": pa.string()}  # fmt: skip
        return pa.table({name: pa.array([row.get(name) for row in self.methods], kind) for name, kind in kinds.items()})


@takes(RankingOptions, Asking, Comparing, more=parameters_of_any)
def cost(
    items: Any, *, options: RankingOptions | None = None, price_per_label: float | None = None, **parameters: Any
) -> Costs:
    """Count the labels that each method asks for on a list of `items`, and the half-width they are planned for.

    Args:
        items: N; or a ranking, as for `plan`, whose items are counted.
        options: What describes that ranking; each of its fields may be given by itself, as `score`.
        price_per_label: Adds `price` = labels × price.
        **parameters: Fields of `RankingOptions`, and parameters of any method; each takes those it knows. With
            `budget`, each says what half-width it reaches. With `questions` (and other fields of `Asking`), what a
            study of these takes, case by case, and the whole curve beside it. With `against`, the share of their tops
            that two rankings have in common ("80%"), and other fields of `Comparing`: what their comparison takes.

    Returns:
        Costs: One dict per method, with a table of them all: `method`, `labels`, `accuracy` (half-width relative to
            precision), `forecast` (whether that depends on labels not yet seen), `claim`, and constants of the
            method's own. A method that cannot keep the parameters has `labels` None and says why in `refused`.

    Raises:
        InputError: A parameter that no method knows, alpha beside budget, a value out of range, or parameters that no
            method can keep.
    """
    priced(0, price_per_label)
    asked = described(options, parameters)
    given = {key: value for key, value in parameters.items() if value is not None}
    kind = kind_for("cost", given)
    if isinstance(items, Integral | float):
        return Costs(_priced(kind.costs(int(items), None, given), price_per_label), int(items))
    from streameval.copies.write import for_a_while
    from streameval.rankings import open_ranking

    with for_a_while(items, asked) as source:
        opened = open_ranking(source, asked)
        return Costs(_priced(kind.costs(opened.n_items, opened, given), price_per_label), opened.n_items)


def _priced(rows: Sequence[dict[str, Any]], price: float | None) -> tuple[dict[str, Any], ...]:
    """Add what labels cost."""
    if price is None:
        return tuple(rows)
    return tuple(row if row["labels"] is None else {**row, "price": priced(row["labels"], price)} for row in rows)


def priced(labels: int, price_per_label: float | None) -> float | None:
    """What labels cost; None where no price was given, and an `InputError` for one that is none."""
    if price_per_label is None:
        return None
    if not 0 <= price_per_label < float("inf"):
        raise InputError(f"--price-per-label is {price_per_label}, not a price")
    return labels * price_per_label


def worth(
    items: int, adopted: int, confidence: float | None = None, min_precision: float | None = None
) -> dict[str, Any]:
    """Say what a uniform sample that somebody else drew is worth, beside a plan of ours with as many labels.

    Args:
        items: N.
        adopted: Labels of the sample.

    Returns:
        dict: `labels`; `begins`, the rank before which ten draws are not expected; `half_widths`, by rank, relative to
            precision: forecasts for lists of `min_precision`; `loguniform`, that of our plan at every rank;
            None where no plan is as small.

    Raises:
        InputError: `adopted` is not in 1..`items`.
    """
    from streameval.methods.adopted.worth import worth_of_uniform

    if not 1 <= adopted <= items:
        raise InputError(f"a sample of {adopted:,} items cannot be drawn of {items:,}")
    sample = worth_of_uniform(items, adopted, confidence or 0.95, min_precision or 0.5)
    ours = create("loguniform", {"budget": adopted, "confidence": confidence, "min_precision": min_precision})
    try:
        return {**sample, "loguniform": ours.cost(items)["accuracy"]}
    except InputError:
        return {**sample, "loguniform": None}
