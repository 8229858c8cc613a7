"""Samples that are neither independent nor simple, as others draw them."""

import numpy as np


def pivotal(probability, rng):
    """Ordered pivotal sampling (Deville and Tillé 1998)."""
    p, taken, rest = probability.copy(), [], 0
    for item in range(1, p.size):
        a, b = p[rest], p[item]
        loser = item
        if a + b < 1:
            winner, loser = (rest, item) if rng.random() < a / (a + b) else (item, rest)
            p[winner], rest = a + b, winner
        else:
            winner, loser = (rest, item) if rng.random() < (1 - b) / (2 - a - b) else (item, rest)
            taken.append(winner)
            p[loser], rest = a + b - 1, loser
    if rng.random() < p[rest]:
        taken.append(rest)
    return np.sort(np.array(taken))
