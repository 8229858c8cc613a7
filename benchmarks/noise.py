"""Do the bounds of `paula --assume independent` and of `stratified` hold, and what do the labels say where they do not?

    python -m benchmarks.noise [--replicates 1000] [--readme]

Every replicate draws a list of 100,000 labels anew: independent ones whose probability never rises (the model of
`--assume independent`), and kinds that break it. "Missed" are lists whose bounds fail to hold the truth somewhere;
"refuted" are lists whose labels contradict the model: nothing is claimed of them.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from benchmarks.coverage import binomial_tail
from benchmarks.readme import markdown, write_section
from streameval.methods import create
from streameval.types import Labels

N, DELTA = 100_000, 0.05
X = np.arange(1, N + 1) / N
Draw = Callable[[np.random.Generator], npt.NDArray[np.bool_]]


def _independent(probability: npt.NDArray[np.float64]) -> Draw:
    return lambda rng: rng.random(N) < probability


def _runs(length: int) -> Draw:
    return lambda rng: np.repeat(rng.random(N // length) < 0.5, length)


LISTS: dict[str, tuple[bool, Draw]] = {
    "flat, .5": (True, _independent(0.5 + 0 * X)),
    "flat, .9": (True, _independent(0.9 + 0 * X)),
    "declining": (True, _independent(0.95 - 0.85 * X)),
    "stepped down": (True, _independent(np.where(X < 0.2, 0.9, 0.3))),
    "rising": (False, _independent(0.3 + 0.4 * X)),
    "blocks of 500": (False, _runs(500)),
    "clusters of 10": (False, _runs(10)),
    "clusters of 2": (False, _runs(2)),
}


def measure(draw: Draw, replicates: int) -> dict[str, list[float]]:
    """Misses, half-widths and refutations of both methods."""
    rng = np.random.default_rng(0)
    methods = {"paula": create("paula", {"assume": "independent"}),
               "stratified": create("stratified", {"alpha": 0.3, "epsilon": "0.1"})}  # fmt: skip
    found: dict[str, list[float]] = {
        f"{name} {what}": [] for name in methods for what in ("missed", "width", "refuted")
    }
    paula_plan = methods["paula"].plan(N)
    for i in range(replicates):
        truth = draw(rng).astype(np.int8)
        y = np.cumsum(truth)
        for name, method in methods.items():
            plan = paula_plan if name == "paula" else method.plan(N, i)
            curve = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1]))
            low, high = curve.envelope.at(np.arange(1, N + 1))
            found[f"{name} missed"].append(bool(np.any((y < low) | (y > high))))
            found[f"{name} refuted"].append(curve.claim.coverage == "none")
            found[f"{name} width"].append(curve.half_width().alpha)
    return found


def main() -> None:
    """Run, print, and write the README's table if asked."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replicates", type=int, default=1000)
    parser.add_argument("--readme", action="store_true")
    options = parser.parse_args()
    rows, least = [], 1.0
    for name, (in_model, draw) in LISTS.items():
        found = measure(draw, options.replicates)
        missed = int(np.sum(found["paula missed"]))
        if in_model:
            least = min(least, binomial_tail(options.replicates, missed, DELTA))
        unnoticed = np.sum(np.array(found["paula missed"]) & ~np.array(found["paula refuted"], dtype=bool))
        shares = (missed / options.replicates, np.mean(found["paula refuted"]), unnoticed / options.replicates,
                  np.median(found["paula width"]), np.mean(found["stratified missed"]))  # fmt: skip
        rows.append([name, "yes" if in_model else "no", *(f"{share:.1%}" for share in shares)])
        print(*rows[-1], sep="  ", flush=True)
    head = ["labels", "of the model", "missed", "refuted", "missed unnoticed", "half-width", "stratified missed"]
    text = (
        f"{options.replicates:,} lists each at 95 %. Smallest binomial p-value of the lists of the model: {least:.3g}."
    )
    print(text)
    if options.readme:
        write_section("noise", f"{markdown(head, rows)}\n\n{text}")


if __name__ == "__main__":
    main()
