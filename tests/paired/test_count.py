"""The bounds of one look: exact probabilities of a miss, missing labels, and independent ways to the same numbers."""

import itertools
import math
from statistics import NormalDist

import numpy as np
import pytest
from scipy.stats import hypergeom
from suite_cases import examples, slow

from streameval.errors import InputError
from streameval.kernels.hypergeometric import intervals, log_hypergeometric
from streameval.kernels.paired_count import _all_rejected, drawn_probabilities
from streameval.paired.count import ChangedSample, limits

# items and labels of the gains and of the losses, and the worst probability of a miss at errors of .025 and .25: proved
# to be at most these errors, and computed once by a program of its own
WORST = [
    ((60, 20, 60, 20), 0.02486, 0.24871),
    ((200, 15, 200, 15), 0.02486, 0.24857),
    ((12, 5, 9, 4), 0.02441, 0.24747),
    ((40, 39, 40, 3), 0.02461, 0.24638),
    ((25, 25, 25, 6), 0.02253, 0.24000),
    ((7, 3, 7, 4), 0.02041, 0.24490),
]


def table(sizes, error):
    """Both limits for every outcome; shape (n_G + 1, n_L + 1)."""
    of_gains, drawn_gains, of_losses, drawn_losses = sizes
    found = [
        limits(ChangedSample(of_gains, drawn_gains, x), ChangedSample(of_losses, drawn_losses, y), error)
        for x in range(drawn_gains + 1)
        for y in range(drawn_losses + 1)
    ]
    shape = drawn_gains + 1, drawn_losses + 1
    return np.array([a for a, _ in found]).reshape(shape), np.array([b for _, b in found]).reshape(shape)


def worst_miss(sizes, error):
    """The largest probability of a miss of the lower and of the upper limit over all populations, summed exactly."""
    of_gains, drawn_gains, of_losses, drawn_losses = sizes
    lower, upper = table(sizes, error)
    x = hypergeom.pmf(np.arange(drawn_gains + 1), of_gains, np.arange(of_gains + 1)[:, None], drawn_gains)
    y = hypergeom.pmf(np.arange(drawn_losses + 1), of_losses, np.arange(of_losses + 1)[:, None], drawn_losses)
    worst = [0.0, 0.0]
    for d in range(-of_losses, of_gains + 1):
        gains = np.arange(max(0, d), min(of_gains, of_losses + d) + 1)
        for at, missed in enumerate((lower > d, upper < d)):
            of_each = np.einsum("gx,xy,gy->g", x[gains], missed.astype(float), y[gains - d])
            worst[at] = max(worst[at], of_each.max())
    return worst


@pytest.mark.parametrize(("sizes", "at_025", "at_25"), [WORST[0], *WORST[2:], *slow(WORST[1])])
def test_no_population_is_missed_more_often_than_allowed(sizes, at_025, at_25):
    for error, golden in ((0.025, at_025), (0.25, at_25)):
        below, above = worst_miss(sizes, error)
        assert max(below, above) <= error
        assert above == pytest.approx(golden, abs=5e-6)
        exchanged = worst_miss((*sizes[2:], *sizes[:2]), error)
        assert (below, above) == pytest.approx(exchanged[::-1], rel=1e-12)


@pytest.mark.parametrize("error", [0.4, 0.1, 0.01, 0.001])
def test_every_small_population_is_missed_as_seldom(error):
    """All sizes of up to six gains and four losses, and all samples of them."""
    for of_gains, of_losses in itertools.product(range(7), range(5)):
        for drawn in itertools.product(range(of_gains + 1), range(of_losses + 1)):
            assert max(worst_miss((of_gains, drawn[0], of_losses, drawn[1]), error)) <= error


def test_they_rise_with_positive_gains_and_fall_with_positive_losses():
    for sizes, _, _ in WORST:
        for limit in table(sizes, 0.025):
            assert (np.diff(limit, axis=0) >= 0).all()
            assert (np.diff(limit, axis=1) <= 0).all()


# the definition, point by point


class Points:
    """The definition of the upper limit, without cells."""

    def __init__(self, gains, losses, error):
        (self.of_gains, self.n, x), (self.of_losses, self.m, y) = gains, losses
        self.s, gamma = max(1.0, NormalDist().inv_cdf(1 - error) ** 2 / 2), 0.005 * error
        positive, drawn, items = np.array([x, y]), np.array([self.n, self.m]), np.array([self.of_gains, self.of_losses])
        self.box, self.level = intervals(positive, positive, drawn, items, gamma / 2), error - gamma
        self.each = np.arange(self.n + 1)[:, None], np.arange(self.m + 1)[None, :]
        self.estimate = self.of_gains / self.n * self.each[0] - self.of_losses / self.m * self.each[1]
        self.sigma = np.sqrt(
            self.spread(self.each[0], self.n, self.of_gains) + self.spread(self.each[1], self.m, self.of_losses)
        )
        self.seen, self.at = self.estimate[x, y], (x, y)

    def spread(self, positive, drawn, items):
        p = (positive + self.s) / (drawn + 2 * self.s)
        return (items / drawn) ** 2 * drawn * (1 - drawn / items) * p * (1 - p)

    def rejected(self, gains, losses):
        t = np.minimum(2 * math.sqrt(self.s), np.maximum(0, (gains - losses - self.estimate) / self.sigma))
        region = t >= t[self.at] - 1e-9 * (1 + abs(self.seen)) / self.sigma[self.at]
        of_x = hypergeom.pmf(self.each[0], self.of_gains, gains, self.n)
        of_y = hypergeom.pmf(self.each[1], self.of_losses, losses, self.m)
        return (of_x * of_y)[region].sum() <= self.level

    def largest(self):
        (g0, l0), (g1, l1) = self.box
        found = math.floor(self.seen)
        for g, lost in itertools.product(range(g0, g1 + 1), range(l0, l1 + 1)):
            if g - lost > found and not self.rejected(g, lost):
                found = g - lost
        return found

    def some_with(self, d, count):
        """Points of the box with this difference, evenly apart."""
        (g0, l0), (g1, l1) = self.box
        low, high = max(g0, l0 + d), min(g1, l1 + d)
        return [(int(g), int(g) - d) for g in np.linspace(low, high, count)] if low <= high else []


@pytest.mark.parametrize(
    "sizes",
    [(12, 5, 9, 4), (14, 13, 12, 3), (19, 6, 6, 4), *slow(((7, 3, 7, 4),), ((25, 25, 25, 6),), ((40, 39, 30, 3),))],
)
def test_cells_reject_what_its_points_would(sizes):
    """Lists of a few hundred items are searched to the last item."""
    of_gains, n, of_losses, m = sizes
    for error in (0.25, 0.025, 0.002):
        upper = table(sizes, error)[1]
        for x, y in itertools.product(range(n + 1), range(m + 1)):
            assert upper[x, y] == Points((of_gains, n, x), (of_losses, m, y), error).largest()


@pytest.mark.parametrize(("size", "drawn", "positive"), [(2_000, 90, 45), (9_000, 120, 12), (9_000, 120, 110)])
def test_cells_of_longer_lists_lose_little(size, drawn, positive):
    """No point above is left, and a point is that lies below by a small part of a standard deviation."""
    points = Points((size, drawn, positive), (size, drawn, drawn - positive), 0.025)
    upper = limits(ChangedSample(size, drawn, positive), ChangedSample(size, drawn, drawn - positive), 0.025)[1]
    for d in range(upper + 1, points.box[1][0] - points.box[0][1], size // examples(10, 30)):
        assert all(points.rejected(*point) for point in points.some_with(d, examples(6, 12)))
    below = upper - max(1, int(0.02 * points.sigma[points.at]))
    assert not all(points.rejected(*point) for point in points.some_with(below, 12))


def test_no_cell_is_rejected_that_holds_a_point_which_is_not():
    """Cells of any width about the upper limit, whose own point stands."""
    rng, seen = np.random.default_rng(4), 0
    tried = examples(120, 1_000)
    for _ in range(tried):
        sizes = rng.integers(10, 120, 2)
        drawn = [int(rng.integers(1, min(size, 25))) for size in sizes]
        found = [int(rng.integers(0, n + 1)) for n in drawn]
        error = float(rng.choice([0.3, 0.1, 0.02]))
        sides = [(int(size), n, x) for size, n, x in zip(sizes, drawn, found, strict=True)]
        points, upper = Points(*sides, error), limits(*(ChangedSample(*one) for one in sides), error)[1]
        (g0, l0), (g1, l1) = ([int(one) for one in side] for side in points.box)
        first = max(math.floor(points.seen) + 1, upper - int(rng.integers(0, 40)))
        if first > upper or upper - first > g1 - l0:
            continue
        look = float(points.seen), float(points.sigma[points.at]), points.s, points.level
        counted = tuple((*one, one[2]) for one in sides)
        cell = first, min(g1 - l0, upper + int(rng.integers(0, 40)))
        assert not _all_rejected.plain()(counted, look, (g0, g1, l0, l1), cell, 1)
        seen += 1
    assert seen > 0.15 * tried


def pooled(gains, losses, error):
    """The hypergeometric limits of z, the positives among gains and the negatives among losses, in equal samples."""
    (of_gains, n, x), (of_losses, m, y) = gains, losses
    z = np.array([x + m - y])
    lower, upper = intervals(z, z, np.array([n + m]), np.array([of_gains + of_losses]), 2 * error)
    return int(lower[0]) - of_losses, int(upper[0]) - of_losses


def test_the_pooled_total_says_the_same_where_both_are_sharp():
    """One exact number without a nuisance, of n + m items drawn at one rate: another way to the same bounds."""
    for size, drawn in ((2_000, 300), (10**6, 1_000)):
        half = drawn // 2
        for positive in (half, half + drawn // 20):
            found = limits(ChangedSample(size, drawn, positive), ChangedSample(size, drawn, half), 0.025)
            other = pooled((size, drawn, positive), (size, drawn, half), 0.025)
            width = found[1] - found[0]
            assert np.abs(np.subtract(found, other)).max() <= 0.02 * width
            assert width <= 1.01 * (other[1] - other[0])


def test_rare_positives_are_worth_it_where_the_pooled_total_is_not():
    found = limits(ChangedSample(10**6, 500, 450), ChangedSample(10**6, 500, 450), 0.025)
    other = pooled((10**6, 500, 450), (10**6, 500, 450), 0.025)
    assert (other[1] - other[0]) > 1.6 * (found[1] - found[0])


def test_its_width_is_that_of_a_normal_interval_where_labels_are_many():
    """Half-widths in standard deviations, next to the 1.96 of a normal interval; another program found as little."""
    for size, drawn, share, expected in (
        (500_000, 4_885, 0.5, 1.99),
        (200_000, 802, 0.5, 2.01),
        (500_000, 3_115, 0.8, 1.98),
        (500_000, 1_760, 0.9, 1.98),
    ):
        positive = ChangedSample(size, drawn, round(share * drawn))
        lower, upper = limits(positive, positive, 0.025)
        spread = math.sqrt(2 * (size / drawn) ** 2 * drawn * (1 - drawn / size) * share * (1 - share))
        assert lower == -upper
        assert 1.95 < upper / spread < expected + 0.005


# missing labels


@pytest.mark.parametrize("sizes", [(12, 5, 9, 4), (10, 4, 6, 6), (12, 4, 12, 3)])
@pytest.mark.parametrize("error", [0.25, 0.1, 0.025])
def test_labels_that_are_missing_only_widen_whatever_they_are(sizes, error):
    """Every outcome against every way of losing labels of it."""
    of_gains, n, of_losses, m = sizes
    lower, upper = table(sizes, error)
    for lost in itertools.product(range(n + 1), range(m + 1)):
        for x, y in itertools.product(range(n + 1 - lost[0]), range(m + 1 - lost[1])):
            a, b = limits(ChangedSample(of_gains, n, x, lost[0]), ChangedSample(of_losses, m, y, lost[1]), error)
            assert a <= lower[x : x + lost[0] + 1, y : y + lost[1] + 1].min()
            assert b >= upper[x : x + lost[0] + 1, y : y + lost[1] + 1].max()


# what would break it


def missed_after_looking(size, first, then, error):
    """The worst probability of a miss of the upper limit if one may double the labels after the first ones."""
    early, late = (table((size, n, size, n), error)[1] for n in (first, then))

    def law(positive, drawn, of):
        return hypergeom.pmf(np.arange(drawn + 1), of, positive, drawn)

    worst = 0.0
    for gains, losses in itertools.product(range(size + 1), repeat=2):
        missed = 0.0
        for x, y in itertools.product(range(min(first, gains) + 1), range(min(first, losses) + 1)):
            p = law(gains, first, size)[x] * law(losses, first, size)[y]
            if p > 0:
                more = np.outer(*(law(g - z, then - first, size - first) for g, z in ((gains, x), (losses, y))))
                later = more[late[x : x + then - first + 1, y : y + then - first + 1] < gains - losses].sum()
                missed += p * max(later, early[x, y] < gains - losses)
        worst = max(worst, missed)
    return worst


def test_a_number_of_labels_chosen_after_looking_would_be_wrong():
    """Two or four of eight a side, whichever misses: .041 at an error of .025."""
    assert max(worst_miss((8, 2, 8, 2), 0.025) + worst_miss((8, 4, 8, 4), 0.025)) <= 0.025
    assert missed_after_looking(8, 2, 4, 0.025) == pytest.approx(0.041, abs=0.001)


# edges


def test_a_side_without_a_sample_may_hold_any_number():
    gains, nothing = ChangedSample(100, 20, 8), ChangedSample(30, 0, 0)
    low, high = (int(one[0]) for one in intervals(*(np.array([one]) for one in (8, 8, 20, 100)), 0.05))
    assert limits(gains, nothing, 0.025) == (low - 30, high)
    assert limits(nothing, gains, 0.025) == (-high, 30 - low)
    assert limits(ChangedSample(40, 0, 0), nothing, 0.025) == (-30, 40)


def test_a_side_without_items_adds_nothing():
    low, high = (int(one[0]) for one in intervals(*(np.array([one]) for one in (8, 8, 20, 100)), 0.05))
    assert limits(ChangedSample(100, 20, 8), ChangedSample(0, 0, 0), 0.025) == (low, high)
    assert limits(ChangedSample(0, 0, 0), ChangedSample(0, 0, 0), 0.025) == (0, 0)


def test_it_is_exact_where_every_item_has_a_label():
    assert limits(ChangedSample(20, 20, 7), ChangedSample(9, 9, 3), 0.025) == (4, 4)
    assert limits(ChangedSample(20, 20, 7, 2), ChangedSample(9, 9, 3, 1), 0.025) == (3, 6)


def test_turning_every_label_around_turns_the_bounds_around():
    """D becomes W_G − W_L − D."""
    for of_gains, n, x, of_losses, m, y in ((60, 20, 7, 40, 10, 9), (90, 30, 1, 90, 30, 28)):
        lower, upper = limits(ChangedSample(of_gains, n, x), ChangedSample(of_losses, m, y), 0.025)
        turned = limits(ChangedSample(of_gains, n, n - x), ChangedSample(of_losses, m, m - y), 0.025)
        assert turned == (of_gains - of_losses - upper, of_gains - of_losses - lower)


def test_impossible_samples_are_refused():
    for size, drawn, positive, missing in ((5, 6, 0, 0), (5, 4, 3, 2), (5, 4, -1, 0), (5, 4, 3, -1)):
        with pytest.raises(InputError, match="drawn"):
            ChangedSample(size, drawn, positive, missing)
    for error in (0.0, 1.0, math.nan):
        with pytest.raises(InputError, match="probability"):
            limits(ChangedSample(5, 4, 3), ChangedSample(5, 4, 3), error)


# numerics


@pytest.mark.parametrize(
    ("items", "positive", "drawn"),
    [(10, 4, 3), (10**9, 3 * 10**8, 4_000), (5_000, 12, 900), (10**9, 40, 10**5), (700, 700, 30), (700, 0, 30)],
)
@pytest.mark.parametrize("deviations", [2.0, 6.0])
def test_probabilities_lose_nothing(items, positive, drawn, deviations):
    value, low, rest = drawn_probabilities.plain()(items, positive, drawn, deviations)
    each = range(min(drawn, positive) + 1)
    exact = np.exp([log_hypergeometric.plain()(k, drawn, positive, items) for k in each])  # another form, term by term
    inside = exact[low : low + value.size]
    assert rest >= (exact.sum() - inside.sum()) * (1 - 1e-9) - 1e-13
    assert value == pytest.approx(inside / inside.sum(), rel=1e-11, abs=1e-300)
    assert (value >= inside * (1 - 1e-11)).all()
