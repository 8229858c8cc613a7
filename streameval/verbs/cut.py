"""Cut: the items above a cutoff that the labels prove, as Parquet."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from numbers import Integral
from pathlib import Path
from typing import Any

import pyarrow as pa

from streameval.bounds.targets import rank_at_recall
from streameval.bounds.walk import Extremes
from streameval.curve import Curve
from streameval.errors import InputError, StudyError, check_misses
from streameval.proven import best_precision, deepest_rank, parse_share
from streameval.rankings import Progress, silent
from streameval.study import Study
from streameval.types import Claim, Plan
from streameval.verbs.items import Target, Written, write_items
from streameval.verbs.select import open_planned

Share = str | float | Decimal | Fraction


@dataclass(frozen=True)
class Cut:
    """A cutoff, and what is proven of it.

    Attributes
    ----------
    rank : int
        The items of ranks 1..rank are above it.
    score : int, float, str or None
        Score of the item at `rank`; None where the order has none, or where the list lies in memory and was not given.
    holds : mapping of str to float
        `yield_lower, yield, yield_upper` and the same of precision, recall and f1, of ranks 1..rank; None where
        undefined.
    claim : Claim
        What the bounds promise.
    asked : mapping of str to str
        The target as typed: precision, recall or rank; and `misses`, where any were given.
    plan : Plan
    evaluation_id : str
    study : Path
    """

    rank: int
    score: Any
    holds: Mapping[str, float | None]
    claim: Claim
    asked: Mapping[str, str]
    plan: Plan = field(repr=False)
    evaluation_id: str
    study: Path
    _ranking: Any = field(default=None, repr=False)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "study": str(self.study),
            "asked": dict(self.asked),
            "rank": self.rank,
            "score": self.score,
            **self.holds,
            "claim": self.claim.as_dict(),
        }

    def write(self, out: str | os.PathLike[str], *, order: str = "storage", progress: Progress = silent) -> Written:
        """Write the items above the cutoff to a folder of Parquet files, whole or not at all, in fixed memory.

        Parameters
        ----------
        out : path or URI
            A new folder, or an empty one, here or on an object store: part-00000.parquet … and a manifest. Where this
            same cut is already, nothing is written.
        order : {"storage", "rank"}
            Order of the items. In rank order each item has its `rank`; so it has where the stored order is the
            ranking. An order by score takes room for a second, uncompressed copy beside `out` (for an object store,
            among the temporary files) while it is sorted.
        progress : callable(done, total), optional
            Items written.

        Returns
        -------
        Written

        Raises
        ------
        InputError
            A path that is taken, or inside the ranking; a damaged file, or one that changed; a store that refuses.
        StudyError
            The ranking is not the one that was planned, or lies in memory and was not given.
        OutsideError
            Full disk, a store that does not answer, and the like; nothing is left behind.
        """
        return write_items(self, Target(out, order), self._ranking, progress)


def cut(
    study: str | os.PathLike[str],
    *,
    precision: Share | None = None,
    recall: Share | None = None,
    rank: int | None = None,
    misses: int | None = None,
    ranking: Any = None,
) -> Cut:
    """Find a cutoff that an evaluated study proves: the deepest of a precision, the first of a recall, or a given one.

    Parameters
    ----------
    study : path
    precision : str, float, Decimal or Fraction, in (0, 1]
        The largest rank whose precision has a lower bound of at least this, compared exactly with the decimal as typed.
        It holds with what the curve claims, at whatever rank it is found, because that claim is about all ranks at
        once.
    recall : likewise
        The smallest rank whose recall is at least this for every list that the bounds allow.
    rank : int, in 1..N
    misses : int, optional
        Positives that the ranking never returned; by default what `evaluate` was given.
    ranking : table, optional
        The ranking that was planned, where it lies in memory.

    Returns
    -------
    Cut
        `Cut.write` writes its items.

    Raises
    ------
    InputError
        None or several of the three; one out of range; one that no rank is proven to reach (says what is).
    StudyError
        No results; bounds that prove nothing; a ranking that is not the planned one.
    """
    asked = {n: v for n, v in (("precision", precision), ("recall", recall), ("rank", rank)) if v is not None}
    if len(asked) != 1:
        what = f"{len(asked)} targets were given: {', '.join(asked)}" if asked else "no target was given"
        raise InputError(what, "give one of precision, recall and rank")
    misses = None if misses is None else check_misses(misses)
    folder = Study(Path(study))
    plan, evaluation = folder.plan(), folder.evaluation()
    curve = evaluation.curve if misses is None else evaluation.curve.with_misses(misses)
    _refuse_unproven(curve, folder.folder, plan, evaluation.summary)
    if curve.claim.coverage == "pointwise" and rank is None:
        raise StudyError(
            f"{folder.folder}: its bounds hold at each rank by itself, not at one that is searched for",
            "ask for a --rank chosen without looking",
        )
    chosen = _chosen(curve, asked)
    if misses is not None:
        asked["misses"] = misses
    at = curve.at([chosen]).to_pylist()[0]
    return Cut(
        rank=chosen,
        score=_score(plan, at, ranking),
        holds={name: value for name, value in at.items() if name not in ("rank", "score")},
        claim=curve.claim,
        asked={name: str(value) for name, value in asked.items()},
        plan=plan,
        evaluation_id=evaluation.evaluation_id,
        study=folder.folder,
        _ranking=ranking,
    )


def _refuse_unproven(curve: Curve, folder: Path, plan: Plan, summary: Mapping[str, Any]) -> None:
    if curve.proves:
        return
    why = curve.findings[0].rstrip(".") if curve.findings else "they contradict each other"
    hint = "`streameval report` shows all that the labels say about it"
    if plan.method == "paula":
        hint = "plan with --method loguniform, whose bounds hold for any list"
        if summary["parameters"].get("assume") != "independent":
            again = f"`streameval evaluate {folder} --assume independent`"
            hint = f"{again} reads bounds that allow for label noise from the same labels"
    raise StudyError(f"{folder}: the bounds of this evaluation prove nothing: {why}", hint)


def _chosen(curve: Curve, asked: Mapping[str, Any]) -> int:
    (name, value), *_ = asked.items()
    if name == "precision":
        return _deepest(curve, value)
    if name == "recall":
        return _first(curve, value)
    if not isinstance(value, Integral) or isinstance(value, bool):
        raise InputError(f"rank is {value!r}, no whole number")
    if not 1 <= int(value) <= curve.n_items:
        raise InputError(f"rank {int(value):,} is outside 1..{curve.n_items:,}")
    return int(value)


def _deepest(curve: Curve, precision: Share) -> int:
    found = deepest_rank(curve.envelope, parse_share(precision, "precision"))
    if found is None:
        rank, best = best_precision(curve.envelope)
        raise InputError(
            f"no rank is proven to have precision {precision}",
            f"the best that is proven is {best:.6g}, at rank {rank:,}",
        )
    return found


def _first(curve: Curve, recall: Share) -> int:
    share = parse_share(recall, "recall")
    _, last = rank_at_recall(Extremes.of(curve.envelope, curve.misses), share)
    if math.isnan(last):
        raise InputError("the list has no positives, so it has no recall")
    if math.isinf(last):
        best = curve.at([curve.n_items]).column("recall_lower")[0].as_py() or 0.0
        raise InputError(
            f"no rank is proven to have recall {recall}",
            f"all {curve.n_items:,} items are proven to have {best:.6g}, with {curve.misses:,} misses",
        )
    return int(last)


def _score(plan: Plan, at: Mapping[str, Any], ranking: Any) -> Any:
    """Score at the cutoff: kept for the curve's own cutoffs, and looked up in the list for others."""
    if plan.ranking.get("score") is None:
        return None
    score = at.get("score")
    if score is None and (ranking is not None or plan.location.get("source") is not None):
        found = open_planned(plan, ranking).fetch(pa.array([at["rank"]]).to_numpy(), [])
        score = found.table.column("score")[0].as_py()
    plain = isinstance(score, int) or (isinstance(score, float) and math.isfinite(score))
    return score if score is None or plain else str(score)
