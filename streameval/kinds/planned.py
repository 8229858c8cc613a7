"""Texts about a plan: what it estimates and, if just made, what was planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streameval.progress import Progress
from streameval.rehearsal import Rehearsal
from streameval.reporting.next_step import first_step
from streameval.rows.options import RankingOptions
from streameval.study import Study
from streameval.text import number_of
from streameval.types import Plan


@dataclass(frozen=True)
class Planned:
    """A plan that was just made, for what is said of it.

    Attributes:
        study: The study that was named.
        place: The study that holds the plan; within the other, where a question was asked of that.
        before: The plan that `study` held, if any.
        options: Options of `plan`, as they were given.
    """

    plan: Plan
    study: Study
    place: Study
    before: Plan | None
    options: Mapping[str, Any]

    @property
    def there(self) -> bool:
        """Tell whether the study held this plan already, or one that grew from it."""
        return self.before is not None and self.plan.plan_id in self.before.study_ids

    @property
    def seed_line(self) -> str:
        """Say which seed the plan has, and whether it was there already."""
        seed = f"eed {self.plan.seed}, kept in plan.json."
        return f"As planned before, with s{seed}" if self.there else f"S{seed}"

    @property
    def doubts(self) -> list[str]:
        """Say what to look at before any label is spent."""
        return [self.plan.location["doubt"]] if "doubt" in self.plan.location else []

    def facts(self, **more: Any) -> dict[str, Any]:
        """The plan, JSON-ready, with what its kind adds."""
        plan = self.plan
        names = {"study": str(self.place.folder), "plan_id": plan.plan_id, "labels": plan.table.num_rows}
        names |= {"already_there": self.there}
        return {**names, **more, **plan.header()}


class PlanText:
    """Sentences about a plan; those of a kind that says something else override them."""

    def subject(self, plan: Plan) -> str:
        """Say what a study with a plan estimates."""
        return f"precision of {number_of(plan.n_items, 'item')}"

    def facts_and_lines(self, planned: Planned) -> tuple[dict[str, Any], list[str]]:
        """Say what was planned: JSON-ready facts, and lines of text."""
        plan = planned.plan
        head = f"{plan.table.num_rows:,} of {number_of(plan.n_items, 'item')} to label"
        following = f"Next: {first_step(planned.place, plan).command}"
        lines = [head, planned.seed_line, *planned.doubts, following]
        return planned.facts(), lines

    def rehearsal(
        self, ranking: Sequence[str], study: Study, how: tuple[Mapping[str, Any], Sequence[Any]], seed: int | None,
        options: RankingOptions, progress: Progress,
    ) -> Rehearsal:  # fmt: skip
        """Say what `select` would read for a plan; only of kinds that have no `Kind.no_rehearsal`.

        Args:
            how: Options, as they were given, and as `Kind.parse_options` made them.
        """
        raise NotImplementedError


PLANNED = PlanText()
