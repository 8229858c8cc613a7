"""`streameval compare`."""

from __future__ import annotations

from pathlib import Path

from streameval.cli.options import Switch, existing
from streameval.cli.output import Output


def compare(
    a: Path,
    b: Path,
    /,
    *,
    confidence: float = 0.95,
    out: Path | None = None,
    plot: Path | None = None,
    overwrite: Switch = False,
    output: Output = Output(),
) -> None:
    """Compare two evaluated studies or exact results: every difference with bounds, and whether it is established.

    Of two results of many rankings (exact --per): the means of the differences on the rankings that both have.

    Example: streameval compare old-model new-model --plot both.html

    Args:
        a: Folder of a study, or of what exact wrote.
        b: Folder of the study, or of the exact results, to compare it with.
        confidence: Probability that all bounds hold together.
        out: Folder for curves.parquet and differences.parquet; of many rankings for differences.parquet alone.
        plot: Picture of both curves and of their difference, or of the mean differences of many rankings (.svg, .png),
            or a report with the numbers too (.html).
        overwrite: Replace files that are there and differ.
    """
    from streameval.cli.picture import shown
    from streameval.kinds import kind_of
    from streameval.reporting.simulation import kind_of as kind_of_picture
    from streameval.verbs.compare import compare as verb

    if plot is not None:
        kind_of_picture(plot)  # refused before the work, not after
    difference, compared = verb(a, b, confidence=confidence), kind_of(a).comparison
    compared.save(difference, out, plot, existing(overwrite))
    facts, statements = compared.says(difference)
    output.event("compare", a=str(a), b=str(b), coverage=facts.get("claim", {}).get("coverage", "exact"))
    places = {"out": str(out) if out else None, "plot": str(plot) if plot else None}
    output.say({**facts, **places}, shown(statements))
