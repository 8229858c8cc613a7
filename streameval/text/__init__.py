"""Text from files as a terminal may show it: nothing in it moves the cursor, sets a colour or turns the writing."""

from __future__ import annotations

import html
import re
import unicodedata

_ESCAPED = {"Cc", "Cf", "Cs", "Zl", "Zp"}  # control, format (bidirectional too), surrogates, line ends
_NO_NUMBER = re.compile("(?=.{0,14}[abcdf])[0-9a-f]{16}")


def printable(text: str) -> str:
    r"""Write characters that a terminal would obey as escapes.

    >>> print(printable("a" + chr(27) + "[2J" + chr(0x9B) + "b" + chr(0x202E) + chr(10)))
    a\x1b[2J\x9bb\u202e\n
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(_escape(char) if unicodedata.category(char) in _ESCAPED else char for char in text)


def escape(value: object) -> str:
    """Write any value for HTML: as text that is neither markup nor a control character."""
    return html.escape(printable(str(value)))


def _escape(char: str) -> str:
    return repr(char)[1:-1] if not char.isprintable() else f"\\u{ord(char):04x}"


def short(name: str, most: int = 48) -> str:
    """Cut a value that a table or chart is headed by where it is long; say of an empty one that it is.

    >>> short("de"), short(""), short("x" * 100, 5)
    ('de', '(empty)', 'xxxx…')
    """
    return (name if len(name) <= most else f"{name[: most - 1]}…") or "(empty)"


def first_line(error: BaseException, most: int = 200) -> str:
    r"""The first line of an error that is not empty, shortened in the middle: the reason stands last.

    >>> first_line(ValueError("it is  torn\nat line 3")), first_line(OSError("\n"))
    ('it is torn', 'OSError')
    """
    line = next((" ".join(line.split()) for line in str(error).splitlines() if line.strip()), type(error).__name__)
    return line if len(line) <= most else f"{line[: most // 2]} … {line[-most // 2 :]}"


def number_of(count: int, noun: str) -> str:
    """Say how many there are of a noun that takes an s.

    >>> number_of(1, "ranking"), number_of(2_000, "ranking")
    ('1 ranking', '2,000 rankings')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def row_of(place: str, row: int) -> str:
    """Name a row of a place: within a row group it counts from 0, as row groups do for every reader of Parquet.

    Args:
        row: From 0.

    >>> row_of("a.parquet: row group 0", 17), row_of("column 'label'", 17)
    ('a.parquet: row group 0, row 17 (from 0)', "column 'label', row 18")
    """
    return f"{place}, row {row:,} (from 0)" if ": row group " in place else f"{place}, row {row + 1:,}"


def those_with(count: int, noun: str) -> str:
    """Say how many have something, or lack it.

    >>> those_with(1, "item"), those_with(2, "item")
    ('1 item has', '2 items have')
    """
    return f"{number_of(count, noun)} {'has' if count == 1 else 'have'}"


def json_safe(text: str) -> str:
    r"""Escape in JSON what JSON allows and a terminal obeys: DEL, and controls above it.

    >>> json_safe('"' + chr(0x9B) + 'é"')
    '"\\u009bé"'
    """
    if text.isascii() and chr(127) not in text:
        return text
    return "".join(
        f"\\u{ord(char):04x}"
        if ord(char) > 31 and ord(char) < 0x10000 and unicodedata.category(char) in _ESCAPED
        else char
        for char in text
    )


def identity(digest: str) -> str:
    """Give the first sixteen digits in a row of a hexadecimal digest that no program takes for a number.

    Spreadsheets, pandas and label tools read 7e09422642878561 in a CSV file as infinity, and 0012345678901234 as a
    number without its zeros: a study would not know its own tasks again.
    """
    match = _NO_NUMBER.search(digest)
    return match[0] if match else digest[:16]
