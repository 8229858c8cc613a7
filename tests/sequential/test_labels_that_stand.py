"""Whatever becomes of labels, a question is answered by those that there are: none that is gone counts, none refutes.

A design reads its draw, what was known when it was planned, and the labels of now; so the order in which labels were
forgotten, corrected, torn or given again is no matter, and all that can be left of them is tried here.
"""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from suite_cases import LONG, cases, examples

from streameval.kinds.question.plan import design_for
from streameval.questions import Condition, Question
from streameval.sequential import KnownItems, QuestionSetting, read_design

CHANGES = {"forgotten": lambda label: -1, "torn": lambda label: -2, "turned round": lambda label: 1 - label}
ASKED = ["precision@K >= 0.5", "precision@K < 0.5", "precision@K > 0.4", "recall@K >= 0.5", "f1@K < 0.6",
         "positives >= HALF", "positives < HALF", "precision@K within 0.2", "positives within 30%",
         "cut precision 0.6"]  # fmt: skip


def asked_of(text, truth, known, seed=1):
    """A question of a list, with everything that it asks for while people answer rightly; its design and its draw."""
    n_items = truth.size
    question = Question.of(text.replace("K", str(n_items // 2)).replace("HALF", str(n_items // 2)))
    ranks = {str(one): one.rank_in(n_items) for one in question.cutoffs if question.metric != "cut"}
    setting = QuestionSetting(n_items, ranks, known, "0.9", seed=seed)
    design = design_for((question,), setting)
    drawn = design.start()
    while (more := design.next(drawn, right(drawn, truth), 30, seed)) is not drawn:
        drawn = more
    return question, design, drawn


def right(drawn, truth):
    return truth[drawn.table["rank"].to_numpy() - 1].astype(np.int8)


def now_of(design, known, label):
    """The design with the labels that known items have now."""
    return read_design(design.facts(), KnownItems(known.rank, np.maximum(label, -1).astype(np.int8), None, known.label))


def measured(question, rank, truth):
    found, total = int(truth[:rank].sum()), int(truth.sum())
    return {
        "precision": Fraction(found, rank),
        "positives": Fraction(total),
        "recall": Fraction(found, total) if total else Fraction(0),
        "f1": Fraction(2 * found, rank + total),
    }[question.metric]


def is_possible(question, answer, truth):
    """Whether a list is as an answer says: of a cut, its depth; of others outcome and bounds."""
    (line,) = answer.lines
    if question.metric == "cut":
        return all(truth[:k].sum() >= Fraction("0.6") * k for k in [int(line.lower)] if k)
    rank = int(question.cutoffs[0].value) if question.cutoffs else truth.size
    if not truth.any() and question.metric == "recall":
        return True  # of no positive every part is found, and none
    value = measured(question, rank, truth)
    inside = not (value < line.lower - 1e-9) and not (value > line.upper + 1e-9)
    if isinstance(question.demand, Condition) and line.outcome != "open":
        holds = question.demand.met_by(float(value))
        return holds == (line.outcome == "pass") and inside
    return inside


def completions(label):
    """All lists that labels allow."""
    free = np.flatnonzero(label < 0)
    for values in itertools.product((0, 1), repeat=free.size):
        whole = label.copy()
        whole[free] = values
        yield whole


@pytest.mark.parametrize("text", ASKED)
def test_no_answer_of_a_short_list_is_refuted_by_the_labels_that_count_nor_counts_others(text):
    """Of six items, two of them known: whatever labels are left of all."""
    truth = np.array([1, 1, 0, 1, 0, 1], np.int8)
    known = KnownItems(np.array([2, 5]), truth[[1, 4]])
    question, design, drawn = asked_of(text, truth, known)
    rank = drawn.table["rank"].to_numpy()
    for values in itertools.islice(itertools.product((1, 0, -1), repeat=6), 0, None, 1 if LONG else 7):
        label = np.array(values, np.int8)
        label[np.setdiff1d(np.arange(6), np.append(rank, known.rank) - 1)] = -1  # what nobody asked for
        answer = now_of(design, known, label[known.rank - 1]).answer(drawn, label[rank - 1])
        assert any(is_possible(question, answer, one) for one in completions(label)), label
        assert answer.lines[0].labels <= (label >= 0).sum()
        assert answer.lines[0].positives <= (label == 1).sum()


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("text", cases(ASKED, "precision@K >= 0.5", "recall@K >= 0.5", "cut precision 0.6"))
def test_no_answer_is_refuted_whatever_becomes_of_a_part_of_the_labels(text, change):
    """Of 160 items, 40 of them known: the most and the fewest positives that can be are what an answer allows."""
    for seed in range(examples(3, 30)):
        rng = np.random.default_rng(seed)
        truth = (rng.random(160) < np.linspace(0.95, 0.3, 160)).astype(np.int8)
        known_rank = np.sort(rng.choice(160, 40, replace=False)) + 1
        known = KnownItems(known_rank, truth[known_rank - 1])
        question, design, drawn = asked_of(text, truth, known, seed)
        rank = drawn.table["rank"].to_numpy()
        label = np.full(160, -1, np.int8)
        for ranks in (rank, known_rank):
            label[ranks - 1] = truth[ranks - 1]
        gone = np.flatnonzero(label >= 0)
        gone = gone[rng.random(gone.size) < rng.random()]
        label[gone] = [CHANGES[change](int(one)) for one in label[gone]]
        answer = now_of(design, known, label[known_rank - 1]).answer(drawn, label[rank - 1])
        best = [np.where(label < 0, np.where(np.arange(160) < cut, high, 1 - high), label)
                for cut in (0, 80, 160) for high in (0, 1)]  # fmt: skip
        assert any(is_possible(question, answer, one) for one in [*best, *between(best[1], best[0])])
        assert answer.lines[0].labels <= (label >= 0).sum()
        assert answer.lines[0].positives <= (label == 1).sum()


def between(fewest, most):
    """Lists on the way from one to the other, one item after another."""
    whole = fewest.copy()
    for at in np.flatnonzero(fewest != most):
        whole[at] = most[at]
        yield whole.copy()
