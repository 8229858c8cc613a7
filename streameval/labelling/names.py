"""Names of columns that hold a score or an answer."""

from __future__ import annotations

import re
from collections.abc import Collection

SCORES = {"score", "scores", "confidence", "probability", "prob", "similarity"}
# what a model or somebody who labelled before thought: no task shows it unasked, and a label table has its own
ANSWERS = SCORES | {
    "label", "labels", "y", "truth", "gold", "target", "class", "judgment", "judgments", "judgement", "judgements",
    "relevance", "relevant", "correct", "positive", "vote", "votes", "annotation", "rating", "rank", "stratum",
    "grade", "grades", "gain", "gains", "qrel", "qrels",
}  # fmt: skip


def has_word(name: str, words: Collection[str]) -> bool:
    """Tell whether one of the words is in a column's name.

    >>> has_word("model_score", SCORES), has_word("scored", SCORES)
    (True, False)
    """
    return any(part in words for part in re.split(r"[^a-z0-9]+", name.lower()))
