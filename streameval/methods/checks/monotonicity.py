"""Do the labels contradict the PAULA paper's assumptions, and by more than label noise?

A.1: precision p(r) never rises between ranks at least m apart, from r̃ on. Where ranks 1..h are all labelled, no long
later stretch can then be richer in positives than the head. Tested for runs of later labels against the whole head,
under the hypothesis and by the test of A.2 (next), times the number of runs (Bonferroni).

A.2: windows of Δ labels never rise. Hypothesis tested: labels are independent, and the probability of a positive does
not increase with rank. Then for two adjacent runs of labels some number c lies between their probabilities, the first
run's count is stochastically at least Binomial(n, c), the second's at most. Fisher's one-sided p-value falls as the
second count grows and as the first shrinks (Barnard convexity), so it is stochastically at least what it is under
Binomial with one common c, where it is valid. Its minimum over all pairs, times their number (Bonferroni), is therefore
a valid p-value.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from streameval.types import Labels
from streameval.typing import Int8Array, Int64Array

SIGNIFICANCE = 0.01
BLOCK = 100  # labels per window, as in the paper


@dataclass(frozen=True)
class SignificanceTest:
    """Result of a significance test.

    Attributes:
        p_value: At most 1.
    """

    p_value: float

    @property
    def beyond_noise(self) -> bool:
        """True where chance would show as much in fewer than one list in a hundred."""
        return self.p_value < SIGNIFICANCE

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values: null where nothing was tested."""
        values = {key: None if value != value else value for key, value in self.__dict__.items()}
        return {**values, "beyond_noise": self.beyond_noise}


@dataclass(frozen=True)
class RiseTest(SignificanceTest):
    """The strongest rise between adjacent runs of labels.

    Attributes:
        p_value: Of the strongest rise, times the number of pairs tested; at most 1.
        tests: Pairs tested.
        first_rank, middle_rank, last_rank: The runs compared are the labelled ranks first..middle and those after
            middle..last; 0 where no pair was tested.
        before, after: Share of positives in the two runs.
    """

    tests: int
    first_rank: int
    middle_rank: int
    last_rank: int
    before: float
    after: float


def rise_test(rank: Int64Array, label: Int8Array, block: int) -> RiseTest:
    """Test the labels in hand for a rise of precision beyond label noise.

    Args:
        rank: int64 array, shape (n,), strictly increasing.
        label (int8 array, shape (n,)): 1, 0, or -1 for unknown (left out).
        block: Labels per block; runs of 1, 2, 4 … blocks are compared with the run after them.

    >>> falls = np.repeat([1, 0], 200).astype(np.int8)
    >>> rise_test(np.arange(1, 401), falls, block=50).p_value
    1.0
    >>> rise_test(np.arange(1, 401), falls[::-1], block=50).beyond_noise
    True
    """
    is_labelled = label >= 0
    rank, label = rank[is_labelled], label[is_labelled]
    if rank.size < 2 * block:
        return RiseTest(1.0, 0, 0, 0, 0, float("nan"), float("nan"))
    edges = [*range(0, rank.size - block + 1, block), int(rank.size)]
    positives = np.concatenate([[0], np.cumsum(label, dtype=np.int64)])[edges].tolist()
    pairs = _adjacent_runs(len(edges) - 1)
    p_values = [
        fisher_rise(positives[b] - positives[a], edges[b] - edges[a], positives[c] - positives[b], edges[c] - edges[b])
        for a, b, c in pairs
    ]
    best = int(np.argmin(p_values))
    a, b, c = (edges[block] for block in pairs[best])
    return RiseTest(
        p_value=min(1.0, p_values[best] * len(pairs)),
        tests=len(pairs),
        first_rank=int(rank[a]),
        middle_rank=int(rank[b - 1]),
        last_rank=int(rank[c - 1]),
        before=float(label[a:b].mean()),
        after=float(label[b:c].mean()),
    )


def _adjacent_runs(blocks: int) -> list[tuple[int, int, int]]:
    """Every pair of adjacent runs of 1, 2, 4 … blocks, by where the two begin and the second ends."""
    pairs = []
    run = 1
    while 2 * run <= blocks:
        pairs += [(a, a + run, a + 2 * run) for a in range(0, blocks - 2 * run + 1, max(1, run // 2))]
        run *= 2
    return pairs


def fisher_rise(positive_a: int, size_a: int, positive_b: int, size_b: int) -> float:
    """P(block B shows at least `positive_b` positives | the total), under one common probability.

    Fisher's one-sided exact test: small where B, the later block, is too rich in positives to be chance. The tail is
    that of a hypergeometric distribution, by the ratios of neighbouring terms.
    """
    total = positive_a + positive_b
    k = np.arange(positive_b, min(total, size_b), dtype=np.float64)
    ratios = (size_b - k) * (total - k) / ((k + 1.0) * (size_a - total + k + 1.0))
    first = _log_choose(size_b, positive_b) + _log_choose(size_a, positive_a) - _log_choose(size_a + size_b, total)
    terms = first + np.cumsum(np.log(ratios))
    return min(1.0, math.exp(first) + float(np.sum(np.exp(terms))))


def _log_choose(n: int, k: int) -> float:
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)


@dataclass(frozen=True)
class ExcessTest(SignificanceTest):
    """The run of labels that exceeds the precision of the labelled head most significantly.

    Attributes:
        p_value: Of that run, times the number of runs tested; at most 1.
        tests: Runs tested.
        head: h: ranks 1..h are all labelled.
        head_precision: p(h).
        first_rank, last_rank: The run; 0 where none was tested.
        share: Share of positives in it.
    """

    tests: int
    head: int
    head_precision: float
    first_rank: int
    last_rank: int
    share: float


def excess_test(rank: Int64Array, label: Int8Array, head: int, block: int = BLOCK) -> ExcessTest:
    """Test A.1: are there later labels richer in positives than the whole labelled head?

    Args:
        rank: int64 array, shape (n,), strictly increasing; the first `head` are 1..head.
        label (int8 array, shape (n,)): 1, 0, or -1 for unknown; an unknown label in the head leaves nothing to test.

    >>> later = np.repeat([0, 1], [300, 200]).astype(np.int8)
    >>> excess_test(np.arange(1, 501), later, head=300).as_dict()["beyond_noise"]
    True
    """
    is_labelled = label[head:] >= 0
    later_rank, later = rank[head:][is_labelled], label[head:][is_labelled].astype(np.int64)
    if head < block or later.size < block or np.any(label[:head] < 0):
        return ExcessTest(1.0, 0, head, float("nan"), 0, 0, float("nan"))
    precision = float(label[:head].mean())
    starts, lengths = _runs(later.size, block)
    sums = np.concatenate([[0], np.cumsum(later)])
    share = (sums[starts + lengths] - sums[starts]) / lengths
    inside, positive = sums[starts + lengths] - sums[starts], int(label[:head].sum())
    p_values = np.array(
        [fisher_rise(positive, head, int(k), int(n)) for k, n in zip(inside, lengths, strict=True)], dtype=np.float64
    )
    best = int(np.argmin(p_values))
    last = starts[best] + lengths[best] - 1
    return ExcessTest(
        p_value=float(min(1.0, p_values[best] * starts.size)),
        tests=int(starts.size),
        head=head,
        head_precision=precision,
        first_rank=int(later_rank[starts[best]]),
        last_rank=int(later_rank[last]),
        share=float(share[best]),
    )


def _runs(n: int, block: int) -> tuple[Int64Array, Int64Array]:
    """Starts and lengths of all runs of 1, 2, 4 … blocks, each kind overlapping by half."""
    starts, lengths = [], []
    length = block
    while length <= n:
        begins = np.arange(0, n - length + 1, max(block, length // 2), dtype=np.int64)
        starts.append(begins)
        lengths.append(np.full(begins.size, length, dtype=np.int64))
        length *= 2
    return np.concatenate(starts), np.concatenate(lengths)


def assumptions(labels: Labels, head: int, block: int = BLOCK) -> dict[str, Any]:
    """Say of A.1 and A.2 whether labels, of whatever method, contradict them, literally or beyond noise.

    Args:
        head: Ranks 1..head are all planned.
        block: Labels per window.

    Returns:
        dict: "A.1": an `ExcessTest`, "A.2": a `RiseTest` and `rises` (of `windows` − 1 neighbours), each with
            `verdict`: "contradicted beyond noise", "contradicted, but within noise", "not contradicted" or "too
            few labels".
    """
    excess = excess_test(labels.rank, labels.label, head, block).as_dict()
    later = labels.rank > max(0, head - block)
    rise = rise_test(labels.rank[later], labels.label[later], block).as_dict()
    later_labels = labels.label[later][labels.known[later]]
    windows = later_labels[: later_labels.size // block * block].reshape(-1, block).sum(axis=1)
    rises = int(np.sum(np.diff(windows) > 0))
    literally = excess["share"] is not None and excess["share"] > excess["head_precision"]
    return {
        "A.1": {**excess, "verdict": _verdict(excess, literally)},
        "A.2": {**rise, "windows": int(windows.size), "rises": rises, "verdict": _verdict(rise, rises > 0)},
    }


def _verdict(test: dict[str, Any], literally: bool) -> str:
    if not test["tests"]:
        return "too few labels"
    if test["beyond_noise"]:
        return "contradicted beyond noise"
    return "contradicted, but within noise" if literally else "not contradicted"


def p_text(p_value: float) -> str:
    """Write a p-value; what underflows is small, not zero."""
    return f"p = {p_value:.2g}" if p_value > 1e-300 else "p < 1e-300"


def rise_text(test: dict[str, Any]) -> str:
    """Say where precision rises."""
    return (
        f"precision rises from {test['before']:.1%} (ranks {test['first_rank']:,} to {test['middle_rank']:,}) to "
        f"{test['after']:.1%} (up to {test['last_rank']:,})"
    )


def warnings(tests: dict[str, Any]) -> tuple[str, ...]:
    """Sentences for a method that needs neither assumption: what would fail on this list."""
    sentences = []
    first, second = tests["A.1"], tests["A.2"]
    if first["beyond_noise"]:
        sentences.append(
            f"Not monotone (A.1 of the PAULA paper fails): {first['share']:.1%} of the labels at ranks "
            f"{first['first_rank']:,} to {first['last_rank']:,} are positive, but {first['head_precision']:.1%} of the "
            f"first {first['head']:,} ({p_text(first['p_value'])})."
        )
    if second["beyond_noise"]:
        sentences.append(
            f"Not monotone (A.2 of the PAULA paper fails): positives rise from {second['before']:.1%} (ranks "
            f"{second['first_rank']:,} to {second['middle_rank']:,}) to {second['after']:.1%} (up to "
            f"{second['last_rank']:,}; {p_text(second['p_value'])})."
        )
    return tuple(sentences)
