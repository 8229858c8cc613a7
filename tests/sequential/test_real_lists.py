"""On real lists, with a truth that is as near to the threshold as it can be, and looked at after every label."""

import numpy as np
import pyarrow.parquet as pq
import pytest
from binomial import binomial_tail
from gates import labelled, planned
from suite_cases import cases, examples

from streameval.questions import Question
from streameval.sequential import KnownItems, QuestionSetting
from streameval.sequential.cut import DeepestCut

REAL = ("ppdb_human", "nyt10_reside", "fivethirtyeight_all", "clef_tar2017_amc", "skin_logreg")


@pytest.fixture
def truth_of(real):
    """Labels of a real list in its order, int8, by name."""
    return lambda name: pq.read_table(real(name), columns=["label"]).column(0).to_numpy().astype(np.int8)


def one_short(truth, rank):
    """A threshold that the first `rank` items miss by one positive."""
    return f"{(truth[:rank].sum() + 0.5) / rank:.12f}"


def false_passes(truth, confidence, draws):
    """How often a gate passes at any of 2,000 moments though one positive is missing."""
    rank = truth.size // 4
    gate = planned(f"precision@{rank} >= {one_short(truth, rank)}", n_items=truth.size, confidence=confidence)
    assert gate.tests[0].needed[0] == truth[:rank].sum() + 1
    wrong = 0
    for seed in range(draws):
        drawn = gate.next(gate.start(), np.empty(0, np.int8), 2_000, seed)
        wrong += gate.answer(drawn, labelled(drawn, truth)).outcome == "pass"
    return wrong


@pytest.mark.parametrize("name", cases(REAL, *REAL[:2]))
def test_a_gate_passes_falsely_as_seldom_as_it_says(truth_of, name):
    truth = truth_of(name)
    assert binomial_tail(20, false_passes(truth, "0.5", 20), 0.5) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("confidence", ["0.95", "0.5"])
def test_a_gate_passes_falsely_as_seldom_as_it_says_in_a_thousand_draws(truth_of, name, confidence):
    assert binomial_tail(1_000, false_passes(truth_of(name), confidence, 1_000), 1 - float(confidence)) > 1e-4


@pytest.mark.parametrize(("name", "precision"), [("ppdb_human", "0.8"), ("skin_logreg", "0.5")])
def test_a_cut_that_is_proven_has_its_precision(truth_of, name, precision):
    truth = truth_of(name)
    yields, wrong, fronts, runs = np.cumsum(truth), 0, [], examples(3, 20)
    for seed in range(runs):
        question = Question.of(f"cut precision {precision}")
        design = DeepestCut.plan([question], QuestionSetting(truth.size, {}, KnownItems.nothing(), "0.95"))
        drawn = design.start()
        for _ in range(5):
            drawn = design.next(drawn, labelled(drawn, truth), None, seed)
            front = int(design.answer(drawn, labelled(drawn, truth)).lines[0].lower)
            fronts.append(front)
            if front and yields[front - 1] < float(precision) * front:
                wrong += 1
                break
    assert binomial_tail(runs, wrong, 0.05) > 1e-2
    assert any(fronts)
