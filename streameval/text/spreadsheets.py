"""Cells of CSV that people open: a spreadsheet runs a text that begins with =, +, -, @, a tab or a line break."""

from __future__ import annotations

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")


def harmless(cell: str) -> str:
    """Put an apostrophe before a text that would run, which spreadsheets take for "this is text".

    >>> harmless("=1+1"), harmless("1+1")
    ("'=1+1", '1+1')
    """
    return "'" + cell if cell.lstrip(" ").startswith(_FORMULA) else cell
