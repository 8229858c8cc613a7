"""`streameval report`."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from streameval.cli.options import Switch, existing
from streameval.cli.output import Output


def report(
    *studies: Path,
    out: Path | None = None,
    title: str | None = None,
    examples: Switch = False,
    plot: Path | None = None,
    overwrite: Switch = False,
    output: Output = Output(),
) -> None:
    """Draw report.html again from a study's result files, or several studies over one another.

    Example: streameval report my-study other-study --out both.html --plot pictures

    Args:
        studies: Folders of evaluated studies.
        out: File to write (default: the report.html of the only study).
        title: Of the page (default: the study's name, with what people were asked or which labels are positive).
        examples: Show text of items: the highest negatives and the lowest positives.
        plot: Folder to write every chart to, as SVG and PNG.
        overwrite: Replace files that are there and differ.
    """
    from streameval.verbs.report import plots as draw
    from streameval.verbs.report import report as verb

    shown: Literal["shown", "hidden"] = "shown" if examples else "hidden"
    path = verb(*studies, out=out, examples=shown, title=title, existing=existing(overwrite))
    pictures = draw(*studies, folder=plot, existing=existing(overwrite)) if plot is not None else []
    lines = [f"Report: {path}", *([f"Pictures: {len(pictures)} in {plot}"] if pictures else [])]
    output.say({"report": str(path), "plots": [str(one) for one in pictures]}, lines)
