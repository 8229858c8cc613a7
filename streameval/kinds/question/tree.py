"""The questions asked of a study, of these questions, and so on: all of them are asked of one list.

A question is a study in a folder `question-N` within the one that it is asked of. Whatever has an answer anywhere in
the tree is known to a question that is planned next, and is not asked again. Which items these are is fixed with its
plan; which labels they have is read here whenever it is evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np

from streameval.kernels.sorted_sets import isin
from streameval.kinds.first_rule import first_rule, rule_of, summary_before, tally_by
from streameval.labelling.tally import Tallied
from streameval.sequential import KnownItems
from streameval.study import Study
from streameval.study.judging import recount
from streameval.types import TRUTH, Plan
from streameval.typing import Int8Array, Int64Array

_FOLDER = re.compile(r"question-([1-9]\d*)")


Count = Callable[[Study, Plan], Tallied]


def counted_first(folder: Study, plan: Plan) -> Tallied:
    """Count them by the first rule under which the study had labels, where votes have labels by it."""
    first = first_rule(summary_before(folder, plan))
    return (first and tally_by(folder, plan, first)) or recount(folder, plan)


def asked_of(folder: Study) -> list[tuple[Path, Plan]]:
    """Questions that were asked of a study: folders within, and their plans, the first first."""
    places = (place for place in folder.folder.iterdir() if _FOLDER.fullmatch(place.name))
    there = sorted(places, key=_number)
    return [(place, Study(place).plan()) for place in there if Study(place).exists]


def new_place(folder: Study) -> Path:
    """The folder of the next question of a study."""
    numbers = [_number(place) for place in folder.folder.iterdir() if _FOLDER.fullmatch(place.name)]
    return folder.folder / f"question-{max(numbers, default=0) + 1}"


def _number(place: Path) -> int:
    match = _FOLDER.fullmatch(place.name)
    return int(match[1]) if match else 0


def root_of(folder: Study) -> Study:
    """The study that a question was asked of, or the one that this was asked of, and so on; itself, if it is none."""
    here = folder.folder.resolve()
    parent = Study(folder.folder.parent if here.parent == folder.folder.parent.resolve() else here.parent)
    return root_of(parent) if _FOLDER.fullmatch(here.name) and parent.exists else folder


def tree_of(folder: Study) -> list[tuple[Path, Plan]]:
    """All questions of the tree that a study is in, each with its folder, from the root on."""
    root = root_of(folder)
    return [(root.folder, root.plan()), *_below(root)]


def _below(folder: Study) -> Iterator[tuple[Path, Plan]]:
    for place, plan in asked_of(folder):
        yield place, plan
        yield from _below(Study(place))


def known_in(tree: Sequence[tuple[Path, Plan]], count: Count = recount) -> KnownItems:
    """Items that have an answer anywhere in a tree, with their labels as they are; -1 where it made no label.

    Where two studies have an answer of one item, that of the first counts. What a question was told is known counts by
    the answers that there are of it now; only what the root knew has no others.
    """
    at_start = known_of(tree[0][1])
    parts = [(at_start.rank, at_start.label), *(_answered_items(Study(place), plan, count) for place, plan in tree)]
    ranks, first = np.unique(np.concatenate([rank for rank, _ in parts]), return_index=True)
    return KnownItems(ranks, np.concatenate([label for _, label in parts])[first])


def _answered_items(folder: Study, plan: Plan, count: Count) -> tuple[Int64Array, Int8Array]:
    if not folder.labels.folder.exists():
        return np.empty(0, np.int64), np.empty(0, np.int8)
    tallied = count(folder, plan)
    return plan.ranks[tallied.answered], tallied.labels.label[tallied.answered]


def known_now(folder: Study, plan: Plan, count: Count = recount) -> KnownItems:
    """Give what a question was planned with, with the labels that these items have now, as they are counted.

    As planned where it lies alone, and where it was handed on without any votes, which results stand without.
    """
    planned_items, root = known_of(plan), root_of(folder)
    if not planned_items.rank.size or root.folder == folder.folder:
        return planned_items
    tree = tree_of(root)
    if not any(Study(place).labels.folder.exists() for place, _ in tree):
        return planned_items
    current = known_in(tree, count)
    label = np.full(planned_items.rank.size, -1, np.int8)
    there = isin(planned_items.rank, current.rank)
    label[there] = current.label[np.searchsorted(current.rank, planned_items.rank[there])]
    return (
        planned_items
        if np.array_equal(label, planned_items.label)
        else replace(planned_items, label=label, planned=planned_items.label)
    )


def late_rules(folder: Study, plan: Plan) -> list[dict[str, Any]]:
    """Studies whose answers are known to a question and are counted by a rule that came after labels, JSON-ready.

    Returns:
        Of each `study`, its folder, and `rule` and `first`: the rule now, and the first under which it had labels.
    """
    late, known_ranks = [], known_of(plan).rank
    for place, other in tree_of(root_of(folder)) if known_ranks.size else ():
        before = None if place.resolve() == folder.folder.resolve() else summary_before(Study(place), other)
        first, rule = first_rule(before), before and rule_of(before)
        if first not in (None, rule) and isin(known_ranks, other.ranks).any():
            late.append({"study": place.resolve().name, "rule": rule, "first": first})
    return late


def whose_known(folder: Study, plan: Plan) -> tuple[str, str]:
    """Say whose answers the labels of known items are, as `about` and `why` of a `Claim`.

    Those of the first study of the tree that gave some of them and is not about the truth.
    """
    known_ranks, root = known_of(plan).rank, root_of(folder)
    for place, other in tree_of(root) if known_ranks.size and root.folder != folder.folder else ():
        if place != folder.folder and Study(place).labels.folder.exists() and isin(known_ranks, other.ranks).any():
            labels = recount(Study(place), other).labels
            if labels.about != TRUTH:
                return labels.about, labels.why
    return TRUTH, ""


def state_of(known_items: KnownItems) -> str:
    """Sixteen hex digits that differ whenever known items have other labels."""
    return sha256(known_items.label.tobytes()).hexdigest()[:16]


def known_of(plan: Plan) -> KnownItems:
    """Give what was known when a question was planned, with the labels of that time."""
    if plan.known is None:
        return KnownItems.nothing()
    return KnownItems(**{name: np.asarray(plan.known.column(name).to_numpy()) for name in plan.known.column_names})
