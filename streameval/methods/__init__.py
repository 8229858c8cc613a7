"""Methods: each picks ranks to label, and turns their labels into bounds on the yield Y(r).

A method is one file in this folder with a frozen dataclass that inherits from `Method`: its fields are its parameters
and carry their help, and a module-level `METHOD` names the class. It is found by its name, which is that of the file;
nothing else has to be edited. Its value names its parameters (`streameval.methods.values`); those that most methods
have are options of verbs too (`streameval.methods.options`). It knows no files. A method that is a folder has `METHOD`
in its file `method`, and in the folder itself `PARAMETERS`, the class with the fields: help texts load no more than
that.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from functools import cache
from numbers import Integral
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, Self, TypeVar, cast, runtime_checkable

from streameval.errors import InputError, StudyError, did_you_mean
from streameval.methods.options import option_of
from streameval.methods.stage_text import STAGE_FIELDS, stage_fields
from streameval.options import check_type, plain, types_of

if TYPE_CHECKING:  # help texts name the parameters of methods, and need none of this
    from streameval.curve import Curve
    from streameval.curve.estimated import YieldEstimate
    from streameval.types import Labels, Plan
    from streameval.typing import FloatArray, Int64Array

ASSUMES_THE_DRAW = "nothing of the list: only that the planned ranks, drawn at random, are the ones that were labelled"


class Method(Protocol):
    """Base class of methods. Override what differs from the defaults.

    Laws, tested over every method that is found:

    - all planned ranks labelled and all ranks planned ⇒ lower = estimate = upper = truth;
    - the plan's ranks are exactly the labels that `cost` counts (in expectation where the draw decides their number);
    - a rank without a label never narrows a bound.

    Attributes:
        variants: Parameters that read the same kind of plan in another way, for comparisons side by side.
        claimed: Prefix of the columns of its curve that hold what it claims itself, where bounds are not of chance.
        confidence: As it was asked for: the probability with which the bounds hold. See `level`.
        budget: Labels to spend at most; where the draw decides their number, nine times in ten.
        adaptive: Whether a second batch looks at the labels of the first.
        judge_sample: Items that a judge is asked about; None where it answers for all, or there is none.
        retired: Parameters of earlier versions, and values of them, as they were typed, each with a hint.
        planned: Whether it chooses ranks; one that only reads labels that were drawn elsewhere does not.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    variants: ClassVar[tuple[dict[str, Any], ...]] = ({},)
    claimed: ClassVar[str] = ""
    retired: ClassVar[dict[str, str]] = {}
    confidence: float | None = None
    budget: int | None = None
    adaptive: bool = False
    judge_sample: int | None = None
    planned: ClassVar[bool] = True

    @property
    def level(self) -> float | None:
        """Probability with which the bounds hold; None where they are not of chance."""
        return self.confidence

    @property
    def looks(self) -> int:
        """Tell how often the plan may be evaluated and enlarged."""
        return 1

    @property
    def batches(self) -> int:
        """In how many batches the tasks come, after each of which bounds hold."""
        return 1

    @classmethod
    def implied(cls, parameters: Mapping[str, Any]) -> dict[str, Any]:
        """Give the parameters that follow from others where they are not named: a value leaves them out."""
        return {}

    def plan(self, n_items: int, seed: int = 0) -> Plan:
        """Choose the ranks to label in a ranking of `n_items`."""

    def curve(self, plan: Plan, labels: Labels) -> Curve:
        """Turn the labels of `plan` into bounds on the yield at every rank."""

    def estimate(self, plan: Plan, labels: Labels) -> YieldEstimate | None:
        """Estimate the yield; None where labels say nothing of ranks without one, or the order was made with them."""
        import numpy as np

        from streameval.curve.pooling import odds_of, pool_labels

        # a draw at random weighs each label by the inverse of its probability
        drawn = isinstance(self, DrawsAtRandom) and not plan.labels_seen_by_model
        odds = odds_of(cast(Any, self).weights(plan), labels.known) if drawn else np.zeros(plan.ranks.size)
        return pool_labels(plan.n_items, labels.rank, labels.label, odds)

    def cost(self, n_items: int) -> dict[str, Any]:
        """Count the labels that a plan takes.

        At least `method`, `labels`, `accuracy` (see `planned_half_width`; 0 where all items are planned), `forecast`
        (whether it depends on labels not yet seen) and `claim` (what its bounds will be: a coverage of `Claim`).
        """

    def planned_half_width(self, n_items: int) -> float:
        """Half-width that a plan of some of the items is for, relative to precision."""
        return float(self.cost(n_items)["accuracy"])

    def with_alpha(self, alpha: float) -> Self:
        """Return the same method, planned for another half-width."""
        return change_parameters(self, alpha=alpha, budget=None)


AnyMethod = TypeVar("AnyMethod", bound=Method)


@runtime_checkable
class DrawsIndependently(Protocol):
    """A method that draws every rank with a probability of its own, independently of the others."""

    def rates(self, n_items: int) -> tuple[Int64Array, FloatArray]:
        """Last rank of each block of ranks, and the probability of each rank of it."""

    def drawn(self, n_items: int, seed: int, rank: Int64Array) -> Plan:
        """Make a plan of the ranks that were drawn, int64, strictly increasing, by whatever drew them."""

    def reserve(self, plan: Plan) -> tuple[Int64Array, Int64Array]:
        """Ends of a plan's blocks, and the ranks that it holds, or may hold once it looks at its first labels."""


@runtime_checkable
class DrawsAtRandom(Protocol):
    """A method whose draw takes every rank that it can take with a known probability."""

    def weights(self, plan: Plan) -> FloatArray:
        """Inverse of the probability with which the draw took each planned rank, float64 in the plan's order."""


@dataclass(frozen=True)
class Look:
    """Forecast of a plan at one look.

    Attributes:
        look: 1-based.
        labels: In all, those of earlier looks included.
        half_width: For a list of the precision planned for, relative to it.
    """

    look: int
    labels: int
    half_width: float


@runtime_checkable
class Sequential(Protocol):
    """A method whose plan may grow after its labels were looked at.

    Laws: a plan at a later look holds every rank of the earlier ones; the claim holds over all looks together, whatever
    decides when to stop.
    """

    def forecasts(self, plan: Plan) -> list[Look]:
        """Every look of `plan` in order, those that it has had included."""
        ...

    def enlarged(self, plan: Plan, look: int) -> Plan:
        """Grow a plan to a later look, `Plan.look`. `batch` numbers the plan by which a rank came in, from 1."""
        ...


@runtime_checkable
class Multiplies(Protocol):
    """A method whose evidence about one rank multiplies with that of other lists: `streameval.curve.runs` says how."""

    def evidence_at(
        self, plan: Plan, labels: Labels, rank: int, mu: FloatArray
    ) -> tuple[FloatArray, FloatArray] | None:
        """S(μ) with E exp(μ·Y(rank) + S(μ)) ≤ 1 over the draw, and the same of negatives; None of such a plan."""


def available() -> dict[str, type[Method]]:
    """Every method that plans by name, in alphabetical order."""
    return {name: named(name) for name in list_parameters()}


def list_parameters() -> dict[str, type[Method]]:
    """Parameters of every method that plans by name, in alphabetical order; nothing else of a folder is loaded."""
    modules = [importlib.import_module(f"{__name__}.{name}") for name in _names(tuple(__path__))]
    kinds = (getattr(module, "PARAMETERS", None) or getattr(module, "METHOD", None) for module in modules)
    return {kind.name: kind for kind in kinds if kind is not None and kind.planned}


def named(name: str) -> type[Method]:
    """Give the method of a name; no other is loaded."""
    place = f"{__name__}.{name}"
    inner = f"{place}.method" if hasattr(importlib.import_module(place), "__path__") else place
    return cast(type[Method], importlib.import_module(inner).METHOD)


@cache
def _names(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Names of files with a `METHOD`, and of folders that have a file `method`, in alphabetical order."""
    modules = [
        (Path(folder, module.name), module.ispkg) for folder in folders for module in pkgutil.iter_modules([folder])
    ]
    places = {path.name: path / "method.py" if is_folder else path.with_suffix(".py") for path, is_folder in modules}
    return tuple(sorted(n for n, file in places.items() if file.exists() and b"\nMETHOD = " in file.read_bytes()))


def create(name: str, parameters: dict[str, Any] | None = None) -> Method:
    """Make a method from its name and parameters.

    Args:
        name: That of its file or folder here.
        parameters: Only those that differ from the defaults; None counts as not given.

    Raises:
        InputError: If there is no such method, it lacks such a parameter, or a value is out of range.
    """
    if name not in _names(tuple(__path__)):
        raise InputError(f"there is no method '{name}'", did_you_mean(name, list_parameters()))
    method = named(name)
    values = {key: value for key, value in (parameters or {}).items() if value is not None}
    if isinstance(values.get("stages"), str):
        values |= stage_fields(values.pop("stages"))
    accepted = parameter_names(method)
    for key, value in values.items():
        shown = "--stages" if key in STAGE_FIELDS else option_of(key)
        for spelling in (key, f"{key}={value}"):
            if spelling in method.retired:
                raise InputError(f"method {name} has no {spelling} any more", method.retired[spelling])
        if key not in accepted:
            owners = [other for other, kind in list_parameters().items() if key in parameter_names(kind)]
            hint = " or ".join(f"--method={owner}" for owner in owners) or did_you_mean(key, accepted)
            raise InputError(f"method {name} has no parameter {shown}", hint)
        check_type(shown, value, types_of(method)[key])
    return method(**{key: plain(value) for key, value in values.items()})


def method_of(plan: Plan) -> Method:
    """Give the method that a plan was made with; a `StudyError` where it is of a kind of study that has none."""
    if plan.kind != "curve":
        raise StudyError(f"this is a study of {plan.kind.replace('_', ' ')}, and has no curve")
    return create(plan.method, dict(plan.parameters))


def grid_of(plan: Plan) -> Int64Array:
    """Ranks that the curve's table will show: the plan decides them, not the labels."""
    import numpy as np

    from streameval.types import Labels

    return method_of(plan).curve(plan, Labels.of(plan, np.full(plan.ranks.size, -1))).grid


def change_parameters(method: AnyMethod, **parameters: Any) -> AnyMethod:
    """Give the same method with other values of those parameters that it has."""
    return cast(AnyMethod, replace(cast(Any, method), **own_parameters(type(method), parameters)))


def own_parameters(method: type[Method], parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Of parameters given to any method, those that a method has."""
    return {key: value for key, value in parameters.items() if key in parameter_names(method)}


def parameter_names(method: type[Method]) -> list[str]:
    """Names of a method's parameters, in order."""
    return [field.name for field in fields(cast(Any, method)) if field.init]


def check_items(n_items: int) -> int:
    """Refuse a list that has no items, or too many for sums to stay exact."""
    if not isinstance(n_items, Integral):
        raise InputError(f"a ranking of {n_items!r} items cannot be planned", "give a whole number")
    if not 1 <= n_items <= 2**53:
        raise InputError(f"a ranking of {n_items:,} items cannot be planned", "it needs 1 to 2^53 items")
    return int(n_items)


def check_alpha(alpha: float) -> None:
    """Refuse a relative half-width outside (0, 1)."""
    if not 0 < alpha < 1:
        raise InputError(f"--alpha is {alpha}, outside (0, 1)", "0.08 is a half-width of 8 %")


def check_budget(budget: int | None) -> None:
    """Refuse a budget of no labels; None is no budget."""
    if budget is not None and budget < 1:
        raise InputError(f"--budget is {budget:,} labels", "a plan takes at least one")


def refuse_alpha_with_budget(parameters: Mapping[str, Any]) -> None:
    """Refuse a plan that is asked for a half-width and for a number of labels: one of them would be ignored."""
    if parameters.get("alpha") is not None and parameters.get("budget") is not None:
        raise InputError("--alpha and --budget were both given, and a plan is made for one", "leave out one of them")


def check_stages(stages: int) -> None:
    """Refuse a number of stages outside 1 to 64."""
    if not 1 <= stages <= 64:
        raise InputError(f"--stages is {stages}, outside 1..64", "4 gives bounds after every quarter")


def check_confidence(confidence: float) -> None:
    """Refuse a confidence outside (0, 1)."""
    if not 0 < confidence < 1:
        raise InputError(f"--confidence is {confidence}, outside (0, 1)", "0.95 is usual")
