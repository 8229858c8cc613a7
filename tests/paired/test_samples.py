"""The samples of all cutoffs from one draw: each has its own, and nothing else touches it."""

import numpy as np
import pytest

from streameval.paired.count import ChangedSample, limits
from streameval.paired.rates import item_probability
from streameval.paired.samples import CutoffSample, LabelledItems, samples, thresholds

M = 4


def drawn(rng, probabilities, count=400):
    """A list of changed items with its true labels, its sizes, and those of its items that are drawn."""
    first = rng.integers(0, M + 1, (2, count))
    u = rng.integers(0, 2**64, count, dtype=np.uint64)
    labels = rng.integers(0, 2, count).astype(np.int8)
    sizes = [[int(((x <= j) & (j < y)).sum()) for j in range(M)] for x, y in (first[::-1], first)]
    rate = item_probability(*first, probabilities)
    items = LabelledItems.drawn(*first, u, labels, rate)
    taken = (rate >= 1) | (u < thresholds(rate))
    return items, np.array(sizes[0]), np.array(sizes[1]), taken


def some(items, at):
    return LabelledItems(*(getattr(items, name)[at] for name in LabelledItems.__dataclass_fields__))


def naive(items, probabilities, j):
    """One cutoff by itself."""
    counts = {side: [0, 0, 0] for side in ((True, False), (True, True), (False, False), (False, True))}
    for a, b, u, label, certain, adds in zip(*(getattr(items, n) for n in items.__dataclass_fields__), strict=True):
        if (a <= j < b or b <= j < a) and (certain or int(u) < probabilities[j] * 2**64):
            counts[bool(adds), bool(certain)][0] += 1
            counts[bool(adds), bool(certain)][1] += label == 1
            counts[bool(adds), bool(certain)][2] += label not in (0, 1)
    return counts


@pytest.mark.parametrize("probabilities", [np.array([0.9, 0.5, 0.2, 0.1]), np.array([1.0, 0.5, 0.2, 0.0])])
def test_each_cutoff_has_what_it_would_have_by_itself(probabilities):
    rng = np.random.default_rng(1)
    for _ in range(5):
        items, gains, losses, taken = drawn(rng, probabilities)
        items.labels[rng.random(items.labels.size) < 0.1] = -1
        for j, found in enumerate(samples(some(items, taken), probabilities, gains, losses)):
            of = naive(items, probabilities, j)
            (sure, positive, missing), (sure_less, less, missing_less) = of[True, True], of[False, True]
            assert found == CutoffSample(
                ChangedSample(gains[j] - sure, *of[True, False]),
                ChangedSample(losses[j] - sure_less, *of[False, False]),
                ChangedSample(sure, sure, positive, missing),
                ChangedSample(sure_less, sure_less, less, missing_less),
            )
            assert found.known == (positive - less - missing_less, positive + missing - less)


def test_a_label_that_is_not_of_the_sample_changes_nothing():
    """Labels of items with u at or above the rate of a cutoff, and items that are not drawn at all."""
    rng = np.random.default_rng(2)
    probabilities = np.array([0.9, 0.5, 0.2, 0.1])
    items, gains, losses, taken = drawn(rng, probabilities)
    before = samples(some(items, taken), probabilities, gains, losses)
    for j in range(M):
        other = items.u >= thresholds(probabilities)[j]
        items.labels[other] = rng.integers(-1, 2, other.sum())
        assert samples(items, probabilities, gains, losses)[j] == before[j]


def test_a_label_that_is_missing_stays_in_the_sample():
    rng = np.random.default_rng(3)
    probabilities = np.array([0.9, 0.5, 0.2, 1.0])
    items, gains, losses, _ = drawn(rng, probabilities)
    whole = [one.limits(0.05) for one in samples(items, probabilities, gains, losses)]
    items.labels[rng.random(items.labels.size) < 0.3] = -1
    for (low, high), (lower, upper) in zip(
        (one.limits(0.05) for one in samples(items, probabilities, gains, losses)), whole, strict=True
    ):
        assert low <= lower <= upper <= high
        assert high - low > upper - lower


def test_with_every_label_it_is_exact():
    rng = np.random.default_rng(4)
    items, gains, losses, _ = drawn(rng, np.ones(M))
    for j, one in enumerate(samples(items, np.ones(M), gains, losses)):
        gain, loss = (items.first_b <= j) & (j < items.first_a), (items.first_a <= j) & (j < items.first_b)
        d = int(items.labels[gain].sum() - items.labels[loss].sum())
        assert one.known == (d, d)
        assert one.limits(0.05) == (d, d)


def test_a_judge_changes_what_is_counted_and_not_what_it_comes_to():
    """With every label D is D_f plus the errors that add, less those that take away."""
    rng = np.random.default_rng(5)
    items = drawn(rng, np.full(M, 0.999))[0]
    judge = np.where(rng.random(items.labels.size) < 0.9, items.labels, 1 - items.labels)
    gain = items.first_b < items.first_a
    wrong = (judge != items.labels).astype(np.int8)
    judged = LabelledItems(items.first_a, items.first_b, items.u, wrong, items.certain, gain != (judge == 1))
    low, high = np.minimum(items.first_a, items.first_b), np.maximum(items.first_a, items.first_b)
    every = [[((low <= j) & (j < high) & (judged.adds == side)).sum() for j in range(M)] for side in (True, False)]
    for j, one in enumerate(samples(judged, np.full(M, 0.5), *np.array(every))):
        of, sizes = (low <= j) & (j < high), [int(side[j]) for side in every]
        d = int(items.labels[of & gain].sum() - items.labels[of & ~gain].sum())
        of_judge = int(judge[of & gain].sum() - judge[of & ~gain].sum())
        plus, minus = ((judged.labels[of & (judged.adds == side)]).sum() for side in (True, False))
        assert d == of_judge + plus - minus
        found = limits(ChangedSample(sizes[0], sizes[0], int(plus)), ChangedSample(sizes[1], sizes[1], int(minus)), 0.1)
        assert found == (d - of_judge, d - of_judge)
        lower, upper = one.limits(0.001)
        assert lower <= d - of_judge <= upper


def test_certain_items_without_a_label_are_taken_to_be_like_the_others_of_their_side():
    """One label of many that is missing leaves an estimate; a side of which nothing is known does not."""
    drawn, sure, none = ChangedSample(700, 200, 50), ChangedSample(400, 400, 100), ChangedSample(0, 0, 0)
    of_one = ChangedSample(1, 1, 0, missing=1)
    found = CutoffSample(drawn, none, of_one, sure).estimate(0.25, None)
    assert found == pytest.approx(0.25 * 701 - 100)
    assert CutoffSample(none, none, of_one, sure).estimate(None, None) is None
    # what was labelled before the draw says nothing of what was not drawn
    assert CutoffSample(ChangedSample(700, 0, 0), none, sure, sure).estimate(None, None) is None


def test_thresholds_are_whole_numbers():
    found = thresholds(np.array([0.0, 2.0**-64, 0.5, 1 - 2.0**-53, 1.0]))
    assert found.tolist() == [0, 1, 2**63, 2**64 - 2**11, 2**64 - 1]
