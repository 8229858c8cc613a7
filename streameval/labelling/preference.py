"""Which sources `--prefer` names: by what a column `source` says, else by the name of the table.

A file is meant by its name with or without its ending: `person` and `person.csv` mean person.csv.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import PurePath

import pyarrow as pa

from streameval.errors import InputError
from streameval.text import short

_MOST = 8  # sources that are named


def places(stored: pa.Table, prefer: Sequence[str]) -> dict[str, int]:
    """Place of every source that is preferred, 0 for the best; names of no source are left out."""
    if not prefer:
        return {}
    known = {name: place for place, name in reversed(list(enumerate(prefer)))}
    met = ((origin, [known[name] for name in names if name in known]) for origin, names in _sources(stored))
    return {origin: preferred[0] for origin, preferred in met if preferred}


def check_preferred(stored: pa.Table, prefer: Sequence[str]) -> None:
    """Refuse a name that no source has: it is misspelt, or its labels did not come yet."""
    sources = dict(_sources(stored))
    names = {name for one in sources.values() for name in one}
    for name in prefer:
        if name not in names:
            there = ", ".join(short(one) for one in list(sources)[:_MOST])
            more = f" and {len(sources) - _MOST:,} more" if len(sources) > _MOST else ""
            raise InputError(f"--prefer: no label is of source '{short(name)}'", f"there are: {there}{more}")


def _sources(stored: pa.Table) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Every source, with the names that mean it; its own comes first."""
    origins = stored.group_by("origin").aggregate([("source", "count")]).sort_by("origin")
    for origin, said in zip(*(origins.column(name).to_pylist() for name in ("origin", "source_count")), strict=True):
        yield origin, (origin,) if said else (origin, PurePath(origin.removesuffix(".gz")).stem)
