"""The items above the deepest rank that a question about a cut has proven."""

from __future__ import annotations

import shlex

from streameval.errors import InputError
from streameval.kinds.question.says import is_cut, promise
from streameval.questions import Question
from streameval.questions.cutoffs import Cutoff
from streameval.reporting.cut import CutResult
from streameval.study import Study
from streameval.study.cut_files import Cut
from streameval.study.planned_ranking import score_at
from streameval.study.results import Result
from streameval.types import Claim

_NAMES = [f"{name}{side}" for name in ("yield", "precision", "recall", "f1") for side in ("_lower", "", "_upper")]


def front(folder: Study, result: Result, target: Cutoff, ranking: object) -> Cut:
    """Give the cut at the front.

    Raises:
        InputError: Another cutoff than the one that was planned, or no rank is proven yet.
    """
    plan, study = folder.plan(), str(folder.folder)
    questions = [question for question in map(Question.of, plan.questions) if is_cut(question)]
    wanted = questions[0].cutoff if questions else None
    if wanted != target:
        ask = shlex.join(["streameval", "plan", "--study", study, "--for", f"cut precision {target.value}"])
        raise InputError(
            f"{study} asks about {', '.join(plan.questions)}, and a cut at {target} is another question",
            ask if target.kind == "precision" else "a curve cuts there: `streameval plan` without --for",
        )
    (row,) = result.metrics.to_pylist()
    rank = int(row["lower"] or 0)
    if not rank:
        raise InputError(f"no rank is proven to have precision {target.value} yet", "label another round")
    return CutResult(
        rank=rank,
        score=score_at(plan, rank, ranking),
        holds={**dict.fromkeys(_NAMES), "precision_lower": float(target.share)},
        claim=Claim(**result.summary["claim"]),
        asked={"cutoff": str(target)},
        plan=plan,
        evaluation_id=result.evaluation_id,
        study=folder.folder,
        estimates="none",
        promise=promise(result),
        _ranking=ranking,
    )
