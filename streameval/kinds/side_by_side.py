"""Several studies in one result, compared or watched: it shows itself as its kind of study says it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from streameval.errors import InputError
from streameval.kinds import kind_named
from streameval.notebook import Tabular
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.text import Paragraph
from streameval.study.history import History

if TYPE_CHECKING:
    import pyarrow as pa

_SHOWN = 14  # studies of a history


def two(paths: Sequence[Path]) -> tuple[Path, Path]:
    """Give two studies; an `InputError` where there are more."""
    if len(paths) > 2:
        raise InputError(f"{len(paths)} are more than two, which are compared",
                         "two at a time; several are compared where exact made each with --sample-of")  # fmt: skip
    return paths[0], paths[1]


class SideBySide(ShowsItself, Tabular):
    """Studies, compared.

    Attributes:
        kind: Name of their kind.
        differences: Of every metric, as a kind lays them out.
    """

    kind: ClassVar[str]
    differences: pa.Table

    @property
    def table(self) -> pa.Table:
        """The differences."""
        return self.differences

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """Say what is compared, and every difference."""
        return kind_named(self.kind).compared.describe(self)[1]


class Watched(ShowsItself, History):
    """Studies that came one after another."""

    @property
    def notes(self) -> list[str]:
        """Say what they come to, and what was not taken."""
        notes = kind_named(self.settings.kind).watched.describe(self, _SHOWN)[1] if self.table.num_rows else []
        if self.waiting:
            notes = [*notes, f"{self.waiting}. It is taken when they are in, and what comes behind it; "
                     "--allow=incomplete takes it now, and the rest when it comes."]  # fmt: skip
        changed = "They count as they were; a new history of all studies is about the corrected ones."
        return [*notes, *(f"Labels that the history counts have changed since, of {study}. {changed}"
                          for study in self.corrected)]  # fmt: skip

    @property
    def account(self) -> list[Paragraph]:
        """The last studies, and what all come to."""
        if not self.table.num_rows:
            return [*self.notes]
        return [kind_named(self.settings.kind).watched.describe(self, _SHOWN)[0], "", *self.notes]

    @property
    def verdict(self) -> list[str]:
        """The outcome of a condition, behind an empty line; nothing where there is none."""
        return ["", self.outcome] if self.outcome else []

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """All that there is to say."""
        return [*self.account, *self.verdict]
