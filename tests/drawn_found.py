"""What the labels of drawn rankings come to: for tests of numbers and words, not of files."""

from pathlib import Path

from streameval.cli import app
from streameval.cli.picture import shown
from streameval.kinds.drawn_rankings import KIND, SampledRankings
from streameval.study import Study
from streameval.study.take_in import sources_of


class Unsaved(SampledRankings):
    def save(self, *found):
        """Leave the folder as it is, but for its labels."""


def found_of(study, labels=(), **options):
    """What `evaluate` finds: labels are stored, results are not."""
    return Unsaved().evaluate(Study(Path(study)), sources_of(labels), options)


def found_by(*words):
    """What a command `evaluate` finds, its flags read as the command line reads them."""
    _, bound, *_ = app.parse_args(["evaluate", *words], exit_on_error=False, print_error=False)
    options = {**bound.arguments}
    return found_of(options.pop("study"), options.pop("labels", ()), **options)


def told_of(study, found):
    """What the command prints of it, on one line."""
    return " ".join(" ".join(shown(KIND.lines(Path(study), found))).split())
