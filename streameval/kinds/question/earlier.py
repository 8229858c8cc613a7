"""What the labels of a curve are worth to a gate that is asked after somebody looked at them.

They are known items, whatever is asked. As evidence (`streameval.sequential.adjuster`) they also count for a gate that
is to be surer than the curve: one that the curve has decided takes a tenth to a quarter fewer labels then. For one that
is not, they do not: what the curve left open has little evidence for either side, and the adjuster, which asks for 1.5
to 3 times as much where there is none, made it cost a tenth to a third more labels (five lists, 30 to 40 draws each).
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from streameval.methods import Multiplies, method_of
from streameval.sequential import EarlierEvidence
from streameval.types import Labels, Plan

_FEWEST = 100  # labels of a curve whose evidence is worth anything


def evidence_of(plan: Plan, labels: Labels, confidence: str) -> EarlierEvidence | None:
    """`streameval.sequential.QuestionSetting.evidence` of a curve for questions of that confidence; None without any.

    The plan decides that, for every rank and threshold alike: no label does.
    """
    if plan.kind != "curve" or plan.ranks.size < _FEWEST:
        return None
    method = method_of(plan)
    if (
        not isinstance(method, Multiplies)
        or method.level is None
        or Fraction(confidence) <= Fraction(str(method.level))
    ):
        return None
    mu = method.mixture(plan)
    if method.evidence_at(plan, labels, plan.n_items, mu) is None:
        return None

    def evidence(rank: int, label: int, least: int) -> float:
        found = method.evidence_at(plan, labels, rank, mu)
        if found is None:
            raise ValueError(f"a plan of {plan.method} has evidence at some ranks only")
        return float(np.logaddexp.reduce(mu * least + found[0 if label == 1 else 1])) - math.log(mu.size)

    return evidence
