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
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from streameval.errors import InputError, StudyError, did_you_mean
from streameval.labelling.fates import STORED
from streameval.labelling.votes import Votes, conform
from streameval.parquet.own_tables import decode_table
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
    options = dict.fromkeys(name for options_read in (columns, *others) for name in options_read)
    differ = [name for name in options if any(options_read.get(name) != columns.get(name) for options_read in others)]
    flags = {name: (columns.get(name) or "").replace(chr(0), ",") for name in differ}
    return " ".join(f"{flag(name)} {value}" if value else f"no {flag(name)}" for name, value in flags.items())


def told_apart(stored: Sequence[Given]) -> list[str]:
    """Names of sources; those of one name with the columns that they were read with, or with their ids."""
    names = [source.facts["source"] for source in stored]
    marks = [
        read_with(
            source.facts["columns"], *(other.facts["columns"] for other in stored if other.facts["source"] == name)
        )
        for source, name in zip(stored, names, strict=True)
    ]
    marked = [f"{name} ({mark})" if mark else name for name, mark in zip(names, marks, strict=True)]
    return [
        name if marked.count(name) == 1 else f"{source.facts['source']} ({source.identity})"
        for name, source in zip(marked, stored, strict=True)
    ]


@dataclass(frozen=True)
class StoredVotes:
    """The votes of a study, as they were read at once.

    Attributes:
        stored: Every source by its identity, with what was forgotten.
        forgotten: By identity what does not count, as forgotten.json has it.
        digests: SHA-256 of every file that holds votes, by its name.
    """

    stored: Mapping[str, Given]
    forgotten: Mapping[str, Sequence[str]]
    digests: Mapping[str, str]

    @cached_property
    def sources(self) -> list[Given]:
        """Every source but forgotten ones, in the order in which they came."""
        kept = (_without(source, self.forgotten.get(identity, ())) for identity, source in self.stored.items())
        counted = (source for source in kept if source is not None)
        return sorted(counted, key=lambda source: (source.facts["given"], source.identity))

    @property
    def state(self) -> str:
        """Sixteen hex digits that differ whenever other votes are stored, or other sources are not to count."""
        return _state(self.digests, self.forgotten)

    @property
    def next_number(self) -> int:
        """Number of a source that comes now."""
        return max((source.facts["given"] for source in self.stored.values()), default=0) + 1

    def counts(self, identity: str) -> bool:
        """Tell whether a source is there, and nothing of it was forgotten."""
        return identity in self.stored and identity not in self.forgotten

    def including(self, votes: Sequence[Votes]) -> StoredVotes:
        """Return what is stored once these are: what was forgotten counts again, what is there adds nothing."""
        stored = dict(self.stored)
        for number, vote in enumerate(_distinct(votes), self.next_number):
            before = stored.get(vote.identity)
            # the same source says more to a plan that has grown since; what it said before is among it
            if before is None or before.table.num_rows < vote.table.num_rows:
                place = number if before is None else before.facts["given"]
                stored[vote.identity] = _read_source(vote.identity, {**vote.facts(), "given": place}, vote.table)
        identities = {vote.identity for vote in votes}
        kept = {identity: names for identity, names in self.forgotten.items() if identity not in identities}
        return StoredVotes(stored, kept, self.digests)


@dataclass(frozen=True)
class LabelStore:
    """Files of votes, in the folder `votes/` of a study."""

    folder: Path

    def read(self) -> StoredVotes:
        """Read every source once; a `StudyError` for a damaged file, or for one of another plan."""
        stored, digests, ids = {}, {}, plan_ids(self.folder.parent)
        for path in self._paths():
            try:
                content = read_bytes(path, _RESTORE, self.folder.parent)
                file = decode_table(path, content, _RESTORE)
                refuse_foreign(path, [file.facts.get("study", ids[0])], ids)  # former versions did not say
                stored[path.stem] = _read_source(path.stem, file.facts, conform(file.table))
            except UNUSABLE as error:
                raise unusable(path, error, _RESTORE) from error
            digests[path.name] = _digest(content)
        path = self.folder / NAME
        if lines := read_lines(path):
            refuse_foreign(path, (line["se_study"] for line in lines), ids)
            facts = {"source": "label page", "place": str(path), "given": lines[0]["given"]}
            stored[IDENTITY] = _read_source(IDENTITY, facts, votes_of(lines))
            digests[NAME] = _digest_of_lines(lines)
        return StoredVotes(stored, self._forgotten(), digests)

    def sources(self) -> list[Given]:
        """Every source but forgotten ones, in the order in which they came; errors as of `read`."""
        return self.read().sources

    def reused_ranks(self) -> list[int]:
        """Ranks whose labels were there before the plan."""
        taken_over = (source.table for source in self.sources() if source.facts.get("reused"))
        return [rank for table in taken_over for rank in table.column("rank").to_pylist()]

    def state(self) -> str:
        """State of what is stored (`StoredVotes.state`), without decoding it."""
        digests = {path.name: _digest(read_bytes(path, _RESTORE, self.folder.parent)) for path in self._paths()}
        if lines := read_lines(self.folder / NAME):
            digests[NAME] = _digest_of_lines(lines)
        return _state(digests, self._forgotten())

    def _paths(self) -> list[Path]:
        return sorted(self.folder.glob("*.parquet"))

    def forgotten_answers(self) -> int:
        """Tell how many of the first answers of the page are not to count."""
        return _first_forgotten(self._forgotten().get(IDENTITY, ()))

    def journal(self) -> Journal:
        """Open the answers of the page for adding; errors as of `Journal`."""
        return Journal(self.folder, self.read().next_number)

    def add(self, votes: Sequence[Votes], before: StoredVotes | None = None) -> StoredVotes:
        """Store the votes of several sources, all or none; those that are there already add nothing.

        Args:
            before: What `read` gave, where that is known, and nothing was stored since.

        Returns:
            StoredVotes: What `read` would give now.
        """
        before = before or self.read()
        after, files, study = before.including(votes), {}, plan_ids(self.folder.parent)[0]
        for vote in _distinct(votes):
            source = after.stored[vote.identity]
            if source is not before.stored.get(vote.identity):
                facts = {**vote.facts(), "given": source.facts["given"], "study": study}
                files[self.folder / f"{vote.identity}.parquet"] = atomic.parquet(vote.table, facts)
        written = list(files)
        if after.forgotten != before.forgotten:
            files[self.folder / "forgotten.json"] = atomic.json_object(after.forgotten)
        if files:
            atomic.write_all(files)
        digests = {path.name: _digest(read_bytes(path, _RESTORE, self.folder.parent)) for path in written}
        return replace(after, digests={**before.digests, **digests})

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
        before = votes = self.read()
        rows = {}
        for name in dict.fromkeys(names):
            votes, rows[name] = self._without(votes, name)
        if votes.forgotten.get(IDENTITY) != before.forgotten.get(IDENTITY):
            self.journal().close()
        if votes.forgotten != before.forgotten:
            atomic.write_all({self.folder / "forgotten.json": atomic.json_object(votes.forgotten)})
        return rows

    def _without(self, votes: StoredVotes, name: str) -> tuple[StoredVotes, int]:
        """Let what a name means count no longer; also how many rows these were."""
        rows, forgotten = 0, {}
        names: dict[str, None] = {}
        self._check_one_file(votes.sources, name)
        for source in votes.stored.values():
            origins = source.table.column("origin").to_pylist()
            names |= dict.fromkeys([_short(source.facts["source"]), *origins])
            whole = masked_source(name) in (source.identity, source.facts["source"], _short(source.facts["source"]))
            if not whole and name not in origins:
                continue
            before = votes.forgotten.get(source.identity, [])
            left = _without(source, before)
            counted = [] if left is None else left.table.column("origin").to_pylist()
            everything = f"{_ALL}{len(origins)}" if source.identity == IDENTITY else _ALL
            forgotten[source.identity] = list(dict.fromkeys([*before, everything if whole else name]))
            rows += len(counted) if whole else counted.count(name)
        if not forgotten:
            raise InputError(f"{self.folder}: no source '{name}' among the labels", did_you_mean(name, names))
        return replace(votes, forgotten={**votes.forgotten, **forgotten}), rows

    def _check_one_file(self, sources: Sequence[Given], name: str) -> None:
        """Files of one name in several folders are not the same source."""
        meant = [source for source in sources if _short(source.facts["source"]) == name]
        if len({source.facts["source"] for source in meant}) > 1 and name not in {
            source.facts["source"] for source in meant
        }:
            several = ", ".join(f"{source.identity} ({source.facts['source']})" for source in meant)
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


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _digest_of_lines(lines: Sequence[dict[str, Any]]) -> str:
    """Digest of the answers of the page: a line without an end is none of them."""
    return _digest(json.dumps(lines).encode())


def _state(digests: Mapping[str, str], forgotten: Mapping[str, Sequence[str]]) -> str:
    return _digest(json.dumps([digests, forgotten], sort_keys=True).encode())[:16]


def rows_of(sources: Sequence[Given]) -> pa.Table:
    """All rows, in the order in which they came."""
    return pa.concat_tables([STORED.empty_table(), *(source.table for source in sources)])


def _distinct(votes: Sequence[Votes]) -> list[Votes]:
    return list({vote.identity: vote for vote in votes}.values())


def _read_source(identity: str, facts: Mapping[str, Any], table: pa.Table) -> Given:
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
    """Tell how many of the first rows are forgotten by what forgotten.json lists of the page, such as "*40"."""
    return max((int(name.removeprefix(_ALL)) for name in names if name != _ALL), default=0)


def _short(name: str) -> str:
    """Name of a source without its folder."""
    return name if "://" in name else os.path.basename(name) or name
