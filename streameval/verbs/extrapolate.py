"""Extrapolate: the precision at another recall, from that of a study at its cutoffs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.extrapolation import Counts, documents, extrapolate, interval
from streameval.errors import InputError, StudyError
from streameval.kinds import answering
from streameval.metrics import cutoffs
from streameval.options import listed
from streameval.questions.cutoffs import Cutoff
from streameval.study import Study


def extrapolate_study(
    study: str | os.PathLike[str],
    *,
    to: float,
    at: int | str | Sequence[int | str] | None = None,
    items: int | None = None,
) -> tuple[pa.Table, Curve]:
    """Extrapolate from every cutoff of an evaluated study to one target recall, with bounds.

    Args:
        to: R_T in (0, 1).
        at: Cutoffs to extrapolate from, as 10000 or 1%; by default the powers of ten below N.
        items: Items that the ranking was drawn from; by default its items and the misses that `evaluate` was told
            of, or all items of the study that bounds them.

    Returns:
        table: `rank` int64; `recall`, `precision` estimated there; `extrapolated_lower`, `extrapolated`,
            `extrapolated_upper` and `documents_lower`, `documents`, `documents_upper` float64: precision at recall
            `to`, and how many documents to review for it. Bounds hold as the curve's claim does, for all cutoffs at
            once. An estimate is null where no reference curve passes. `outside_model` bool: the paper has no curve
            there.

    Raises:
        InputError: A target outside (0, 1), a cutoff that is no rank in 1..N, too few items.
        StudyError: No results, or bounds that contradict themselves.
    """
    answering(study, "extrapolate")
    evaluation = Study(Path(study)).evaluation()
    curve, rest = evaluation.curve, evaluation.summary.get("misses_from")
    least = curve.n_items + (curve.misses if rest is None else int(rest["n_items"]))
    everything = least if items is None else items
    if everything < least:
        other = f"{curve.misses:,} misses" if rest is None else f"{rest['n_items']:,} that it never returned"
        raise InputError(f"{everything:,} items cannot hold the {curve.n_items:,} of the list and {other}")
    if not curve.envelope.consistent:
        raise StudyError(f"{study}: its bounds contradict themselves", "see the findings of `streameval evaluate`")
    chosen = cutoffs(curve.n_items)[:-1].tolist() if at is None else _ranks(at, curve.n_items)
    rows = [_row(curve, int(rank), to, everything) for rank in chosen]
    return pa.Table.from_pylist(rows, schema=_SCHEMA), curve


def _ranks(at: int | str | Sequence[int | str], n_items: int) -> list[int]:
    """Ranks of cutoffs, an `InputError` where one is none."""
    ranks = [(one, Cutoff.of(one).rank_in(n_items)) for one in listed(at)]
    if wrong := [one for one, rank in ranks if rank is None]:
        raise InputError(f"{wrong[0]} is no number of items", "extrapolate from numbers of items, such as 1000 or 1%")
    return [rank for _, rank in ranks if rank is not None]


_FLOATS = ("recall", "precision", "extrapolated_lower", "extrapolated", "extrapolated_upper",
           "documents_lower", "documents", "documents_upper")  # fmt: skip
_SCHEMA = pa.schema([("rank", pa.int64()), *((name, pa.float64()) for name in _FLOATS), ("outside_model", pa.bool_())])


def _row(curve: Curve, rank: int, to: float, population: int) -> dict[str, float | bool | None]:
    bounded = curve.at([rank, curve.n_items])
    low, estimates, high = (bounded.column(name).to_pylist() for name in ("yield_lower", "yield", "yield_upper"))
    few, many = curve.misses, curve.misses if curve.misses_upper is None else curve.misses_upper
    positives = np.nan if curve.plug_in is None else curve.plug_in.positives
    bounds = interval(Counts(rank, (low[0], high[0]), (low[1] + few, high[1] + many), population), to)
    row: dict[str, float | bool | None] = {
        "rank": rank,
        "recall": estimates[0] / positives if positives > 0 else None,
        "precision": None if estimates[0] is None else estimates[0] / rank,
        "extrapolated_lower": bounds.precision[0],
        "extrapolated": None,
        "extrapolated_upper": bounds.precision[1],
        "documents_lower": bounds.documents[0],
        "documents": None,
        "documents_upper": bounds.documents[1],
        "outside_model": None,
    }
    if np.isnan(positives):
        return row  # the labels give no estimate
    prevalence = positives / population
    if 0 < estimates[0] < positives and estimates[0] / rank > prevalence:
        answer = extrapolate(estimates[0] / rank, estimates[0] / positives, prevalence, to)
        row["extrapolated"] = float(answer.precision)
        row["documents"] = float(documents(prevalence, population, to, answer.precision))
        row["outside_model"] = bool(answer.outside_model)
    return row
