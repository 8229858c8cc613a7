"""Texts about a plan for a curve."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from streameval.copies import LIST_COPY, kind_of
from streameval.copies.write import for_a_while
from streameval.errors import InputError
from streameval.judges.classes import classes_sentence
from streameval.kinds.curve.plan import draw, drawing
from streameval.kinds.planned import Planned, PlanText
from streameval.kinds.planning import PlanRequest
from streameval.methods import method_of
from streameval.methods.values import value_of
from streameval.parquet.account import Forecast
from streameval.progress import Progress
from streameval.rehearsal import Rehearsal
from streameval.reporting.next_step import first_step
from streameval.rows.options import RankingOptions
from streameval.study import Study
from streameval.study.known_labels import KnownLabels
from streameval.study.plan_files import difference, file_names
from streameval.text import number_of, printable, short
from streameval.types import Plan

_SHOWN = 8  # slices that the terminal names


class CurvePlanText(PlanText):
    """Sentences about the plan of a curve."""

    def facts_and_lines(self, planned: Planned) -> tuple[dict[str, Any], list[str]]:
        """Say how many items are to be labelled, what is particular to the plan, and what plans the same again."""
        plan, folder, before = planned.plan, planned.study, planned.before
        labels = plan.table.num_rows
        replaced = before if before is not None and plan.plan_id not in before.study_ids else None
        facts, left = reuse_facts_and_lines(planned.options, labels, folder.labelled if plan.draw_by else 0)
        facts |= {"replaced": replaced is not None, "doubt": plan.location.get("doubt")}
        again = ", as planned before" if planned.there else ""
        head = f"{value_of(plan)}: {labels:,} of {plan.n_items:,} items to label ({labels / plan.n_items:.2%}){again}"
        lines = [
            head,
            *_difference_lines(replaced, plan),
            *_copy_lines(folder, plan),
            *_plan_lines(plan),
            *left,
            _seed(plan),
        ]
        following = f"Next: {first_step(folder, plan).command}"
        return planned.facts(**facts), [*lines, *planned.doubts, following]

    def rehearsal(
        self, ranking: Sequence[str], study: Study, how: tuple[Mapping[str, Any], Sequence[Any]], seed: int | None,
        options: RankingOptions, progress: Progress,
    ) -> Rehearsal:  # fmt: skip
        """Say what `select` would read for a plan, and how many of its items have a label already."""
        raw_options, plan_options = how
        if "judge" in raw_options:
            raise InputError("--dry-run reads no column, and a judge is one", "leave out --judge")
        with KnownLabels.from_options(plan_options).at_hand() as known_labels:
            request = PlanRequest.parse(study.folder, seed, options, known_labels, progress)
            chosen = drawing(plan_options, request)
            with for_a_while([*ranking], options, progress, study.list_copy) as source:
                drawn = draw(source, chosen, request)
                plan, opened = drawn.plan, drawn.ranking
                copied = kind_of([*ranking]) is not None
                forecast = Forecast() if copied else opened.forecast(plan.ranks, opened.columns())
        labels = plan.table.num_rows
        labelled = 0 if drawn.votes is None else len(set(drawn.votes.table.column("rank").to_pylist()))
        more, left = reuse_facts_and_lines(raw_options, labels, labelled)
        head = f"{value_of(plan)}: {labels:,} of {plan.n_items:,} items would be planned"
        head += "" if seed is not None else f" (--seed {chosen.seed} plans just these)"
        head += f". The list would be read into {study.list_copy}." if copied else "; to select them:"
        names = [*([LIST_COPY] if copied else []), *file_names(plan), "manifests/plan.json"]
        shown = [*ranking] if copied else plan.location["source"]
        writes = [study.folder / name for name in names]
        return Rehearsal([*left, head], labels, plan.n_items, shown, forecast, writes, more=more)


def reuse_facts_and_lines(options: Mapping[str, Any], labels: int, labelled: int) -> tuple[dict[str, Any], list[str]]:
    """Say how many labels are left to ask for, as facts and in words, of items that are drawn by their key."""
    if not {"on", "reuse", "label", "labels_unseen_by_model"} & options.keys():
        return {}, []
    facts = {"reused": labelled, "to_label": labels - labelled}
    sentences = [f"{labelled:,} have a label already: {labels - labelled:,} are left to ask for."]
    seen = ["The model has seen these labels: bounds will promise nothing."]
    return facts, [*sentences * ("reuse" in options), *seen * (options.get("labels_unseen_by_model") == "no")]


def _difference_lines(before: Plan | None, plan: Plan) -> list[str]:
    """Say what differs from the plan whose place was taken."""
    if before is None:
        return []
    differs = difference(before, plan)
    return [f"Replaces the earlier plan, of which nothing was selected or labelled: {differs}."]


def _copy_lines(study: Study, plan: Plan) -> list[str]:
    """Say where the list is, if it is no Parquet."""
    if "copied" not in plan.location:
        return []
    return [f"The list was read into {study.list_copy}, and every later command reads it there."]


def _seed(plan: Plan) -> str:
    """Say what plans the same again, or nearly the same items of another version."""
    if plan.draw_by:
        key = shlex.quote(",".join(plan.draw_by))
        again = f"another version draws nearly the same items with --seed {plan.seed} --on {key}"
        return f"Seed {plan.seed}: {again}."
    by = "" if plan.by is None else f" --by {shlex.quote(plan.by)}"
    return f"Seed {plan.seed}, kept in plan.json: --seed {plan.seed}{by} plans the same again."


def _plan_lines(plan: Plan) -> list[str]:
    """Say what is particular to a plan: slices, ranks that stay unknown, stages, a judge."""
    lines = []
    if plan.by is not None:
        lines.append(f"{number_of(len(plan.slices), 'slice')} by {plan.by}: {_largest(plan)}.")
    if unknown := plan.unknown_tail:
        lines.append(
            f"The last {unknown:,} ranks stay unknown (0 to {unknown:,} positives); tail=closed labels a last window."
        )
    lines += _stages(plan)
    if plan.judge_counts is not None and plan.judge_sample is None:
        lines.append(classes_sentence(plan))
    return lines


def _largest(plan: Plan) -> str:
    """The largest slices, and what each of them is given."""
    counts = Counter(plan.table.column("slice").to_pylist())
    names = [part.name for part in plan.slices]
    parts = [f"{printable(short(name))} {counts[name]:,}" for name in names[:_SHOWN]]
    return ", ".join([*parts, *([f"and {len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else [])])


def _stages(plan: Plan) -> list[str]:
    """In which stages the labelling goes, where it has any."""
    method, lines = method_of(plan), []
    if method.batches > 1:
        lines.append(f"The tasks come in {method.batches} batches: evaluate whenever one is answered.")
    if method.looks > 1:
        lines.append(f"This is the first of {method.looks} stages: `streameval grow` adds labels for another.")
    if method.adaptive:
        lines.append("This is the first batch; once it is answered and evaluated, `streameval grow` adds the second.")
    if plan.judge_sample is not None and method.judge_sample is not None:
        lines.append(f"Ask the judge about {plan.judge_sample.num_rows:,} items first, and people afterwards.")
        if method.judge_sample > plan.n_items:
            lines.append(f"The list has no more, though --judge asks for {method.judge_sample:,}.")
    return lines


PLANNED = CurvePlanText()
