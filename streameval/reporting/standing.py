"""What an evaluation promises, and where a study stands, in sentences: of one ranking or of many."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from typing import Any

from streameval.reporting.rankings_page import claim_sentence, headline, sample_sentence
from streameval.reporting.sentences import next_command, promise, verdict
from streameval.slices.files import SliceResult
from streameval.study.answers import Result, claim_of
from streameval.study.provenance import way_out
from streameval.study.rankings_files import RankingsEvaluation
from streameval.study.rankings_sample import RankingsSample
from streameval.study.result_files import Evaluation
from streameval.text import number_of
from streameval.types import Plan


def promised(result: Result | SliceResult) -> str:
    """What the bounds promise, and under which assumption."""
    if isinstance(result, RankingsEvaluation):
        return claim_sentence(result.summary)
    if isinstance(result, RankingsSample):
        return sample_sentence(result)
    return f"{promise(result.curve.claim)}. {result.curve.claim.caution}".rstrip()


@dataclass(frozen=True)
class Standing:
    """Where a study stands.

    Attributes:
        study: Its folder, as given.
        stage ({"planned", "selected", "outdated", "evaluated"}): How far it has come; "outdated" where it has results
            that can no longer be used.
        head: What it is of, and how many of its labels are in.
        verdict: What is proven so far; why its results cannot be used; empty where there are none.
        next, leads_to: The command to run next, and what it does; empty where nothing has to be done.
        facts: `n_items`, `planned`, `labelled`, and `claim`, where there are results.
    """

    study: str
    stage: str
    head: str
    verdict: str = ""
    next: str = ""
    leads_to: str = ""
    facts: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        after = f"      {self.leads_to}" if self.leads_to else ""
        return "\n".join(filter(None, (self.head, self.verdict, f"Next: {self.next}{after}" if self.next else "")))

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        said = {name: getattr(self, name) for name in ("study", "stage", "head", "verdict", "next", "leads_to")}
        return {**said, **self.facts}


def not_evaluated(study: str, name: str, plan: Plan, stage: str, why: str = "") -> Standing:
    """A study without results that can be used.

    Args:
        why: Why those that it has cannot be used.
    """
    planned, folder = plan.table.num_rows, shlex.quote(study)
    after = {
        "planned": (f"select {folder} --export tasks.csv", f"writes the {number_of(planned, 'task')}"),
        "judged": (f"select {folder} --export-judge judge.csv", "writes what the judge is asked"),
        "selected": (f"evaluate {folder} --labels FILE", "takes in labels"),
        "outdated": (f"evaluate {folder}", "makes the results again"),
    }[stage]
    labels = f"{number_of(planned, 'label')} planned" + ("" if why else ", none of which is in")
    head = f"{name}: {_subject(plan)}, {labels}."
    facts = {"n_items": plan.n_items, "planned": planned, **({} if why else {"labelled": 0})}
    return Standing(study, stage, head, why, f"streameval {after[0]}", after[1], facts)


def _subject(plan: Plan) -> str:
    per = plan.notes.get("per")
    if per is None:
        return f"precision of {number_of(plan.n_items, 'item')}"
    return f"means over {number_of(int(plan.notes['rankings']), 'ranking')} by {', '.join(per)}"


def of_result(study: str, name: str, plan: Plan | None, result: Result) -> Standing:
    """A study with results; those of `exact` have no plan."""
    claim = claim_of(result)
    facts = {"n_items": result.summary["n_items"], "claim": claim.as_dict()}
    if plan is None or isinstance(result, RankingsEvaluation):
        many = isinstance(result, RankingsEvaluation)
        head = headline(result.summary) if many else f"{number_of(facts['n_items'], 'item')}, each with a label."
        return Standing(study, "evaluated", f"{name}: {head}", promised(result), facts=facts)
    planned, labelled = (int(result.summary["account"][key]) for key in ("planned", "labelled"))
    facts |= {"planned": planned, "labelled": labelled}
    are = "is" if labelled == 1 else "are"
    labels = "all of them in" if labelled == planned else f"of which {labelled:,} {are} in"
    head = f"{name}: {_subject(plan)}, {number_of(planned, 'label')}, {labels}."
    head = head.replace(", of which", " of which")
    following = _after(plan, result, study)
    return Standing(study, "evaluated", head, _so_far(result, labelled < planned), *following, facts=facts)


def _so_far(result: Evaluation | RankingsSample, some_missing: bool) -> str:
    """What is proven, in one sentence or two."""
    if isinstance(result, RankingsSample):
        return sample_sentence(result)
    said = verdict(result)
    return f"So far, w{said[1:]}" if some_missing and said.startswith("With ") else said


def _after(plan: Plan, result: Evaluation | RankingsSample, study: str) -> tuple[str, str]:
    """The command to run next, and what it does."""
    folder, account = shlex.quote(study), result.summary["account"]
    if missing := account["planned"] - account["labelled"]:
        are = "task is" if missing == 1 else "tasks are"
        return f"streameval select {folder} --remaining --export remaining.csv", f"{missing:,} {are} open"
    if isinstance(result, RankingsSample):
        return "", ""
    if result.curve.claim.coverage == "none":
        command, _, does = way_out(plan, result.summary, study).removeprefix("`").partition("` ")
        return command, does
    does, command = next_command(plan, result, study)
    return (f"streameval {command}", does) if command else ("", "")
