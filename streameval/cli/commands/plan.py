"""`streameval plan`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from streameval.cli.options import MethodOptions, RankingFlags, Whole
from streameval.cli.output import Output

_PLAIN = Output()
_METHOD = MethodOptions()
_RANKING = RankingFlags()


def plan(
    *ranking: str,
    study: Path,
    method: str = "paula",
    seed: Whole = 0,
    labels_more: Whole | None = None,
    half_width: float | None = None,
    parameters: MethodOptions = _METHOD,
    flags: RankingFlags = _RANKING,
    output: Output = _PLAIN,
) -> None:
    """Choose which ranks to label.

    Example: streameval plan ranking/ --study my-study --score confidence
    Example: streameval plan --study my-study --labels-more 2000

    Parameters
    ----------
    ranking
        Parquet files, folders of partitions or globs; their stored order is the ranking, best first, without --score.
    study
        Folder of the study; made if it is not there.
    method
        paula, loguniform, stratified or uniform.
    seed
        Seed of the draw and of the shuffle of tasks.
    labels_more
        Without a ranking: enlarge the study, planned with --looks, by at most so many labels.
    half_width
        Without a ranking: enlarge the study until it is forecast to reach this half-width, relative to precision.
    """
    if labels_more is not None or half_width is not None:
        _enlarge(ranking, study, (labels_more, half_width), output)
        return
    from streameval.study import Study
    from streameval.verbs.plan import plan as verb

    before = Study(study).exists
    made = verb(list(ranking), study, method=method, seed=seed, options=flags.options(),
                **asdict(parameters))  # fmt: skip
    labels = made.table.num_rows
    unknown = int(made.notes.get("unknown_tail", 0))
    result = {"study": str(study), "plan_id": made.plan_id, "labels": labels, "already_there": before, **made.header()}
    output.event("plan", labels=labels, n_items=made.n_items)
    lines = [
        f"{method}: {labels:,} of {made.n_items:,} items to label ({labels / made.n_items:.2%})"
        + (", as planned before" if before else ""),
    ]
    if unknown:
        lines.append(
            f"The last {unknown:,} ranks stay unknown (0 to {unknown:,} positives); --tail closed labels a last window."
        )
    output.say(result, [*lines, f"Next: streameval select {study} --export tasks.csv"])


def _enlarge(ranking: Sequence[str], study: Path, more: tuple[int | None, float | None], output: Output) -> None:
    from streameval.errors import InputError
    from streameval.study import Study
    from streameval.verbs.enlarge import enlarge

    if ranking:
        raise InputError("a study is enlarged on the ranking it was planned for", f"leave out '{ranking[0]}'")
    before = Study(study).plan().table.num_rows
    grown = enlarge(study, labels_more=more[0], half_width=more[1])
    labels = grown.table.num_rows
    look, looks = grown.notes["look"], grown.parameters["looks"]
    output.event("plan", labels=labels, n_items=grown.n_items, look=look)
    result = {
        "study": str(study),
        "plan_id": grown.plan_id,
        "labels": labels,
        "more": labels - before,
        **grown.header(),
    }
    output.say(
        result,
        [
            f"{grown.method}: {labels - before:,} more items to label, {labels:,} in all (look {look} of {looks})",
            f"Next: streameval select {study} --export tasks.csv",
        ],
    )
