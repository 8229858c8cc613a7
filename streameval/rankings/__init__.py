"""Rankings: rows in an order. They know no methods, no labels, and no kind of storage from another."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from streameval.errors import InputError, StudyError
from streameval.options import takes
from streameval.parquet.files import has_pattern, is_text
from streameval.rankings.copied import refuse_lost
from streameval.rankings.ranking import Ranking
from streameval.rows import open_rows
from streameval.rows.options import RankingOptions
from streameval.stores.clients import is_known
from streameval.types import Plan


@takes()
def open_ranking(source: Any, options: RankingOptions | None = None) -> Ranking:
    """Open a ranking of any kind of storage, in stored order or by score.

    Args:
        source: A Parquet file, a folder of partitions, a glob, or a list of them, on disk or on an object store;
            `iceberg:CATALOG.NAMESPACE.TABLE[@SNAPSHOT]`, `delta:PATH[@VERSION]`; a pyarrow Table, a Polars DataFrame or
            LazyFrame, a pandas DataFrame. Texts (CSV, JSON lines) and queries are planned first, which reads them into
            STUDY/ranking: open that.

    Raises:
        InputError: If the source is of no known kind, is missing or damaged, or its stored order is not what `options`
            say.
    """
    options = options or RankingOptions()
    if options.score is None and (options.key or options.nan != "refuse"):
        option = "--key" if options.key else "--nan"
        raise InputError(f"{option} is for a ranking by score, and no score is named", "name it with --score COL")
    _refuse_unread(source)
    try:
        return _ordered(source, options)
    except InputError as error:
        if not (options.ascending and error.what.endswith(f"there is no column '{options.score}'")):
            raise
        if f"'-{options.score}'" not in (error.hint or ""):
            raise
    return _ordered(source, replace(options, score=f"-{options.score}", ascending=False))  # the minus is of its name


def _ordered(source: Any, options: RankingOptions) -> Ranking:
    rows = open_rows(source, options)
    if options.score is None:
        return Ranking(rows, options)
    from streameval.order.by_score import by_score

    return Ranking(rows, options, by_score(rows, options))


def _refuse_unread(source: Any) -> None:
    """Refuse what only a plan reads, into a copy: texts and queries."""
    sources = source if isinstance(source, list | tuple) else [source]
    for place in sources:
        if isinstance(place, str | os.PathLike) and _is_unread(os.fspath(place)):
            raise InputError(f"{os.fspath(place)}: a text or a query, and what is read here is Parquet or a table",
                             "plan it first, then give 'STUDY/ranking', with the same --score")  # fmt: skip


def _is_unread(path: str) -> bool:
    """Tell whether it is an address of a query, or named as texts are and no Parquet file."""
    if is_known(path):
        return is_text(path)
    if ":" in path and not os.path.exists(path):
        from streameval.labelling.readers import is_address

        return is_address(path) or path.startswith("trec:")
    if is_text(path) and os.path.isfile(path):
        with open(path, "rb") as file:
            return file.read(4) != b"PAR1"
    return has_pattern(path) and is_text(path)


def open_planned(plan: Plan, ranking: Any = None) -> Ranking:
    """Open the ranking of a plan; a `StudyError` where it is another one now, or was in memory and is not given."""
    source = ranking if ranking is not None else plan.location["source"]
    if ranking is not None and "copied" in plan.location:
        raise InputError("this study holds a copy of its ranking, so none is to be given", "leave out ranking=")
    if source is None:
        raise StudyError("this study's ranking was a table in memory", "give it again in Python, with ranking=table")
    try:
        opened = _open(source, plan)
    except (InputError, StudyError):
        refuse_lost(plan)
        raise
    if opened.fingerprint != plan.ranking["fingerprint"]:
        refuse_lost(plan)
        raise StudyError(
            f"the ranking has fingerprint {opened.fingerprint}, but {plan.ranking['fingerprint']} was planned",
            "the files have changed since; plan the new list into a new study",
        )
    return opened


def _open(source: Any, plan: Plan) -> Ranking:
    """Open one list; where a plan is of two lists, the rows of both."""
    options = RankingOptions.from_plan(plan)
    if "against" not in plan.location:
        return open_ranking(source, options)
    from streameval.order.item_keys import types_of_both
    from streameval.rows.two_tables import TwoTables

    both = (source, plan.location["against"]) if plan.location["against"] is not None else source
    if not isinstance(both, tuple) or len(both) != 2:
        raise StudyError("this study compares two lists, which were tables in memory",
                         "give both again in Python, with ranking=(b, a)")  # fmt: skip
    first, second = (open_rows(side, options) for side in both)
    given_as = types_of_both(plan.draw_by, first.schema, second.schema)
    return Ranking(TwoTables(first, second, given_as), options)
