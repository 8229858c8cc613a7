"""The label of every item of a list from a table beside it, joined by rank or by key out of core."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from streameval.errors import InputError
from streameval.kernels.jit import read_only
from streameval.kernels.placing import MISSING, place_labels
from streameval.labelling.columns import (
    SourceColumns,
    as_columns,
    call_it_so,
    find,
    item_names,
    joined_on,
    key_join,
    shared_names,
)
from streameval.labelling.duckdb_session import Connection, in_batches, one_line_errors, open_session
from streameval.labelling.hints import naming_number, naming_word, plain, refuse_unreached
from streameval.labelling.key_forms import first_of_each, refuse_ambiguous, refuse_inexact_items
from streameval.labelling.options import LabelColumns, LabelMeaning
from streameval.labelling.readers import name_of, open_source
from streameval.labelling.reading import refuse_words_of_no_row
from streameval.stores.temporary import mapped_bytes
from streameval.typing import UInt8Array

_MEMORY = "1GB"
_POSITION = "se_position"
_ROWS = 1 << 20


@dataclass(frozen=True)
class ItemKeys:
    """Key columns of a list, as it is stored.

    Attributes:
        names: The columns that the list has.
        batches (callable(names) -> iterator of pyarrow.Table): Those columns of consecutive rows.
        ranked ({"stored", "scored"}): Whether the stored order is that of the ranks.
    """

    names: Sequence[str]
    batches: Any
    ranked: str


@dataclass(frozen=True)
class JoinedLabels:
    """The label of every item of a list.

    Attributes:
        values (uint8 array, shape (n_items,)): By stored position, 0 or 1; mapped from a file.
        unnamed: Items that are negative because a table of positives does not name them.
        of_no_item: Rows with a label whose key is that of no item.
    """

    values: UInt8Array
    unnamed: int
    of_no_item: int


def join_labels(
    source: Any, columns: LabelColumns, meaning: LabelMeaning, n_items: int, keys: ItemKeys, folder: Path
) -> JoinedLabels:
    """Read the label of every item.

    Args:
        source: See `read_votes`.
        columns: `on`: the rank, where the stored order is that of the ranks, or key columns of the items.
        meaning: Its `relevant` says which grades are positive; `columns` have the words.
        folder: Where the labels, a byte for each item, and what the join spills may lie.

    Raises:
        InputError: A source that cannot be read; a label that is not 0/1, an item without a label or with two that
            differ.
    """
    out = mapped_bytes(folder / "labels", n_items)
    out[:] = MISSING
    with (
        tempfile.TemporaryDirectory(dir=folder) as spill,
        open_session(spill, _MEMORY) as connection,
        one_line_errors(name_of(source)),
    ):
        opened = open_source(connection, source)
        fields = find(connection, opened, columns, lambda there: [name for name, _ in shared_names(there, keys.names)])
        joined, least, most = 0, np.inf, -np.inf
        for batch in _joined_batches(connection, fields, keys, n_items, opened.name):
            _place(batch, out, meaning, opened.name)
            joined += batch.num_rows
            values = batch.column(1).to_numpy(zero_copy_only=False)
            least, most = min(least, values.min(initial=least)), max(most, values.max(initial=most))
        if meaning.relevant is not None and joined and not np.any(out == 1):
            refuse_unreached(meaning.relevant, joined, least, most)
        of_no_item = _rows_of_no_item(connection, joined) if fields.role == "key" else 0
    missing = int(np.sum(out == MISSING))
    if columns.labels_are == "positives":
        out[out == MISSING] = 0
        return JoinedLabels(out, missing, of_no_item)
    if missing:
        first = int(np.argmax(out == MISSING))
        raise InputError(
            f"{name_of(source)}: {missing:,} of {n_items:,} items have no label (first: stored row {first + 1:,})",
            "an exact evaluation needs the label of every item; --labels-are=positives says that all others are "
            "negative",
        )
    return JoinedLabels(out, 0, of_no_item)


def _joined_batches(
    connection: Connection, columns: SourceColumns, keys: ItemKeys, n_items: int, name: str
) -> Iterator[pa.RecordBatch]:
    """Position and label of every row that has one."""
    value, state = columns.answer(columns.label_value, columns.work_status)
    if columns.role == "key":
        join, unclear = _by_keys(connection, columns, keys, name)
        rows = f"SELECT {_POSITION}, ({value})::DOUBLE AS value FROM se_given JOIN se_items ON {join}"
        connection.execute(f"CREATE TEMP VIEW se_valued AS SELECT * FROM se_given WHERE ({value}) IS NOT NULL")
        of_no_item = f"SELECT 1 FROM se_valued AS se_given ANTI JOIN se_items ON {join}"
        connection.execute(f"CREATE TEMP VIEW se_of_no_item AS {of_no_item}")
    elif columns.role == "rank" and keys.ranked == "stored":
        unclear = columns.ambiguous_rank(n_items)
        rows = f"SELECT ({columns.rank}) - 1 AS {_POSITION}, ({value})::DOUBLE AS value FROM se_given"
    else:
        raise InputError(
            f"{name}: labels by {columns.keys[0]}, but the rows of this list do not lie in the order of their ranks",
            "join labels by columns of the items, with --on COL",
        )
    connection.execute(
        f"CREATE TEMP VIEW se_labels AS SELECT {columns.label_value} AS label, {columns.work_status} AS status "
        "FROM se_given"
    )
    refuse_words_of_no_row(connection, columns, name, "se_labels")
    odd = connection.execute(
        f"SELECT ({columns.label_value})::VARCHAR, {unclear} FROM se_given WHERE ({state}) = 'unreadable' OR {unclear} "
        "LIMIT 1"
    )
    for label, lost in odd.fetchall():
        if lost:
            refuse_ambiguous(connection, columns.key_kinds, unclear, name)
        raise InputError(
            f"{name}: label '{str(label)[:40]}' is not 0 or 1", naming_word(str(label).strip(), columns.words)
        )
    labelled = 0
    for batch in in_batches(connection.sql(f"SELECT * FROM ({rows}) WHERE value IS NOT NULL"), _ROWS):
        labelled += batch.num_rows
        yield batch
    if not labelled and columns.role == "key":
        ((met,),) = connection.execute(f"SELECT EXISTS ({rows})").fetchall()
        if not met:
            raise InputError(
                f"{name}: {', '.join(columns.keys)} matches no item of the list "
                f"({first_of_each(connection, columns.key_kinds, 'se_first', 'in the list')})",
                "name columns that hold the same identifiers in both",
            )


def _rows_of_no_item(connection: Connection, joined: int) -> int:
    """Count them, of a table joined by key; they are looked for where not every row met one item."""
    ((valued,),) = connection.execute("SELECT count(*) FROM se_valued").fetchall()
    if valued == joined:
        return 0
    ((count,),) = connection.execute("SELECT count(*) FROM se_of_no_item").fetchall()
    return int(count)


def _by_keys(connection: Connection, columns: SourceColumns, keys: ItemKeys, name: str) -> tuple[str, str]:
    """Make the table `se_items`; returns what joins it, and what is true of keys that may have been others."""
    names = item_names(columns, keys.names, name, "the list", lambda key: call_it_so(key, keys.names))
    into = "CREATE TEMP TABLE se_items AS"
    for table in keys.batches(names):
        join = key_join(connection, columns, names, ("se_first", table), "the list")
        refuse_inexact_items(connection, "se_first", join.columns, "the list")
        connection.execute(f"{into} SELECT {_POSITION}, {as_columns(join.items)} FROM se_first")
        into = "INSERT INTO se_items"
    return joined_on("se_items", join.rows), join.ambiguous


def _place(batch: pa.RecordBatch, out: UInt8Array, meaning: LabelMeaning, name: str) -> None:
    positions = batch.column(0).cast(pa.int64())
    if positions.null_count:
        raise InputError(f"{name}: a row has no rank that can be read")
    at = positions.to_numpy()
    if at.size and (at.min() < 0 or at.max() >= out.size):
        bad = int(at[(at < 0) | (at >= out.size)][0])
        raise InputError(
            f"{name}: rank {bad + 1:,} is outside 1..{out.size:,}", "is this label table about another list?"
        )
    values = batch.column(1).to_numpy(zero_copy_only=False)
    labels = values if meaning.level is None else meaning.is_positive(values).astype(np.float64)
    wrong = place_labels(read_only(at), read_only(labels), out)
    if wrong >= 0:
        where = f"the item of stored row {int(at[wrong]) + 1:,}"
        if labels[wrong] in (0.0, 1.0):
            raise InputError(f"{name}: {where} has two labels that differ", "give one label per item")
        raise InputError(f"{name}: {where} has label {plain(values[wrong])}, not 0 or 1",
                         naming_number(values[wrong], values, meaning))  # fmt: skip
