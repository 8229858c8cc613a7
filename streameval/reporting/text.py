"""What results say: made once by their kind, and shown by the terminal, pages, `show`, `check` and the label server."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from streameval.labelling.unlabelled import unlabelled_words
from streameval.reporting.next_step import NOTHING, NextStep, first_step, remaining, results_again
from streameval.study import Study
from streameval.text import number_of
from streameval.types import Claim, Plan

if TYPE_CHECKING:
    from streameval.curve import Curve

Cell = str | float | None


def four_digits(value: float | None) -> str:
    """Write a number as a terminal shows it where nothing else is said; a dash where there is none."""
    return "-" if value is None else f"{value:.4f}"


@dataclass(frozen=True)
class Columns:
    """A table of text, and of numbers that each who shows it writes in a form of its own."""

    head: Sequence[str]
    rows: Sequence[Sequence[Cell]]

    def cells(self, number: Callable[[float | None], str] = four_digits) -> list[list[str]]:
        """Write all cells as text."""
        return [[cell if isinstance(cell, str) else number(cell) for cell in row] for row in self.rows]


@dataclass(frozen=True)
class Picture:
    """A small picture of a curve, where there is room for one."""

    curve: Curve


Paragraph = str | Columns | Picture
"""A part of what a terminal shows."""


@dataclass(frozen=True)
class Text:
    """What results say.

    Attributes:
        headline: What is proven so far; of results that are counted, what they are of.
        promise: What holds of it, and with which probability; empty where the headline says it.
        table: The main figures.
        remarks: What to know of them, a sentence or two each.
        next_step: What to run next, where a plan leads on.
    """

    headline: str
    promise: str
    table: Columns
    remarks: Sequence[str] = ()
    next_step: NextStep = NOTHING

    @property
    def opening(self) -> str:
        """Headline and promise, one after the other."""
        return " ".join(filter(None, (self.headline, self.promise)))


@dataclass(frozen=True)
class Standing:
    """Where a study stands.

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

    def __repr__(self) -> str:
        after = f"      {self.leads_to}" if self.leads_to else ""
        return "\n".join(
            filter(None, (self.head, self.verdict, *self.values, f"Next: {self.next}{after}" if self.next else ""))
        )

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
    head = f"{head}{_labelled(labelled, planned)}."
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
    head, following = f"{subject}, {labels}{_labelled(labelled, planned)}.", text.next_step
    if planned > labelled:
        following = NextStep(remaining(study).command, f"tasks without a label: {unlabelled_words(summary['account'])}")
    facts = {"n_items": summary["n_items"], "claim": summary["claim"], "planned": planned, "labelled": labelled}
    promise = (text.promise,) if text.promise else ()
    return Standing(study, "evaluated", head, text.headline, promise, *following, facts=facts)


def _labelled(labelled: int, planned: int) -> str:
    """Say how many of the planned labels are in; nothing where none is planned."""
    if not planned:
        return ""
    if labelled in (0, planned):
        return ", all of them in" if labelled else ", none of which is in"
    return f" of which {labelled:,} {'is' if labelled == 1 else 'are'} in"
