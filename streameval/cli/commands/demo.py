"""`streameval demo`."""

from __future__ import annotations

from pathlib import Path

from streameval.cli.output import Output


def demo(folder: Path = Path("streameval-demo"), /, *, output: Output = Output()) -> None:
    """See the whole journey.

    On 1,613,706 pairs of handwritten digits, whose truth is known.

    Example: streameval demo

    Args:
        folder: Where the ranking and the study are written.
    """
    from streameval.cli.digits import run

    result, lines = run(folder, output.tell)
    output.say(result, lines)
