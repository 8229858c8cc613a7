"""Short lists of labels, some of which are made to fool a method."""

import numpy as np

LISTS = {
    "alternating": lambda n: np.arange(n) % 2 == 0,
    "blocks of 40": lambda n: np.arange(n) // 40 % 2 == 0,
    "ones then zeros": lambda n: np.arange(n) < n // 3,
    "zeros then ones": lambda n: np.arange(n) >= 2 * n // 3,
    "falling": lambda n: np.random.default_rng(1).random(n) < np.linspace(1, 0, n),
    "ten at the end": lambda n: np.arange(n) >= n - 10,
    "none": lambda n: np.zeros(n, bool),
    "three in one place": lambda n: abs(np.arange(n) - 7 * n // 10) <= 1,
}
