"""Excel workbooks: the first sheet, whose first row names its columns."""

from __future__ import annotations

import os
import zipfile
from typing import Any

import pyarrow as pa

from streameval.errors import InputError, need
from streameval.labelling.duckdb_session import Connection
from streameval.labelling.readers import Opened, file_digest
from streameval.labelling.readers.memory import register
from streameval.text import first_line

READS = "Excel workbooks"


def accepts(source: Any, head: bytes | None) -> bool:
    """Tell whether a file is a ZIP archive with a workbook in it."""
    if head is None or not head.startswith(b"PK"):
        return False
    try:
        with zipfile.ZipFile(os.fspath(source)) as archive:
            return "xl/workbook.xml" in archive.namelist()
    except zipfile.BadZipFile:
        return False


def read(connection: Connection, source: Any) -> Opened:
    """Register the rows; numbers are floats, as Excel stores them, so that ids beyond 2^53 are refused as keys."""
    path = os.fspath(source)
    fastexcel = need("fastexcel", "excel", "Excel workbooks")
    try:
        table = pa.table(fastexcel.read_excel(path).load_sheet(0, schema_sample_rows=None).to_arrow())
    except fastexcel.FastExcelError as error:
        raise InputError(
            f"{path}: its first sheet cannot be read ({first_line(error)})", "save it again, or as CSV UTF-8"
        ) from error
    opened = register(connection, table, path)
    return Opened(path, file_digest(path), opened.columns)
