"""Monitor: studies of successive days as one history, in which a change is named only when it is established."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from streameval.curve import Curve
from streameval.curve.bounds import Bounds
from streameval.curve.runs import STAKES, share_of
from streameval.curve.targets import target
from streameval.errors import InputError, StreamevalError, StudyError, did_you_mean
from streameval.methods import Multiplies, check_confidence, method_of
from streameval.reporting.history import render
from streameval.stores import atomic, locks
from streameval.study import Study
from streameval.study.history import Day, History, Settings, read_history
from streameval.study.judging import at_confidence, curve_of
from streameval.study.result_files import Evaluation
from streameval.types import TRUTH, Plan
from streameval.typing import FloatArray
from streameval.verbs.cut import counted_at

_DAY = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")


def monitor(
    studies: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    *,
    at_score: Any = None,
    at_rank: int | None = None,
    precision: Any = None,
    confidence: float | None = None,
    day: date | str | None = None,
    allow: Iterable[str] = (),
    out: str | os.PathLike[str] | None = None,
) -> History:
    """Watch the precision at a cutoff over studies of successive days.

    All bounds of a history hold together with probability `confidence`, however many days it gets and however often it
    is looked at; so do the changes that it names.

    Args:
        studies: Folders of evaluated studies, in the order of their days. One that the history holds adds nothing.
        at_score: The cutoff: every item of this score or better; they are counted, by one scan of each list.
        at_rank: The cutoff: the first so many items.
        precision: To keep, as .9 or 90%: every day passes, fails or is inconclusive.
        confidence: By default .95.
        day: Day of a single study, as in 2026-11-22; by default the date in the name of its folder.
        allow: What may differ between days, of score, ascending, vote, prefer, label_error, assume and about.
        out: history.parquet, to which days are appended, with a page beside it (history.html). What it was begun with
            need not be given again.

    Returns:
        History: All of its days.

    Raises:
        InputError: No cutoff or two, no day, a day before the last one, a cutoff outside a list.
        StudyError: A study whose bounds promise nothing, or that asks another question; another study of a day; a
            study, or a seed, that another day has.
    """
    folders = [studies] if isinstance(studies, str | os.PathLike) else list(studies)
    if not folders:
        raise InputError("no study is given")
    given = {"at_score": None if at_score is None else str(at_score), "at_rank": at_rank, "confidence": confidence,
             "precision": None if precision is None else _share(precision)}  # fmt: skip
    if confidence is not None:
        check_confidence(confidence)
    days = days_of(folders, day)
    if out is None:
        return _with_studies(_begun(given), days, allow)
    path = Path(out)
    atomic.make_folder(path.parent)
    with locks.one_at_a_time(path.parent):
        before = read_history(path)
        found = _with_studies(_begun(given) if before is None else _same(path, before, given), days, allow)
        if before is None or found.table.num_rows > before.table.num_rows:
            page = {path.with_suffix(".html"): atomic.text(render(found))}
            atomic.write_all({**page, path: found.writer()})
    return found


def _begun(given: Mapping[str, Any]) -> History:
    if (given["at_score"] is None) == (given["at_rank"] is None):
        raise InputError("a history has one cutoff", "give --at-score or --at-rank")
    return History(Settings(**{key: value for key, value in given.items() if value is not None}))


def _same(path: Path, before: History, given: Mapping[str, Any]) -> History:
    for name, value in given.items():
        old = getattr(before.settings, name)
        if value is not None and value != old:
            raise StudyError(f"{path}: was begun with {name} {old}, not {value}", "begin another history: --out FILE")
    return before


def _share(precision: Any) -> str:
    """A precision as a decimal: 90% and .90 are 0.9."""
    text = str(precision).strip()
    number = text.removesuffix("%")
    if number != text and re.fullmatch(r"\d*\.?\d+", number):
        text = str(Decimal(number) / 100)
    return f"{float(target(text, 'precision')):.12g}"


def days_of(folders: Sequence[str | os.PathLike[str]], day: date | str | None) -> list[tuple[date, str]]:
    """The day of each study: the one that was given, or the last date in its path."""
    if day is not None and len(folders) > 1:
        raise InputError(f"one day was given for {len(folders)} studies", "leave it out where folders are named by day")
    return [(_day_of(os.fspath(folder), day), os.fspath(folder)) for folder in folders]


def _day_of(folder: str, day: date | str | None) -> date:
    """The day that was given, or the last date in the path of a study."""
    if isinstance(day, date):
        return day
    text = os.path.abspath(folder) if day is None else day
    parts = _DAY.findall(text) if day is None or _DAY.fullmatch(day) else []
    try:
        if parts:
            return date(*map(int, parts[-1]))
    except ValueError:
        pass  # a month of 13, say
    what = f"'{day}' is no day" if day is not None else f"{folder}: there is no date in its name"
    raise InputError(what, "give --day 2026-11-22")


def _with_studies(history: History, days: Sequence[tuple[date, str]], allow: Iterable[str]) -> History:
    for day, folder in days:
        try:
            history = _with_study(history, day, folder, tuple(allow))
        except StreamevalError as error:
            if error.what.startswith(folder):
                raise
            raise type(error)(f"{folder}: {error.what}", error.hint) from error
    return history


def _with_study(history: History, day: date, folder: str, allow: Sequence[str]) -> History:
    study = Study(Path(folder))
    plan, evaluation = study.plan(), study.evaluation()
    known = {row["day"]: row for row in history.rows}
    if day in known:
        if known[day]["evaluation_id"] == evaluation.evaluation_id:
            return history
        other = "another evaluation of this plan" if known[day]["plan_id"] == plan.plan_id else known[day]["study"]
        raise StudyError(f"{folder}: the history has {other} for {day}", "a day counts once, as it was first seen")
    if known and day < max(known):
        raise InputError(
            f"{folder}: is of {day}, and the history has {max(known)}",
            "give days in their order; a day that was forgotten needs a new history (--out FILE)",
        )
    _refuse_again(history, folder, plan, evaluation)
    settings = _asked(history, folder, _question(plan, evaluation), allow)
    history = replace(history, settings=settings)
    return history.with_day(_read(history, day, folder, plan, evaluation))


def _refuse_again(history: History, folder: str, plan: Plan, evaluation: Evaluation) -> None:
    """Refuse a study, or a draw, that the history has: the same evidence would count twice."""
    seed = _seed(plan, evaluation)
    for row in history.rows:
        if row["plan_id"] in plan.study_ids:
            raise StudyError(
                f"{folder}: its plan is the one that the history has for {row['day']}",
                "a study counts once; every day is planned anew, without --seed",
            )
        if seed is not None and row["seed"] == seed:
            raise StudyError(
                f"{folder}: was drawn with seed {seed}, as that of {row['day']}, so its draw is not a fresh one",
                "plan without --seed, and with no seed in streameval.toml",
            )


def _seed(plan: Plan, evaluation: Evaluation) -> str | None:
    """Seed of a draw; None where no chance is left, or versions share a draw by key and are not pooled."""
    return None if evaluation.curve.claim.coverage == "exact" or plan.draw_by else str(plan.seed)


def _question(plan: Plan, evaluation: Evaluation) -> dict[str, Any]:
    """What has to be the same for two days to be compared."""
    summary, claim = evaluation.summary, evaluation.curve.claim
    ranked = {"score": plan.ranking.get("score"), "ascending": bool(plan.ranking.get("ascending", False))}
    judged = {key: summary.get(key) for key in ("vote", "prefer", "label_error", "assume")}
    return {**ranked, **judged, "about": TRUTH if claim.about == TRUTH else "answers"}


def _asked(history: History, folder: str, question: Mapping[str, Any], allow: Sequence[str]) -> Settings:
    """The settings, with the question of the first day, from which this one may differ in what is allowed."""
    for name in allow:
        if name not in question:
            raise InputError(f"nothing that may differ is called '{name}'", did_you_mean(name, list(question)))
    if not history.settings.question:
        return replace(history.settings, question=question)
    for name, value in question.items():
        old = history.settings.question.get(name)
        if value != old and name not in allow:
            raise StudyError(
                f"{folder}: asks another question than the days before: {name} is {value}, and was {old}",
                f"--allow {name} compares them all the same",
            )
    return history.settings


def _read(history: History, day: date, folder: str, plan: Plan, evaluation: Evaluation) -> Day:
    curve, settings = evaluation.curve, history.settings
    if not curve.proves or curve.claim.coverage == "conditional":
        raise StudyError(f"{folder}: its bounds hold with no probability", "a history is of bounds that do")
    rank = settings.at_rank if settings.at_rank is not None else _counted(folder, curve, settings.at_score)
    number = len(history.rows) + 1
    level = _level(plan, evaluation, rank, 1 - float(share_of(history.delta, number)))
    labels = int(evaluation.summary["account"]["labelled"])
    return Day(day, folder, plan.plan_id, evaluation.evaluation_id, _seed(plan, evaluation), plan.n_items, rank, labels,
               level, _evidence(plan, evaluation, rank))  # fmt: skip


def _counted(folder: str, curve: Curve, score: Any) -> int:
    first, last = curve.rank_at_score(score)
    rank = first if first == last else counted_at(folder, score)
    if not rank:
        raise InputError(f"no item has score {score} or a better one", "`streameval at` says which scores there are")
    return rank


def _level(plan: Plan, evaluation: Evaluation, rank: int, confidence: float) -> Bounds:
    """Bounds on precision at a rank with another confidence, and the estimate of the evaluation."""
    error = float(evaluation.summary["label_error"])
    curve = curve_of(at_confidence(plan, confidence), evaluation.labels, error)
    lower, _, upper = curve.precision_at(rank)
    return Bounds.of(lower, upper, evaluation.curve.precision_at(rank).estimate)


def _evidence(plan: Plan, evaluation: Evaluation, rank: int) -> tuple[FloatArray, FloatArray] | None:
    """S of `streameval.curve.runs`; None where the method has none, labels may be wrong, or draws share keys."""
    if evaluation.curve.claim.coverage == "exact":
        share = evaluation.curve.precision_at(rank).lower
        return -STAKES * share, -STAKES * (1 - share)
    method = method_of(plan)
    if evaluation.summary["label_error"] or plan.draw_by or not isinstance(method, Multiplies):
        return None
    return method.evidence_at(plan, evaluation.labels, rank, STAKES / rank)
