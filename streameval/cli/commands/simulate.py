"""`streameval simulate`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter

from streameval.cli.methods import MethodFlags
from streameval.cli.options import Switch, Whole, existing
from streameval.cli.output import Output, progress
from streameval.cli.picture import columns
from streameval.cli.ranking import MeaningFlags, RankingFlags


def simulate(
    *ranking: str,
    label: str,
    method: Annotated[list[str] | None, Parameter(negative_iterable="")] = None,
    replicates: Whole = 200,
    seed: Whole = 0,
    judge: str | None = None,
    judge_classes: str | None = None,
    plot: Path | None = None,
    overwrite: Switch = False,
    parameters: MethodFlags = MethodFlags(),
    meaning: MeaningFlags = MeaningFlags(),
    flags: RankingFlags = RankingFlags(),
    output: Output = Output(),
) -> None:
    """Run methods side by side on a fully labelled list: do their bounds hold, how wide are they, what do they cost?

    Example: streameval simulate ranking.parquet --label label --replicates 200 --plot methods.svg

    Args:
        ranking: Parquet files, folders or globs, as for plan.
        label: Column with every item's label: 0/1, true/false, yes/no, or a grade.
        method: Name of a method, or several separated by commas; may be repeated (default: all methods).
        replicates: Draws per method; a method that draws nothing is run once.
        seed: Of the first draw; each further draw adds one.
        judge: Column of a judge, as for plan: loguniform is run with it and without.
        judge_classes: Its thresholds, as for plan.
        plot: Picture of the bands of the first draw (.svg, .png or .html).
        overwrite: Replace files that are there and differ.
    """
    from streameval.reporting.simulation import kind_of, save_figure
    from streameval.verbs.simulate import simulate as verb

    if plot is not None:
        kind_of(plot)  # a picture that cannot be drawn is refused before the work, not after
    with progress("methods") as bar:
        results = verb(list(ranking), label=label, method=",".join(method) if method else None,
                       replicates=replicates, seed=seed, judge=judge, judge_classes=judge_classes,
                       options=flags.options(), progress=bar, **meaning.changed(), **parameters.given())  # fmt: skip
    if plot is not None:
        save_figure(results, plot, existing(overwrite))
    output.event("simulate", n_items=int(results.precision.size), methods=len(results.rows))
    head = ["method", "labels", "half-width", "held", "of", "promised", "inside"]
    lines = columns(head, [_simulated(row) for row in results.rows if "refused" not in row])
    lines += [f"{row['method']}: {row['refused']}" for row in results.rows if "refused" in row]
    lines += ["", *_SIMULATE_NOTES, *([f"Plot: {plot}"] if plot else [])]
    output.say(
        {"n_items": int(results.precision.size), "methods": results.rows, "plot": str(plot) if plot else None}, lines
    )


_SIMULATE_NOTES = (
    "held: draws whose bounds contained the truth at every rank. promised: its probability, where a method states one.",
    "half-width: at its widest, relative to precision, in the median draw. inside: share of cutoffs beyond the",
    "labelled head where the truth was inside (for paula by A.2, inside its own bracket).",
)


def _simulated(row: dict[str, Any]) -> list[str]:
    promised = {"exact": "exact", "none": "nothing", "conditional": "conditional"}.get(row["claim"])
    inside = "-" if math.isnan(row["inside"]) else f"{row['inside']:.1%}"
    return [row["method"], f"{row['labels']:,}", f"{row['half_width']:.2%}", f"{row['held']:,}",
            f"{row['replicates']:,}", promised or f"{row['confidence']:.1%}", inside]  # fmt: skip
