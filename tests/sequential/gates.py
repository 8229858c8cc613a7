"""Gates as tests plan, label and answer them."""

import numpy as np

from streameval.questions import Question
from streameval.sequential import KnownItems, QuestionSetting
from streameval.sequential.gate import Gate


def planned(*asked, n_items=10**7, known=None, confidence="0.95", **more):
    """The design of conditions as people write them."""
    questions = [Question.of(one) for one in asked]
    ranks = {str(cutoff): int(cutoff.value) for one in questions for cutoff in one.cutoffs}
    return Gate.plan(questions, QuestionSetting(n_items, ranks, known or KnownItems.nothing(), confidence, **more))


def known(ranks, labels):
    return KnownItems(np.array(ranks, np.int64), np.array(labels, np.int8))


def labelled(drawn, truth):
    """Labels of what was asked, of a list whose rank r has `truth[r - 1]`."""
    return np.asarray(truth, np.int8)[drawn.table.column("rank").to_numpy() - 1]


def answered(gate, truth, seed=0, size=None):
    """Ask and label until there is nothing left to ask; what was drawn, and the answer."""
    drawn = gate.start()
    while (later := gate.next(drawn, labelled(drawn, truth), size, seed)) is not drawn:
        drawn = later
    return drawn, gate.answer(drawn, labelled(drawn, truth))
