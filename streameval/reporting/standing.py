"""State of a study: its subject, how many of its labels are in, what is proven, and what to do next."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from streameval.labelling.unlabelled import unlabelled_words
from streameval.reporting.next_step import first_step, remaining, results_again
from streameval.reporting.shows_itself import ShowsItself
from streameval.reporting.text import NextStep, Paragraph, Text
from streameval.study import Study
from streameval.text import number_of
from streameval.types import Claim, Plan


@dataclass(frozen=True, repr=False)
class Standing(ShowsItself):
    """State of a study.

    Attributes:
        study: Its folder, as given.
        stage ({"planned", "selected", "outdated", "evaluated"}): How far it has come; "outdated" where it has results
            that can no longer be used.
        head: What it is of, and how many of its labels are in.
        verdict: What is proven so far; why its results cannot be used; empty where there are none.
        values: Measures with their bounds, a line each, and what else can be asked for; of a curve its verdict says it.
        next, leads_to: The command to run next, and what it does; empty where nothing has to be done.
        facts: `n_items`, `planned`, `labelled`, and `claim`, where there are results.
    """

    study: str
    stage: str
    head: str
    verdict: str = ""
    values: tuple[str, ...] = ()
    next: str = ""
    leads_to: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def paragraphs(self) -> Sequence[Paragraph]:
        """Say what it is of, what is proven, and what to do next."""
        after = f"      {self.leads_to}" if self.leads_to else ""
        following = f"Next: {self.next}{after}" if self.next else ""
        return [*filter(None, (self.head, self.verdict, *self.values, following))]

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        names = ("study", "stage", "head", "verdict", "values", "next", "leads_to")
        return {**{name: getattr(self, name) for name in names}, **self.facts}


def not_evaluated(study: str, subject: str, folder: Study, plan: Plan, why: str = "") -> Standing:
    """Say where a study stands that has no results which can be used.

    Args:
        subject: The name of the study, and what it estimates.
        why: Why those that it has cannot be used.

    Raises:
        StudyError: Its votes are damaged: then `evaluate` cannot make results either.
    """
    planned, labelled = plan.table.num_rows, folder.labelled
    comma = " " if subject.endswith("?") else ", "
    labels = f"{number_of(planned, 'label')} planned" if planned else "nothing to label"
    facts, head = {"n_items": plan.n_items, "planned": planned}, f"{subject}{comma}{labels}"
    if why:
        return Standing(study, "outdated", f"{head}.", why, (), *results_again(folder, plan), facts)
    stage = "planned" if folder.selected(plan) is None else "selected"
    head = f"{head}{_labelled_line(labelled, planned)}."
    return Standing(study, stage, head, "", (), *first_step(folder, plan), {**facts, "labelled": labelled})


def complete(study: str, head: str, promise: str, n_items: int, claim: Claim) -> Standing:
    """Say where results of a list stand whose every item has a label."""
    return Standing(study, "evaluated", head, promise, facts={"n_items": n_items, "claim": claim.as_dict()})


def with_labels(study: str, subject: str, summary: Mapping[str, Any], text: Text) -> Standing:
    """Say where a study with a plan and results stands; where labels are missing, they come first.

    Args:
        subject: The name of the study, and what it estimates.
        summary: Of its results.
        text: What they say.
    """
    planned, labelled = (int(summary["account"][key]) for key in ("planned", "labelled"))
    labels = number_of(planned, "label") if planned else "nothing to label"
    head, following = f"{subject}, {labels}{_labelled_line(labelled, planned)}.", text.next_step
    if planned > labelled:
        following = NextStep(remaining(study).command, f"tasks without a label: {unlabelled_words(summary['account'])}")
    facts = {"n_items": summary["n_items"], "claim": summary["claim"], "planned": planned, "labelled": labelled}
    promise = (text.promise,) if text.promise else ()
    return Standing(study, "evaluated", head, text.headline, promise, *following, facts=facts)


def _labelled_line(labelled: int, planned: int) -> str:
    """Say how many of the planned labels are in; nothing where none is planned."""
    if not planned:
        return ""
    if labelled in (0, planned):
        return ", all of them in" if labelled else ", none of which is in"
    return f" of which {labelled:,} {'is' if labelled == 1 else 'are'} in"
