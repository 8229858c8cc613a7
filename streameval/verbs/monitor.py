"""Monitor: studies that come one after another as one history, whose bounds hold together however many come."""

from __future__ import annotations

import os
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from streameval.curve.runs import share_of
from streameval.errors import (
    EXIT_DONE,
    EXIT_FAILS,
    EXIT_INCONCLUSIVE,
    InputError,
    StreamevalError,
    StudyError,
    did_you_mean,
)
from streameval.kinds import answering, available, kind_named
from streameval.labelling.answers import ANNOTATORS
from streameval.methods import check_confidence
from streameval.options import listed, takes
from streameval.printed import Event, Printed
from streameval.questions import Question, refuse_against, refuse_terms
from streameval.stores import atomic, locks
from streameval.study import Study
from streameval.study.history import DATE, History, Settings, WatchedStudy, read_history
from streameval.text import number_of
from streameval.types import TRUTH

if TYPE_CHECKING:
    from streameval.kinds.side_by_side import Watched

Watchable = str | os.PathLike[str]  # a folder, or DAY=FOLDER; behind them what is watched may stand
_MEASURE = re.compile(r".*@.*|[\w.]*gain\b[^/]*")
_INCOMPLETE = "incomplete"
_WHOSE = (ANNOTATORS, TRUTH)


@takes()
def monitor(
    studies: Sequence[Watchable] | Watchable,
    measure: str | Question | None = None,
    *,
    confidence: float | None = None,
    allow: str | tuple[str, ...] | Iterable[str] = (),
    out: str | os.PathLike[str] | None = None,
) -> History:
    """Watch day after day.

    Of successive days the precision, or challengers one after another: all bounds hold together.

    Exit status 5: the first new study of which planned labels are missing ends the call (`waiting`): it is taken when
    they are in. 4: the mean precision since the last change is proven to be below the one to keep, or a day that this
    call added is, or this call named a fall on any day. Else 0; but 5 where a precision is to be kept, and it is not
    proven that the mean is at least that. With nothing to add, the status is that of the mean. Of comparisons of two
    rankings it is 4 where a study of this call is proven not to meet the condition, 0 where all are proven to, else 5.

    In Python `outcome` of the result says the same: "waiting", "fail", "pass" or "inconclusive". What fails, fails
    although others wait. Studies of two rankings have a history of their own, in the order in which they are given.

    Example: streameval monitor studies/2026-11-22 "precision@score:0.7 >= 0.9" --out history.parquet

    Args:
        studies: Folders of evaluated studies, in the order of their days. The day is the last date in the path, or
            stands before it, as in 2026-11-22=my-study. A study that the history has adds nothing, or the labels that
            were missing when it was taken. Last, what is watched: precision@score:0.7 (every item of
            this score or better; they are counted, by one scan of each list), precision@10000 or precision@1%. With
            >= 0.9 behind it, each day and the mean since the last change passes, fails or is inconclusive. Studies of
            two rankings need no day; of them gain@10000 or precision_gain@10000 is watched, perhaps with a condition:
            "gain@10000 > 0".
        measure: In Python what is watched may stand here.
        confidence: Of all bounds and changes together, whenever one looks (default .95).
        allow: What may differ between studies, such as vote or score; may be repeated. incomplete takes studies of
            which planned labels are missing: bounds allow for whatever these say. Given again when they are in, the
            study brings them; a label that counted has to be what it was. In Python a list: of days, of score,
            ascending, vote, prefer, label_error, assume and about; of comparisons, of key, vote, prefer and about.
        out: history.parquet, to append to; history.html is beside it. What it was begun with need not be given again.

    Returns:
        History: All of its studies. The first new one of which planned labels are missing, and those behind it, are not
            taken; `waiting` says which it is.

    Raises:
        InputError: No measure, or one that is not watched, no day, a day before the last one, a cutoff outside a list,
            or that a comparison was not planned for.
        StudyError: A study whose bounds promise nothing, that asks another question or is of another kind; another
            study of a day, or labels of it that have changed; a study, or a seed, that another one has.
    """
    folders, measure = _told_apart(studies, measure)
    dated = [*map(_day_and_folder, folders)]
    if not dated:
        raise InputError("no study is given", 'streameval monitor STUDY "precision@10000 >= 0.9" --out history.parquet')
    watched = None if measure is None else Question.of(measure)
    if watched is not None:
        refuse_terms(watched)
        refuse_against(watched)
    asked = {"measure": watched, "confidence": confidence}
    allowed = listed(allow)
    if confidence is not None:
        check_confidence(confidence)
    if out is None:
        return _with_studies(_begun(dated[0][1], asked), dated, allowed)
    path = Path(out)
    atomic.make_folder(path.parent)
    with locks.one_at_a_time(path.parent):
        before = read_history(path, _history_of)
        begun = _begun(dated[0][1], asked) if before is None else _same(path, before, asked)
        history = _with_studies(begun, dated, allowed)
        history = replace(history, corrected=_corrected_studies(history, {folder for _, folder in dated}))
        if history.added:
            page = kind_named(history.settings.kind).watched.page(history)
            atomic.write_all({path.with_suffix(".html"): atomic.text(page), path: history.writer()})
    return history


def printed(history: Watched, out: Path | None = None, **_: Any) -> Printed:
    """Print what was watched, what it comes to, and what was not taken."""
    lines = history.account
    if out is not None and history.table.num_rows:
        count = number_of(history.table.num_rows, history.rows_are.removesuffix("s"))
        lines.append(f"{out} and {out.with_suffix('.html')}: {count}")
    return Printed(
        {**history.facts, "said": history.notes},
        [*lines, *history.verdict],
        events=[*_events(history)],
        status={None: EXIT_DONE, "pass": EXIT_DONE, "fail": EXIT_FAILS}.get(history.outcome, EXIT_INCONCLUSIVE),
    )


def _events(history: History) -> Iterator[Event]:
    """Give an event for each study of this call, and for the last one of the history."""
    facts, key = history.facts, history.key
    rows = facts[history.rows_are]
    shown = facts.get("given", [*facts["added"], *(row[key] for row in rows[-1:])])
    for row in rows:
        if row[key] in shown:
            bad = row[key] in facts.get("falls", ()) or "fail" in (row["outcome"], row.get("run_outcome"))
            yield Event("monitor", row, not bad)


def _told_apart(
    studies: Sequence[Watchable] | Watchable, measure: str | Question | None
) -> tuple[list[str], str | Question | None]:
    """Tell folders from what is watched, which may stand behind them."""
    words = [os.fspath(word) for word in ([studies] if isinstance(studies, str | os.PathLike) else studies)]
    behind = measure is None and words and _MEASURE.fullmatch(words[-1]) and not Path(words[-1]).exists()
    return (words[:-1], words[-1]) if behind else (words, measure)


def _day_and_folder(study: str) -> tuple[date | None, str]:
    """A study's folder, and the day that stands before it."""
    day, _, folder = study.partition("=")
    parts = DATE.fullmatch(day) if folder else None
    folder = study if parts is None else folder
    atomic.refuse_address(Path(folder), "studies and results are read on this machine")
    try:
        return (None if parts is None else date(*map(int, parts.groups()))), folder
    except ValueError as error:
        raise InputError(f"'{day}' is no day", f"say which day it is of: 2026-11-22={folder}") from error


def _history_of(name: str) -> type[History]:
    kind = available().get(name)
    if kind is None or "monitor" not in kind.answers:
        raise StudyError(f"there is no kind of study '{name}' that is watched", did_you_mean(name, available()))
    return kind.watched.HISTORY


def _begun(first: str, watched: Mapping[str, Any]) -> History:
    """Begin a history of the kind of its first study."""
    kind = answering(first, "monitor")
    Study(Path(first)).plan()  # says where there is no study
    history = kind.watched.HISTORY
    if watched["measure"] is None:
        raise InputError("monitor needs a measure to watch", history.form)
    confidence = {} if watched["confidence"] is None else {"confidence": watched["confidence"]}
    return history.begun(Settings(history.watched_text(watched["measure"]), **confidence, kind=kind.name))


def _same(path: Path, before: History, watched: Mapping[str, Any]) -> History:
    settings, measure, confidence = before.settings, watched["measure"], watched["confidence"]
    others = {"measure": None if measure is None else before.watched_text(measure), "confidence": confidence}
    for name, value in others.items():
        if value is not None and value != getattr(settings, name):
            raise StudyError(f"{path}: was begun with {name} {getattr(settings, name)}, not {value}",
                             "begin another history: --out FILE")  # fmt: skip
    return before


def _with_studies(history: History, dated: Sequence[tuple[date | None, str]], allow: tuple[str, ...]) -> History:
    """The history with the studies, and what that did."""
    before, studies = history, []
    for day, folder in dated:
        try:
            _refuse_other_kind(history, folder)
            studies.append(history.read_study(day, folder))
            history = _with_study(history, studies[-1], allow)
            if history.waiting:
                return history.with_call(before, studies[:-1])
        except StreamevalError as error:
            if error.what.startswith(folder):
                raise
            raise type(error)(f"{folder}: {error.what}", error.hint) from error
    return history.with_call(before, studies)


def _corrected_studies(history: History, folders: Collection[str]) -> tuple[str, ...]:
    """Name studies of earlier calls whose labels are no longer what the history counts, with their number.

    Studies that lie elsewhere by now, or cannot be read, are passed over: this call is not about them.
    """
    corrected = []
    for row in history.rows:
        folder = str(row["study"])
        if folder in folders or not Path(folder).is_dir():
            continue
        with suppress(StreamevalError, OSError, KeyError):
            if Study(Path(folder)).summary()["evaluation_id"] == row["evaluation_id"]:
                continue
            now = history.read_study(row.get("day"), folder)
            if now.plan.plan_id == row["plan_id"] and (changed := _n_changed(row, now)):
                corrected.append(f"{history.row_name(row)} ({folder}): {changed:,}")
    return tuple(corrected)


def _n_changed(row: Mapping[str, Any], now: WatchedStudy) -> int:
    """Count labels that a row counts, and that are others by now."""
    before = np.frombuffer(row["counted"], np.int8)
    return int(np.sum((before >= 0) & (before != now.answers)))


def _refuse_other_kind(history: History, folder: str) -> None:
    kind, watched_kind = answering(folder, "monitor"), history.settings.kind
    if kind.name != watched_kind:
        Study(Path(folder)).plan()  # says where there is no study
        raise StudyError(f"{folder} is {kind.about}, and this history began with {kind_named(watched_kind).about}",
                         "begin another history for it: --out FILE")  # fmt: skip


def _with_study(history: History, new: WatchedStudy, allow: tuple[str, ...]) -> History:
    rows, at = history.rows, history.place(new)
    old = None if at is None else rows[at]
    if old is not None and old["evaluation_id"] == new.evaluation_id:
        return history
    if old is None:
        _refuse_again(history, new)
    more = old is None or _more_answers(history, old, new)
    history = replace(history, settings=_settings_of(history, new, allow))
    if not more:
        return history
    if old is None and _INCOMPLETE not in allow and np.any(new.answers < 0):
        return replace(history, waiting=_waits_for(new))
    new.refuse_without_probability()
    at = len(rows) if at is None else at
    entry = new.estimate(history.settings, float(share_of(history.delta, at + 1)))
    return history.with_study(at, entry if old is None else entry.replacing(old))


def _refuse_again(history: History, new: WatchedStudy) -> None:
    """Refuse a study, or a draw, that the history has: the same evidence would count twice."""
    seed, ids = new.seed, new.plan.study_ids
    for row in history.rows:
        if row["plan_id"] in ids:
            raise StudyError(
                f"{new.folder}: its plan is the one that the history has for {history.row_name(row)}",
                "a study counts once; each is planned anew, without --seed",
            )
        if seed is not None and row["seed"] == seed:
            raise StudyError(
                f"{new.folder}: was drawn with seed {seed}, as that of {history.row_name(row)}, so its draw is not a "
                "fresh one",
                "plan without --seed, and with no seed in streameval.toml",
            )


def _waits_for(new: WatchedStudy) -> str:
    return f"{new.folder}: planned labels are missing: {int(np.sum(new.answers < 0)):,} of {new.answers.size:,}"


def _more_answers(history: History, old: Mapping[str, Any], new: WatchedStudy) -> bool:
    """Tell whether labels came in that were missing when a study was added; a `StudyError` where a counted one changed.

    Labels may have been corrected because of what the history said, and no proof covers what was chosen so.
    """
    if changed := _n_changed(old, new):
        raise StudyError(
            f"{new.folder}: labels that the history counts for {history.row_name(old)} have changed since: {changed:,}",
            "a label counts as it was when its study was taken; for corrected ones begin a new history of all studies: "
            "--out FILE",
        )
    return bool(np.any(np.frombuffer(old["counted"], np.int8) != new.answers))


def _settings_of(history: History, new: WatchedStudy, allow: Sequence[str]) -> Settings:
    """The settings, with the question of the first study, from which this one may differ in what is allowed."""
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
            allowed = f"--allow={name} compares them all the same"
            if name == "about":
                raise StudyError(
                    f"{new.folder}: is about {_WHOSE[value == TRUTH]}, and the studies before "
                    f"about {_WHOSE[old == TRUTH]}",
                    f"`streameval show` says why of the one that is not about the truth; {allowed}",
                )
            raise StudyError(
                f"{new.folder}: asks another question than the studies before: {name} is {value}, and was {old}",
                allowed,
            )
    return history.settings
