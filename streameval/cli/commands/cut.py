"""`streameval cut`."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from streameval.cli.batch import Batch, job, record, stage
from streameval.cli.forecasts import lines_of, of_plan, rehearsed
from streameval.cli.options import Whole
from streameval.cli.output import Output, progress
from streameval.cli.picture import columns
from streameval.text import number_of

if TYPE_CHECKING:
    from streameval.study.cut_files import Cut


@job
def cut(
    study: Path,
    cutoff: str,
    /,
    *,
    out: str | None = None,
    order: Literal["storage", "rank"] = "storage",
    misses: Whole | None = None,
    misses_from: Path | None = None,
    apply: str | None = None,
    batch: Batch = Batch(),
    output: Output = Output(),
) -> None:
    """Find the cutoff that the labels prove, and write the items above it as Parquet.

    Example: streameval cut my-study precision:0.9 --out best/

    Args:
        study: Folder of an evaluated study.
        cutoff: precision:0.9 is the largest rank that is proven to have this precision; recall:0.5 the smallest that is
            proven to have this recall; 10000 (or 1%) so many items (or that share of them); score:0.7 every item of
            this score or better, counted by one scan of the scores; max_f1 the rank whose proven F1 is the largest.
        out: New folder for the items, here or on an object store (s3://bucket/best): part-00000.parquet and so on, and
            a manifest, which names them. Where this same cut is already, nothing is written; an earlier one of the same
            question is replaced by what the labels say now.
        order: Order of the items there; in rank order each has its rank.
        misses: Positives that the ranking never returned (default: what evaluate was given).
        misses_from: Evaluated study of the items that were never returned, which bounds them.
        apply: Another list with the same score: keep its items above the threshold. What is proven stays that of the
            list that the study is about.
    """
    from streameval.verbs.cut import cut as verb

    result = verb(study, cutoff, misses=misses, misses_from=misses_from, apply=apply)
    if batch.dry_run:
        _rehearse(result, out, order, output)
        return
    facts, lines = result.as_dict(), _proven(result, "The first" if out is None else "Kept: the first")
    with stage("cut", output) as told:
        if out is not None:
            facts |= _written(result, out, order, output)
        told |= facts
    if out is not None:
        again = ", as before" if facts["already_there"] else f" ({number_of(len(facts['files']), 'file')})"
        again += "" if facts["replaced"] is None else ", in place of an earlier cut"
        lines += ["", f"{number_of(facts['rows'], 'item')} in {facts['out']}{again}"]
    output.say(facts, lines)


def _written(result: Cut, out: str, order: str, output: Output) -> dict[str, Any]:
    from streameval.study.cut_files import MANIFEST

    with progress("writing items", output) as bar:
        made = result.write(out, order=order, progress=bar)
    facts = {"rows": made.rows, "bytes": made.bytes, "files": list(made.files), "columns": list(made.columns)}
    plan = result.plan
    read = {"source": plan.location["source"], "n_items": plan.n_items, **plan.ranking, "rank": result.rank}
    record(result.study, "cut", {**read, "evaluation_id": result.evaluation_id}, [f"{made.folder}/{MANIFEST}"], output)
    return {"out": str(made.folder), **facts, "already_there": made.already_there, "replaced": made.replaced}


def _rehearse(result: Cut, out: str | None, order: str, output: Output) -> None:
    from streameval.parquet.account import Forecast
    from streameval.study.cut_files import forecast_cut

    read, writes = (Forecast(), []) if out is None else forecast_cut(result, out, order=order)
    facts = rehearsed({**of_plan(result.plan), "items": result.rank}, read, writes)
    output.say(facts, [f"The first {result.rank:,} of {result.plan.n_items:,} items.", *lines_of(facts)])


def _proven(result: Cut, kept: str) -> list[str]:
    """What is known of the items above the cutoff; of another list only how many they are."""
    if result.proof is None:
        return _known(result, kept)
    place = result.asked["apply"]
    return [
        f"{kept} {result.rank:,} of {result.plan.n_items:,} items of {place}, those of score {result.score} or better.",
        f"Nothing is proven about {place}: to know, plan and label a study of it. The bounds below are about the items "
        f"of that score or better in the list of {result.study}.",
        "",
        *_known(result.proof, "The first"),
    ]


def _known(result: Cut, kept: str) -> list[str]:
    from streameval.reporting.sentences import estimate_sentence, promise
    from streameval.types import TRUTH

    rows = [
        [name, *(_number(result.holds[key], form) for key in (f"{name}_lower", name, f"{name}_upper"))]
        for name, form in (("precision", ".4f"), ("recall", ".4f"), ("f1", ".4f"), ("yield", ",.0f"))
        if name != "f1" or result.asked["cutoff"].startswith("max_f")
    ]
    proven = math.floor(1000 * (result.holds["precision_lower"] or 0.0)) / 10
    whose = "" if result.claim.about == TRUTH else f" by {result.claim.about}"
    head = (
        f"{kept} {result.rank:,} of {result.plan.n_items:,} items{_scores(result)}. At least {proven:g} % of them are "
        f"positive{whose}."
    )
    if result.promise:  # of this rank alone, of which nothing else is known
        return [head, result.promise]
    return [
        head,
        "",
        *columns(["", "lower", "estimate", "upper"], rows),
        f"{promise(result.claim)}.",
        *filter(None, [estimate_sentence(result.estimates), result.claim.caution]),
    ]


def _scores(result: Cut) -> str:
    """Which scores are kept; a cutoff that is no score may lie between items of one."""
    least, down = ("at most", "up") if result.plan.ranking.get("ascending") else ("at least", "down")
    kind, _, score = result.asked["cutoff"].partition(":")
    if kind == "score":
        return f", those with a score of {least} {score}"
    return "" if result.score is None else f", {down} to a score of {result.score}"


def _number(value: float | None, form: str) -> str:
    return "unknown" if value is None else format(value, form)
