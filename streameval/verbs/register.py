"""Register: a study in a DuckDB connection of the user's own, as tables and macros under a name."""

from __future__ import annotations

import os
from pathlib import Path

from streameval.errors import StudyError
from streameval.kinds import database_of
from streameval.labelling.duckdb_session import Connection
from streameval.options import takes
from streameval.stores.temporary import temporary_folder
from streameval.study.database.session import FOLDER, attach, attach_statement, check_name, file_name


@takes()
def register(connection: Connection, study: str | os.PathLike[str], name: str) -> None:
    """Let a DuckDB connection answer about a study, beside your own tables and other studies.

    The study's tables are then `NAME.curve`, `NAME.metrics` and so on, and its macros `NAME_precision_at(k)`,
    `NAME_rank_at_precision(x)` and so on (of slices `NAME_slice_precision_at(s, k)`), whatever the connection uses.
    Tables and macros are those of `sql`; `NAME.weighted_mean(x, weight)` is the average over a list. They last as long
    as the connection, and nothing is written into your database or the study.

    The tables are a copy, made from the study's checked files as `sql` makes it, and attached read-only: what is called
    study.duckdb in a study from somebody else could hold anything, and keeps nobody from evaluating again meanwhile.

    Args:
        connection (duckdb.DuckDBPyConnection): What `duckdb.connect` gives. Macros are of this connection alone, and
            not of its other cursors.
        study: Folder of a study with results.
        name: Letters, digits and `_`. With the same study again, its results as they are by now take the place of
            those before.

    Raises:
        InputError: The name is none, or taken by something else; what DuckDB says.
        StudyError: There are no results, or they are a mixed set.
    """
    check_name(name)
    database = database_of(study)
    with temporary_folder(FOLDER) as room:
        path = room / file_name(study, database.identity)
        database.write(str(path))
        attach(connection, path, name, database.macros(name))


def registering(study: str | os.PathLike[str], name: str) -> list[str]:
    """Give the statements that do the same elsewhere, with the study's own study.duckdb: in DuckDB's command line, say.

    Raises:
        InputError: The name is none.
        StudyError: There are no results, or no study.duckdb.
    """
    check_name(name)
    database, path = database_of(study), Path(study).resolve() / "study.duckdb"
    if not path.exists():
        raise StudyError(f"{path}: no such file", "run `streameval evaluate` again")
    return [attach_statement(path, name, "IF NOT EXISTS "), *database.macros(name)]
