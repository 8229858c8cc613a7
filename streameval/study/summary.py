"""Fields of evaluation.json about a plan and its labels, whatever the kind of study."""

from __future__ import annotations

from typing import Any

from streameval import __version__
from streameval.labelling.options import Judging
from streameval.study.formats import format_mark
from streameval.study.results import evaluation_id
from streameval.study.take_in import TakenIn
from streameval.types import Claim, Plan


def summary_of(kind: str, plan: Plan, intake: TakenIn, judging: Judging, claim: Claim) -> dict[str, Any]:
    """Give what is the same for every kind of study with a plan."""
    tallied = intake.tallied
    return {
        **format_mark(kind),
        "evaluation_id": evaluation_id(plan, tallied.labels),
        "study": plan.plan_id,
        "version": __version__,
        "method": plan.method,
        "n_items": plan.n_items,
        "parameters": dict(plan.parameters),
        "ranking": dict(plan.ranking),
        "vote": judging.vote,
        "prefer": list(judging.prefer),
        "label_error": 0.0,
        "claim": claim.as_dict(),
        "account": dict(tallied.labels.account),
        "agreement": tallied.agreement.as_dict(),
        "sources": intake.given,
        **intake.doubts,
        **intake.facts,
    }
