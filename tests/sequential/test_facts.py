"""What labels prove by counting goes before what evidence said: a claim that they refute is never made."""

import itertools
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from streameval.questions import Question
from streameval.sequential import DrawnItems, KnownItems, QuestionSetting
from streameval.sequential.condition import ConditionTest
from streameval.sequential.cut import DeepestCut
from streameval.sequential.facts import LabelFacts, cut_to
from streameval.sequential.gate import Gate
from streameval.sequential.points import PrecisionPoints
from streameval.sequential.sides import ClaimSide, ClaimStanding
from streameval.sequential.start import Start

N = 400


@pytest.mark.parametrize("precision", ["0.5", "0.7", "1"])
def test_facts_are_what_holds_of_every_list_that_the_labels_allow(precision):
    target, ranks = Fraction(precision), range(1, 6)
    for label in itertools.product((0, 1, -1), repeat=5):
        facts = LabelFacts.from_labels(5, KnownItems.nothing(), np.arange(1, 6), np.array(label, np.int8))
        lists = [one for one in itertools.product((0, 1), repeat=5)
                 if all(given in (-1, bit) for given, bit in zip(label, one, strict=True))]  # fmt: skip
        for k in ranks:
            found = [sum(one[:k]) for one in lists]
            assert facts.positives(k) == (min(found), max(found))
            assert facts.refute([k], precision) == [max(found) < target * k]
        sure = [k for k in ranks if all(sum(one[:k]) >= target * k for one in lists)]
        possible = [k for k in ranks if any(sum(one[:k]) >= target * k for one in lists)]
        assert facts.deepest(precision) == (max(sure, default=0), max(possible, default=0))


def test_bounds_that_facts_refute_are_the_facts():
    assert cut_to((3, 7), (2, 9)) == (3, 7)
    assert cut_to((3, 7), (4, 5)) == (4, 5)
    assert cut_to((3, 7), (8, 9)) == (8, 9)


def labels_of(drawn, truth):
    return truth[drawn.table["rank"].to_numpy() - 1].astype(np.int8)


def whole(design, truth, seed, size=None):
    """Every round until nothing is left to ask, with what was answered on the way."""
    drawn, answers = design.start(), []
    while (more := design.next(drawn, labels_of(drawn, truth), size, seed)) is not drawn:
        drawn = more
        answers.append(design.answer(drawn, labels_of(drawn, truth)))
    return drawn, answers


def test_a_cut_that_was_proven_by_luck_is_withdrawn_where_its_labels_say_otherwise():
    """All positives come first in the order: 300 items of which 205 are positive are claimed to be 7 of 10."""
    truth = np.random.default_rng(1).permutation(300) < 205
    rank, place = np.arange(1, 301), np.argsort(np.argsort(~truth, kind="stable"))
    start = Start(0, 1, np.array([300]), np.ones(1), np.ones(1), np.empty(0, np.int8))
    table = pa.table({"rank": rank, "round": np.ones(300, np.int32), "order": (place + 1) / 1000})
    drawn = DrawnItems(table, table.slice(0, 0).drop_columns("round"), start.state())
    setting = QuestionSetting(N, {}, KnownItems.nothing(), "0.95")
    design = DeepestCut.plan([Question.of("cut precision 0.7")], setting)
    sequence = design._sequence(start, drawn, truth.astype(np.int8))
    half, labels = np.where(truth, 1, -1).astype(np.int8), truth.astype(np.int8)
    assert design.answer(drawn, half).lines[0].lower == 300
    answer = design.answer(drawn, labels)
    assert sequence.proven(start.pool(drawn, labels)) == 1
    assert answer.lines[0].lower == max(rank[np.cumsum(truth) >= 0.7 * rank], default=0) < 300
    assert answer.reach is None


def gate_of(*asked, confidence="0.95"):
    questions = [Question.of(one) for one in asked]
    ranks = {str(one.cutoff): int(one.cutoff.value) for one in questions}
    return Gate.plan(questions, QuestionSetting(N, ranks, KnownItems.nothing(), confidence))


def test_labels_that_another_condition_asked_for_refute_a_gate_too():
    """What lies behind the beginning of its own order does not count as evidence, and is a fact all the same."""
    gate = gate_of("precision@100 >= 0.5", "precision@400 >= 0.6")
    (test,) = [one for one in gate.tests if one.rank == 400]
    bad = KnownItems(np.arange(1, 162), np.zeros(161, np.int8))
    facts = LabelFacts.from_labels(N, bad, bad.rank[:0], bad.label[:0])
    good = np.ones(50, np.int8)
    assert test.read(good).outcome == "pass"
    reading = test.judge(good, facts)
    assert reading.outcome == "fail"
    line = test.line(good, reading, facts)
    assert line.upper == 239 / 400
    assert line.claim == 0


def test_an_estimate_takes_labels_that_came_after_the_answer():
    one = ConditionTest.plan(Question.of("precision@400 >= 0.9"), QuestionSetting(
        N, {"400": N}, KnownItems.nothing(), "0.95"), 1)  # fmt: skip
    labels = np.append(np.zeros(10), np.ones(40)).astype(np.int8)
    facts = LabelFacts.from_labels(N, KnownItems.nothing(), np.arange(1, 51), labels)
    reading = one.judge(labels, facts)
    line = one.line(labels, reading, facts)
    assert (line.outcome, line.positives) == ("fail", 0)
    assert line.labels < 10
    assert line.estimate == pytest.approx(0.8)


def test_a_side_that_was_reached_by_luck_is_withdrawn_where_the_labels_count_to_the_other():
    side = ClaimSide(np.ones(1, np.int64), np.zeros(1, bool), 1, 3.0)
    up, down = np.array([0.0, 4.0, -np.inf]), np.array([0.0, -1.0, np.inf])
    for paths, outcome in (((up, down), "fail"), ((down, up), "pass")):
        standing = ClaimStanding.from_paths((side, side), paths, ())
        assert (standing.outcome, standing.draws) == (outcome, 2)
    assert ClaimStanding.from_paths((side, side), (up[:2], down[:2]), ()).outcome == "pass"


def test_bounds_of_one_rank_take_what_was_asked_for_another():
    questions = [Question.of("precision@100, 400 within 0.1")]
    setting = QuestionSetting(N, {"100": 100, "400": N}, KnownItems.nothing(), "0.95")
    design = PrecisionPoints.plan(questions, setting)
    truth = np.random.default_rng(3).random(N) < 0.5
    drawn, answers = whole(design, truth, 3)
    rank, labels = drawn.table["rank"].to_numpy(), labels_of(drawn, truth)
    for line, k in zip(answers[-1].lines, (100, 400), strict=True):
        found = [int((labels[rank <= k] == value).sum()) for value in (1, 0)]
        assert found[0] / k <= line.lower <= line.estimate <= line.upper <= 1 - found[1] / k
