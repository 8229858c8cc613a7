"""Gates that are asked after the worst look at a curve: evidence that was chosen must not count as if it were not."""

import numpy as np
import pytest
from binomial import binomial_tail
from suite_cases import cases

from streameval.kinds.question.adding import evidence_of
from streameval.methods import create
from streameval.questions import Question
from streameval.sequential import KnownItems, QuestionSetting, condition
from streameval.sequential.gate import Gate
from streameval.types import Labels

N, RANKS = 1_200, range(100, 1_201, 55)
LISTS = {
    "alternating": np.tile([0, 1], N // 2),
    "falling": (np.random.default_rng(0).random(N) < np.linspace(0.95, 0.4, N)).astype(int),
}


def curve(seed, truth, **changed):
    """A plan, its labels, and method, of a confidence below that of every question here."""
    method = create("loguniform", {"budget": 150, "confidence": 0.3, **changed})
    plan = method.plan(N, seed)
    return plan, Labels.of(plan, truth[plan.ranks - 1])


def is_wrong(truth, seed, confidence):
    """Whether the gate that is false by one item, at the rank and on the side that look best, comes out as claimed."""
    plan, labels = curve(seed, truth)
    evidence, found = evidence_of(plan, labels, confidence), np.cumsum(truth)
    claims = [(rank, side) for rank in RANKS for side in ("pass", "fail") if 0 < found[rank - 1] < rank]

    def looks(claim):
        rank, positives = claim[0], int(found[claim[0] - 1])
        return evidence(rank, 0, rank - positives) if claim[1] == "pass" else evidence(rank, 1, positives)

    rank, side = max(claims, key=looks)
    threshold = (found[rank - 1] + (0.5 if side == "pass" else -0.5)) / rank
    question = Question.of(f"precision@{rank} >= {threshold:.9f}")
    known = KnownItems(plan.ranks, labels.label)
    gate = Gate.plan([question], QuestionSetting(N, {str(rank): rank}, known, confidence, seed=seed, evidence=evidence))
    drawn = gate.next(gate.start(), np.empty(0, np.int8), N, seed + 10**6)
    ranks = drawn.table.sort_by("order").column("rank").to_numpy()
    return gate.tests[0].read(truth[ranks[ranks <= rank] - 1].astype(np.int8)).outcome == side


@pytest.mark.parametrize("confidence", cases(["0.95", "0.5"], "0.5"))
@pytest.mark.parametrize("name", cases(LISTS, "alternating"))
@pytest.mark.parametrize("runs", [25, pytest.param(1_000, marks=pytest.mark.slow)])
def test_the_claim_that_looks_best_is_wrong_no_more_often_than_is_said(name, confidence, runs):
    wrong = sum(is_wrong(LISTS[name], seed, confidence) for seed in range(runs))
    assert binomial_tail(runs, wrong, 1 - float(confidence)) > 1e-3


@pytest.mark.slow
def test_evidence_that_was_chosen_is_too_much_by_itself(monkeypatch):
    monkeypatch.setattr(condition, "log_needed", lambda alone, evidence: max(1e-6, alone - evidence))
    wrong = sum(is_wrong(LISTS["alternating"], seed, "0.95") for seed in range(300))
    assert binomial_tail(300, wrong, 0.05) < 1e-3


def test_it_counts_for_every_rank_of_a_curve_or_for_none():
    truth = LISTS["falling"]
    assert evidence_of(*curve(1, truth), "0.31") is not None
    assert evidence_of(*curve(1, truth), "0.3") is None  # no surer than the curve
    for changed in ({"budget": 40}, {"stages": 3}, {"stages": 3, "growing": True}, {"adaptive": True}):
        assert evidence_of(*curve(1, truth, **changed), "0.95") is None
    other = create("uniform", {"budget": 300}).plan(N, 1)
    assert evidence_of(other, Labels.of(other, truth[other.ranks - 1]), "0.999") is None


def test_a_label_that_is_missing_is_no_evidence():
    truth = LISTS["falling"]
    plan, labels = curve(3, truth)
    some = Labels.of(plan, np.where(np.arange(plan.ranks.size) % 7, labels.label, -1))
    whole, part = evidence_of(plan, labels, "0.95"), evidence_of(plan, some, "0.95")
    for rank in RANKS:
        for label in (0, 1):
            assert part(rank, label, rank // 2) <= whole(rank, label, rank // 2) + 1e-9
