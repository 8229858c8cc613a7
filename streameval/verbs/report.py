"""Report: draw the report of evaluated studies again from their files, or several over one another."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Literal

from streameval.errors import InputError
from streameval.kinds import kind_of
from streameval.reporting.charts import picture
from streameval.reporting.figures import ReportedStudy, figures
from streameval.reporting.page import page
from streameval.stores import atomic, locks
from streameval.study import Study

Examples = Literal["hidden", "shown"]


def report(
    *studies: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    examples: Examples = "hidden",
    title: str | None = None,
    existing: atomic.Existing = "kept",
) -> Path:
    """Draw a report from result files, and return its path.

    Args:
        *studies: One study, or several to be drawn over one another.
        out: File to write; by default the report.html of the only study.
        examples ({"hidden", "shown"}): Whether the page holds text of items: the highest negatives and the lowest
            positives.
        title: Of the page; by default the study's name, with what people were asked or which labels are positive. The
            next `evaluate` draws the page with that again.
        existing ({"kept", "replaced"}): What becomes of a file that stands at `out` and differs.

    Raises:
        InputError: No study, or several without `out`.
        StudyError: There are no results, they are a mixed set, or the plan has grown since.
    """
    if not studies or (len(studies) > 1 and out is None):
        raise InputError(f"a report of {len(studies)} studies needs a file name", "give it with --out FILE")
    if out is not None:
        return _drawn(studies, (examples, title), Path(out), existing)
    folder = Path(studies[0])
    evaluated = (folder / "evaluation.json").exists()
    with locks.one_at_a_time(folder) if evaluated else nullcontext():
        return _drawn(studies, (examples, title), folder / "report.html", "replaced")


def _drawn(
    studies: Sequence[str | os.PathLike[str]], how: tuple[Examples, str | None], path: Path, existing: atomic.Existing
) -> Path:
    items, title = how
    if title is not None and not title.strip():
        raise InputError("the title is empty", "leave it out: the page is called after the study then")
    if len(studies) == 1 and items == "hidden":
        folder = Study(Path(studies[0]))
        kind = kind_of(folder.folder)
        results, plan = kind.read(folder), folder.plan() if folder.exists else None
        drawn = kind.page(folder.folder.resolve().name, plan, results, title)
    else:
        drawn = page(_shown(studies, items), title)
    atomic.write_out({path: atomic.text(drawn)}, existing)
    return path


def plots(
    *studies: str | os.PathLike[str], folder: str | os.PathLike[str], existing: atomic.Existing = "kept"
) -> list[Path]:
    """Draw every chart of a report as SVG and as PNG.

    Args:
        folder: Gets precision.svg, precision.png, recall.svg …; made if it is not there.
        existing ({"kept", "replaced"}): What becomes of files that stand there and differ.

    Raises:
        InputError: No study.
        StudyError: There are no results, they are a mixed set, or the plan has grown since.
    """
    if not studies:
        raise InputError("no study to draw")
    drawn = figures(_shown(studies, "hidden"), marks="none")
    files = {
        Path(folder) / f"{name}.{kind}": atomic.content(picture(figure.chart, kind))
        for name, figure in drawn.items()
        for kind in ("svg", "png")
    }
    atomic.write_out(files, existing)
    return list(files)


def _shown(studies: Sequence[str | os.PathLike[str]], items: Examples) -> list[ReportedStudy]:
    shown = []
    for path in studies:
        folder = Study(Path(path))
        kind = kind_of(folder.folder)
        evaluation = kind.read(folder)
        plan = folder.plan() if folder.exists else None
        selection = folder.selection(plan) if plan is not None and items == "shown" else None
        shown.append(kind.reported(path, plan, evaluation, selection))
    twice = Counter(study.name for study in shown)
    return [
        replace(study, name=f"{study.name} ({i})") if twice[study.name] > 1 else study
        for i, study in enumerate(shown, 1)
    ]
