"""Rates of the draw: formula, few labels, what is kept, and items of several cutoffs."""

import itertools

import numpy as np
import pytest
from suite_cases import examples, slow

from streameval.paired import rates
from streameval.paired.count import ChangedSample, limits
from streameval.paired.looks import bet_error, count_error

K = 10**6
# precision, changed share, half-width and the labels that one look takes for one, five and ten cutoffs: published
PUBLISHED = [
    (0.5, 0.5, 0.01, (9_770, 16_620, 19_630)),
    (0.5, 0.2, 0.01, (1_604, 2_686, 3_192)),
    (0.5, 0.2, 0.02, (408, 686, 810)),
    (0.5, 0.05, 0.01, (106, 174, 204)),
    (0.5, 0.05, 0.02, (26, 42, 50)),
    (0.5, 0.01, 0.001, (400, 666, 780)),
    (0.8, 0.5, 0.01, (6_230, 10_700, 12_646)),
    (0.8, 0.05, 0.01, (72, 118, 136)),
    (0.9, 0.2, 0.01, (580, 994, 1_174)),
    (0.9, 0.05, 0.01, (54, 88, 98)),
]


def planned(cutoffs, share, within, precision=0.5, looks="one"):
    changed = np.full(cutoffs, round(share * K))
    sizes = np.full(cutoffs, K)
    variance = precision * (1 - precision)
    options = {"within": within, "confidence": 0.95, "variance": variance, "looks": looks}
    return rates.probabilities(changed, changed, sizes, **options)


@pytest.mark.parametrize(("precision", "share", "within", "labels"), [*PUBLISHED[:-1], *slow(PUBLISHED[-1])])
def test_they_take_the_labels_that_were_published(precision, share, within, labels):
    for cutoffs, expected in zip((1, 5, 10), labels, strict=True):
        found = planned(cutoffs, share, within, precision) * 2 * share * K
        assert found == pytest.approx(expected, rel=0.06, abs=3)


@pytest.mark.parametrize("cutoffs", [1, 5])
def test_bounds_of_a_typical_sample_are_as_narrow_as_planned(cutoffs):
    for precision, share, within, _ in PUBLISHED[:: examples(2, 1)]:
        drawn = round(planned(cutoffs, share, within, precision)[0] * share * K)
        sample = ChangedSample(round(share * K), drawn, round(precision * drawn))
        lower, upper = limits(sample, sample, count_error(0.95, cutoffs, "one"))
        assert (upper - lower) / (2 * K) == pytest.approx(within, rel=0.06)


def test_nothing_is_drawn_where_the_sizes_say_enough():
    found = rates.probabilities([100, 90, 0], [101, 100, 0], [10_000] * 3, within=0.01, confidence=0.95)
    assert found[0] > 0
    assert found[1:].tolist() == [0, 0]


def test_everything_is_drawn_where_the_cutoff_is_small():
    assert rates.probabilities([5], [5], [10], within=0.01, confidence=0.95) > 0.99
    assert rates.probabilities([1], [1], [10], within=0.01, confidence=0.95).tolist() == [1.0]


@pytest.mark.parametrize("looks", ["one", "any", "both"])
def test_no_more_is_drawn_than_scans_keep(looks):
    sizes = np.array([10, 100, 1_000, 30_000, 10**6, 10**9])
    for variance, within in itertools.product((0.25, 0.05), (0.003, 0.02)):
        options = {"within": within, "confidence": 0.95, "variance": variance, "looks": looks}
        kept = rates.largest_rates(sizes, **options)
        assert (kept * 2 * sizes <= rates.quantile(0.95, 6, looks) ** 2 * variance / within**2 * 4 + 1).all()
        for share in (0.001, 0.01, 0.1, 1.0):
            changed = np.ceil(share * sizes).astype(np.int64)
            assert (rates.probabilities(changed, changed, sizes, **options) <= kept).all()


def test_looking_at_any_time_as_well_takes_a_tenth_more():
    one, both, any_ = (planned(1, 0.2, 0.01, looks=looks)[0] for looks in ("one", "both", "any"))
    assert 1.05 < both / one < 1.12
    assert 2.0 < any_ / one < 3.0
    for looks in ("one", "any", "both"):
        assert count_error(0.95, 3, looks) + bet_error(0.95, 3, looks) == pytest.approx(0.05 / 6)


def test_an_item_has_the_largest_rate_of_the_cutoffs_that_it_changes():
    rng = np.random.default_rng(1)
    for m in (1, 2, 5, 17):
        each = rng.random(m)
        first_a, first_b = rng.integers(0, m + 1, (2, 500))
        expected = [each[min(a, b) : max(a, b)].max(initial=0) for a, b in zip(first_a, first_b, strict=True)]
        assert rates.item_probability(first_a, first_b, each).tolist() == expected
