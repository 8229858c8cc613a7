"""Studies of many rankings: `plan --per`, and `evaluate` of what it planned."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streameval.cli.batch import copied, record, stage
from streameval.cli.given_again import agreement_lines, doubt_lines
from streameval.cli.label_lines import label_lines
from streameval.cli.output import Output, columns, progress
from streameval.cli.planning import next_stop
from streameval.cli.ranking import RankingFlags
from streameval.errors import InputError
from streameval.text import number_of

if TYPE_CHECKING:
    from streameval.types import Plan

_PARAMETERS = ("rankings", "at", "cutoffs", "confidence", "judge")
_LABELS = "--rankings and --at say how many labels"
_JUDGE = "the judge of rankings is a column (--judge), whose numbers are taken as they are"
_AFRESH = "rankings are drawn once, and the plan cannot be enlarged"
_REASONS = {
    "by": "bounds are on means over all rankings, not yet by slice",
    "dry_run": "rankings are drawn by reading the list",
    **dict.fromkeys(("budget", "epsilon", "alpha"), _LABELS),
    **dict.fromkeys(("judge_classes", "judge_sample", "judge_accuracy"), _JUDGE),
    **dict.fromkeys(("reuse", "draw_by", "adaptive", "growing", "stages"), _AFRESH),
}


def _refuse_strangers(given: Iterable[str]) -> None:
    """Refuse what has no part in drawing rankings; the hint is the reason."""
    if strangers := sorted(set(given) - set(_PARAMETERS)):
        reasons = dict.fromkeys(
            _REASONS.get(name, "leave it out: it is for plans of one ranking") for name in strangers
        )
        flags = ", ".join(f"--{name.replace('_', '-')}" for name in strangers)
        raise InputError(f"--per draws rankings, and does not go with {flags}", "; ".join(reasons))


def plan_per(
    ranking: Sequence[str],
    study: Path,
    drawing: tuple[str, int | None],
    parameters: dict[str, Any],
    flags: RankingFlags,
    output: Output,
) -> None:
    """Draw rankings, plan the first items of each, and say how many labels that takes.

    Args:
        parameters: All other flags that were given; what has no part in it is refused.
    """
    from streameval.study import Study
    from streameval.verbs.plan_rankings import plan_rankings

    per, seed = drawing
    _refuse_strangers(parameters)
    with stage("plan", output) as told:
        with progress("rows", output) as bar:
            made = plan_rankings(
                list(ranking), study, per=per, seed=seed, options=flags.options(), progress=bar, **parameters
            )
        told |= {"rows": made.n_items, "labels": made.table.num_rows}
    record(study, "plan", {"source": made.location["source"], "n_items": made.n_items, **made.ranking},
           [study / "plan.parquet", study / "plan.json"], output)  # fmt: skip
    drawn, total, at = made.parameters["rankings"], made.notes["rankings"], made.parameters["at"]
    labels, judge = made.table.num_rows, parameters.get("judge")
    judged = (
        f"'{judge}' is the judge of every ranking: bounds hold whatever it says, and only their width depends on it. "
        "People should not see its answers."
    )
    lines = [
        f"{drawn:,} of {number_of(total, 'ranking')} by {per}, the first {number_of(at, 'item')} of each: "
        f"{number_of(labels, 'item')} to label",
        *[judged] * (judge is not None),
        f"Seed {made.seed}, kept in plan.json: {_recipe(made, per, flags)} plans the same again.",
        next_stop(Study(study), made),
    ]
    output.say({"study": str(study), "plan_id": made.plan_id, "labels": labels, **made.header()}, lines)


def _recipe(made: Plan, per: str, flags: RankingFlags) -> str:
    """Flags that plan the same again."""
    options = flags.options()
    cutoffs = ",".join(map(str, made.notes["cutoffs"]))
    said = {"seed": made.seed, "per": per, "rankings": made.parameters["rankings"], "at": made.parameters["at"],
            "cutoffs": cutoffs if cutoffs != str(made.parameters["at"]) else None,
            "confidence": made.parameters["confidence"] if made.parameters["confidence"] != 0.95 else None,
            "judge": made.notes.get("predictions", {}).get("column"),
            "score": options.score, "where": options.where, "file-order": options.file_order}  # fmt: skip
    parts = [f"--{name} {shlex.quote(str(value))}" for name, value in said.items() if value is not None]
    return " ".join([*parts, *(["--ascending"] if options.ascending else [])])


def is_of_many(study: Path) -> bool:
    """Whether a study was planned by `plan --per`."""
    from streameval.errors import StudyError
    from streameval.study import Study

    try:
        return "per" in Study(study).plan().notes
    except StudyError:
        return False


def evaluate_per(
    study: Path, labels: list[str], given: dict[str, Any], publish: str | None, output: Output
) -> None:  # fmt: skip
    """Evaluate drawn rankings, and print the bounds on their means."""
    from streameval.reporting.rankings_page import remarks, sample_sentence, sample_table
    from streameval.study.rankings_sample import SAMPLE_FILES
    from streameval.verbs.evaluate_rankings import evaluate_rankings

    with stage("evaluate", output) as told:
        found = evaluate_rankings(study, labels=labels, **given)
        told |= {"evaluation_id": found.evaluation_id, **found.summary["account"]}
    read = {"study": found.summary["study"], "evaluation_id": found.evaluation_id, "labels": found.summary["sources"],
            "positives": found.summary["pool"]}  # fmt: skip
    record(study, "evaluate", read, [study / name for name in SAMPLE_FILES], output)
    table = sample_table(found, lambda value: "-" if value is None else f"{value:.4f}")
    lines = [sample_sentence(found), "", *columns(*table), "", *remarks(found.summary),
             *label_lines(found.issues, found.summary), *agreement_lines(found.summary["agreement"]),
             *doubt_lines(study, found.summary), f"Report: {study / 'report.html'}"]  # fmt: skip
    if publish is not None:
        from streameval.verbs.publish import publish as copy

        copied(lambda: copy(study, publish), output)
        lines.append(f"Published: {publish}")
    output.say({**found.summary, "metrics": found.metrics.to_pylist(), "report": str(study / "report.html")}, lines)
