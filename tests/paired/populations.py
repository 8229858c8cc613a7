"""Populations of changed items on which bounds are tried: ranks in two lists, and labels."""

from functools import cache

import numpy as np

N = 20_000
CUTOFFS = np.array([100, 500, 2_500, 10_000])
BEYOND = 2 * N  # rank of an item that a list lacks


def _noisy(rng, noise):
    return np.argsort(np.argsort(np.log(np.arange(1, N + 1)) + noise * rng.standard_normal(N))) + 1


def _labels(rng, share=0.5):
    return (rng.random(N) < share).astype(np.int8)


def _improved_top(rng):
    rank_b, top = np.arange(1, N + 1), 60
    rank_b[:top] = rng.permutation(top) + 1
    labels = _labels(rng)
    labels[np.argsort(rank_b)[: top // 2]] = 1
    return rank_b, labels


def _in_blocks(rng):
    return _noisy(rng, 1.0), (np.arange(N) // 150 % 2).astype(np.int8)


def _of_side(rng, gains):
    rank_b = _noisy(rng, 1.0)
    return rank_b, ((rank_b < np.arange(1, N + 1)) == gains).astype(np.int8)


def _missing(rng):
    """15 % are missing from each list."""
    lacks = rng.random((2, N)) < 0.15
    noisy = np.log(np.arange(1, N + 1)) + 0.5 * rng.standard_normal(N)
    ranks = []
    for values, gone in ((np.arange(1.0, N + 1), lacks[0]), (noisy, lacks[1])):
        rank = np.full(N, BEYOND)
        rank[~gone] = np.argsort(np.argsort(values[~gone])) + 1
        ranks.append(rank)
    return (*ranks, _labels(rng))


POPULATIONS = {
    "small noise": lambda rng: (_noisy(rng, 0.1), _labels(rng)),
    "large noise": lambda rng: (_noisy(rng, 1.0), _labels(rng)),
    "only the top": _improved_top,
    "independent": lambda rng: (rng.permutation(N) + 1, _labels(rng)),
    "blocks": _in_blocks,
    "all gains": lambda rng: _of_side(rng, True),
    "all losses": lambda rng: _of_side(rng, False),
    "no positive": lambda rng: (_noisy(rng, 1.0), np.zeros(N, np.int8)),
    "missing": _missing,
    "rare positives": lambda rng: (_noisy(rng, 1.0), _labels(rng, 0.01)),
}


@cache
def population(name, seed=1):
    """Ranks of each item in A and in B, and its label."""
    made = POPULATIONS[name](np.random.default_rng(seed))
    return made if len(made) == 3 else (np.arange(1, N + 1), *made)
