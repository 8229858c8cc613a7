"""What is said to run next does lead on: what is offered as a gate passes."""

import math
import shlex

from streameval.curve.bounds import Bounds
from streameval.questions import Question
from streameval.reporting.next_step import NOTHING, gate_of


def condition_of(measure, lower):
    step = gate_of("my study", {measure: Bounds(lower, math.nan, math.inf)})
    *verb, study, condition = shlex.split(step.command)
    assert (verb, study) == (["streameval", "check"], "my study")
    return condition


def test_a_gate_demands_no_more_than_is_proven_however_large_that_is():
    assert condition_of("gain@10000000", 1234567.0) == "gain@10000000 >= 1234567"
    assert condition_of("precision@500", 0.9067) == "precision@500 >= 0.9"
    condition = Question.of(condition_of("positives", 98765432.105)).demand
    assert condition.outcome(98765432.105, math.inf) == "pass"


def test_where_nothing_is_proven_no_gate_is_offered():
    assert gate_of("s", {"precision@5": Bounds(0.0099, 0.5, 1.0), "gain@5": Bounds(-3.0, 0.0, 3.0)}) == NOTHING
    assert gate_of("s", {}) == NOTHING
