"""What a judge says of a list that tests hold in memory, as designs are told it."""

import numpy as np
import pyarrow as pa

from streameval.questions import Question
from streameval.sequential import JudgedItems, KnownItems, QuestionSetting
from streameval.sequential.linear import Linear

PRIOR = np.array([0.25, 0.75, 0.5])  # of a judge who says yes or no, or nothing


def judge(said, seed=0, each=20_000, known=()):
    """The judge that says class `said[r - 1]` of rank r, with at most `each` items of a block in its reserve."""

    def judged(ends):
        rng, starts = np.random.default_rng([seed, 0]), np.append(0, ends[:-1])
        parts = [(c, np.setdiff1d(np.flatnonzero(said[a:b] == c) + a + 1, known))
                 for a, b in zip(starts, ends, strict=True) for c in range(PRIOR.size)]  # fmt: skip
        parts = [(c, rng.permutation(ranks)[:each]) for c, ranks in parts]
        reserve = pa.table({
            "rank": np.concatenate([ranks for _, ranks in parts]),
            "judge_class": np.repeat([c for c, _ in parts], [ranks.size for _, ranks in parts]).astype(np.int8),
            "place": np.concatenate([np.arange(1, ranks.size + 1) for _, ranks in parts]),
        })  # fmt: skip
        items = np.array([np.bincount(said[a:b], minlength=PRIOR.size) for a, b in zip(starts, ends, strict=True)])
        return JudgedItems(items, PRIOR, said[np.array(known, int) - 1].astype(np.int8), reserve)

    return judged


def planned(asked, said, *, seed=0, each=20_000, known=None, confidence="0.95", expect=None):
    """The design of a condition of the list of which a judge says `said`."""
    question, known = Question.of(asked), known or KnownItems.nothing()
    ranks = {str(one): one.rank_in(said.size) for one in question.cutoffs}
    asks = judge(said, seed, each, known.rank)
    return Linear.plan([question], QuestionSetting(said.size, ranks, known, confidence, expect=expect, judge=asks))


def said_of(truth, right, seed=0):
    """Classes of a judge that is right so often."""
    rng = np.random.default_rng([seed, 1])
    return np.where(rng.random(truth.size) < right, truth, 1 - truth).astype(np.int64)
