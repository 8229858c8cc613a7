"""Label tables that a command would read: how large they are."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass

from streameval.errors import InputError
from streameval.labelling.readers import is_address
from streameval.parquet.files import DataFile
from streameval.parquet.footers import read_footer
from streameval.stores import is_remote, store_of
from streameval.text.credentials import masked_source


@dataclass(frozen=True)
class LabelTable:
    """A label table that would be read.

    Attributes:
        bytes: None for a query.
        rows: Where a footer says so: of Parquet.
    """

    source: str
    bytes: int | None
    rows: int | None


def forecast_labels(sources: Sequence[str]) -> list[LabelTable]:
    """Say how large label tables are, by paths and addresses; queries are not run."""
    shown = (masked_source(source.partition("#")[0]) if is_address(source) else source for source in sources)
    return [LabelTable(name, *_size(source)) for name, source in zip(shown, sources, strict=True)]


def _size(source: str) -> tuple[int | None, int | None]:
    if is_address(source):
        return None, None
    if not is_remote(source) and not os.path.isfile(source):
        raise InputError(f"{source}: no such file")
    with store_of(source).open(source) as file:
        size = file.state[0]
        ends = bytes(file.read([(max(0, size - 4), 4)])[0])
    if ends != b"PAR1":
        return size, None
    return size, int(read_footer(DataFile(source, source, ()), None).row_group_rows.sum())
