"""What the labels of drawn rankings come to: for tests of numbers and words, not of files."""

from pathlib import Path

from label_tables import flags_of

from streameval.cli.picture import result_lines
from streameval.kinds.drawn_rankings import SampledRankings
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
    study, labels, options = flags_of(["evaluate", *words])
    return found_of(study, labels, **options)


def told_of(study, found):
    """What the command prints of it, on one line."""
    return " ".join(" ".join(result_lines(found.lines(Path(study)))).split())
