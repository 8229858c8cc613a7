"""Report: draw the report of evaluated studies again from their files, or several over one another."""

from __future__ import annotations

import os
import shlex
from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from streameval.errors import InputError, StudyError
from streameval.kinds import kind_of, results_of
from streameval.options import takes
from streameval.printed import Printed
from streameval.reporting.charts import picture
from streameval.stores import atomic, locks
from streameval.stores.atomic import Existing
from streameval.study import Study

if TYPE_CHECKING:
    from streameval.kinds.curve.page import ReportedStudy

Examples = Literal["hidden", "shown"]


@overload
def report(
    *studies: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    title: str | None = None,
    examples: Examples = "hidden",
    existing: Existing = "kept",
) -> Path: ...
@overload
def report(
    *studies: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    title: str | None = None,
    examples: Examples = "hidden",
    plot: str | os.PathLike[str],
    existing: Existing = "kept",
) -> list[Path]: ...
@takes()
def report(
    *studies: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    title: str | None = None,
    examples: Examples = "hidden",
    plot: str | os.PathLike[str] | None = None,
    existing: Existing = "kept",
) -> Path | list[Path]:
    """Draw the report again, or several studies in one.

    Example: streameval report my-study other-study --out both.html --plot pictures

    Args:
        studies: Folders of evaluated studies.
        out: File to write (default: the report.html of the only study).
        title: Of the page (default: the study's name, with what people were asked or which labels are positive). In
            Python too, the next `evaluate` draws the page with that again.
        examples: Show text of items: the highest negatives and the lowest positives. In Python "shown".
        plot: Folder to write every chart to, as SVG and PNG. In Python too, it is made if it is not there, and gets
            precision.svg, precision.png, recall.svg …
        existing: Replace files that are there and differ. In Python "replaced".

    Returns:
        Path: Of the page.
        list of Path: With `plot`, of the page, then of each chart.

    Raises:
        InputError: No study, or several without `out`.
        StudyError: There are no results, they are a mixed set, or the plan has grown since.
    """
    if not studies:
        raise InputError("no study is given", "streameval report STUDY")
    if len(studies) > 1 and out is None:
        raise InputError(f"a report of {len(studies)} studies needs a file name", "give it with --out FILE")
    atomic.refuse_needless(existing, out=out, plot=plot)
    path = _write_page(studies, (examples, title), out, existing)
    return path if plot is None else [path, *_pictures(studies, Path(plot), existing)]


def printed(written: Path | list[Path], plot: Path | None, **_: Any) -> Printed:
    """Print where the page and the charts are."""
    page, *pictures = written if isinstance(written, list) else [written]
    lines = [f"Report: {page}", *([f"Pictures: {len(pictures)} in {plot}"] if pictures else [])]
    return Printed({"report": str(page), "plots": [str(chart) for chart in pictures]}, lines)


def _write_page(
    studies: Sequence[str | os.PathLike[str]],
    how: tuple[Examples, str | None],
    out: str | os.PathLike[str] | None,
    existing: Existing,
) -> Path:
    if out is not None:
        return _draw_chart(studies, how, Path(out), existing)
    folder = Path(studies[0])
    evaluated = (folder / "evaluation.json").exists()
    with locks.one_at_a_time(folder) if evaluated else nullcontext():
        return _draw_chart(studies, how, folder / "report.html", "replaced")


def _draw_chart(
    studies: Sequence[str | os.PathLike[str]], how: tuple[Examples, str | None], path: Path, existing: Existing
) -> Path:
    items, title = how
    if title is not None and not title.strip():
        raise InputError("the title is empty", "leave it out: the page is called after the study then")
    if len(studies) == 1 and items == "hidden":
        folder = Study(Path(studies[0]))
        results, plan = results_of(folder), folder.plan() if folder.exists else None
        drawn = results.page(folder.folder.resolve().name, plan, title)
    else:
        first, *others = _studies_shown(studies, items)
        drawn = first.page(others, title)
    atomic.write_out({path: atomic.text(drawn)}, existing)
    return path


def _pictures(studies: Sequence[str | os.PathLike[str]], folder: Path, existing: Existing) -> list[Path]:
    """Draw every chart as SVG and as PNG."""
    first, *others = _studies_shown(studies, "hidden")
    files = {
        folder / f"{name}.{kind}": atomic.content(picture(chart, kind))
        for name, chart in first.charts(others).items()
        for kind in ("svg", "png")
    }
    atomic.write_out(files, existing)
    return list(files)


def _studies_shown(studies: Sequence[str | os.PathLike[str]], items: Examples) -> list[ReportedStudy]:
    shown = []
    for path in studies:
        folder = Study(Path(path))
        results = results_of(folder)
        plan = folder.plan() if folder.exists else None
        selection = folder.selection(plan) if plan is not None and items == "shown" else None
        drawn = results.for_report(folder.folder.resolve().name, plan, selection)
        if drawn is None:
            raise StudyError(f"{os.fspath(path)} is {kind_of(folder.folder).about}, which is drawn alone and without "
                             "examples", f"`streameval report {shlex.quote(os.fspath(path))}`")  # fmt: skip
        shown.append(drawn)
    twice = Counter(study.name for study in shown)
    return [
        replace(study, name=f"{study.name} ({i})") if twice[study.name] > 1 else study
        for i, study in enumerate(shown, 1)
    ]
