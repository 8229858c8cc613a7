"""Simulate: on a fully labelled list, what each method promises beside what it keeps, how wide it is, what it costs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow.compute as pc

from streameval.copies.write import for_a_while
from streameval.counting.labelled_rows import label_numbers
from streameval.errors import InputError, did_you_mean
from streameval.judges.values import Judge
from streameval.labelling.hints import naming_number, plain, refuse_unreached
from streameval.labelling.label_values import label_values, refuse_words_of_no_row
from streameval.labelling.options import LabelMeaning
from streameval.methods import (
    DrawsIndependently,
    available,
    create,
    own_parameters,
    parameter_names,
    parameters_of_any,
    refuse_alpha_with_budget,
)
from streameval.methods.replicates import Simulation, replicate
from streameval.options import listed, own, takes
from streameval.progress import Progress, silent
from streameval.rankings import open_ranking
from streameval.rankings.ranking import Ranking
from streameval.rows.options import RankingOptions, described
from streameval.text.options import flag
from streameval.typing import Int8Array, UInt8Array

_BYTES_PER_ITEM = 32  # the label column as it is read, the truth, its running sum


@takes(RankingOptions, LabelMeaning, more=parameters_of_any)
def simulate(
    ranking: Any,
    *,
    label: str,
    method: str | Sequence[str] | None = None,
    replicates: int = 200,
    seed: int = 0,
    judge: str | None = None,
    judge_classes: str | Sequence[float] | None = None,
    options: RankingOptions | None = None,
    progress: Progress = silent,
    **parameters: Any,
) -> Simulation:
    """Replicate methods on a list whose every item has a label.

    Args:
        ranking: As for `plan`.
        label: Column with the truth: 0/1, a boolean, or words as `evaluate` understands them.
        method: Name of a method, or several (default: all methods).
        replicates: Draws per method; a method that draws nothing is run once.
        seed: Replicate i has seed + i.
        judge, judge_classes: As for `plan`: methods that can use a judge are run with it too, in a row of its own.
        options: As for `plan`.
        **parameters: Fields of `RankingOptions`, as `score`; of `LabelMeaning`: `positive` and `negative` (words),
            `relevant` (">=2": from which label on an item is positive); and parameters of any method; each takes those
            it knows. `budget` puts them side by side at equal cost.

    Raises:
        InputError: A label that is missing or not 0/1, an unknown method or parameter, a list too long for the memory.
    """
    if replicates < 1:
        raise InputError(f"--replicates is {replicates}, below 1")
    refuse_alpha_with_budget(parameters)
    settings, meaning = described(options, parameters), own(LabelMeaning, parameters)
    chosen = _variants(method, {key: value for key, value in parameters.items() if value is not None})
    with for_a_while(ranking, settings) as source:
        opened = open_ranking(source, settings)
        truth = read_truth(opened, label, settings, meaning)
        answers = None if judge is None else _answers(opened, Judge.of(judge, judge_classes))
    rows, runs = [], {}
    for done, (name, method, given) in enumerate(chosen):
        progress(done, len(chosen))
        try:
            made = create(method, given)
            runs[name] = replicate(made, truth, replicates, seed)
            rows.append({"method": name, **runs[name].as_dict()})
            if answers is not None and isinstance(made, DrawsIndependently):
                judged = f"{name} with {judge}"
                runs[judged] = replicate(made, truth, replicates, seed, answers)
                rows.append({"method": judged, **runs[judged].as_dict()})
        except InputError as error:
            rows.append({"method": name, "refused": error.line})
    if not runs:
        raise InputError(rows[0]["refused"])
    return Simulation(rows, runs, np.cumsum(truth) / np.arange(1, truth.size + 1))


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


def _variants(methods: str | Sequence[str] | None, given: dict[str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    """Every method and variant: a name to show, the method, its parameters."""
    by_name = available()
    names = tuple(by_name) if methods is None else tuple(dict.fromkeys(listed(methods)))
    for name in names:
        if name not in by_name:
            raise InputError(f"there is no method '{name}'", did_you_mean(name, by_name))
    for key in given:
        if not any(key in parameter_names(by_name[name]) for name in names):
            raise InputError(f"none of {', '.join(names)} has a parameter {flag(key)}")
    variants: list[tuple[str, str, dict[str, Any]]] = []
    for name in names:
        parameters = own_parameters(by_name[name], given)
        for variant in by_name[name].variants:
            fits = all(parameters.get(key, value) == value for key, value in variant.items())
            if fits and (name, {**parameters, **variant}) not in [row[1:] for row in variants]:
                shown = " ".join([name, *map(str, variant.values())])
                variants.append((shown, name, {**parameters, **variant}))
    return variants
