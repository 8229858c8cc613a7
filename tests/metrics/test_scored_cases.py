"""What the class with LingPipe's methods takes, refuses and prints; lists without positives or without negatives."""

import io
import math

import numpy as np
import pyarrow as pa
import pytest
from lingpipe_page import LABELS, RULES, SCORES, evaluation

from streameval import InputError, ScoredPrecisionRecallEvaluation


def test_one_by_one_and_in_arrays_and_in_turn_are_the_same():
    turns = ScoredPrecisionRecallEvaluation()
    turns.add_case(bool(LABELS[0]), SCORES[0])
    assert turns.pr_curve().shape == (0, 2)
    turns.add_cases(pa.chunked_array([LABELS[1:4], LABELS[4:9]]), pa.array(SCORES[1:9]))
    turns.add_cases([], [])
    turns.add_misses(0)
    turns.add_case(np.int64(LABELS[9]), np.float32(SCORES[9]))
    turns.add_misses(1)
    turns.add_misses(1)
    assert turns.num_cases() == 10
    assert np.array_equal(turns.pr_curve(), evaluation(LABELS, SCORES, 2).pr_curve())
    assert repr(turns) == "<ScoredPrecisionRecallEvaluation: 10 cases, 6 positives, standard rules>"


@pytest.mark.parametrize("rules", RULES)
def test_infinities_are_ordered(rules):
    mine = evaluation([1, 0, 1], [-math.inf, 0.0, math.inf], rules=rules)
    assert mine.pr_score_curve().tolist() == [[0.5, 1.0, math.inf], [1.0, 2 / 3, -math.inf]]


@pytest.mark.parametrize("rules", RULES)
@pytest.mark.parametrize("labels", [[], [0], [0, 0]])
def test_no_positives(rules, labels):
    mine = evaluation(labels, [1.0] * len(labels), rules=rules)
    assert mine.pr_curve().shape == mine.pr_curve(True).shape == mine.roc_curve().shape == mine.roc_curve(True).shape
    assert mine.pr_score_curve().shape == (0, 3)
    assert math.isnan(mine.average_precision())
    both = (mine.area_under_pr_curve, mine.area_under_roc_curve)
    areas = [area(interpolate) for area in both for interpolate in (False, True)]
    others = [mine.maximum_f_measure(), mine.pr_breakeven_point(), mine.reciprocal_rank()]
    assert areas + others == [0.0] * 7


def test_all_missed():
    for labels in ([], [0]):
        mine, original = (evaluation(labels, [1.0] * len(labels), 3, rules) for rules in RULES)
        assert mine.average_precision() == 0
        assert math.isnan(original.average_precision())
        assert original.area_under_roc_curve() == mine.area_under_pr_curve() == mine.pr_breakeven_point() == 0


def test_no_negatives():
    mine, original = (evaluation([1, 1], [2, 1], rules=rules) for rules in RULES)
    assert (mine.average_precision(), mine.pr_breakeven_point(), original.pr_breakeven_point()) == (1, 1, 0)
    assert all(math.isnan(one.area_under_roc_curve()) for one in (mine, original))
    assert math.isnan(mine.area_under_roc_curve(True))
    assert original.area_under_roc_curve(True) == 0
    assert np.isnan(original.roc_curve()[:, 1]).all()
    assert np.isnan(mine.roc_curve()[:, 0]).all()
    assert original.roc_curve(True).shape == mine.roc_curve(True).shape == (0, 2)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda one: one.add_case(True, math.nan), "score=nan"),
        (lambda one: one.add_case(True, "0.5"), "score='0.5'"),
        (lambda one: one.add_case(True, None), "score=None"),
        (lambda one: one.add_case(True, 10**400), "too large"),
        (lambda one: one.add_case(2, 0.5), "positive=2"),
        (lambda one: one.add_case(None, 0.5), "positive=None"),
        (lambda one: one.add_cases([1, 0], [0.5, math.nan]), r"score\[1\] is NaN"),
        (lambda one: one.add_cases([1, 2], [0.5, 0.4]), r"positive\[1\] is 2"),
        (lambda one: one.add_cases([1, None], [0.5, 0.4]), r"positive\[1\] is None"),
        (lambda one: one.add_cases([1], [0.5, 0.4]), "shape"),
        (lambda one: one.add_cases([1], ["a"]), "type"),
        (lambda one: one.add_misses(-1), "count=-1"),
        (lambda one: one.add_misses(1.5), "count=1.5"),
        (lambda one: one.precision_at(0), "rank=0"),
        (lambda one: one.precision_at(2.0), "rank=2.0"),
        (lambda one: one.maximum_f_measure(-1), "beta=-1"),
        (lambda one: one.maximum_f_measure(math.nan), "beta=nan"),
        (lambda one: one.print_precision_recall_curve([1.0]), "shape"),
    ],
)
def test_bad_input_is_one_line_and_changes_nothing(call, said):
    mine = evaluation(LABELS, SCORES)
    with pytest.raises(InputError, match=said) as refused:
        call(mine)
    assert "\n" not in str(refused.value)
    assert str(mine) == str(evaluation(LABELS, SCORES))


def test_unknown_rules_are_refused():
    with pytest.raises(InputError, match="did you mean 'lingpipe'"):
        ScoredPrecisionRecallEvaluation("lingpip")


# --- printing


def test_what_is_printed():
    assert str(evaluation(LABELS, SCORES, 1)).splitlines() == [
        "Area Under PR Curve (interpolated)      0.448889",
        "Area Under PR Curve (uninterpolated)    0.408889",
        "Area Under ROC Curve (interpolated)     0.466667",
        "Area Under ROC Curve (uninterpolated)   0.466667",
        "Average Precision                       0.408889",
        "Maximum F(1) Measure                    0.600000",
        "BEP (Precision-Recall break even point) 0.600000",
        "Reciprocal Rank                         0.500000",
        "Precision at 5                          0.600000",
        "Precision at 10                         0.400000",
    ]
    original = str(evaluation(LABELS, SCORES, 1, "lingpipe")).splitlines()
    assert len(original) == 8  # of ten cases it prints no precision: its loop ends where it should begin
    assert original[-2:] == ["  BEP (Precision-Recall break even point)=0.4444444444444444", "  Reciprocal Rank=0.5"]
    short = str(evaluation([1, 0], [2, 1], rules="lingpipe")).splitlines()
    assert short[8:] == [f"  Precision at {k}=NaN" for k in (5, 10, 25, 100, 500)]


def test_the_curve_is_printed(capsys):
    mine = evaluation(LABELS, SCORES)
    lines = ["  PRECI.   RECALL        F", "0.600000 0.750000 0.666667", "0.444444 1.000000 0.615385"]
    out = io.StringIO()
    mine.print_precision_recall_curve(mine.pr_curve(True), out)
    assert out.getvalue().splitlines() == lines
    mine.print_precision_recall_curve(mine.pr_score_curve(True))
    assert capsys.readouterr().out.splitlines() == lines
