"""`plan --for`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from streameval.cli.batch import Batch
from streameval.cli.output import Output
from streameval.cli.planning import doubts, next_stop, planned
from streameval.cli.ranking import RankingFlags
from streameval.errors import InputError
from streameval.text.options import flag


def plan_for(
    ranking: Sequence[str], study: Path, given: dict[str, Any], flags: RankingFlags, batch: Batch, output: Output
) -> None:
    """Plan for a question, and say what it asks, and how many labels it is expected to take.

    Args:
        given: All other flags that were given; what has no part in it is refused.
    """
    from streameval.kinds.question.adding import unlabelled_lines
    from streameval.kinds.question.cost import expected_lines
    from streameval.kinds.question.plan import posed
    from streameval.kinds.question.says import counted_lines, known_lines, posed_as
    from streameval.kinds.question.tree import known_now
    from streameval.questions.asking import Asking
    from streameval.study import Study

    if given["questions"] is None:
        first = next(name for name in ("zone", "expect", "round", "together") if name in given)
        raise InputError(f"{flag(first)} is for a question, and none is asked",
                         'ask one with --for "precision@10000 >= 0.9"')  # fmt: skip
    if batch.dry_run:
        raise InputError("--for does not go with --dry-run", "`streameval cost --for` says what a question costs")
    made, place = planned(ranking, study, given, flags, output)
    known = known_now(Study(place), made)
    design, asking = posed(made, known)[0], Asking(questions=made.questions, **{**made.parameters, "together": False})
    lines = [*map(posed_as, made.questions), *counted_lines(made), *expected_lines(design, asking, made.n_items)]
    waiting = unlabelled_lines(Study(study), made) if place != study else ()
    lines += [*known_lines(made, known), *waiting, f"Seed {made.seed}, kept in plan.json."]
    lines += [*doubts(made), next_stop(Study(place), made)]
    facts = {"study": str(place), "plan_id": made.plan_id, "labels": made.table.num_rows,
             "expected": [{"case": case, **vars(labels)} for case, labels in design.expected()]}  # fmt: skip
    output.say({**facts, **made.header()}, lines)
