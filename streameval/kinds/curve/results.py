"""Results of one ranking, which show their curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Self

from streameval.kinds.results import StudyResult
from streameval.reporting.text import Paragraph, Picture
from streameval.study.results import Evaluation


@dataclass(frozen=True, repr=False)
class CurveResult(Evaluation, StudyResult):
    """A curve, and what follows from it."""

    @classmethod
    def of(cls, evaluation: Evaluation) -> Self:
        """Make it of what its files hold."""
        return cls(**{field.name: getattr(evaluation, field.name) for field in fields(evaluation)})

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """What they say, and a picture of the curve."""
        return [*super().paragraphs, Picture(self.curve)]
