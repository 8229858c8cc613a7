"""How rare a count of failures is, if no more happen than a claim allows."""

from math import comb


def binomial_tail(n, k, p):
    """Probability that `n` trials fail at least `k` times, each with probability `p`."""
    return sum(comb(n, i) * p**i * (1 - p) ** (n - i) for i in range(k, n + 1))
