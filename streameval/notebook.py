"""How nouns show themselves in a notebook, and hand themselves to other libraries: as a table, and a picture."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from streameval.text import escape
from streameval.typing import FloatArray, Int64Array

if TYPE_CHECKING:
    import pyarrow as pa

_WIDTH, _HEIGHT = 520, 140


class Tabular:
    """A noun with a `table` (pyarrow.Table): pandas, Polars, DuckDB and whatever reads Arrow data take it."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object:
        """Hand the table to any Arrow reader (PyCapsule protocol)."""
        return self._table.__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> Any:
        """Give the table as a data frame of pandas, which has to be installed."""
        return self._table.to_pandas()

    def _repr_html_(self) -> str:
        """Show the first rows in a notebook."""
        return head(self._table, 20)

    @property
    def _table(self) -> pa.Table:
        return cast(Any, self).table


def facts(caption: str, values: Mapping[str, object]) -> str:
    """Write names and values as an HTML table."""
    return table(caption, ["", ""], [[name, value] for name, value in values.items()])


def table(caption: str, head: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Write an HTML table; whatever is in it is text.

    >>> table("a < b", ["k"], [])
    '<table><caption>a &lt; b</caption><thead><tr><th>k</th></tr></thead><tbody></tbody></table>'
    """
    heads = "".join(f"<th>{escape(name)}</th>" for name in head)
    lines = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows)
    body = f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody>"
    return f"<table>{f'<caption>{escape(caption)}</caption>' if caption else ''}{body}</table>"


def head(found: pa.Table, most: int = 5) -> str:
    """Write the first rows of a table as HTML."""
    rows = zip(*(found.slice(0, most).to_pydict().values()), strict=True)
    return table("", found.column_names, [[_rounded(value) for value in row] for row in rows])


def _rounded(value: object) -> object:
    """A value as people read it: six digits of a float, nothing where there is none."""
    return "" if value is None else f"{value:.6g}" if isinstance(value, float) else value


def band(title: str, ranks: Int64Array, lower: FloatArray, estimate: FloatArray, upper: FloatArray) -> str:
    """Draw values of 0..1 by increasing rank on a log scale, as SVG; `title` is what a screen reader says."""
    last = float(ranks[-1])
    x = _WIDTH * np.log(ranks) / max(float(np.log(ranks[-1])), 1e-9)
    around = _points(np.concatenate([x, x[::-1]]), np.concatenate([lower, upper[::-1]]))
    tens = np.array([10**i for i in range(len(f"{int(last):d}")) if 10**i < last])
    along = _WIDTH * np.log(tens) / max(float(np.log(last)), 1e-9)
    ticks = [(x, _HEIGHT + 12.0, "middle" if x else "start", f"{r:,}") for x, r in zip(along, tens, strict=True)]
    ticks += [(-4.0, _HEIGHT * (1 - y) + 4 * (1 - y), "end", f"{y:g}") for y in (0, 0.5, 1)]
    marks = "".join(
        f'<text x="{a:.1f}" y="{b:.1f}" text-anchor="{where}">{label}</text>' for a, b, where, label in ticks
    )
    return (
        f'<svg role="img" aria-label="{escape(title)}" viewBox="-24 -8 {_WIDTH + 32} {_HEIGHT + 24}" '
        f'width="{_WIDTH + 32}" font-size="10" font-family="sans-serif" fill="currentColor">{marks}'
        f'<rect width="{_WIDTH}" height="{_HEIGHT}" fill="none" stroke="#888"/>'
        f'<polygon points="{around}" fill="#2f6db0" fill-opacity=".4" stroke="#2f6db0" stroke-opacity=".4"/>'
        f'<polyline points="{_points(x, estimate)}" fill="none" stroke="#2f6db0"/></svg>'
    )


def _points(x: FloatArray, value: FloatArray) -> str:
    is_finite = ~np.isnan(value)
    x, value = x[is_finite], value[is_finite]
    y = _HEIGHT * (1 - np.clip(value, 0, 1))
    return " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x.tolist(), y.tolist(), strict=True))
