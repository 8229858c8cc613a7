"""Rows of a query as text, CSV and JSON: whatever type SQL has, in a form that readers of each expect."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sys
from collections.abc import Callable, Sequence
from decimal import Decimal
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from streameval.cli.log import finite
from streameval.cli.picture import columns
from streameval.errors import InputError
from streameval.text import printable
from streameval.text.spreadsheets import harmless

if TYPE_CHECKING:
    import pyarrow as pa

    from streameval.stores.atomic import Existing

STDOUT = Path("-")
_SHOWN = 100  # rows on a terminal


def as_table(table: pa.Table) -> list[str]:
    """Every row and column where the output is piped; on a terminal the first rows, and the columns that fit."""
    if not table.num_columns:
        return []
    rows = table.num_rows if not sys.stdout.isatty() else min(table.num_rows, _SHOWN)
    cells = [[_cell(value) for value in column] for column in _values(table.slice(0, rows))]
    wide = _fitting(table.column_names, cells) if sys.stdout.isatty() else table.num_columns
    lines = columns(table.column_names[:wide], [list(row) for row in zip(*cells[:wide], strict=True)])
    if rows < table.num_rows:
        lines.append(f"... {table.num_rows - rows:,} more rows")
    if wide < table.num_columns:
        lines.append(f"... {table.num_columns - wide:,} more columns: {', '.join(table.column_names[wide:])}")
    return lines


def _fitting(names: Sequence[str], cells: Sequence[Sequence[str]]) -> int:
    """Tell how many columns, one at least, a terminal shows without cutting a number short."""
    from rich.cells import cell_len

    room = shutil.get_terminal_size().columns
    for i, (name, column) in enumerate(zip(names, cells, strict=True)):
        room -= max(cell_len(printable(cell)) for cell in (name, *column)) + 3
        if room < 0:
            return max(i, 1)
    return len(names)


def as_json(table: pa.Table) -> list[dict[str, Any]]:
    """One object a row; numbers are numbers, and what JSON has no word for is text."""
    names = table.column_names
    return [dict(zip(names, map(_plain, row), strict=True)) for row in zip(*_values(table), strict=True)]


def print_csv(table: pa.Table) -> None:
    """Print faithfully to a file or pipe; to a terminal without what it would obey."""
    _write_csv(table, sys.stdout, printable if sys.stdout.isatty() else str)


def _write_csv(table: pa.Table, file: IO[str], shown: Callable[[str], str]) -> None:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([shown(name) for name in table.column_names])
    for row in zip(*_values(table), strict=True):
        writer.writerow([_csv_cell(value, shown) for value in row])


def _csv_cell(value: Any, shown: Callable[[str], str]) -> str:
    if isinstance(value, dict | list):
        return shown(json.dumps(finite(_plain(value))))
    if isinstance(value, str | bytes):
        return shown(str(_word(value)))
    return "" if value is None else str(value)


def refuse_form(path: Path) -> None:
    """Refuse a path whose ending names no form of rows (InputError)."""
    if path != STDOUT and path.suffix not in (".parquet", ".csv"):
        raise InputError(f"{path}: its ending names no form of rows", "end it in .parquet or .csv; - prints CSV")


def write(table: pa.Table, path: Path, existing: Existing = "kept") -> None:
    """Write one file (`atomic.write_out`), in the form of its ending; an `InputError` for a type that Parquet lacks.

    In CSV, texts that a spreadsheet would run get an apostrophe before them.
    """
    import pyarrow as pa

    from streameval.stores import atomic

    if path.suffix == ".csv":
        text = io.StringIO()
        _write_csv(table, text, harmless)
        atomic.write_out({path: atomic.text(text.getvalue())}, existing)
        return
    try:
        atomic.write_out({path: atomic.parquet(table, {})}, existing)
    except pa.ArrowNotImplementedError as error:
        kinds = ", ".join(f"{field.name} {field.type}" for field in table.schema)
        raise InputError(f"Parquet cannot hold a type of these columns: {kinds}", "cast it: i::VARCHAR") from error


def _values(table: pa.Table) -> list[list[Any]]:
    """Columns as Python's values; an `InputError` for a value that Python lacks, such as the date infinity."""
    import pyarrow as pa

    values = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            values.append(column.to_pylist())
        except (OverflowError, ValueError, ImportError, pa.ArrowException) as error:
            where = f"column {name} ({column.type}) holds what cannot be printed: {error}"
            raise InputError(where, f"cast it: {name}::VARCHAR") from error
    return values


def _word(value: Any) -> str | None:
    """Text of a value; bytes as DuckDB writes them."""
    if isinstance(value, bytes):
        return "".join(chr(byte) if 32 <= byte < 127 and byte != 92 else f"\\x{byte:02X}" for byte in value)
    return None if value is None else str(value)


def _cell(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{key} {_cell(part)}" for key, part in value.items())
    if isinstance(value, list):
        return f"[{', '.join(map(_cell, value))}]"
    return "NULL" if value is None else str(_word(value))


def _plain(value: Any) -> Any:
    """Only what JSON has."""
    if isinstance(value, dict):
        return {str(key): _plain(part) for key, part in value.items()}
    if type(value) in (list, tuple):
        return [_plain(part) for part in value]
    if isinstance(value, Decimal):  # sums of integers are decimals to Arrow
        return int(value) if value.as_tuple().exponent == 0 else float(value)
    return value if isinstance(value, bool | int | float) else _word(value)
