"""The forecast of a precision curve: near what the labels were drawn from, and steady where they say little."""

import numpy as np
import pytest

from streameval.sequential import KnownItems, pilot
from streameval.sequential.spline import CURVES, fit, grid


def curves_of(rank, label, n_items, seed=0):
    return fit(KnownItems(np.asarray(rank), np.asarray(label, np.int8)), n_items, np.random.default_rng(seed))


@pytest.mark.parametrize("n_items", [10**4, 10**7, 2 * 10**9])
def test_it_is_near_the_rates_that_labels_were_drawn_from(n_items):
    rng = np.random.default_rng(5)
    ranks = grid(1, n_items)
    rates = 0.95 / (1 + 20 * ranks / n_items)
    truth = np.cumsum(rates * np.diff(ranks, prepend=0)) / ranks
    drawn = np.unique(np.concatenate([pilot.draw(n_items, KnownItems.nothing(), rng).rank for _ in range(8)]))
    label = rng.random(drawn.size) < 0.95 / (1 + 20 * drawn / n_items)
    curves = curves_of(drawn, label, n_items)
    assert curves.precision.shape == (CURVES, ranks.size)
    far = (curves.precision.mean(axis=0) - truth) / (curves.precision.std(axis=0) + 0.01)
    assert np.abs(far).mean() < 1.2
    assert np.abs(curves.precision.mean(axis=0) - truth).max() < 0.12


@pytest.mark.parametrize("n_items", [1, 2, 12, 10**6, 2 * 10**9])
@pytest.mark.parametrize("label", [0, 1, -1])
def test_labels_that_are_all_the_same_or_missing_make_no_curve_absurd(n_items, label):
    rank = np.unique(np.minimum(n_items, grid(1, n_items)))
    curves = curves_of(rank, np.full(rank.size, label), n_items)
    assert np.isfinite(curves.precision).all()
    assert ((curves.precision >= 0) & (curves.precision <= 1)).all()
    assert np.isclose(curves.precision.mean(), {0: 0, 1: 1, -1: 0.5}[label], atol=0.35)


def test_the_deepest_rank_of_a_precision():
    curves = curves_of(np.arange(1, 1001), np.arange(1, 1001) <= 500, 1000)
    assert np.median(curves.deepest(0.8)) == pytest.approx(500 / 0.8, rel=0.08)
    assert (curves.deepest(0.2) == 1000).all()
    assert (curves.deepest(1.01) == 0).all()


def test_precision_between_ranks_of_the_grid():
    curves = curves_of(np.arange(1, 1001), np.arange(1, 1001) % 2, 1000)
    assert np.allclose(curves.at(curves.rank), curves.precision)
    assert ((curves.at(np.array([601])) > 0.35) & (curves.at(np.array([601])) < 0.65)).all()


def test_a_grid_reaches_both_ends_and_grows_by_three_percent():
    ranks = grid(300, 2 * 10**9)
    assert (ranks[0], ranks[-1]) == (300, 2 * 10**9)
    assert 500 < ranks.size < 600
    assert (np.diff(ranks) <= 0.03 * ranks[:-1] + 1).all()
    assert grid(7, 7).tolist() == [7]


def test_a_pilot_labels_the_head_and_ten_an_e_fold():
    counts = []
    for seed in range(50):
        rank = pilot.draw(10**6, KnownItems.nothing(), np.random.default_rng(seed)).rank
        assert rank[:10].tolist() == list(range(1, 11))
        assert (np.diff(rank) > 0).all()
        assert rank[-1] <= 10**6
        counts.append(rank.size)
    assert np.mean(counts) == pytest.approx(pilot.expected_size(10**6), abs=4)
    assert pilot.draw(10, KnownItems.nothing(), np.random.default_rng(0)).rank.tolist() == list(range(1, 11))
