"""`streameval report`."""

from __future__ import annotations

from pathlib import Path

from streameval.cli.output import Output

_PLAIN = Output()


def report(study: Path, *, output: Output = _PLAIN) -> None:
    """Draw report.html again from a study's result files.

    Example: streameval report my-study

    Parameters
    ----------
    study
        Folder of an evaluated study.
    """
    from streameval.verbs.report import report as verb

    path = verb(study)
    output.say({"report": str(path)}, [f"Report: {path}"])
