"""Largest difference of two unknown totals that two independent samples without replacement do not reject.

Of W_G gains n_G are drawn, and x of them are positive; of W_L losses n_L are drawn, and y of them are. Of the unknown
positives P_G and P_L the difference D = P_G − P_L is bounded from above. With c = W/n of each side,

    Dhat(x, y) = c_G x − c_L y,    t_D(x, y) = min(c*, max(0, (D − Dhat)/σ(x, y))),
    σ² = Σ c² n (1 − n/W) p (1 − p),  p = (positives + s)/(n + 2s),  c* = 2 √s.

A point (P_G, P_L) is rejected at a level where P(t_D(X, Y) >= t_D(x, y)) is at most the level: the true one is, or lies
outside a box of exact limits that are missed with probability γ, with probability level + γ at most.

All points of a cell are rejected at once. As c <= c*, the region {Dhat <= D − c σ} holds (x − 1, y) and (x, y + 1) with
(x, y): |∂σ/∂x| <= c_G/(2 √s), so that c_G x + c σ rises in x. X and Y are independent and rise stochastically in P_G
and P_L. So for D in [D1, D2], D1 > Dhat, and P_G in [g1, g2], the probability is at most that of

    Dhat(X, Y) <= max(f(D1), f(D2)),    f(D) = D − t_D(x, y) σ(X, Y),    at P_G = g1, P_L = min(l+, g2 − D1),

because t_D is concave in D > Dhat, and f convex.

With missing labels t_D(x, y) is that of the least favourable ones, and each end of the box too.
"""

from __future__ import annotations

import math

import numpy as np

from streameval.kernels.hypergeometric import intervals
from streameval.kernels.jit import kernel, vector_kernel
from streameval.typing import FloatArray, Int64Array

# of a side: items, drawn, fewest and most positives among the drawn (they differ where labels are missing)
CountedSide = tuple[int, int, int, int]
_Sides = tuple[CountedSide, CountedSide]
_Box = tuple[int, int, int, int]  # fewest and most positives of the gains, and of the losses
_SeenPair = tuple[float, float, float, float]  # Dhat and σ as they were seen, s, and the level
_Edge = tuple[Int64Array, int]  # least y of the region at x = first, first + 1...; first

_BOX = 0.005  # γ as a share of the error
_FINE = 0.005  # of σ: cells that are narrower are not worth their time
_ROUNDING = 1e-13


@vector_kernel
def drawn_probabilities(items: int, positive: int, drawn: int, deviations: float) -> tuple[FloatArray, int, float]:
    """P(X = k) of the hypergeometric X, about so many standard deviations to either side.

    Returns:
        probability (float64 array), of low, low + 1...; low; the most that the probabilities of all others sum to.
    """
    fewest, most = max(0, drawn - (items - positive)), min(drawn, positive)
    mode = min(max(int((drawn + 1.0) * (positive + 1.0) / (items + 2.0)), fewest), most)
    share = positive / items
    reach = int(deviations * math.sqrt(drawn * share * (1 - share) * (1 - drawn / items))) + 20
    low, high = max(fewest, mode - reach), min(most, mode + reach)
    value = np.ones(high - low + 1)
    a, b, c = float(positive), float(drawn), float(items) - positive - drawn + 1.0
    for i in range(mode - low):  # all quotients before any product: none waits for another
        x = float(low + i)
        value[i] = (x + 1.0) * (c + x) / ((a - x) * (b - x))
    for i in range(mode - low + 1, high - low + 1):
        x = float(low + i - 1)
        value[i] = (a - x) * (b - x) / ((x + 1.0) * (c + x))
    for i in range(mode - low - 1, -1, -1):
        value[i] *= value[i + 1]
    for i in range(mode - low + 1, high - low + 1):
        value[i] *= value[i - 1]
    value *= 1.0 / value.sum()
    # quotients of neighbours fall outwards: what was left out is below a geometric series
    rest, x, y = 0.0, float(low), float(high)
    if low > fewest:
        rest += value[0] / ((a - x + 1.0) * (b - x + 1.0) / (x * (c + x - 1.0)) - 1.0)
    if high < most:
        rest += value[-1] / ((y + 1.0) * (c + y) / ((a - y) * (b - y)) - 1.0)
    return value, low, rest


@vector_kernel
def _variance(side: CountedSide, positive: float, pseudo: float) -> float:
    """Give what a side adds to σ²."""
    items, drawn = float(side[0]), float(side[1])
    p = (positive + pseudo) / (drawn + 2.0 * pseudo)
    return items / drawn * (items - drawn) * p * (1.0 - p)


@vector_kernel
def _studentise(look: _SeenPair, d: int) -> float:
    """t_D of what was seen."""
    return min(2.0 * math.sqrt(look[2]), max(0.0, (d - look[0]) / look[1]))


@vector_kernel
def _deviations(look: _SeenPair) -> float:
    """Tell how far probabilities matter: what is left out has a probability far below the level, and is added to it."""
    return 4.2 + math.sqrt(2.0 * look[2])


@kernel
def _reach(side: CountedSide, fewest: int, most: int, deviations: float) -> tuple[int, int]:
    """First and last number of drawn positives that matter for so many positives."""
    first = drawn_probabilities(side[0], fewest, side[1], deviations)[1]
    value, low, _ = drawn_probabilities(side[0], most, side[1], deviations)
    return first, low + value.size - 1


@kernel
def _region(sides: _Sides, look: _SeenPair, box: _Box, d1: int, d2: int) -> _Edge:
    """Least y in the region of the cells with D in [d1, d2], at each x that matters; one too many where none is."""
    gains, losses = sides
    x0, x1 = _reach(gains, max(box[0], box[2] + d1), min(box[1], box[3] + d2), _deviations(look))
    y0, y1 = _reach(losses, max(box[2], box[0] - d2), min(box[3], box[1] - d1), _deviations(look))
    each_x, each_y = gains[0] / gains[1], losses[0] / losses[1]
    slack = 1e-9 * (1.0 + abs(look[0]))  # what was seen lies on the edge, and is in the region
    t1, t2 = _studentise(look, d1), _studentise(look, d2)
    of_y = np.array([_variance(losses, float(y), look[2]) for y in range(y0, y1 + 1)])
    edge = np.empty(x1 - x0 + 1, np.int64)
    y = y1 + 1
    for x in range(x1, x0 - 1, -1):
        of_x, reached = _variance(gains, float(x), look[2]), each_x * x - slack
        while y > y0:
            spread = math.sqrt(of_x + of_y[y - 1 - y0])
            if reached - each_y * (y - 1) > max(d1 - t1 * spread, d2 - t2 * spread):
                break
            y -= 1
        edge[x - x0] = y
    return edge, x0


@kernel
def _probability(sides: _Sides, edge: _Edge, g: int, l: int, deviations: float) -> float:  # noqa: E741
    """Of the region, at a point; not below the exact one."""
    gains, losses = sides
    of_x, x0, rest_x = drawn_probabilities(gains[0], g, gains[1], deviations)
    of_y, y0, rest_y = drawn_probabilities(losses[0], l, losses[1], deviations)
    for i in range(of_y.size - 2, -1, -1):
        of_y[i] += of_y[i + 1]  # now of y or more
    least, first = edge
    total = 0.0
    for i in range(of_x.size):
        at = x0 + i - first  # what lies outside of what mattered for all points counts as more than it can be
        y = max(0, least[min(at, least.size - 1)] - y0) if at >= 0 else 0
        if y < of_y.size:
            total += of_x[i] * of_y[y]
    return total * (1.0 + 1e-11) + rest_x + rest_y + _ROUNDING


@kernel
def _stands(sides: _Sides, look: _SeenPair, box: _Box, d: int) -> bool:
    """Tell whether a point with this D is found that is not rejected, among some."""
    low, high = max(box[0], box[2] + d), min(box[1], box[3] + d)
    if low > high:
        return False
    edge = _region(sides, look, box, d, d)
    last = min(12, high - low)
    for i in range(last + 1):
        g = low + (high - low) * i // max(1, last)
        if _probability(sides, edge, g, g - d, _deviations(look)) > look[3]:
            return True
    return False


@kernel
def _all_rejected(sides: _Sides, look: _SeenPair, box: _Box, cell: tuple[int, int], fine: int) -> bool:
    """Tell whether every point of the box with D in the cell is rejected, by cells of P_G no narrower than `fine`."""
    d1, d2 = cell
    g, last = max(box[0], box[2] + d1), min(box[1], box[3] + d2)
    if g > last:
        return True
    edge = _region(sides, look, box, d1, d2)
    steep = (_studentise(look, d1) + 0.4) / look[1]  # about how the logarithm falls in D
    wide = float(max(fine, (last - g) // 8))
    while g <= last:
        g2 = min(last, g + max(fine, int(wide)) - 1)
        l = min(box[3], g2 - d1)  # noqa: E741
        if l < box[2]:
            g = g2 + 1
            continue
        p = _probability(sides, edge, g, l, _deviations(look))
        spare = math.log(look[3] / p) / steep
        if p <= look[3]:
            g = g2 + 1
            wide = max(wide + 0.9 * spare, 1.0)
        elif g2 == g or wide <= fine:
            return False
        else:
            wide = max(float(fine), min(0.7 * wide, wide + 1.1 * spare))
    return True


@kernel
def _largest(sides: _Sides, look: _SeenPair, box: _Box) -> int:
    """Largest D of the box that is not rejected, or somewhat more."""
    top = box[1] - box[2]
    low, high = min(top, math.floor(look[0])), top + 1
    fine = max(1, int(_FINE * look[1]))
    while high - low > fine:
        middle = low + (high - low) // 2
        if _stands(sides, look, box, middle):
            low = middle
        else:
            high = middle
    largest = low + fine - 1
    d, wide = largest + 1, 4 * fine
    while d <= top:
        d2 = min(top, d + wide - 1)
        if _all_rejected(sides, look, box, (d, d2), fine):
            d, wide = d2 + 1, 3 * wide
        elif wide <= fine:
            largest, d = d2, d2 + 1
        else:
            wide = max(fine, wide // 3)
    return min(largest, top)


@kernel
def most_difference(gains: CountedSide, losses: CountedSide, error: float, pseudo: float) -> int:
    """Upper limit of D, missed with probability `error` at most.

    Args:
        gains, losses: Items, drawn, fewest and most positives among the drawn.
        error: In (0, 1).
        pseudo: s, above 0.
    """
    items, drawn = np.array([gains[0], losses[0]]), np.array([gains[1], losses[1]])
    fewest, most = np.array([gains[2], losses[2]]), np.array([gains[3], losses[3]])
    if (items == drawn).all():
        return gains[3] - losses[2]
    alone = drawn.min() == 0
    lower, upper = intervals(fewest, most, drawn, items, 2.0 * error if alone else 0.5 * _BOX * error)
    if alone:
        return int(upper[0] - lower[1])
    seen = gains[0] / gains[1] * most[0] - losses[0] / losses[1] * fewest[1]
    spread = math.sqrt(_variance(gains, float(most[0]), pseudo) + _variance(losses, float(fewest[1]), pseudo))
    look = seen, spread, pseudo, (1.0 - _BOX) * error
    return _largest((gains, losses), look, (lower[0], upper[0], lower[1], upper[1]))
