"""The label store of a study: every row that people ever gave, for good.

::

    votes/ID.parquet       the rows of one source about planned items; whole or not at all, and never changed but when
                           a plan has grown and the same source, given again, says more to it
    votes/page.jsonl       answers given on the page of `streameval label`, one after another (`answer_journal`)
    votes/judge.jsonl      what a judge that is a program has said so far, in the same form; these are no votes
    votes/forgotten.json   which sources are not to count; giving one again lets it count again. Of the page
                           it is as many of its first answers as there were: those that come later count

Sources are numbered in the order in which they came: rules that take the latest vote go by it where rows have no time.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError, StudyError, did_you_mean
from streameval.labelling.fates import STORED
from streameval.labelling.votes import Votes, conform
from streameval.parquet.own_tables import read_table
from streameval.stores import atomic
from streameval.stores.own_files import UNUSABLE, read_bytes, read_json, unusable
from streameval.study.answer_journal import IDENTITY, NAME, Journal, read_lines, votes_of
from streameval.study.plan_files import plan_ids
from streameval.text.credentials import masked_source
from streameval.text.options import flag

_ALL = "*"
_RESTORE = "restore the file, or remove it and give its label table again"
_RECOUNT = "restore it, or remove it to count all"
_FOREIGN = "put this study's own file back, or take this one away and give its label table to `streameval evaluate`"


@dataclass(frozen=True)
class Given:
    """One stored source.

    Attributes:
        facts: `source` (its name), `place`, `columns`, `rows`, `planned`, `unplanned`, `unlisted`, `given` (number),
            `forgotten` (of what its rows say in a column `source`: those that do not count).
        table: Columns of `STORED`, without what was forgotten.
    """

    identity: str
    facts: Mapping[str, Any]
    table: pa.Table


def read_with(columns: Mapping[str, str | None], *others: Mapping[str, str | None]) -> str:
    """Columns by option, as flags, where those of others differ."""
    options = dict.fromkeys(name for one in (columns, *others) for name in one)
    differ = [name for name in options if any(one.get(name) != columns.get(name) for one in others)]
    flags = {name: (columns.get(name) or "").replace(chr(0), ",") for name in differ}
    return " ".join(f"{flag(name)} {value}" if value else f"no {flag(name)}" for name, value in flags.items())


def told_apart(stored: Sequence[Given]) -> list[str]:
    """Names of sources; those of one name with the columns that they were read with, or with their ids."""
    names = [one.facts["source"] for one in stored]
    marks = [
        read_with(one.facts["columns"], *(other.facts["columns"] for other in stored if other.facts["source"] == name))
        for one, name in zip(stored, names, strict=True)
    ]
    told = [f"{name} ({mark})" if mark else name for name, mark in zip(names, marks, strict=True)]
    return [
        name if told.count(name) == 1 else f"{one.facts['source']} ({one.identity})"
        for name, one in zip(told, stored, strict=True)
    ]


@dataclass(frozen=True)
class LabelStore:
    """Files of votes, in the folder `votes/` of a study."""

    folder: Path

    def sources(self) -> list[Given]:
        """Every source but forgotten ones, in the order in which they came; a `StudyError` for a damaged file."""
        return _counted(self._stored(), self._forgotten())

    def reused(self) -> list[int]:
        """Ranks whose labels were there before the plan."""
        taken_over = (one.table for one in self.sources() if one.facts.get("reused"))
        return [rank for table in taken_over for rank in table.column("rank").to_pylist()]

    def state(self) -> str:
        """Sixteen hex digits that differ whenever other votes are stored, or other sources are not to count."""
        bodies = ((path, read_bytes(path, _RESTORE, self.folder.parent)) for path in self._paths())
        files = {path.name: hashlib.sha256(body).hexdigest() for path, body in bodies}
        if lines := read_lines(self.folder / NAME):
            files[NAME] = hashlib.sha256(json.dumps(lines).encode()).hexdigest()
        text = json.dumps([files, self._forgotten()], sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("*.parquet"))

    def _stored(self) -> dict[str, Given]:
        """Every source by its identity, what was forgotten too; a `StudyError` for one of another plan."""
        stored, ids = {}, plan_ids(self.folder.parent)
        for path in self._paths():
            try:
                file = read_table(path, _RESTORE, self.folder.parent)
                refuse_foreign(path, [file.facts.get("study", ids[0])], ids)  # former versions did not say
                stored[path.stem] = _given(path.stem, file.facts, conform(file.table))
            except UNUSABLE as error:
                raise unusable(path, error, _RESTORE) from error
        path = self.folder / NAME
        if lines := read_lines(path):
            refuse_foreign(path, (one["se_study"] for one in lines), ids)
            facts = {"source": "label page", "place": str(path), "given": lines[0]["given"]}
            stored[IDENTITY] = _given(IDENTITY, facts, votes_of(lines))
        return stored

    def forgotten_answers(self) -> int:
        """How many of the first answers of the page are not to count."""
        return _first_forgotten(self._forgotten().get(IDENTITY, ()))

    def journal(self) -> Journal:
        """Open the answers of the page for adding; errors as of `Journal`."""
        return Journal(self.folder, _next(self._stored()))

    def with_new(self, votes: Sequence[Votes]) -> list[Given]:
        """Return what `sources` would be after `add`."""
        stored = self._stored()
        there = _counted(stored, self._forgotten())
        new = {vote.identity: vote.table.num_rows for vote in votes}
        there = [one for one in there if one.table.num_rows >= new.get(one.identity, 0)]
        identities = {one.identity for one in there}
        return there + [
            _given(one.identity, {**one.facts(), "given": number}, one.table)
            for number, one in enumerate(_distinct(votes), _next(stored))
            if one.identity not in identities
        ]

    def add(self, votes: Sequence[Votes]) -> dict[str, bool]:
        """Store the votes of several sources, all or none; those that are there already add nothing.

        Returns:
            dict of str to bool: By identity: whether it was new, or forgotten until now.
        """
        stored, forgotten = self._stored(), self._forgotten()
        there = {source.identity for source in _counted(stored, forgotten)}
        files, study = {}, plan_ids(self.folder.parent)[0]
        for number, source in enumerate(_distinct(votes), _next(stored)):
            before = stored.get(source.identity)
            # the same source says more to a plan that has grown since; what it said before is among it
            if before is None or before.table.num_rows < source.table.num_rows:
                place = number if before is None else before.facts["given"]
                path = self.folder / f"{source.identity}.parquet"
                files[path] = atomic.parquet(source.table, {**source.facts(), "given": place, "study": study})
        kept = {identity: names for identity, names in forgotten.items() if identity not in {v.identity for v in votes}}
        if kept != forgotten:
            files[self.folder / "forgotten.json"] = atomic.json_object(kept)
        if files:
            atomic.write_all(files)
        return {vote.identity: vote.identity not in there or vote.identity in forgotten for vote in votes}

    def forget(self, *names: str) -> dict[str, int]:
        """Let the rows of sources count no longer.

        Args:
            names: Names or identities of sources, or what a `source` column says.

        Returns:
            dict of str to int: Of each, rows that were forgotten; 0 where all of them were before. They stay in their
                files.

        Raises:
            InputError: There is no such source, or files of several folders have this name; then none is forgotten.
            OutsideError: Answers of the page while the page is served: who serves it would go on with them.
        """
        forgotten, stored = self._forgotten(), self._stored()
        before = dict(forgotten)
        rows = {name: self._forget(name, stored, forgotten) for name in dict.fromkeys(names)}
        if forgotten.get(IDENTITY) != before.get(IDENTITY):
            self.journal().close()
        if forgotten != before:
            atomic.write_all({self.folder / "forgotten.json": atomic.json_object(forgotten)})
        return rows

    def _forget(self, name: str, stored: Mapping[str, Given], forgotten: dict[str, list[str]]) -> int:
        """Add what a name means to what is forgotten, and count its rows."""
        rows, met = 0, False
        names: dict[str, None] = {}
        self._check_one_file(_counted(stored, forgotten), name)
        for source in stored.values():
            origins = source.table.column("origin").to_pylist()
            names |= dict.fromkeys([_short(source.facts["source"]), *origins])
            whole = masked_source(name) in (source.identity, source.facts["source"], _short(source.facts["source"]))
            if not whole and name not in origins:
                continue
            before = forgotten.get(source.identity, [])
            left = _without(source, before)
            counted = [] if left is None else left.table.column("origin").to_pylist()
            everything = f"{_ALL}{len(origins)}" if source.identity == IDENTITY else _ALL
            forgotten[source.identity] = list(dict.fromkeys([*before, everything if whole else name]))
            rows += len(counted) if whole else counted.count(name)
            met = True
        if not met:
            raise InputError(f"{self.folder}: no source '{name}' among the labels", did_you_mean(name, names))
        return rows

    def _check_one_file(self, sources: Sequence[Given], name: str) -> None:
        """Files of one name in several folders are not the same source."""
        meant = [source for source in sources if _short(source.facts["source"]) == name]
        if len({one.facts["source"] for one in meant}) > 1 and name not in {one.facts["source"] for one in meant}:
            several = ", ".join(f"{one.identity} ({one.facts['source']})" for one in meant)
            raise InputError(f"{self.folder}: several sources are called '{name}': {several}", "forget one by its id")

    def _forgotten(self) -> dict[str, list[str]]:
        path = self.folder / "forgotten.json"
        if not path.exists():
            return {}
        listed = read_json(path, _RECOUNT, self.folder.parent)
        if not all(
            isinstance(names, list) and all(isinstance(name, str) for name in names) for names in listed.values()
        ):
            raise unusable(path, ValueError("it lists no names"), _RECOUNT)
        if not all(re.fullmatch(r"\*[0-9]*", name) for name in listed.get(IDENTITY, ())):
            raise unusable(path, ValueError("it does not say how many answers of the page"), _RECOUNT)
        return listed


def refuse_foreign(path: Path, studies: Iterable[Any], ids: Collection[str], hint: str = _FOREIGN) -> None:
    """Refuse answers that were stored for another plan: its ranks are other items."""
    if any(study not in ids for study in studies):
        raise StudyError(f"{path}: these answers were given to another plan", hint)


def _counted(stored: Mapping[str, Given], forgotten: Mapping[str, Sequence[str]]) -> list[Given]:
    """Sources without what was forgotten, in the order in which they came."""
    kept = (_without(one, forgotten.get(identity, ())) for identity, one in stored.items())
    return sorted((one for one in kept if one is not None), key=lambda one: (one.facts["given"], one.identity))


def _next(stored: Mapping[str, Given]) -> int:
    return max((one.facts["given"] for one in stored.values()), default=0) + 1


def rows_of(sources: Sequence[Given]) -> pa.Table:
    """All rows, in the order in which they came."""
    return pa.concat_tables([STORED.empty_table(), *(source.table for source in sources)])


def _distinct(votes: Sequence[Votes]) -> list[Votes]:
    return list({vote.identity: vote for vote in votes}.values())


def _given(identity: str, facts: Mapping[str, Any], table: pa.Table) -> Given:
    absent = {"source": identity, "given": 0, "unplanned": 0, "unlisted": {}, "content": "", "columns": {}, "place": "",
              "forgotten": []}  # fmt: skip
    whole = {**absent, "rows": table.num_rows, **facts}
    if not all(isinstance(whole[key], type(value)) for key, value in absent.items()):
        raise TypeError("its facts are not those of votes")
    number = pa.array([whole["given"]] * table.num_rows, pa.int32())
    origin = pc.coalesce(table.column("source"), pa.scalar(_short(whole["source"])))
    stored = table.append_column("given", number).append_column("origin", origin)
    return Given(identity, whole, stored.cast(STORED))


def _without(source: Given, names: Sequence[str]) -> Given | None:
    """Leave out what was forgotten; None where that is everything."""
    if not names:
        return source
    if _ALL in names:
        return None
    if source.identity == IDENTITY:
        kept = source.table.slice(_first_forgotten(names))
        return Given(IDENTITY, source.facts, kept) if kept.num_rows else None
    kept = source.table.filter(pc.invert(pc.is_in(source.table.column("origin"), value_set=pa.array(names))))
    return Given(source.identity, {**source.facts, "forgotten": [*names]}, kept)


def _first_forgotten(names: Sequence[str]) -> int:
    """How many of the first rows are forgotten by what forgotten.json lists of the page, such as "*40"."""
    return max((int(name.removeprefix(_ALL)) for name in names if name != _ALL), default=0)


def _short(name: str) -> str:
    """Name of a source without its folder."""
    return name if "://" in name else os.path.basename(name) or name
