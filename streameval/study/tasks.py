"""Tasks: what people are asked and shown of the planned items, in which order, and what is put among them.

What is asked is kept in asked.json once it is given, and asked everywhere. A column is not shown that gives the answer
or the rank away. Whether it follows the order of the ranking is asked of the items to label, and of Spearman's rank
correlation of the column with the rank: it is .95 or more of the largest that the ties of the column allow, and
4/√(n − 1) or more. (With midranks a of the values and places b in the order, |cov(a, b)| ≥ .95 var(a) and
|corr(a, b)| ≥ 4/√(n − 1).) So a copy of the rank in steps is found too, such as a percentile, of which most items that
are drawn near the top have the first. Of fewer than 17 items that is never so; there a column follows the order if it
has no ties and is exactly in it, or exactly against it, which has probability 2/n!. A column that has nothing to do
with the order is taken for one that follows it with probability below 10⁻⁵, however many items have it, and however
many of them one value; where fewer than 9 have it, none is.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from math import lgamma, log
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError, did_you_mean
from streameval.kernels.sorted_sets import isin, unique
from streameval.labelling.exports import NO_QUESTION, TaskQuestion
from streameval.labelling.match_items import OURS
from streameval.labelling.names import ANSWERS, has_word
from streameval.labelling.options import AskOptions, TaskOptions
from streameval.stores import atomic, is_remote
from streameval.stores.own_files import UNUSABLE, read_json, unusable
from streameval.struct_fields import with_fields
from streameval.study import Study
from streameval.types import Plan
from streameval.typing import AnyArray, FloatArray, Int64Array

_NAME = "asked.json"
_RESTORE = "restore it, or remove it and say again what is asked"
_SLOPE = 0.95
_DEVIATIONS = 4.0
_BY_CHANCE = 1e-5
ANSWER, INDEX, ORDER = "answer", "index", "order"
LeftOut = dict[str, str]
"""Columns that are not shown, each with why: `ANSWER` (a score, a judge or an answer, by its name or the plan, or a
struct with one), `INDEX` (no key, and pandas wrote it because it was the index of a frame), `ORDER` (it follows the
order of the ranking)."""
# Numbers of tasks: every study's begin somewhere of their own, so that the tasks of one are none of another. Ten digits
# are what a spreadsheet shows in full, and any program holds exactly.
_FIRST, _RANGE = 10**9, 15 * 10**8
_FIRST_EXTRA = _FIRST + _RANGE  # beyond those of planned items, however far a plan grows
FIRST_JUDGED = 5 * 10**9  # what a judge is asked is nobody's task
_PLACES = np.uint64(0x7365_7461_736B_0001)  # keeps the places of extra tasks apart from every other draw of a seed
EXTRA_TASKS = pa.schema(
    {
        "se_task": pa.int64(),
        "rank": pa.int64(),  # null for a control item: it is none of the list
        "kind": pa.string(),  # "repeat" or "control"
        "expected": pa.float64(),  # answer of a control item
        "content": pa.string(),  # hash of a control item
    }
)


def kept_question(folder: Study) -> TaskQuestion:
    """Give what was asked before; nothing of a study that never said it."""
    path = folder.folder / _NAME
    if not path.exists():
        return NO_QUESTION
    try:
        kept = read_json(path, _RESTORE, folder.folder)
        text, yes, no, guidelines = (str(kept[name]) for name in ("text", "yes", "no", "guidelines"))
        images, shown = (tuple(map(str, kept.get(name, ()))) for name in ("images", "shown"))
        return TaskQuestion(text, yes, no, guidelines, images, float(kept.get("overlap", 0)), shown,
                            str(kept.get("image_root", ".")))  # fmt: skip
    except UNUSABLE as error:
        raise unusable(path, error, _RESTORE) from error


def question_of(folder: Study, options: AskOptions, columns: Collection[str]) -> TaskQuestion:
    """Give what is asked now: what the options say, and where they say nothing what was asked before.

    Args:
        columns: That people see.

    Raises:
        InputError: Both answers have the same word; guidelines that cannot be read; no such column of pictures.
    """
    kept = kept_question(folder)
    words = TaskQuestion(options.ask, "yes", "no") if options.ask else kept
    guidelines = kept.guidelines if options.guidelines is None else _read(options.guidelines)
    yes, no = options.positive or words.yes, options.negative or words.no
    images = options.image or kept.images
    root = _image_root(folder, options, kept) if images else kept.image_root
    question = TaskQuestion(words.text, yes, no, guidelines, images, kept.overlap, kept.shown, root)
    if question.yes == question.no:
        raise InputError(f"both answers are called '{question.yes}'", "--positive and --negative name them")
    for name in options.image:
        if name not in columns:
            raise InputError(f"--image: the tasks show no column '{name}'", did_you_mean(name, columns))
    return question


def _image_root(folder: Study, options: AskOptions, kept: TaskQuestion) -> str:
    """Folder that pictures have to be in: what was said, now or before, else that of the list, or the working one."""
    if options.image_root is not None:
        if not os.path.isdir(options.image_root):
            raise InputError(f"--image-root {options.image_root}: is no folder")
        return os.path.abspath(options.image_root)
    if kept.image_root != NO_QUESTION.image_root:
        return kept.image_root
    location = folder.plan().location
    source = (location.get("copied") or location).get("source") or [""]
    place = source[0].partition("#")[0]
    if is_remote(place) or not os.path.exists(place):
        return os.getcwd()
    return os.path.abspath(place if os.path.isdir(place) else os.path.dirname(place) or ".")


def question_file(folder: Study, question: TaskQuestion) -> dict[Path, atomic.Writer]:
    """Writer of what is asked; none where that is kept already."""
    if question == kept_question(folder):
        return {}
    return {folder.folder / _NAME: atomic.json_object(asdict(question))}


def _read(name: str | os.PathLike[str]) -> str:
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is no UTF-8 text"
        raise InputError(f"--guidelines {name}: {why}", "name a Markdown file") from error


def shown_to_people(plan: Plan, table: pa.Table, named: set[str], index: Collection[str]) -> tuple[list[str], LeftOut]:
    """Columns of the items that are shown, and those that are not.

    Args:
        table: The selection: our columns and those of the items.
        named: Columns that are shown whatever they tell.
        index: Columns that were the index of a frame.
    """
    ours = {*OURS} | ({"score"} if plan.ranking.get("score") else set())
    items = [name for name in table.column_names if name not in ours]
    # who sees what a judge says would be swayed by it
    judges = [plan.notes.get(note, {}).get("column") for note in ("judge", "predictions")]
    telling = (plan.ranking.get("score"), plan.notes.get("score"), *plan.notes.get("scores", ()), *judges)
    order = _places(plan, table)
    left_out: LeftOut = {}
    for name in items:
        if name in named:
            continue
        names = with_fields(pa.schema([table.schema.field(name)])).names  # of a struct, those of its fields
        if any(name in telling or has_word(name, ANSWERS) for name in names):
            left_out[name] = ANSWER
        elif name in index and name not in plan.key_columns:
            left_out[name] = INDEX
        elif order is not None and follows(table.column(name), *order):
            left_out[name] = ORDER
    if "score" in named and "score" in ours:
        items.insert(0, "score")
    return [name for name in items if name not in left_out], left_out


def zero_or_one(table: pa.Table) -> tuple[str, ...]:
    """Columns that hold both 0 and 1 (numbers, booleans, or texts of these) and nothing else, as answers do."""
    return tuple(name for name in table.column_names if _is_zero_or_one(table.column(name)))


def _is_zero_or_one(column: pa.ChunkedArray) -> bool:
    values = _sortable(column)
    if values is None or not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        return False
    several = pc.unique(values.drop_null())
    return len(several) == 2 and {*several.to_pylist()} == {0, 1}


def follows(values: pa.ChunkedArray, place: Int64Array, group: Int64Array) -> bool:
    """Tell whether a column follows the order of the items; see above.

    Args:
        values: Numbers, booleans, times or texts, of which numbers are read as such; nothing is said of other types.
        place (int64 array): Place of each item in the order.
        group (int64 array): Which ranking it is in: within each, the column has to follow its order.
    """
    column = _sortable(values)
    if column is None:
        return False
    valid = pc.is_valid(column)
    mask = pc.and_(valid, pc.invert(pc.is_nan(column))) if pa.types.is_floating(column.type) else valid
    column, at = column.filter(mask), np.flatnonzero(mask.to_numpy(zero_copy_only=False))
    if not len(column):
        return False
    places, which = place[at], group[at]
    _, which = np.unique(which, return_inverse=True)
    a, b = _midranks(column, which), _midranks(pa.array(places), which)
    size = np.bincount(which)
    if _in_sequence(a, b, which):
        return True
    together, spread = float(a @ b), float(a @ a)
    chance = float(np.sum(_sums(a * a, which) * _sums(b * b, which) / np.maximum(size - 1, 1)))
    return spread > 0 and abs(together) >= _SLOPE * spread and together**2 >= _DEVIATIONS**2 * chance


def _in_sequence(a: FloatArray, b: FloatArray, group: Int64Array) -> bool:
    """Tell whether ranks are exactly those of the order, or exactly against it, with 2/n! below what chance is allowed.

    Args:
        a, b (float64 arrays): Midranks of the column and of the places, less their means: the latter have no ties.
    """
    by_chance = log(2) - sum(lgamma(n + 1) for n in np.bincount(group).tolist())
    return by_chance < log(_BY_CHANCE) and (np.array_equal(a, b) or np.array_equal(a, -b))


def _places(plan: Plan, table: pa.Table) -> tuple[Int64Array, Int64Array] | None:
    """Place of each item of a selection in its ranking, and which ranking that is.

    None where two orders by score are compared: the ranks of such a plan are stored rows, which tell nobody a rank.
    """
    if all(plan.notes.get("scores", [None])):
        return None
    rank = table.column("rank").to_numpy()
    if "place" not in plan.table.column_names:
        return rank, np.zeros_like(rank)
    at = np.searchsorted(plan.ranks, rank)
    place, number = (plan.table.column(name).to_numpy()[at].astype(np.int64) for name in ("place", "stratum"))
    return place, number


def _sortable(values: pa.ChunkedArray) -> pa.Array | None:
    """Values as numbers, where they are that or texts that say numbers; None where they have no order."""
    kind, whole = values.type, values.combine_chunks()
    if pa.types.is_dictionary(kind):
        whole = whole.dictionary_decode()
        kind = whole.type
    if pa.types.is_boolean(kind):
        return whole.cast(pa.int8())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        try:
            return whole.cast(pa.float64())
        except pa.ArrowInvalid:
            return whole
    sortable = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)
    return whole if sortable or pa.types.is_decimal(kind) else None


def _midranks(values: pa.Array, group: Int64Array) -> FloatArray:
    """Ranks within each group, those of equal values their mean, less the mean of the group."""
    order = pc.rank(values, tiebreaker="dense").to_numpy().astype(np.int64)
    by = np.lexsort((order, group))
    new = np.concatenate([[True], (np.diff(order[by]) != 0) | (np.diff(group[by]) != 0)])
    run = np.cumsum(new) - 1
    mean = np.bincount(run, weights=np.arange(by.size)) / np.bincount(run)
    ranks = np.empty(by.size)
    ranks[by] = mean[run]
    return ranks - (_sums(ranks, group) / np.bincount(group))[group]


def _sums(values: AnyArray, group: Int64Array) -> FloatArray:
    return np.asarray(np.bincount(group, weights=values), dtype=np.float64)


@dataclass(frozen=True)
class Tasks:
    """Content of an export.

    Attributes:
        table: `se_study`, `se_task`, then the items' columns, in the order in which people see them.
        left_out: Columns that are not shown, and why.
        extra: Every task beyond one per item that was ever exported: columns of `EXTRA_TASKS`.
        batches: Of a plan with batches: the row of `table` with which each of them ends.
    """

    table: pa.Table
    left_out: LeftOut
    extra: pa.Table
    batches: tuple[int, ...] = ()


def task_numbers(plan: Plan, first: int | None = None) -> Int64Array:
    """Number planned ranks in a seeded shuffle, or in the order that the plan drew: `se_task`, in the plan's order.

    Args:
        plan: One that has grown numbers its batches one after another, so that tasks keep the numbers they had.
        first: Where the numbers begin: where those of the study's tasks began, if there are any.
    """
    from streameval.kernels.draw import draws

    count = plan.ranks.size
    begin = _first_number(plan, _FIRST) if first is None else first
    if "turn" in plan.table.column_names:
        return np.asarray(plan.table.column("turn").to_numpy()) + begin
    grown = "batch" in plan.table.column_names
    batch = plan.table.column("batch").to_numpy() if grown else np.ones(count, dtype=np.int32)
    within = np.empty(count, dtype=np.uint64)
    for batch_number in unique(batch):
        within[batch == batch_number] = draws(np.uint64(plan.seed % 2**64), int(np.sum(batch == batch_number)))
    order = np.lexsort((within, batch))
    numbers = np.empty(count, dtype=np.int64)
    numbers[order] = np.arange(count) + begin
    return numbers


def first_judged(plan: Plan) -> int:
    """Least number of what the judge of a plan is asked."""
    return _first_number(plan, FIRST_JUDGED)


def _first_number(plan: Plan, first: int) -> int:
    """A place of the study's own in a range of task numbers; a plan that has grown keeps that of the first."""
    return first + int(plan.study_ids[-1], 16) % _RANGE


def make_tasks(
    folder: Study, plan: Plan, table: pa.Table, shown_or_not: tuple[list[str], LeftOut], options: TaskOptions
) -> Tasks:
    """Make the tasks of an export.

    Args:
        table: The items that it shows.
        shown_or_not: See `streameval.study.tasks.shown_to_people`.
    """
    if options.repeats > table.num_rows:
        raise InputError(f"--repeats is {options.repeats:,}, above the {table.num_rows:,} tasks that there are")
    names, left_out = shown_or_not
    ours = np.asarray(table.column("se_task").to_numpy())
    shown = table.select(["rank", "se_task", *names]).take(pa.array(np.argsort(ours)))
    registry = folder.extra_tasks()
    extra = _Extra(plan, EXTRA_TASKS.empty_table() if registry is None else registry.cast(EXTRA_TASKS))
    more = [extra.repeats(shown, options.repeats)]
    if options.controls is not None:
        from streameval.labelling.controls import read_controls
        from streameval.stores.transfer import local_copy

        with local_copy(options.controls) as place:
            more.append(extra.controls(read_controls(place, names, table.schema, plan.key_columns)))
    tasks = _mix_in(shown.drop_columns(["rank"]), [extra for extra in more if extra.num_rows], plan.seed)
    study = pa.array([plan.plan_id] * tasks.num_rows, pa.string())
    return Tasks(tasks.add_column(0, "se_study", study), left_out, extra.table, _ends(plan, shown, tasks))


def _ends(plan: Plan, shown: pa.Table, tasks: pa.Table) -> tuple[int, ...]:
    """Row of an export with which each batch ends; none where there are no batches."""
    # looks add their labels later, and an adopted sample has none of its own before the first
    columns = plan.table.column_names
    if plan.parameters.get("stages", 1) == 1 or "look" in columns or "batch" not in columns:
        return ()
    at = np.searchsorted(plan.ranks, shown.column("rank").to_numpy())
    last = np.cumsum(np.bincount(plan.table.column("batch").to_numpy()[at])[1:])
    row = np.flatnonzero(isin(tasks.column("se_task").to_numpy(), shown.column("se_task").to_numpy())) + 1
    return tuple(int(row[n - 1]) if n else 0 for n in last.tolist())


class _Extra:
    """Tasks beyond one per item; the same asked for again gets the same numbers."""

    def __init__(self, plan: Plan, table: pa.Table) -> None:
        self.table = table
        self._plan = plan

    def repeats(self, shown: pa.Table, count: int) -> pa.Table:
        """The first `count` of a seeded shuffle of what is shown, under other numbers."""
        from streameval.kernels.draw import draws

        order = np.argsort(draws(np.uint64(self._plan.seed % 2**64) ^ _PLACES, shown.num_rows), kind="stable")
        chosen = shown.take(pa.array(order[:count]))
        task_of = self._answers("repeat", "rank")
        ranks = chosen.column("rank").to_pylist()
        new = [{"rank": rank, "kind": "repeat"} for rank in ranks if rank not in task_of]
        task_of |= self._add(new, "rank")
        numbers = pa.array([task_of[rank] for rank in ranks], pa.int64())
        return chosen.drop_columns(["rank"]).set_column(0, "se_task", numbers)

    def controls(self, items: pa.Table) -> pa.Table:
        """Every control item once."""
        task_of = self._answers("control", "content")
        rows = zip(items.column("content").to_pylist(), items.column("expected").to_pylist(), strict=True)
        first = dict(reversed(list(rows)))
        new = [{"kind": "control", "content": c, "expected": e} for c, e in first.items() if c not in task_of]
        task_of |= self._add(new, "content")
        numbers = pa.array([task_of[content] for content in items.column("content").to_pylist()], pa.int64())
        once = np.unique(numbers.to_numpy(), return_index=True)[1]
        shown = items.drop_columns(["expected", "content"])
        return shown.add_column(0, "se_task", numbers).take(pa.array(once))

    def _answers(self, kind: str, by: str) -> dict[Any, int]:
        rows = self.table.select([by, "se_task", "kind"]).to_pylist()
        return {row[by]: row["se_task"] for row in rows if row["kind"] == kind}

    def _add(self, new: list[dict[str, Any]], by: str) -> dict[Any, int]:
        start = max([_first_number(self._plan, _FIRST_EXTRA), *self.table.column("se_task").to_pylist()]) + 1
        rows: list[Mapping[str, Any]] = [{**row, "se_task": start + i} for i, row in enumerate(new)]
        self.table = pa.concat_tables([self.table, pa.Table.from_pylist(rows, schema=EXTRA_TASKS)])
        return {row[by]: row["se_task"] for row in rows}


def _mix_in(shown: pa.Table, more: list[pa.Table], seed: int) -> pa.Table:
    """Put extra tasks at random places; the others keep their order."""
    from streameval.kernels.draw import draws

    if not more:
        return shown
    extra = pa.concat_tables(table.cast(shown.schema) for table in more)
    place = np.arange(shown.num_rows, dtype=np.float64)
    random = draws(np.uint64(seed % 2**64) ^ (_PLACES + np.uint64(1)), extra.num_rows).astype(np.float64) / 2.0**64
    order = np.argsort(np.concatenate([place, random * shown.num_rows]), kind="stable")
    return pa.concat_tables([shown, extra]).take(pa.array(order))
