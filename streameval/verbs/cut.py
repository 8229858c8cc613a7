"""Cut: the items above a cutoff that the labels prove, as Parquet."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from streameval.curve import Curve
from streameval.curve.points import best_f
from streameval.curve.targets import best_precision, rank_at_precision, rank_at_recall
from streameval.errors import InputError, StudyError, check_misses
from streameval.kinds import answering
from streameval.labelling.options import Judging
from streameval.parquet.account import Forecast
from streameval.printed import Printed, Record
from streameval.progress import Progress, silent
from streameval.questions.cutoffs import Cutoff
from streameval.rehearsal import Rehearsal
from streameval.reporting.said import Columns, Said
from streameval.reporting.sentences import estimate_sentence, promise
from streameval.slices.plan import refuse_misses
from streameval.stores import PathOrURI
from streameval.study import Study
from streameval.study.cut_files import MANIFEST, Cut, apply_cut, forecast_cut
from streameval.study.judging import as_read, curve_of
from streameval.study.missed import refuse_overlap, rest_of, sharing, with_rest
from streameval.study.planned_ranking import counted_at, score_at
from streameval.study.provenance import way_out
from streameval.study.result_files import Evaluation
from streameval.text import number_of
from streameval.text.options import flag
from streameval.types import TRUTH, Plan


def cut(
    study: str | os.PathLike[str],
    cutoff: str | int | Cutoff,
    *,
    out: PathOrURI | None = None,
    order: Literal["storage", "rank"] = "storage",
    misses: int | None = None,
    misses_from: str | os.PathLike[str] | None = None,
    ranking: Any = None,
    apply: Any = None,
    progress: Progress = silent,
) -> Cut:
    """Find the cutoff that the labels prove, and write the items above it as Parquet.

    Example: streameval cut my-study precision:0.9 --out best/

    Args:
        study: Folder of an evaluated study.
        cutoff: precision:0.9 is the largest rank that is proven to have this precision; recall:0.5 the smallest that is
            proven to have this recall; 10000 (or 1%) so many items (or that share of them); score:0.7 every item of
            this score or better, counted by one scan of the scores; max_f1 the rank whose proven F1 is the largest. In
            Python too a decimal is compared exactly as typed. What is proven holds with what the curve claims, at
            whatever rank it is found, because that claim is about all ranks at once; of recall, for every list that the
            bounds allow. `max_f` and another β are the same of F_β.
        out: New folder for the items, here or on an object store (s3://bucket/best): part-00000.parquet and so on, and
            a manifest, which names them. Where this same cut is already, nothing is written; an earlier one of the same
            question is replaced by what the labels say now. In Python `Cut.write` does the same later.
        order: Order of the items there; in rank order each has its rank.
        misses: Positives that the ranking never returned (default: what evaluate was given).
        misses_from: Evaluated study of the items that were never returned, which bounds them.
        ranking: In Python alone: the ranking that was planned, where it lies in memory.
        apply: Another list with the same score: keep its items above the threshold. What is proven stays that of the
            list that the study is about. In Python `Cut.proof` is what holds of the items of that score or better in
            the study's own list, ties of it included.
        progress: In Python: is told of items written.

    Returns:
        Cut: What is proven at the cutoff; `written` says what `out` holds.

    Raises:
        InputError: No cutoff; one that no rank is proven to reach (says what is); a list that a threshold cannot be
            applied to; errors as of `Cut.write`.
        StudyError: No results; bounds that prove nothing; a ranking that is not the planned one.
    """
    found = _found(study, cutoff, misses, misses_from, ranking, apply)
    return found if out is None else replace(found, written=found.write(out, order=order, progress=progress))


def rehearsal(
    study: Path,
    cutoff: str,
    *,
    out: PathOrURI | None = None,
    order: Literal["storage", "rank"] = "storage",
    progress: Progress = silent,
    **asked: Any,
) -> Rehearsal:
    """Find the cutoff, and forecast what writing its items would read; errors as in `cut`."""
    found = cut(study, cutoff, **asked)
    read, writes = (Forecast(), []) if out is None else forecast_cut(found, out, order=order)
    plan, head = found.plan, f"The first {found.rank:,} of {found.plan.n_items:,} items."
    return Rehearsal([head], found.rank, plan.n_items, plan.location["source"], read, writes)


def printed(found: Cut, **_: Any) -> Printed:
    """Print what is proven of the items above the cutoff, and where they were written."""
    facts, made = found.as_dict(), found.written
    if made is None:
        return Printed(facts, _proven(found, "The first"), facts)
    facts |= {"out": str(made.folder), "rows": made.rows, "bytes": made.bytes, "files": list(made.files)}
    facts |= {"columns": list(made.columns), "already_there": made.already_there, "replaced": made.replaced}
    again = ", as before" if made.already_there else f" ({number_of(len(made.files), 'file')})"
    again += "" if made.replaced is None else ", in place of an earlier cut"
    lines = [*_proven(found, "Kept: the first"), "", f"{number_of(made.rows, 'item')} in {made.folder}{again}"]
    plan = found.plan
    read = {"source": plan.location["source"], "n_items": plan.n_items, **plan.ranking, "rank": found.rank}
    read["evaluation_id"] = found.evaluation_id
    return Printed(facts, lines, facts, record=Record(found.study, read, [f"{made.folder}/{MANIFEST}"]))


def _proven(found: Cut, kept: str) -> list[Said]:
    """Say what is known of the items above the cutoff; of another list only how many they are."""
    if found.proof is None:
        return _known(found, kept)
    place = found.asked["apply"]
    return [
        f"{kept} {found.rank:,} of {found.plan.n_items:,} items of {place}, those of score {found.score} or better.",
        f"Nothing is proven about {place}: to know, plan and label a study of it. The bounds below are about the items "
        f"of that score or better in the list of {found.study}.",
        "",
        *_known(found.proof, "The first"),
    ]


def _known(found: Cut, kept: str) -> list[Said]:
    proven = math.floor(1000 * (found.holds["precision_lower"] or 0.0)) / 10
    whose = "" if found.claim.about == TRUTH else f" by {found.claim.about}"
    head = (
        f"{kept} {found.rank:,} of {found.plan.n_items:,} items{_scores(found)}. At least {proven:g} % of them are "
        f"positive{whose}."
    )
    if found.promise:  # of this rank alone, of which nothing else is known
        return [head, found.promise]
    rows = [
        [name, *(_number(found.holds[key], form) for key in (f"{name}_lower", name, f"{name}_upper"))]
        for name, form in (("precision", ".4f"), ("recall", ".4f"), ("f1", ".4f"), ("yield", ",.0f"))
        if name != "f1" or found.asked["cutoff"].startswith("max_f")
    ]
    return [
        head,
        "",
        Columns(["", "lower", "estimate", "upper"], rows),
        f"{promise(found.claim)}.",
        *filter(None, [estimate_sentence(found.estimates), found.claim.caution]),
    ]


def _scores(found: Cut) -> str:
    """Say which scores are kept; a cutoff that is no score may lie between items of one."""
    least, down = ("at most", "up") if found.plan.ranking.get("ascending") else ("at least", "down")
    kind, _, score = found.asked["cutoff"].partition(":")
    if kind == "score":
        return f", those with a score of {least} {score}"
    return "" if found.score is None else f", {down} to a score of {found.score}"


def _number(value: float | None, form: str) -> str:
    return "unknown" if value is None else format(value, form)


def _found(
    study: str | os.PathLike[str],
    cutoff: str | int | Cutoff,
    misses: int | None,
    misses_from: str | os.PathLike[str] | None,
    ranking: Any,
    apply: Any,
) -> Cut:
    """Find the cutoff, and what holds there."""
    target = Cutoff.of(cutoff)
    if target.kind == "recall" and not target.value:
        raise InputError(f"a cut at {cutoff} holds no item", "name a recall in (0, 1], such as recall:0.9")
    asked = {"cutoff": str(target)}
    misses = None if misses is None else check_misses(misses)
    folder, kind = Study(Path(study)), answering(study, "cut")
    proven = kind.cut(folder, target, ranking)
    if proven is not None:
        _refuse_of_a_curve(misses=misses, misses_from=misses_from, apply=apply)
        return proven
    plan, evaluation = folder.plan(), folder.evaluation()
    curve = evaluation.curve if misses is None else evaluation.curve.with_misses(misses)
    if misses_from is not None:
        curve = _beside(folder, plan, evaluation, Path(misses_from), misses)
        asked["misses_from"] = os.fspath(misses_from)
    _refuse_unproven(curve, folder.folder, plan, evaluation.summary)
    by_score = target.kind == "score"
    chosen = counted_at(plan, target.value, ranking) if by_score else _chosen(curve, target)
    if misses is not None:
        asked["misses"] = str(misses)
    at = curve.at([chosen]).to_pylist()[0]
    threshold = score_at(plan, at["rank"], ranking, at.get("score"))
    if apply is not None and not by_score and threshold is not None:  # a threshold keeps all items of its score
        first, last = curve.rank_at_score(threshold) if curve.score is not None else (0, plan.n_items)
        chosen = first if first == last else counted_at(plan, threshold, ranking)
        at = curve.at([chosen]).to_pylist()[0]
    result = Cut(
        rank=chosen,
        score=threshold,
        holds={name: value for name, value in at.items() if name not in ("rank", "score")},
        claim=curve.claim,
        asked=asked,
        plan=plan,
        evaluation_id=evaluation.evaluation_id,
        study=folder.folder,
        estimates=curve.basis,
        _ranking=ranking,
    )
    return result if apply is None else apply_cut(result, apply)


def _refuse_of_a_curve(**given: Any) -> None:
    """Refuse options that have a meaning only where every rank has bounds."""
    if named := [name for name, value in given.items() if value is not None]:
        raise InputError(f"{flag(named[0])} is for a study of a curve", "leave it out")


def _beside(study: Study, plan: Plan, evaluation: Evaluation, folder: Path, misses: int | None) -> Curve:
    """The curve of an evaluation, with half of δ kept for a study of what was never returned."""
    if misses is not None:
        raise InputError("--misses were given as a number and as a study", "give one of them")
    rest = rest_of(folder, plan)
    refuse_overlap(study, plan, rest)
    refuse_misses(plan, 1)
    summary, stored = evaluation.summary, evaluation.curve
    read_as = sharing(as_read(plan, Judging(assume=summary.get("assume"))), rest)
    curve = curve_of(read_as, evaluation.labels, float(summary["label_error"]))
    curve = with_rest(curve, plan, rest)
    return replace(curve, score=stored.score, estimated=stored.estimated, basis=stored.basis)


def _refuse_unproven(curve: Curve, folder: Path, plan: Plan, summary: Mapping[str, Any]) -> None:
    if curve.proves:
        return
    why = curve.findings[0].rstrip(".") if curve.findings else "they contradict each other"
    hint = "`streameval report` shows all that the labels say about it"
    if curve.claim.coverage == "none":
        hint = str(way_out(plan, summary, str(folder)))
    raise StudyError(f"{folder}: the bounds of this evaluation prove nothing: {why}", hint)


def _chosen(curve: Curve, target: Cutoff) -> int:
    rank = target.rank_in(curve.n_items)
    if rank is not None:
        return rank
    if target.kind == "fpr":
        raise InputError(f"{target} is of areas under the ROC curve, and cuts no list",
                         "cut at a rank, a share, a score, a precision or a recall")  # fmt: skip
    if target.kind == "max_f":
        return _best(curve, float(target.value))
    return _deepest(curve, target) if target.kind == "precision" else _first(curve, target)


def _deepest(curve: Curve, target: Cutoff) -> int:
    deepest, _ = rank_at_precision(curve.extremes[0], target.share)
    if not deepest:
        rank, best = best_precision(curve.envelope)
        raise InputError(
            f"no rank is proven to have precision {float(target.share):.12g}",
            f"the best that is proven is {best:.6g}, at rank {rank:,}",
        )
    return int(deepest)


def _best(curve: Curve, beta: float) -> int:
    found = best_f(curve.envelope, curve.misses if curve.misses_upper is None else curve.misses_upper, beta)
    if found is None:
        raise InputError("no positive is proven to be in this list, so no F is above 0")
    return found


def _first(curve: Curve, target: Cutoff) -> int:
    share = target.share
    _, last = curve.over_misses(lambda extremes: rank_at_recall(extremes, share))
    if math.isnan(last):
        raise InputError("the list has no positives, so it has no recall")
    if math.isinf(last):
        best = curve.at([curve.n_items]).column("recall_lower")[0].as_py() or 0.0
        raise InputError(
            f"no rank is proven to have recall {float(share):.12g}",
            f"all {curve.n_items:,} items are proven to have {best:.6g}, with {curve.misses_text} misses",
        )
    return int(last)
