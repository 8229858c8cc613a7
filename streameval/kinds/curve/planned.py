"""What is said of a plan for a curve."""

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

    def says(self, planned: Planned) -> tuple[dict[str, Any], list[str]]:
        """Say how many items are to be labelled, what is particular to the plan, and what plans the same again."""
        made, folder, before = planned.plan, planned.study, planned.before
        labels = made.table.num_rows
        replaced = before if before is not None and made.plan_id not in before.study_ids else None
        there = before is not None and replaced is None
        facts, left = reused(planned.options, labels, folder.labelled if made.draw_by else 0)
        facts |= {"already_there": there, "replaced": replaced is not None, "doubt": made.location.get("doubt")}
        again = ", as planned before" if there else ""
        head = f"{value_of(made)}: {labels:,} of {made.n_items:,} items to label ({labels / made.n_items:.2%}){again}"
        lines = [head, *_replaced(replaced, made), *_copied(folder, made), *_told(made), *left, _seed(made)]
        following = f"Next: {first_step(folder, made).command}"
        return planned.facts(**facts), [*lines, *planned.doubts, following]

    def rehearsal(
        self, ranking: Sequence[str], study: Study, how: tuple[Mapping[str, Any], Sequence[Any]], seed: int | None,
        options: RankingOptions, progress: Progress,
    ) -> Rehearsal:  # fmt: skip
        """Say what `select` would read for a plan, and how many of its items have a label already."""
        given, asked = how
        if "judge" in given:
            raise InputError("--dry-run reads no column, and a judge is one", "leave out --judge")
        with KnownLabels.among(asked).at_hand() as known_labels:
            request = PlanRequest.parse(study.folder, seed, options, known_labels, progress)
            chosen = drawing(asked, request)
            with for_a_while([*ranking], options, progress, study.list_copy) as source:
                drawn = draw(source, chosen, request)
                made, opened = drawn.plan, drawn.ranking
                copied = kind_of([*ranking]) is not None
                forecast = Forecast() if copied else opened.forecast(made.ranks, opened.columns())
        labels = made.table.num_rows
        labelled = 0 if drawn.votes is None else len(set(drawn.votes.table.column("rank").to_pylist()))
        more, left = reused(given, labels, labelled)
        head = f"{value_of(made)}: {labels:,} of {made.n_items:,} items would be planned"
        head += "" if seed is not None else f" (--seed {chosen.seed} plans just these)"
        head += f". The list would be read into {study.list_copy}." if copied else "; to select them:"
        names = [*([LIST_COPY] if copied else []), *file_names(made), "manifests/plan.json"]
        shown = [*ranking] if copied else made.location["source"]
        writes = [study.folder / name for name in names]
        return Rehearsal([*left, head], labels, made.n_items, shown, forecast, writes, more=more)


def reused(options: Mapping[str, Any], labels: int, labelled: int) -> tuple[dict[str, Any], list[str]]:
    """Say how many labels are left to ask for, as facts and in words, of items that are drawn by their key."""
    if not {"on", "reuse", "label", "labels_unseen_by_model"} & options.keys():
        return {}, []
    facts = {"reused": labelled, "to_label": labels - labelled}
    said = [f"{labelled:,} have a label already: {labels - labelled:,} are left to ask for."]
    seen = ["The model has seen these labels: bounds will promise nothing."]
    return facts, [*said * ("reuse" in options), *seen * (options.get("labels_unseen_by_model") == "no")]


def _replaced(before: Plan | None, made: Plan) -> list[str]:
    """Say what differs from the plan whose place was taken."""
    if before is None:
        return []
    differs = difference(before, made)
    return [f"Replaces the earlier plan, of which nothing was selected or labelled: {differs}."]


def _copied(study: Study, made: Plan) -> list[str]:
    """Where the list is, if it is no Parquet."""
    if "copied" not in made.location:
        return []
    return [f"The list was read into {study.list_copy}, and every later command reads it there."]


def _seed(made: Plan) -> str:
    """Say what plans the same again, or nearly the same items of another version."""
    if made.draw_by:
        key = shlex.quote(",".join(made.draw_by))
        again = f"another version draws nearly the same items with --seed {made.seed} --on {key}"
        return f"Seed {made.seed}: {again}."
    by = "" if made.by is None else f" --by {shlex.quote(made.by)}"
    return f"Seed {made.seed}, kept in plan.json: --seed {made.seed}{by} plans the same again."


def _told(made: Plan) -> list[str]:
    """Say what is particular to a plan: slices, ranks that stay unknown, stages, a judge."""
    lines = []
    if made.by is not None:
        lines.append(f"{number_of(len(made.slices), 'slice')} by {made.by}: {_largest(made)}.")
    if unknown := made.unknown_tail:
        lines.append(
            f"The last {unknown:,} ranks stay unknown (0 to {unknown:,} positives); tail=closed labels a last window."
        )
    lines += _stages(made)
    if made.judge_counts is not None and made.judge_sample is None:
        lines.append(classes_sentence(made))
    return lines


def _largest(made: Plan) -> str:
    """The largest slices, and what each of them is given."""
    counts = Counter(made.table.column("slice").to_pylist())
    names = [one.name for one in made.slices]
    parts = [f"{printable(short(name))} {counts[name]:,}" for name in names[:_SHOWN]]
    return ", ".join([*parts, *([f"and {len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else [])])


def _stages(made: Plan) -> list[str]:
    """In which stages the labelling goes, where it has any."""
    method, lines = method_of(made), []
    if method.batches > 1:
        lines.append(f"The tasks come in {method.batches} batches: evaluate whenever one is answered.")
    if method.looks > 1:
        lines.append(f"This is the first of {method.looks} stages: `streameval grow` adds labels for another.")
    if method.adaptive:
        lines.append("This is the first batch; once it is answered and evaluated, `grow --rest` adds the second.")
    if made.judge_sample is not None and method.judge_sample is not None:
        lines.append(f"Ask the judge about {made.judge_sample.num_rows:,} items first, and people afterwards.")
        if method.judge_sample > made.n_items:
            lines.append(f"The list has no more, though --judge-sample asks for {method.judge_sample:,}.")
    return lines


PLANNED = CurvePlanText()
