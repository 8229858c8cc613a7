"""Simulate: on a fully labelled list, what each method promises beside what it keeps, how wide it is, what it costs."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.compute as pc

from streameval.copies.write import for_a_while
from streameval.counting.labelled_rows import label_numbers
from streameval.errors import InputError
from streameval.judges.values import Judge
from streameval.labelling.hints import naming_number, plain, refuse_unreached
from streameval.labelling.label_values import label_values, refuse_words_of_no_row
from streameval.labelling.options import LabelMeaning
from streameval.methods import DrawsIndependently, available, refuse_alpha_with_budget
from streameval.methods.options import MethodOptions
from streameval.methods.replicates import Simulation, replicate
from streameval.methods.values import MethodValue, chosen_methods
from streameval.options import make_own, takes
from streameval.printed import Event, Printed
from streameval.progress import Progress, silent
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.simulation import kind_of as picture_kind
from streameval.reporting.simulation import save_figure
from streameval.reporting.text import Columns, Paragraph
from streameval.rows.options import RankingOptions, take_ranking_options
from streameval.stores.atomic import Existing, refuse_needless
from streameval.typing import Int8Array, UInt8Array

_BYTES_PER_ITEM = 32  # the label column as it is read, the truth, its running sum


@takes(RankingOptions, MethodOptions, LabelMeaning)
def simulate(
    ranking: Any,
    *,
    label: str,
    method: str | tuple[str, ...] | Sequence[str] | None = None,
    replicates: int = 200,
    seed: int = 0,
    judge: str | None = None,
    plot: str | os.PathLike[str] | None = None,
    existing: Existing = "kept",
    options: RankingOptions | None = None,
    progress: Progress = silent,
    **parameters: Any,
) -> SimulationResult:
    """Try methods out.

    On a list whose every item has a label: do their bounds hold, how wide are they, what do they cost?

    Example: streameval simulate ranking.parquet --label label --replicates 200 --plot methods.svg

    Args:
        ranking: Parquet files, folders or globs, as for plan.
        label: Column with every item's label: 0/1, true/false, yes/no, or a grade.
        method: Methods, separated by commas; may be repeated (default: all): loguniform, "paula(window=50)". In
            Python also a sequence of these.
        replicates: Draws per method; a method that draws nothing is run once.
        seed: Of the first draw; each further draw adds one.
        judge: Column of a judge, as for plan: loguniform is run with it and without. In Python every method that can
            use a judge is, in a row of its own.
        plot: Picture of the bands of the first draw (.svg, .png or .html).
        existing: Replace files that are there and differ. In Python "replaced".
        options: In Python: as for `plan`.
        parameters: In Python by name: fields of `RankingOptions`, as `score`; of `LabelMeaning`: `positive` and
            `negative` (words), `relevant` (">=2": from which label on an item is positive); and of `MethodOptions`;
            each method takes those it has. `budget` puts them side by side at equal cost.

    Raises:
        InputError: A label that is missing or not 0/1, an unknown method or parameter, a list too long for the memory,
            a picture of another ending, or one that stands there and differs.
    """
    refuse_needless(existing, plot=plot)
    if plot is not None:
        picture_kind(plot)  # a picture that cannot be drawn is refused before the work, not after
    if replicates < 1:
        raise InputError(f"--replicates is {replicates}, below 1")
    refuse_alpha_with_budget(parameters)
    settings, meaning = take_ranking_options(options, parameters), make_own(LabelMeaning, parameters)
    shared = {key: value for key, value in parameters.items() if value is not None}
    read_judge = None if judge is None else Judge.parse(judge)
    shared |= {} if read_judge is None else read_judge.parameters
    chosen = [variant for value in chosen_methods(method, shared) for variant in _variants(value)]
    with for_a_while(ranking, settings) as source:
        opened = open_ranking(source, settings)
        truth = read_truth(opened, label, settings, meaning)
        answers = None if read_judge is None else _answers(opened, read_judge)
    rows, runs = [], {}
    for done, value in enumerate({str(value): value for value in chosen}.values()):
        progress(done, len(chosen))
        name = str(value)
        try:
            instance = value.create(value.takes(shared))
            runs[name] = replicate(instance, truth, replicates, seed)
            rows.append({"method": name, **runs[name].as_dict()})
            if answers is not None and isinstance(instance, DrawsIndependently):
                judged = f"{name} with {judge}"
                runs[judged] = replicate(instance, truth, replicates, seed, answers)
                rows.append({"method": judged, **runs[judged].as_dict()})
        except InputError as error:
            rows.append({"method": name, "refused": error.line})
    if not runs:
        raise InputError(rows[0]["refused"])
    simulation = SimulationResult(rows, runs, np.cumsum(truth) / np.arange(1, truth.size + 1))
    if plot is not None:
        save_figure(simulation, plot, existing)
    return simulation


@dataclass(frozen=True, repr=False)
class SimulationResult(ShowsItself, Simulation):
    """Methods side by side on one list, with what is said of them."""

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """Give a row for each method, and what its numbers mean."""
        head = ["method", "labels", "half-width", "held", "of", "promised", "inside"]
        lines: list[Paragraph] = [Columns(head, [_cells(row) for row in self.rows if "refused" not in row])]
        lines += [f"{row['method']}: {row['refused']}" for row in self.rows if "refused" in row]
        return [*lines, "", *_NOTES]


def printed(simulation: SimulationResult, plot: Path | None, **_: Any) -> Printed:
    """Print a row for each method, and what its numbers mean."""
    n_items = int(simulation.precision.size)
    return Printed(
        {"n_items": n_items, "methods": simulation.rows, "plot": str(plot) if plot else None},
        [*simulation.paragraphs, *([f"Plot: {plot}"] if plot else [])],
        events=[Event("simulate", {"n_items": n_items, "methods": len(simulation.rows)})],
    )


_NOTES = (
    "half-width: where it is widest, relative to precision, in the median draw.",
    "held: draws whose bounds held the truth at every rank. promised: its probability, as the method states it.",
    "inside: share of cutoffs beyond the labelled head where the truth was inside (paula by A.2: inside its bracket).",
)


def _cells(row: dict[str, Any]) -> list[str]:
    promised = {"exact": "exact", "none": "nothing", "conditional": "conditional"}.get(row["claim"])
    inside = "-" if math.isnan(row["inside"]) else f"{row['inside']:.1%}"
    return [row["method"], f"{row['labels']:,}", f"{row['half_width']:.2%}", f"{row['held']:,}",
            f"{row['replicates']:,}", promised or f"{row['confidence']:.1%}", inside]  # fmt: skip


def _answers(ranking: Ranking, judge: Judge) -> tuple[Judge, UInt8Array]:
    """Class of every item, best rank first."""
    if judge.column not in ranking.rows.all_names():
        raise InputError(f"the ranking has no column '{judge.column}'", ranking.rows.hint_for(judge.column))
    ranks = np.arange(1, ranking.n_items + 1, dtype=np.int64)
    return judge, judge.codes(ranking.fetch(ranks, [judge.column]).table.column(-1), "the list")


def read_truth(ranking: Ranking, label: str, options: RankingOptions, meaning: LabelMeaning) -> Int8Array:
    """Read the label of every item, best rank first.

    Raises:
        InputError: A label that is null or not 0/1, or a list that does not fit into the memory that was allowed.
    """
    if label not in ranking.rows.all_names():
        raise InputError(f"the ranking has no column '{label}'", ranking.rows.hint_for(label))
    needed = ranking.n_items * _BYTES_PER_ITEM / 1e9
    if needed > options.memory:
        raise InputError(
            f"the truth of {ranking.n_items:,} items takes about {needed:.1f} GB",
            f"allow that with --memory {needed:.1f}",
        )
    column = ranking.fetch(np.arange(1, ranking.n_items + 1, dtype=np.int64), [label]).table.column(-1)
    place = f"column '{label}'"
    refuse_words_of_no_row([column], meaning, place)
    column = label_values(column, meaning, place, label)
    if column.null_count:
        first = pc.index(pc.is_null(column), True).as_py() + 1
        raise InputError(f"{column.null_count:,} of the labels are missing (first at rank {first:,})",
                         "a simulation needs the label of every item")  # fmt: skip
    values = label_numbers(column, label, place, "not 0/1 or a boolean")
    if meaning.level is None and (odd := np.flatnonzero((values != 0) & (values != 1))).size:
        raise InputError(f"the label at rank {odd[0] + 1:,} is {plain(values[odd[0]])}, not 0 or 1",
                         naming_number(values[odd[0]], values, meaning))  # fmt: skip
    truth = meaning.is_positive(values)
    if meaning.relevant is not None and not truth.any():
        refuse_unreached(meaning.relevant, values.size, values.min(), values.max())
    return truth.astype(np.int8)


def _variants(value: MethodValue) -> list[MethodValue]:
    """Give the variants of a method that agree with what its value says."""
    says = value.parameters
    variants = [variant for variant in available()[value.name].variants
                if all(says.get(key, word) == word for key, word in variant.items())]  # fmt: skip
    return [MethodValue(value.name, {**says, **variant}) for variant in variants]
