"""Cost: how many labels each method would ask for, and how good they would be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streameval.copies.write import for_a_while
from streameval.errors import InputError, check_price
from streameval.kinds import kind_for
from streameval.methods import create
from streameval.methods.adopted.designs import DrawValue
from streameval.methods.options import MethodOptions
from streameval.notebook import Tabular
from streameval.options import takes
from streameval.printed import Printed
from streameval.questions.asking import Asking
from streameval.questions.comparing import Comparing
from streameval.rankings import open_ranking
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.text import Columns, Paragraph
from streameval.rows.options import RankingOptions, take_ranking_options
from streameval.text.options import flag

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True, repr=False)
class Costs(ShowsItself, Tabular):
    """Costs of each method on a list of `n_items`: a dict per method, and a `table` of what all methods have.

    Attributes:
        notes: What the numbers mean.
        adopted: What a uniform sample that somebody else drew is worth, where its size was given (`drawn`).
    """

    methods: tuple[dict[str, Any], ...]
    n_items: int
    notes: Sequence[str] = ()
    adopted: dict[str, Any] | None = None

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return iter(self.methods)

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """A row for each method, or for each case of a question or a comparison."""
        rows, priced = self.methods, ["price"] * any("price" in row for row in self.methods)
        if "case" in rows[0]:
            return [*_by_case(rows, priced), *self.notes]
        head = ["method", "labels", "half-width", "claim", *priced]
        refused = [f"{row['method']}: {row['refused']}" for row in rows if "refused" in row]
        stages = [line for row in rows for line in _by_stage(row)]
        adopted = [] if self.adopted is None else ["", *_worth_lines(self.adopted)]
        return [Columns(head, [_cost_row(row, priced) for row in rows]), *refused, *stages, *adopted, "", *self.notes]

    @property
    def table(self) -> pa.Table:
        """`method`, `labels`, `accuracy`, `forecast`, `claim`, `price` and `refused`; null where a method has none."""
        import pyarrow as pa  # what a list costs is told in milliseconds, without it

        kinds = {"method": pa.string(), "labels": pa.int64(), "accuracy": pa.float64(), "forecast": pa.bool_(),
                 "claim": pa.string(), "price": pa.float64(), "refused": pa.string()}  # fmt: skip
        return pa.table({name: pa.array([row.get(name) for row in self.methods], kind) for name, kind in kinds.items()})


@takes(
    RankingOptions,
    MethodOptions,
    Asking,
    Comparing,
    # what neither a list that is only counted nor rankings that are not at hand need
    in_python=("key", "nan", "memory", "threads", "verify", "against_score", "engine"),
)
def cost(
    ranking: Any = None,
    *,
    items: int | None = None,
    method: str | tuple[str, ...] | Sequence[str] | None = None,
    options: RankingOptions | None = None,
    price_per_label: float | None = None,
    judge: str | None = None,
    drawn: str | None = None,
    **parameters: Any,
) -> Costs:
    """Forecast the labels.

    Of each method, with the half-width that they are planned for; or of a question, or of a comparison.

    Example: streameval cost --items 2000000000 --alpha 0.05 --price-per-label 0.05
    Example: streameval cost --items 2000000000 --budget 10000
    Example: streameval cost ranking/
    Example: streameval cost --items 2000000000 --for "precision@1000000 >= 0.9"
    Example: streameval cost --items 2000000000 --against 80% --for "gain@10000, 1000000 within 1%"

    Args:
        ranking: The list, as for plan: its rows are counted. In Python also N itself.
        items: Items in a list that is not at hand.
        method: Methods, separated by commas; may be repeated (default: all): loguniform, "paula(window=50)".
        options: In Python: what describes the ranking; each of its fields may be given by itself, as `where`.
        price_per_label: Adds what the labels cost. In Python `price` = labels × price.
        judge: What is expected of a judge: "accuracy=0.9" (how often it is right), or "sample=20000, accuracy=0.9" of
            one that is asked about so many items.
        drawn: Say too what a sample is worth that somebody else drew: "uniform(size=900)" (streameval adopt). In Python
            in `adopted`.
        against: Instead: what it costs to compare two rankings of the same items whose tops have this share in common,
            such as 80%.
        parameters: In Python by name: fields of `RankingOptions`, and of `MethodOptions`; each method takes those it
            has. With `budget`, each says what half-width it reaches. With `questions` (and other fields of `Asking`),
            what a study of these takes, case by case, and the whole curve beside it. With `against`, `questions` such
            as "gain@10000 within 2%": what their comparison takes.

    Returns:
        Costs: One dict per method, with a table of them all: `method`, `labels`, `accuracy` (half-width relative to
            precision), `forecast` (whether that depends on labels not yet seen), `claim`, and constants of the
            method's own. A method that cannot keep the parameters has `labels` None and says why in `refused`.

    Raises:
        InputError: An option that no method has, alpha beside budget, a value out of range, or options that no method
            can keep.
    """
    if (items is None) == (ranking is None):
        what = "neither a list nor a number of items is given"
        what = what if items is None else "a list and a number of items were given"
        raise InputError(what, "cost ranking/, or cost --items 2e9")
    words = [ranking] if isinstance(ranking, str) else ranking
    if (
        isinstance(words, list | tuple)
        and len(words) == 1
        and str(words[0]).isdecimal()
        and not Path(words[0]).exists()
    ):
        raise InputError(f"{words[0]} is a number of items, not a list", f"cost --items {words[0]}")
    counted = ranking if items is None else items
    price_of(0, price_per_label)
    ranking_options = take_ranking_options(options, parameters)
    raw_options = {
        key: value for key, value in {"method": method, "judge": judge, **parameters}.items() if value is not None
    }
    of_curve = [name for name, value in {"judge": judge, "drawn": drawn}.items() if value is not None]
    if of_curve and (other := [name for name in ("questions", "against") if name in raw_options]):
        raise InputError(f"{flag(of_curve[0])} is about a curve, and {flag(other[0])} is not",
                         "ask for the cost of each by itself")  # fmt: skip
    sample_size = None if drawn is None else _size_drawn(drawn)
    kind = kind_for("cost", raw_options)
    if isinstance(counted, Integral | float):
        n_items = int(counted)
        forecast = kind.costs(n_items, None, raw_options)
    else:
        with for_a_while(counted, ranking_options) as source:
            opened = open_ranking(source, ranking_options)
            n_items, forecast = opened.n_items, kind.costs(opened.n_items, opened, raw_options)
    adopted = None if sample_size is None else _worth(n_items, sample_size, raw_options)
    return Costs(_with_prices(forecast.rows, price_per_label), n_items, forecast.notes, adopted)


def _size_drawn(drawn: str) -> int:
    """Read the size of a uniform sample; an `InputError` for any other draw."""
    value = DrawValue.parse(drawn)
    if value.design != "uniform" or value.size is None:
        raise InputError(f"--drawn is '{drawn}', and a forecast is made of uniform samples",
                         "such as --drawn='uniform(size=900)'")  # fmt: skip
    return value.size


def _with_prices(rows: Sequence[dict[str, Any]], price: float | None) -> tuple[dict[str, Any], ...]:
    """Add what labels cost."""
    if price is None:
        return tuple(rows)
    return tuple(row if row["labels"] is None else {**row, "price": price_of(row["labels"], price)} for row in rows)


def price_of(labels: int, price_per_label: float | None) -> float | None:
    """Give what labels cost; None where no price was given, and an `InputError` for one that is none."""
    price = check_price(price_per_label)
    return None if price is None else labels * price


def _worth(items: int, adopted: int, raw_options: Mapping[str, Any]) -> dict[str, Any]:
    """Say what a uniform sample that somebody else drew is worth, beside a plan of ours with as many labels.

    Args:
        items: N.
        adopted: Labels of the sample.
        raw_options: Parameters of methods, of which `confidence` and `min_precision` are of use here.

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
    confidence, min_precision = raw_options.get("confidence"), raw_options.get("min_precision")
    sample = worth_of_uniform(items, adopted, confidence or 0.95, min_precision or 0.5)
    ours = create("loguniform", {"budget": adopted, "confidence": confidence, "min_precision": min_precision})
    try:
        return {**sample, "loguniform": ours.cost(items)["accuracy"]}
    except InputError:
        return {**sample, "loguniform": None}


def printed(costs: Costs, **_: Any) -> Printed:
    """Print a row for each method, or for each case of a question or a comparison."""
    facts: dict[str, Any] = {"items": costs.n_items, "methods": costs.methods}
    return Printed(facts if costs.adopted is None else {**facts, "adopted": costs.adopted}, costs.paragraphs)


def _by_case(rows: Sequence[dict[str, Any]], priced: Sequence[str]) -> list[Paragraph]:
    """Say what questions and comparisons take, case by case."""
    names = ["labels", "nine_in_ten", "most"]
    head = ["case", "labels", "nine times in ten", "at most", *priced]
    cases = [row for row in rows if any(row[name] is not None for name in names) or row["case"].startswith("if ")]
    cells = [[row["case"], *("-" if row[name] is None else f"{row[name]:,}" for name in names),
              *(f"{row[name]:,.2f}" if name in row else "-" for name in priced)]
             for row in cases]  # fmt: skip
    return [
        *(_untold(row) for row in rows if row not in cases),
        *([Columns(head, cells)] if cells else []),
    ]


def _untold(row: dict[str, Any]) -> str:
    """Say what is said of a case without numbers: why it has none, or the case itself."""
    return f"{row['case']}: {row['refused']}." if "refused" in row else f"{row['case'][:1].upper()}{row['case'][1:]}."


def _by_stage(row: dict[str, Any]) -> list[str]:
    """Say how many labels there are in all after each stage."""
    if "stages" not in row:
        return []
    shown = [f"stage {stage['stage']}: {stage['labels']:,} (~{stage['half_width']:.2%})" for stage in row["stages"]]
    return ["", f"{row['method']}, labels in all and half-width by stage: {'; '.join(shown)}"]


def _worth_lines(sample: dict[str, Any]) -> list[str]:
    """Say what a sample that was drawn elsewhere is worth."""
    widths = ", ".join(f"~{width['half_width']:.2%} at rank {width['rank']:,}" for width in sample["half_widths"])
    ours = sample["loguniform"]
    return [
        f"A uniform sample of {sample['labels']:,} drawn elsewhere: half-width {widths}; it says little before rank "
        f"{sample['begins']:,}.",
        *([] if ours is None else [f"loguniform with as many labels: ~{ours:.2%} at every rank."]),
    ]


def _cost_row(row: dict[str, Any], priced: Sequence[str]) -> list[str]:
    if row["labels"] is None:
        return [row["method"], "-", "-", "-", *("-" for _ in priced)]
    half_width = f"{'~' if row['forecast'] else ''}{row['accuracy']:.2%}" if row["accuracy"] < 0.9999 else "over 100%"
    cells = [row["method"], f"{row['labels']:,}", half_width, row["claim"]]
    return [*cells, *(f"{row[name]:,.2f}" for name in priced)]
