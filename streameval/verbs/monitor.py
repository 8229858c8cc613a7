"""Monitor: studies of successive days as one history, in which a change is named only when it is established."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from streameval.curve.runs import share_of
from streameval.errors import InputError, StreamevalError, StudyError, did_you_mean
from streameval.kinds import answering, named
from streameval.methods import check_confidence
from streameval.questions import Condition, Question
from streameval.reporting.history import render
from streameval.stores import atomic, locks
from streameval.study import Study
from streameval.study.day import DayStudy
from streameval.study.history import History, Settings, read_history
from streameval.study.planned_ranking import counted_at

_FORM = "give a measure: precision@score:0.7, precision@10000, or either with >= 0.9 behind it"
_INCOMPLETE = "incomplete"
_DAY = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")


def monitor(
    studies: Sequence[str | os.PathLike[str]] | str | os.PathLike[str],
    measure: str | Question | None = None,
    *,
    confidence: float | None = None,
    allow: Iterable[str] = (),
    out: str | os.PathLike[str] | None = None,
) -> History:
    """Watch the precision at a cutoff over studies of successive days.

    All bounds of a history hold together with probability `confidence`, however many days it gets and however often it
    is looked at; so do the changes that it names.

    Args:
        studies: Folders of evaluated studies, in the order of their days. The day of one is the last date in its path,
            or stands before it, as in 2026-11-22=FOLDER. One that the history holds adds nothing, or the labels that
            were missing when its day was taken.
        measure: What is watched: `precision@score:0.7`, of every item of this score or better (they are counted, by one
            scan of each list), `precision@10000` or `precision@1%`. With `>= 0.9` behind it, that is the precision to
            keep: every day passes, fails or is inconclusive.
        confidence: By default .95.
        allow: What may differ between days, of score, ascending, vote, prefer, label_error, assume and about; and
            "incomplete", to take days of which planned labels are missing: their bounds allow for whatever these say.
        out: history.parquet, to which days are appended, with a page beside it (history.html). What it was begun with
            need not be given again.

    Returns:
        History: All of its days. Its `outcome` is "fail" where the mean since the last change is proven to be below
            what is to be kept, or so is a day that this call added, or this call named a fall; else that of the mean.

    Raises:
        InputError: No measure, or one that is not watched, no day, a day before the last one, a cutoff outside a list.
        StudyError: A study whose bounds promise nothing, whose planned labels are not all there, or that asks another
            question; another study of a day, or labels of it that have changed; a study, or a seed, that another day
            has.
    """
    folders = [studies] if isinstance(studies, str | os.PathLike) else list(studies)
    if not folders:
        raise InputError("no study is given")
    given = {"measure": None if measure is None else _watched(Question.of(measure)), "confidence": confidence}
    if confidence is not None:
        check_confidence(confidence)
    days, allowed = [_day_of(os.fspath(folder)) for folder in folders], tuple(allow)
    if out is None:
        return _with_studies(_begun(given), days, allowed)
    path = Path(out)
    atomic.make_folder(path.parent)
    with locks.one_at_a_time(path.parent):
        before = read_history(path)
        history = _with_studies(_begun(given) if before is None else _same(path, before, given), days, allowed)
        if history.added:
            page = {path.with_suffix(".html"): atomic.text(render(history))}
            atomic.write_all({**page, path: history.writer()})
    return history


def _begun(given: Mapping[str, Any]) -> History:
    if given["measure"] is None:
        raise InputError("nothing to watch was named", _FORM)
    return History(Settings(**{key: value for key, value in given.items() if value is not None}))


def _same(path: Path, before: History, given: Mapping[str, Any]) -> History:
    for name, value in given.items():
        old = getattr(before.settings, name)
        if value is not None and value != old:
            raise StudyError(f"{path}: was begun with {name} {old}, not {value}", "begin another history: --out FILE")
    return before


def _watched(question: Question) -> str:
    """The text of a measure that can be watched: precision at one cutoff, and perhaps the precision to keep."""
    cutoff, demand = question.cutoff, question.demand
    if question.metric in ("gain", "precision_gain"):
        raise InputError(f"{question.measure} is the difference of two rankings, which monitor does not watch",
                         named("paired").instead["monitor"])  # fmt: skip
    if question.metric != "precision" or cutoff is None or cutoff.kind not in ("rank", "share", "score"):
        raise InputError(f"{question.measure} is not watched", _FORM)
    if demand is None:
        return str(question)
    if not isinstance(demand, Condition) or demand.operator != ">=" or not 0 < demand.value <= 1:
        raise InputError(f"{question}: what is to be kept is a precision in (0, 1], as >= 0.9", _FORM)
    return str(question)


def _day_of(study: str) -> tuple[date, str]:
    """The day of a study and its folder: the day that stands before it, or the last date in its path."""
    day, _, folder = study.partition("=")
    named = _DAY.fullmatch(day) is not None and bool(folder)
    folder = folder if named else study
    atomic.refuse_address(Path(folder), "studies and results are read on this machine")
    parts = _DAY.findall(day if named else os.path.abspath(folder))
    try:
        if parts:
            return date(*map(int, parts[-1])), folder
    except ValueError:
        pass  # a month of 13, say
    what = f"'{day}' is no day" if named else f"{folder}: there is no date in its name"
    raise InputError(what, f"say which day it is of: 2026-11-22={folder}")


def _with_studies(history: History, days: Sequence[tuple[date, str]], allow: tuple[str, ...]) -> History:
    """The history with the days, and the falls that they named."""
    named = set(_falls(history))
    for day, folder in days:
        try:
            answering(folder, "monitor")
            study = Study(Path(folder))
            history = _with_study(history, DayStudy(day, folder, study.plan(), study.evaluation()), allow)
        except StreamevalError as error:
            if error.what.startswith(folder):
                raise
            raise type(error)(f"{folder}: {error.what}", error.hint) from error
    return replace(history, falls=tuple(on for on, since in _falls(history) if (on, since) not in named))


def _falls(history: History) -> list[tuple[date, date]]:
    """The day on which each fall was named, and the first day after it."""
    return [(row["day"], row["run_since"]) for row in history.rows if row["change"] == "fall"]


def _with_study(history: History, new: DayStudy, allow: tuple[str, ...]) -> History:
    rows = history.rows
    number = next((at for at, row in enumerate(rows, 1) if row["day"] == new.day), len(rows) + 1)
    old = rows[number - 1] if number <= len(rows) else None
    if old is not None and old["evaluation_id"] == new.evaluation.evaluation_id:
        return history
    if old is None:
        _refuse_out_of_order(rows, new)
        _refuse_again(rows, new)
    elif old["plan_id"] != new.plan.plan_id:
        raise StudyError(f"{new.folder}: the history has {old['study']} for {new.day}", "one study counts for a day")
    more = old is None or _more_answers(old, new)
    history = replace(history, settings=_asked(history, new, allow))
    if not more:
        return history
    if old is None and _INCOMPLETE not in allow:
        _refuse_missing(new)
    new.refuse_without_probability()
    day = new.at(_rank(history, new), float(share_of(history.delta, number)))
    if old is not None and not day.extends(old):
        raise StudyError(
            f"{new.folder}: its bounds are not within those that the history has for {new.day}",
            "judge its labels as they were judged then, or begin a new history of all studies: --out FILE",
        )
    return history.with_day(day)


def _refuse_out_of_order(rows: Sequence[Mapping[str, Any]], new: DayStudy) -> None:
    if rows and new.day < rows[-1]["day"]:
        raise InputError(
            f"{new.folder}: is of {new.day}, and the history has {rows[-1]['day']}",
            "give days in their order; a day that was forgotten needs a new history (--out FILE)",
        )


def _refuse_again(rows: Sequence[Mapping[str, Any]], new: DayStudy) -> None:
    """Refuse a study, or a draw, that the history has: the same evidence would count twice."""
    seed, ids = new.seed, new.plan.study_ids
    for row in rows:
        if row["plan_id"] in ids:
            raise StudyError(
                f"{new.folder}: its plan is the one that the history has for {row['day']}",
                "a study counts once; every day is planned anew, without --seed",
            )
        if seed is not None and row["seed"] == seed:
            raise StudyError(
                f"{new.folder}: was drawn with seed {seed}, as that of {row['day']}, so its draw is not a fresh one",
                "plan without --seed, and with no seed in streameval.toml",
            )


def _refuse_missing(new: DayStudy) -> None:
    answers = new.evaluation.labels.label
    missing = int(np.sum(answers < 0))
    if missing:
        raise StudyError(
            f"{new.folder}: planned labels are missing: {missing:,} of {answers.size:,}",
            f"wait for them, or take the day with what there is, and again when they are in: --allow={_INCOMPLETE}",
        )


def _more_answers(old: Mapping[str, Any], new: DayStudy) -> bool:
    """Whether labels came that were missing when the day was taken; a `StudyError` where one that counted is another.

    Labels may have been corrected because of what the history said, and no proof covers what was chosen so.
    """
    before, now = np.frombuffer(old["counted"], np.int8), new.evaluation.labels.label
    changed = int(np.sum((before >= 0) & (before != now)))
    if changed:
        raise StudyError(
            f"{new.folder}: labels that the history counts for {old['day']} have changed since: {changed:,}",
            "a label counts as it was when its day was taken; for corrected ones begin a new history of all studies: "
            "--out FILE",
        )
    return bool(np.any(before != now))


def _asked(history: History, new: DayStudy, allow: Sequence[str]) -> Settings:
    """The settings, with the question of the first day, from which this one may differ in what is allowed."""
    question = new.question
    names = [*question, _INCOMPLETE]
    for name in allow:
        if name not in names:
            raise InputError(f"nothing that may be allowed is called '{name}'", did_you_mean(name, names))
    if not history.settings.question:
        return replace(history.settings, question=question)
    for name, value in question.items():
        old = history.settings.question.get(name)
        if value != old and name not in allow:
            raise StudyError(
                f"{new.folder}: asks another question than the days before: {name} is {value}, and was {old}",
                f"--allow={name} compares them all the same",
            )
    return history.settings


def _rank(history: History, new: DayStudy) -> int:
    """The cutoff in the list of a day."""
    cutoff, curve = history.settings.cutoff, new.evaluation.curve
    rank = cutoff.rank_in(curve.n_items)
    if rank is not None:
        return rank
    first, last = curve.rank_at_score(cutoff.value)
    return first if 0 < first == last else counted_at(new.plan, cutoff.value)
