"""The label store of a study: every row that people ever gave, for good.

::

    votes/ID.parquet       the rows of one source about planned items; whole or not at all, and never changed but when
                           a plan has grown and the same source, given again, says more to it
    votes/forgotten.json   which sources are not to count; giving one again lets it count again

Sources are numbered in the order in which they came: rules that take the latest vote go by it where rows have no time.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from streameval import atomic
from streameval.credentials import masked_source
from streameval.errors import InputError, StudyError, did_you_mean
from streameval.labelling import Votes
from streameval.labelling.fold import STORED
from streameval.labelling.votes import conform

_ALL = "*"


@dataclass(frozen=True)
class Given:
    """One stored source.

    Attributes
    ----------
    identity : str
    facts : mapping
        `source` (its name), `rows`, `planned`, `unplanned`, `unlisted`, `given` (its number).
    table : pyarrow.Table
        Columns of `STORED`, without what was forgotten.
    """

    identity: str
    facts: Mapping[str, Any]
    table: pa.Table


@dataclass(frozen=True)
class LabelStore:
    """Files of votes.

    Parameters
    ----------
    folder : Path
        `votes/` of a study.
    """

    folder: Path

    def sources(self) -> list[Given]:
        """Every source, in the order in which they came; what was forgotten is left out.

        Raises
        ------
        StudyError
            A file is damaged.
        """
        forgotten = self._forgotten()
        found = []
        for path in sorted(self.folder.glob("*.parquet")):
            try:
                facts, table = atomic.facts_of(path), conform(pq.read_table(path))
            except (OSError, ValueError, pa.ArrowException) as error:
                raise StudyError(
                    f"{path}: stored votes cannot be read ({' '.join(str(error).split())[:120]})",
                    "restore the file, or remove it and give its label table again",
                ) from error
            one = _given(path.stem, facts, table)
            found.append(_without(one, forgotten.get(path.stem, [])))
        return sorted((one for one in found if one is not None), key=lambda one: (one.facts["given"], one.identity))

    def with_new(self, votes: Sequence[Votes]) -> list[Given]:
        """Return what `sources` would be after `add`."""
        there = self.sources()
        new = {one.identity: one.table.num_rows for one in votes}
        there = [one for one in there if one.table.num_rows >= new.get(one.identity, 0)]
        known = {one.identity for one in there}
        return there + [
            _given(one.identity, {**one.facts(), "given": number}, one.table)
            for number, one in enumerate(_distinct(votes), self._next())
            if one.identity not in known
        ]

    def add(self, votes: Sequence[Votes]) -> dict[str, bool]:
        """Store the votes of several sources, all or none; those that are there already add nothing.

        Returns
        -------
        dict of str to bool
            By identity: whether it was new, or forgotten until now.
        """
        there = {one.identity for one in self.sources()}
        files = {}
        for number, one in enumerate(_distinct(votes), self._next()):
            path = self.folder / f"{one.identity}.parquet"
            stored = _stored(path)
            # the same source says more to a plan that has grown since; what it said before is among it
            if stored is None or stored[0] < one.table.num_rows:
                place = number if stored is None else stored[1]
                files[path] = atomic.parquet(one.table, {**one.facts(), "given": place})
        forgotten = self._forgotten()
        kept = {identity: names for identity, names in forgotten.items() if identity not in {v.identity for v in votes}}
        if kept != forgotten:
            files[self.folder / "forgotten.json"] = atomic.text(json.dumps(kept, indent=2) + "\n")
        if files:
            atomic.write_all(files)
        return {one.identity: one.identity not in there or one.identity in forgotten for one in votes}

    def forget(self, name: str) -> int:
        """Let the rows of a source count no longer.

        Parameters
        ----------
        name : str
            The name or the identity of a source, or what a `source` column says.

        Returns
        -------
        int
            Rows that were forgotten. They stay in their files.

        Raises
        ------
        InputError
            There is no such source, or files of several folders have this name.
        """
        forgotten, rows = self._forgotten(), 0
        known: dict[str, None] = {}
        sources = self.sources()
        self._check_one_file(sources, name)
        for one in sources:
            origins = one.table.column("origin").to_pylist()
            known |= dict.fromkeys([_short(one.facts["source"]), *origins])
            whole = masked_source(name) in (one.identity, one.facts["source"], _short(one.facts["source"]))
            if whole or name in origins:
                forgotten.setdefault(one.identity, []).append(_ALL if whole else name)
                rows += len(origins) if whole else origins.count(name)
        if not rows:
            raise InputError(f"{self.folder}: no source '{name}' among the labels", did_you_mean(name, known))
        text = json.dumps(forgotten, indent=2, ensure_ascii=False) + "\n"
        atomic.write_all({self.folder / "forgotten.json": atomic.text(text)})
        return rows

    def _check_one_file(self, sources: Sequence[Given], name: str) -> None:
        """Files of one name in several folders are not the same source."""
        meant = [one for one in sources if _short(one.facts["source"]) == name]
        if len({one.facts["source"] for one in meant}) > 1 and name not in {one.facts["source"] for one in meant}:
            several = ", ".join(f"{one.identity} ({one.facts['source']})" for one in meant)
            raise InputError(f"{self.folder}: several sources are called '{name}': {several}", "forget one by its id")

    def _forgotten(self) -> dict[str, list[str]]:
        path = self.folder / "forgotten.json"
        try:
            found: dict[str, list[str]] = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
            if not isinstance(found, dict):
                raise ValueError("no object")
        except (OSError, ValueError) as error:
            raise StudyError(f"{path}: cannot be read ({error})", "restore it, or remove it to count all") from error
        return found

    def _next(self) -> int:
        numbers = [atomic.facts_of(path).get("given", 0) for path in self.folder.glob("*.parquet")]
        return max(numbers, default=0) + 1


def rows_of(sources: Sequence[Given]) -> pa.Table:
    """All rows, in the order in which they came."""
    return pa.concat_tables([STORED.empty_table(), *(one.table for one in sources)])


def _stored(path: Path) -> tuple[int, int] | None:
    """Rows of a stored source and its number; None where it is not stored."""
    if not path.exists():
        return None
    return pq.read_metadata(path).num_rows, int(atomic.facts_of(path).get("given", 0))


def _distinct(votes: Sequence[Votes]) -> list[Votes]:
    return list({one.identity: one for one in votes}.values())


def _given(identity: str, facts: Mapping[str, Any], table: pa.Table) -> Given:
    absent = {"source": identity, "given": 0, "unplanned": 0, "unlisted": {}, "content": "", "columns": {}}
    whole = {**absent, "rows": table.num_rows, **facts}
    number = pa.array([whole["given"]] * table.num_rows, pa.int32())
    origin = pc.coalesce(table.column("source"), pa.scalar(_short(whole["source"])))
    stored = table.append_column("given", number).append_column("origin", origin)
    return Given(identity, whole, stored.cast(STORED))


def _without(one: Given, names: Sequence[str]) -> Given | None:
    """Leave out what was forgotten; None where that is everything."""
    if not names:
        return one
    if _ALL in names:
        return None
    kept = one.table.filter(pc.invert(pc.is_in(one.table.column("origin"), value_set=pa.array(names))))
    return Given(one.identity, one.facts, kept)


def _short(name: str) -> str:
    """Name of a source without its folder."""
    return name if "://" in name else os.path.basename(name) or name
