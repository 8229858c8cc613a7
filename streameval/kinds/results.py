"""Results of a study of any kind, which show themselves as what they say."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from streameval.errors import StreamevalError
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.text import Paragraph, Text
from streameval.study import Study
from streameval.study.results import Result
from streameval.types import Plan


@dataclass(frozen=True, repr=False)
class StudyResult(ShowsItself, Result):
    """Results, with what their kind of study says of them."""

    def text(self, plan: Plan | None = None, study: str = "STUDY") -> Text:
        """Say what they prove, what that promises, their main figures, and what to know of them.

        Args:
            plan: None where nothing is to be said of what to run next.
            study: Folder that the next step names.
        """
        text: Text = importlib.import_module(f"streameval.kinds.{self.summary['kind']}").KIND.text(self, plan, study)
        return text

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """What they say, and what to run next as long as their plan is that of the study."""
        return self.text(self._plan(), str(self.folder)).paragraphs

    def _plan(self) -> Plan | None:
        """Read the plan; None where there is none by now, or another one."""
        with suppress(StreamevalError):
            if self.folder is not None and Study(self.folder).exists:
                plan = Study(self.folder).plan()
                return plan if plan.plan_id == self.summary["study"] else None
        return None
