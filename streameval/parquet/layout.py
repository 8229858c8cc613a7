"""Layout of a Parquet footer, read from its bytes alone: no library sees a footer before it is known to be sound.

Libraries end the process over statistics that are too short, level histograms that do not fit the schema, values
counted wrongly. Here every number is held against the size of the file and the schema first, and what libraries get to
see is a footer of our own that has neither statistics nor indexes (`writing`).
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streameval.errors import InputError
from streameval.kernels import parquet as kernels
from streameval.kernels.jit import small
from streameval.parquet.images import MAGIC, ending
from streameval.parquet.schema import Column, columns_of, named_columns
from streameval.struct_fields import with_fields
from streameval.typing import Int64Array

CORRUPT = "the file is corrupt there, or its writer is at fault; write it again"


def read_columns(path: str, schema: bytes) -> Mapping[str, Column]:
    """Read the columns of a footer's schema, by name; fields of structs are among them.

    Args:
        schema: Its elements, as the footer holds them.

    Raises:
        InputError: There is no schema, a column's name is no text, or two columns have one name.
    """
    try:
        columns = columns_of(schema)
    except UnicodeDecodeError as error:
        raise InputError(
            f"{path}: a column has a name that is not UTF-8 ({error.object[:40]!r})", "rename it where it is written"
        ) from error
    except ValueError as error:
        raise InputError(f"{path}: its Parquet schema cannot be read ({error})", CORRUPT) from error
    except (LookupError, TypeError, AttributeError) as error:  # whose arguments are no words of the format
        raise InputError(f"{path}: its Parquet schema cannot be read (an element lacks a field)", CORRUPT) from error
    seen: set[str] = set()
    for column in columns:
        if column.name in seen:
            raise InputError(f"{path}: two columns are named '{column.name}'", "rename one where the file is written")
        seen.add(column.name)
    return named_columns(schema)


def schema_bytes(raw: bytes) -> bytes:
    """The list of schema elements, as a footer holds it; empty where there is none."""
    with small(len(raw)):
        return span(raw, find_fields(raw)[0], kernels.SCHEMA_AT)


def key_values(raw: bytes) -> bytes:
    """The list of key-value pairs, as a footer holds it; empty where there is none."""
    with small(len(raw)):
        return span(raw, find_fields(raw, stop=0)[0], kernels.KEYS_AT)


def find_fields(raw: bytes, stop: int = 4) -> tuple[Int64Array, bool]:
    """Give what `streameval.kernels.parquet.find_fields` finds from the beginning on, and what it returns."""
    places = np.full(kernels.N_FOUND, -1, dtype=np.int64)
    stopped = bool(kernels.find_fields(np.frombuffer(raw, np.uint8), 0, 0, stop, places))
    if stopped and min(places[: kernels.GROUPS_AT].tolist()) < 0:
        return find_fields(raw, stop=0)  # they may follow
    return places, stopped


def span(raw: bytes, places: Int64Array, slot: int) -> bytes:
    """A field that `find_fields` found; empty where it did not."""
    return raw[places[slot] : places[slot + 1]] if places[slot] >= 0 else b""


def arrow_schema(path: str, schema: bytes, keys: bytes) -> pa.Schema:
    """Have Arrow name the types of a schema; an `InputError` where it cannot.

    Args:
        schema, keys: Schema elements and key-value pairs, as a footer holds them. Of the latter what pandas says of its
            frame is kept.

    Fields of structs follow the columns (`with_fields`).
    """
    try:
        return _arrow_schema(schema, keys)
    except (pa.ArrowException, OSError, ValueError, NotImplementedError) as error:
        raise InputError(f"{path}: its Parquet schema cannot be read ({error})") from error


@lru_cache(maxsize=64)
def _arrow_schema(schema: bytes, keys: bytes) -> pa.Schema:
    plain = MAGIC + ending(schema, [], keys=keys)
    # Thrift's containers are counted before they are allocated: a footer cannot claim more entries than bytes
    with pq.ParquetFile(
        pa.BufferReader(plain), thrift_string_size_limit=len(plain), thrift_container_size_limit=len(plain)
    ) as file:
        frame = (file.metadata.metadata or {}).get(b"pandas")
        stored_schema = file.metadata.schema.to_arrow_schema().with_metadata({b"pandas": frame} if frame else None)
        return with_fields(stored_schema)
