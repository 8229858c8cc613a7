"""`streameval check`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from streameval.cli.output import Output
from streameval.cli.picture import columns
from streameval.errors import EXIT_DONE, EXIT_FAILS, EXIT_INCONCLUSIVE
from streameval.questions.printed import value_text

if TYPE_CHECKING:
    from streameval.verbs.check import Checked, Checks


def check(
    study: Path,
    /,
    *conditions: str,
    about: Literal["truth"] | None = None,
    out: Path | None = None,
    output: Output = Output(),
) -> int:
    """Say whether a study proves that its list is good enough: exit status 0, 4 if not, 5 if it is not decided.

    What is not decided is `waiting` while planned labels are missing, and `inconclusive` once they are all in.

    Example: streameval check my-study "precision@10000 >= 0.9" "recall@precision:0.95 >= 0.5"
    Example: streameval check my-results "map >= 0.3" "ndcg@10 >= 0.4"

    Args:
        study: Folder of an evaluated study, or of exact results, of one ranking or of many.
        conditions: METRIC[@CUTOFF] >= NUMBER (or >, <=, <). The cutoff is a number of items (precision@10000), a share
            of the list (precision@1%), a score (f1@score:0.7), a precision (recall@precision:0.95) or a recall
            (precision@recall:0.5); average_precision, roc_auc and others of the whole list have none. Of many rankings
            the means are asked for: map, ndcg@10.
        about: Demand a claim about the truth, with conditions or alone: of labels that are disputed or come from
            several sources, nothing can be told.
        out: File to add the outcome to, as Markdown: the summary page of a CI job, say. A name that ends in .xml gets
            JUnit's XML, for what shows tests; what is not decided is skipped there.
    """
    from streameval.cli import gate_files
    from streameval.verbs.check import check as verb

    if out is not None:
        gate_files.refuse_place(out)
    checks = verb(study, conditions, about=about)
    outcome = checks.outcome
    forecast = any(one.decides for one in checks)
    cells = [_cells(one) for one in checks]
    head = ["check", "lower", "upper", "outcome", "what may decide"]
    shown = [row[: 5 if forecast else 4] for row in (head, *cells)]
    of_truth = "" if about is None else "This is a claim about the truth."
    sentence = checks.why or f"{checks.promise} {of_truth}".rstrip()
    if out is not None and out.suffix.lower() == ".xml":
        gate_files.write_junit(out, str(study), checks, cells + _case_of_claim(checks, about), sentence)
    elif out is not None:
        gate_files.append_markdown(out, f"{study}: {outcome}", shown, sentence)
    result: dict[str, Any] = {"study": str(study), "outcome": outcome, "checks": [one.as_dict() for one in checks],
                              "claim": checks.claim.as_dict(), "why": checks.why, "next": checks.next,
                              "alone": checks.alone}  # fmt: skip
    for one in checks:
        output.outcome("check", one.outcome == "pass", **one.as_dict())
    following = [f"{word}: {one}." for word, one in (("Next", checks.next), ("Or", checks.alone)) if one]
    table = columns(shown[0], shown[1:]) if cells else []
    output.say(result, [*table, sentence, *following, "", outcome])
    return {"pass": EXIT_DONE, "fail": EXIT_FAILS}.get(outcome, EXIT_INCONCLUSIVE)


def _cells(checked: Checked) -> list[str]:
    """What is said of a check: bounds with as many digits as tell them from the number that is wanted."""
    from streameval.questions import Condition, Question

    asked = Question.of(checked.check)
    wanted = float(asked.demand.value) if isinstance(asked.demand, Condition) else None
    sides = (value_text(str(asked.measure), side, wanted) for side in (checked.lower, checked.upper))
    return [checked.check, *sides, checked.outcome, checked.decides]


def _case_of_claim(checks: Checks, about: str | None) -> list[list[str]]:
    """What `--about` demands, as a check among the others; it is the only one where nothing else is asked."""
    return [] if about is None else [[f"about {about}", "", "", "inconclusive" if checks.why else "pass", ""]]
