"""The rule that labels were made by when the first were in, and what is said where it is another now.

A rule that makes labels of votes is best chosen before there are any: whoever may choose it by what they come to has a
choice of answers. So the first rule under which there were labels is kept, with what it says of the votes that there
are now, and told beside any other.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from streameval.errors import InputError, StudyError
from streameval.labelling.options import Judging
from streameval.labelling.tally import Tallied
from streameval.study import Study
from streameval.study.judging import tally_stored
from streameval.types import Plan


def summary_before(folder: Study, plan: Plan) -> Mapping[str, Any] | None:
    """Say what the last evaluation of a plan said; None where there was none."""
    try:
        before = folder.summary()
    except (FileNotFoundError, StudyError):
        return None
    return before if before["study"] in plan.study_ids else None


def rule_of(options: Mapping[str, Any]) -> dict[str, Any]:
    """The rule of options, or of an evaluation.json; JSON-ready."""
    return {"vote": str(options["vote"]), "prefer": list(options["prefer"])}


def first_rule(before: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """The first rule under which a study had labels, by what its last evaluation said; None before there were any."""
    if before is None:
        return None
    if (first := before.get("first_rule")) is not None:
        return dict(first)
    return rule_of(before) if before["account"]["labelled"] else None


def tally_by(folder: Study, plan: Plan, rule: Mapping[str, Any]) -> Tallied | None:
    """Count the stored votes by a rule; None where it makes no labels of them, as of grades that came since."""
    judging = Judging(vote=rule["vote"], prefer=tuple(rule["prefer"]))
    try:
        return tally_stored(folder, plan, judging, folder.labels.sources())
    except InputError:
        return None


def late_rule_sentence(summary: Mapping[str, Any]) -> str:
    """Say by which rule votes were counted where another was the first, and what that says; else nothing.

    Args:
        summary: With `first_rule`, and `by_first_rule`: a sentence, or None.
    """
    first, now = summary.get("first_rule"), rule_of(summary)
    if first in (None, now):
        return ""
    late, before = f"Counted by {_rule_name(now)}, chosen after labels were in.", summary["by_first_rule"]
    return f"{late} By {_rule_name(first)}, the first: {before}" if before else late


def late_known_sentences(late: Mapping[str, Any] | None) -> Iterator[str]:
    """Say the same of studies whose answers were known to a question.

    Args:
        late: `of`: studies, each with its `rule` and the `first`; `by_first`: what the first ones say.
    """
    for study in late["of"] if late else ():
        yield (f"Items known from {study['study']} are counted by {_rule_name(study['rule'])}, chosen after labels "
               f"were in (first {_rule_name(study['first'])}).")  # fmt: skip
    if late:
        yield f"By what came first: {late['by_first']}"


def _rule_name(rule: Mapping[str, Any]) -> str:
    """Say how a rule is called: the rule 'any', with the sources that it prefers."""
    best = f" of {', then '.join(rule['prefer'])}" if rule["prefer"] else ""
    return f"the rule '{rule['vote']}'{best}"
