"""Adopt: make a study of labels that were drawn elsewhere, if it is known how."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.sorted_sets import unique
from streameval.kinds.planning import Drawn, PlanRequest
from streameval.labelling.known_rows import DrawnRows, ListKeys, locate_rows, read_columns
from streameval.labelling.options import LabelColumns
from streameval.labelling.readers import IN_MEMORY, place_of
from streameval.methods.adopted.checks import SIGNIFICANCE, of_ends
from streameval.methods.adopted.designs import DESIGNS, DrawValue
from streameval.methods.adopted.method import Adopted
from streameval.methods.adopted.steps import Floor, Strata
from streameval.methods.stage_text import later_stages
from streameval.options import split, takes
from streameval.printed import Printed, Record
from streameval.rankings import open_ranking
from streameval.rankings.draw_by_key import keys_in_order
from streameval.rankings.ranking import Ranking
from streameval.reporting.next_step import make_results
from streameval.rows.options import RankingOptions, take_ranking_options
from streameval.stores.transfer import local_copy
from streameval.study.known_labels import KnownLabels
from streameval.types import Plan
from streameval.typing import FloatArray, Int64Array

_PER_FOLD = 20  # ranges of ranks, and classes of probabilities, to an e-fold of either
_MOST_CLASSES = 2_000


@takes(RankingOptions, LabelColumns)
def adopt(
    ranking: Any,
    study: str | os.PathLike[str],
    labels: Any,
    *,
    drawn: str | DrawValue,
    options: RankingOptions | None = None,
    confidence: float = 0.95,
    stages: int | str | None = None,
    seed: int | None = None,
    **raw_options: Any,
) -> Plan:
    """Use labels drawn elsewhere.

    They become a study: a true curve if it is known how they were drawn.

    Example: streameval adopt list/ --study s --labels a.csv --drawn "uniform(size=900)"
    Example: streameval adopt list/ --study s --labels a.csv --drawn "strata(sizes=b.csv)"
    Example: streameval adopt list/ --study s --labels a.csv --drawn "poisson(probability=p)"

    Args:
        ranking: Parquet files, folders of partitions or globs; their stored order is the ranking, best first, without
            `score`. In Python as for `plan`.
        study: Folder of the study; made if it is not there.
        labels: Label table with one row for every drawn item, labelled or not, by rank or by `on`.
        drawn: How they were drawn: "uniform(size=900)" (so many items, labelled or not, each a row),
            "strata(sizes=TABLE)" (a table with last_rank and drawn, a row for each range of ranks),
            "poisson(probability=COL, least=0.01)", or unknown: there are estimates then, and no bounds. In Python too
            it is believed: the study's claim says so. `probability` is a column of the labels (where the ranking has it
            too, that of every item), or one number; `least` the smallest of any item, drawn or not, or a table with
            last_rank and probability; `size` goes with poisson and unknown too, and is only held against the rows. A
            `DrawValue` ("strata", sizes=table) takes a table in memory.
        options: In Python: what describes the ranking, at once.
        confidence: Probability of the claim.
        stages: 3:later: bounds may be seen three times, and `grow` adds labels of our own after the first and second.
        seed: Seed of the shuffle of tasks (default: a fresh one).
        raw_options: In Python by name: fields of `RankingOptions`, as `score`; and of `LabelColumns`: `on`, `label`,
            `annotator`, `time`, `source`, `positive`, `negative`.

    Returns:
        Plan: Its ranks are the sample's.

    Raises:
        InputError: Rows that are about no item or about the item of another row; more or fewer rows than were drawn;
            probabilities outside (0, 1]; ranges without draws, or cut from the sample; what a design needs and was not
            said.
        StudyError: The folder holds a different plan, of which something was made.
    """
    ranking_options = take_ranking_options(options, raw_options)
    (columns,) = split((LabelColumns,), raw_options, "adopt")
    columns = replace(columns, key=",".join(ranking_options.key) or None)
    how = drawn if isinstance(drawn, DrawValue) else DrawValue.parse(drawn)
    method = Adopted(confidence, how.design, 1 if stages is None else later_stages(stages))
    _refuse_unsaid(method, how)
    with KnownLabels(labels, columns).at_hand() as known_labels:
        request = PlanRequest.parse(study, seed, ranking_options, known_labels)
        opened = open_ranking(request.openable(ranking), ranking_options)
        by_rank = partial(keys_in_order, opened, memory=ranking_options.memory)
        rows = _locate(known_labels.source, columns, how, ListKeys(opened.n_items, opened.rows.all_names(), by_rank))
        strata = _strata(method, how, rows, opened, ranking_options.memory)
        plan = method.adopt(opened.n_items, request.drawing_seed, rows.rank, strata, rows.probability)
        facts = _draw_facts(labels, {"drawn": str(_of_any_folder(how)), "confidence": confidence, **raw_options})
        plan = replace(plan, ranking=opened.description(), location={**opened.location(), "adopted": facts})
        return request.save(Drawn(plan, opened, known_labels.known_by(rows.on).votes(plan, rows.keys)))


def printed(plan: Plan, study: Path, drawn: str, **_: Any) -> Printed:
    """Print how many items are a study now, what is assumed of them, and what to run next."""
    design, folder = DESIGNS[DrawValue.parse(drawn).design], shlex.quote(str(study))
    stated = f"{design.stated[0].upper()}{design.stated[1:]}."
    lines = [
        f"The sample is a study now: {plan.table.num_rows:,} of {plan.n_items:,} items, with their labels.",
        *(
            [stated, f"Bounds will prove nothing: {design.refused}."]
            if design.refused
            else [f"Assumed: {design.stated}."]
        ),
        *(
            [f"`streameval select {folder}` first, if scores at cutoffs are wanted."]
            if plan.ranking.get("score")
            else []
        ),
        f"Next: {make_results(str(study)).command}",
    ]
    return Printed(
        {"study": str(study), "plan_id": plan.plan_id, "labels": plan.table.num_rows, **plan.header()},
        lines,
        {"rows": plan.table.num_rows, "n_items": plan.n_items},
        record=Record(study, {"source": plan.read_from, "n_items": plan.n_items, **plan.ranking},
                      [study / "plan.parquet", study / "plan.json"]),
    )  # fmt: skip


def _draw_facts(labels: Any, how: Mapping[str, Any]) -> dict[str, Any]:
    """Say what was said of the draw, as JSON-ready values."""
    values = {}
    for name, value_given in how.items():
        value = ",".join(value_given) if isinstance(value_given, tuple) else value_given
        if value is not None:
            values[name] = value if isinstance(value, int | float | str) else place_of(value) or IN_MEMORY
    if values["confidence"] == 0.95:
        del values["confidence"]
    return {"labels": place_of(labels) or IN_MEMORY, **values}


def _of_any_folder(how: DrawValue) -> DrawValue:
    """Name the tables of a draw as they are found from any folder."""
    least = None if how.least is None else place_of(how.least)
    return replace(how, least=least, sizes=None if how.sizes is None else place_of(how.sizes) or IN_MEMORY)


def _locate(source: Any, columns: LabelColumns, how: DrawValue, listed: ListKeys) -> DrawnRows:
    """The items of the sample, each with its probability where the design has any."""
    if not _is_number(how.probability):
        return locate_rows(source, columns, how.probability, listed)
    same = float(how.probability or 0)
    if not 0 < same <= 1:
        raise InputError(f"the probability of --drawn is {same:g}, outside (0, 1]", "0.01 is one item in a hundred")
    rows = locate_rows(source, columns, None, listed)
    return replace(rows, probability=np.full(rows.rank.size, same))


def _refuse_unsaid(method: Adopted, how: DrawValue) -> None:
    """Refuse a design that lacks what it needs, or is given what says nothing of it."""
    name, weighted = method.drawn, method.design.weighted
    if _is_number(how.probability) and how.least is not None:
        raise InputError("one probability of all items leaves none smaller", "leave out least")
    if weighted and how.probability is None:
        raise InputError(
            f"labels drawn as {name} need each item's probability",
            "name it: --drawn='poisson(probability=COL)'",
        )
    if name == "strata" and how.sizes is None:
        raise InputError(
            "it is not said how many were drawn of which ranks",
            "name a table with last_rank and drawn: --drawn='strata(sizes=TABLE)'",
        )
    if name == "uniform" and how.size is None:
        raise InputError(
            "it is not said how many items were drawn",
            "say it: --drawn='uniform(size=N)'; those without a label need a row too, with an empty label",
        )
    if how.size is not None and how.size < 1:
        raise InputError(f"size of --drawn is {how.size:,}, below 1", "such as --drawn='uniform(size=2000)'")


def _strata(method: Adopted, how: DrawValue, rows: DrawnRows, ranking: Ranking, memory: float) -> Strata | Floor:
    """Give what was drawn of which ranks; of a design with probabilities, the smallest of each range."""
    n_items, came = ranking.n_items, rows.rank.size
    if how.size is not None:
        _hold_against(how.size, came)
    if method.design.weighted:
        return _least(how, rows, ranking, memory)
    if method.drawn == "strata":
        last, drawn = _ranges(how.sizes, "drawn", n_items)
        if np.any(drawn != np.floor(drawn)):
            raise InputError("--drawn has to be whole numbers", "how many items were drawn of each range")
        return _strata_of_ranges(Strata(last, drawn.astype(np.int64)), rows)
    return Strata(np.array([n_items]), np.array([came]))


def _hold_against(drawn: int, came: int) -> None:
    """Refuse more or fewer rows than the items that were drawn."""
    if came != drawn:
        more = "more" if came > drawn else "fewer"
        raise InputError(
            f"{came:,} items came, {more} than the {drawn:,} that were drawn",
            "items that were drawn and not labelled need a row with an empty label; others are no part of the sample",
        )


def _strata_of_ranges(strata: Strata, rows: DrawnRows) -> Strata:
    """Hold the ranges against the sample: as many of each as was said, and ends that are not those of draws."""
    there = np.bincount(np.searchsorted(strata.last, rows.rank), minlength=strata.last.size)
    first = np.concatenate([[0], strata.last[:-1]])
    for start, last, drawn, came in zip(first, strata.last, strata.drawn, there, strict=True):
        if drawn != came:
            raise InputError(
                f"of ranks {start + 1:,} to {last:,} {drawn:,} were drawn, and {came:,} items came",
                "items that were drawn and not labelled need a row with an empty label",
            )
        if not 0 < drawn <= last - start:
            raise InputError(
                f"{drawn:,} items cannot be drawn of ranks {start + 1:,} to {last:,}",
                "each range needs 1 or more, and has its width at most",
            )
    if of_ends(strata, rows.rank) < SIGNIFICANCE:
        raise InputError(
            "every range ends at a drawn item, as in fewer than one draw in 10,000: ranges that were cut from the "
            "sample are none that it was drawn from",
            "give the ranges as they were before the draw",
        )
    return strata


def _ranges(source: Any, column: str, n_items: int) -> tuple[Int64Array, FloatArray]:
    """Read ranges of ranks, to N, with a number each."""
    with local_copy(source) as place:
        last, value = read_columns(place, ("last_rank", column))
    if np.any(last != np.floor(last)) or np.any(np.diff(last, prepend=0) <= 0) or last[-1] != n_items:
        raise InputError(f"last_rank has to increase to {n_items:,}, the last rank", "one row for each range of ranks")
    return last.astype(np.int64), value


def _least(how: DrawValue, rows: DrawnRows, ranking: Ranking, memory: float) -> Floor:
    """Ranges of ranks with the smallest probability of any of their items."""
    n_items, least_rate = ranking.n_items, how.least
    if least_rate is None and _is_number(how.probability):
        same = float(how.probability or 0)
        least = Floor(np.array([n_items]), np.array([same]), np.array([n_items * 1.0]), np.array([n_items * same]))
    elif least_rate is None and how.probability in ranking.rows.all_names():
        least = _least_listed(ranking, str(how.probability), memory)
    elif least_rate is None:
        raise InputError(
            "the smallest probability of any item is not said, and an item that could not be drawn is in no bound",
            "--drawn 'poisson(probability=COL, least=X)', or a column of the list with the probability of every item",
        )
    elif _is_number(least_rate):
        least = Floor(np.array([n_items]), np.array([float(least_rate)]))
    elif re.fullmatch(r"[\w-]+", least_rate) and not os.path.exists(least_rate):
        raise InputError(f"least is a number or a table: {least_rate} is neither", "such as least=0.01")
    else:
        least = Floor(*_ranges(least_rate, "probability", n_items))
    if np.any(~((least.least > 0) & (least.least <= 1))):
        raise InputError("a least probability is outside (0, 1]", "an item that cannot be drawn is in no bound")
    probability = rows.probability if rows.probability is not None else np.empty(0)
    below = np.flatnonzero(probability < least.least[np.searchsorted(least.last, rows.rank)] * (1 - 1e-9))
    if below.size:
        raise InputError(
            f"rank {int(rows.rank[below[0]]):,} was drawn with probability {probability[below[0]]:g}, below the least",
            "the least probability is that of any item, drawn or not",
        )
    return least


def _is_number(text: Any) -> bool:
    try:
        float(text)
    except (TypeError, ValueError):
        return False
    return True


def _least_listed(ranking: Ranking, column: str, memory: float) -> Floor:
    """Smallest probability of each of some ranges of ranks, and classes of all: one pass over a column."""
    n_items = ranking.n_items
    folds = max(1, round(_PER_FOLD * np.log(n_items)))
    last = unique(np.ceil(np.geomspace(1, n_items, folds + 1)), n_items).astype(np.int64)
    last = last[last <= n_items]
    least, items, total = np.full(last.size, np.inf), np.zeros(_MOST_CLASSES), np.zeros(_MOST_CLASSES)
    for first, batch in keys_in_order(ranking, [column], memory):
        try:
            values = np.asarray(batch.column(0).cast(pa.float64()).to_numpy(zero_copy_only=False))
        except pa.ArrowInvalid:
            raise InputError(f"column '{column}' of the ranking holds what is no probability") from None
        if not np.all((values > 0) & (values <= 1)):
            wrong = int(np.argmin((values > 0) & (values <= 1)))
            raise InputError(f"{column} at rank {first + wrong:,} is no probability in (0, 1]")
        block = np.searchsorted(last, np.arange(first, first + values.size))
        np.minimum.at(least, block, values)
        class_of = np.minimum(-_PER_FOLD * np.log(values), _MOST_CLASSES - 1).astype(np.int64)
        items += np.bincount(class_of, minlength=_MOST_CLASSES)
        total += np.bincount(class_of, values, minlength=_MOST_CLASSES)
    return Floor(last, least, items[items > 0], total[items > 0])
