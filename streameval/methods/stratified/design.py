"""Design of stratified sampling: the grid, the slots that a half-width or a budget takes, and their cost."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streameval.errors import InputError
from streameval.methods.epsilon import parse_epsilon
from streameval.methods.grid import geometric_grid
from streameval.methods.stratified import HEAD_LABELS
from streameval.typing import Int64Array

CANDIDATES = tuple(f"{x:.4f}" for x in np.geomspace(0.002, 1.0, 40))  # ε tried for a budget
_OVERSHOOT = 1e-6  # probability allowed for a draw over the budget; δ pays for it, as plans once drew again then
Setting = tuple[int, float, float, str, str]  # N, δ, p_min, tail, claim


@dataclass(frozen=True)
class StratifiedDesign:
    """Grid and slots.

    Attributes:
        head, ell, last_index, head_end: r̃, ℓ, L, g_ℓ (at most N).
        points (int64 array): g_ℓ … g_L; N after them where the tail is closed.
        slots: s; 0 where nothing is sampled.
        labels: Distinct ranks, in expectation.
        spread: At least the variance of their number.
    """

    epsilon: str
    head: int
    ell: int
    last_index: int
    head_end: int
    points: Int64Array
    slots: int
    beta: float
    labels: float
    spread: float

    def notes(self, n_items: int) -> dict[str, Any]:
        """Return the constants under the paper's symbols, and the ranks that stay unknown."""
        return {
            "head": self.head,
            "ell": self.ell,
            "L": self.last_index,
            "g_ell": self.head_end,
            "slots": self.slots,
            "beta": self.beta,
            "grid_points": int(self.points.size - 1),
            "unknown_tail": n_items - int(self.points[-1]),
        }


def _grid(epsilon: str | float, head: int | None, setting: Setting) -> StratifiedDesign:
    """Lay out head and grid, without slots."""
    n_items, _, _, tail, _ = setting
    ratio = parse_epsilon(epsilon)
    least = math.ceil(2 / ratio)
    if head is not None and head < least:
        raise InputError(f"head is {head:,}: too small for epsilon {epsilon}", f"{least:,} is the smallest")
    first = head if head is not None else math.ceil(HEAD_LABELS / ratio)
    g = geometric_grid(n_items, ratio, first)
    head_end = min(g.head_end, n_items)
    points = g.points if g.points.size else np.array([head_end], dtype=np.int64)
    if tail == "closed" and points[-1] < n_items:
        points = np.append(points, n_items)
    return StratifiedDesign(str(epsilon), first, g.first_index, g.last_index, head_end, points, 0, 1.0, head_end, 0.0)


def _with_slots(grid: StratifiedDesign, slots: int, beta: float) -> StratifiedDesign:
    """Count the distinct ranks of s slots: a rank of g_k+1..g_{k+1} is drawn with probability 1 − (1 − 1/g_{k+1})^s."""
    points = grid.points.astype(np.float64)
    missed = np.exp(slots * np.log1p(-1 / points[1:]))
    fresh = np.diff(points)
    labels, spread = float(np.sum(fresh * (1 - missed))), float(np.sum(fresh * missed * (1 - missed)))
    return replace(grid, slots=slots, beta=beta, labels=grid.head_end + labels, spread=spread)


@functools.lru_cache(maxsize=64)
def design_for_error(epsilon: str | float, head: int | None, alpha: float, setting: Setting) -> StratifiedDesign:
    """Take as many slots as β = (1 + α)/(1 + ε) asks for."""
    _, delta, p_min, _, claim = setting
    grid = _grid(epsilon, head, setting)
    if grid.points.size < 2:
        return grid
    beta = (1 + alpha) / (1 + float(epsilon))
    if beta <= 1:
        raise InputError(
            f"--alpha {alpha} leaves nothing to sampling: "
            f"beta = (1 + alpha) / (1 + epsilon) is {beta:.4f}, not above 1",
            f"epsilon must be below {alpha}; it is {epsilon}",
        )
    radius = (beta - 1 if claim == "printed" else 1 - 1 / beta) * p_min
    needed, each = math.log(2 * (grid.points.size - 1) / delta), 2 * radius**2
    if needed > each * 2**31:
        raise InputError(
            f"--alpha {alpha} with --min-precision {p_min} takes more than {2**31:,} slots",
            "a larger --min-precision, or a smaller epsilon, asks for fewer",
        )
    return _with_slots(grid, math.ceil(needed / each), beta)


@functools.lru_cache(maxsize=64)
def design_for_budget(tried: tuple[str, ...], head: int | None, budget: int, setting: Setting) -> StratifiedDesign:
    """Find the ε of least β(1 + ε) − 1 whose distinct ranks keep a budget, and its slots.

    Raises `InputError` where the budget does not pay for a head and one slot.
    """
    best: StratifiedDesign | None = None
    least = setting[0]
    for epsilon in tried:
        grid = _grid(epsilon, head, setting)
        design = grid if grid.points.size < 2 else _largest(grid, budget, setting)
        least = min(least, math.ceil(_most(_with_slots(grid, 1, 1.0))) if grid.points.size > 1 else grid.head_end)
        if design is None or design.labels > budget:
            continue
        if best is None or design.beta * (1 + float(design.epsilon)) < best.beta * (1 + float(best.epsilon)):
            best = design
    if best is None:
        raise InputError(f"a budget of {budget:,} labels is below the smallest plan", f"it takes {least:,} labels")
    return best


def _largest(grid: StratifiedDesign, budget: int, setting: Setting) -> StratifiedDesign | None:
    """As many slots as the budget pays for, by bisection; None where it does not pay for one."""
    _, delta, p_min, _, claim = setting
    low, high = 0, 1
    while high < 2**31 and _most(_with_slots(grid, high, 1.0)) <= budget:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if _most(_with_slots(grid, middle, 1.0)) <= budget else (low, middle)
    if low == 0:
        return None
    share = radius_of(grid.points.size - 1, low, delta) / p_min
    return _with_slots(grid, low, 1 + share if claim == "printed" else 1 / max(1 - share, 1e-6))


def _most(design: StratifiedDesign) -> float:
    """Distinct ranks that are exceeded with probability below `_OVERSHOOT`.

    Whether each rank is drawn is a negatively associated family (balls and bins), to which Bernstein's inequality
    applies as if they were independent.
    """
    log = -math.log(_OVERSHOOT)
    return design.labels + math.sqrt(2 * design.spread * log + (log / 3) ** 2) + log / 3


def radius_of(grid_points: int, slots: int, delta: float) -> float:
    """t = √(ln(2(L−ℓ)/δ)/(2s)), with δ less what a draw over the budget may take."""
    if not slots:
        return 1.0
    return math.sqrt(math.log(2 * max(1, grid_points) / (delta * (1 - _OVERSHOOT))) / (2 * slots))
