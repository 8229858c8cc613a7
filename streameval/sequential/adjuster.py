"""What evidence that was there before a question was chosen is worth to it; derived here.

A study has a martingale M_r over the ranks of its list, nonnegative and from 1. Somebody looks at it and chooses a rank
and a threshold: if the claim is false, the evidence E1 for it is at most M at that rank (`methods.Multiplies`), and so
at most the largest M of all ranks, which is above x with probability 1/x at most. E1 itself must not be multiplied into
the evidence of new labels: the rank was chosen because M is large there. What may be is A(max(1, E1)), with

    A(x) = (x - 1 - ln x) / (ln x)²,  A(1) = 1/2.

Theorem.  E A(max M) <= 1. Given the study, new labels in an order of their own reach c / A(max(1, E1)) for a false
claim with probability A(max M) / c at most; so over the study and the new labels with probability 1/c at most.

Proof.  A never falls, and the integral of A(x) / x² over x >= 1 is 1: with u = ln x it is that of (1 - (1 + u) e^-u) /
u² over u >= 0, whose antiderivative is -(1 - e^-u) / u. E of a function of max M that never falls is largest where
P(max M >= x) = 1/x, and then it is this integral. The rest is `sequential.evidence`, given the study. ∎

Two sides.  Which side of a test is the false one now depends on the study. As A >= 1/2, the larger A of both is at most
their sum less 1/2, which is 3/2 in the mean: 1.5 c is asked for on both sides.

This holds only if A is used whatever it comes to: whoever used it where it helps would have the mean of max(1, A). So
it is used, or not, for all ranks and thresholds of a study alike (`kinds.question.adding` says of which), and zone and
confidence of a question must not be chosen by looking.
"""

from __future__ import annotations

import math

TWO_SIDES = 1.5  # times the evidence that one side would need
_LEAST = 1e-6  # of ln E: nothing is decided without a new label, however much is known


def log_adjusted(log_evidence: float) -> float:
    """ln A(max(1, E1)), from ln E1.

    >>> [round(math.exp(log_adjusted(math.log(x))), 1) for x in (1, 20, 100, 400, 1e4)]
    [0.5, 1.8, 4.5, 10.9, 117.8]
    """
    u = max(0.0, log_evidence)
    if u < 1e-3:  # the terms that cancel below are lost to rounding
        return math.log(0.5 + u / 6)
    return u + math.log1p(-(1 + u) * math.exp(-u)) - 2 * math.log(u)


def log_needed(log_alone: float, log_evidence: float) -> float:
    """ln of the evidence that new labels have to reach on either side of a test, beside what was there.

    Args:
        log_alone: Without anything that was there.
    """
    return max(_LEAST, log_alone + math.log(TWO_SIDES) - log_adjusted(log_evidence))
