"""`streameval adopt`."""

from __future__ import annotations

import shlex
from pathlib import Path

from streameval.cli.batch import record, stage
from streameval.cli.options import Flags, Whole, flags_of
from streameval.cli.output import Output
from streameval.cli.panels import LABELS
from streameval.cli.ranking import RankingFlags
from streameval.labelling.options import LabelColumns
from streameval.verbs.adopt import Draw


@flags_of(Draw, LabelColumns, panel=LABELS)
class AdoptFlags(Flags):
    """What is known of the draw, and which columns of the label table say what."""


_HOW = AdoptFlags()


def adopt(
    *ranking: str,
    study: Path,
    labels: str,
    drawn: str,
    confidence: float = 0.95,
    stages: Whole = 1,
    seed: Whole | None = None,
    how: AdoptFlags = _HOW,
    flags: RankingFlags = RankingFlags(),
    output: Output = Output(),
) -> None:
    """Make a study of labels that were drawn elsewhere: a true curve if it is known how, or a plain no.

    Example: streameval adopt list/ --study ours --labels sample.csv --on id --drawn uniform --sample-size 2000
    Example: streameval adopt list/ --study ours --labels sample.csv --drawn strata --sample-size ranges.csv

    Args:
        ranking: Parquet files, folders of partitions or globs; their stored order is the ranking, best first, without
            --score.
        study: Folder of the study; made if it is not there.
        labels: Label table with one row for every drawn item, labelled or not, by rank or by --on.
        drawn: How they were drawn: uniform, strata, poisson, sampford, conditional-poisson or pivotal have bounds; of a
            draw that is none of these, say unknown: there are estimates, and no bounds.
        confidence: Probability of the claim.
        stages: How often bounds may be seen and labels of our own added after, with grow.
        seed: Seed of the shuffle of tasks and of labels of our own (default: a fresh one for every new study).
    """
    from streameval.methods.adopted.designs import DESIGNS
    from streameval.reporting.next_step import make_results
    from streameval.verbs.adopt import adopt as verb

    with stage("adopt", output) as told:
        made = verb(list(ranking), study, labels, drawn=drawn, options=flags.options(), confidence=confidence,
                    stages=stages, seed=seed, **how.given())  # fmt: skip
        told |= {"rows": made.table.num_rows, "n_items": made.n_items}
    files = [study / "plan.parquet", study / "plan.json"]
    record(study, "adopt", {"source": made.read_from, "n_items": made.n_items, **made.ranking}, files, output)
    design = DESIGNS[drawn]
    folder = shlex.quote(str(study))
    lines = [
        f"{made.table.num_rows:,} of {made.n_items:,} items are the sample; they and their labels are a study now.",
        *(
            [f"{design.stated[0].upper()}{design.stated[1:]}.", f"Bounds will promise nothing: {design.refused}."]
            if design.refused
            else [f"Assumed: {design.stated}."]
        ),
        *([f"Scores at cutoffs: streameval select {folder}, before evaluate."] if made.ranking.get("score") else []),
        f"Next: {make_results(str(study)).command}",
    ]
    result = {"study": str(study), "plan_id": made.plan_id, "labels": made.table.num_rows, **made.header()}
    output.say(result, lines)
