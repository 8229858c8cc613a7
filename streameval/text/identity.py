"""Names of content: digits of its hash."""

import re

_NO_NUMBER = re.compile("(?=.{0,14}[abcdf])[0-9a-f]{16}")


def as_text(digest: str) -> str:
    """Give the first sixteen digits in a row of a hexadecimal digest that no program takes for a number.

    Spreadsheets, pandas and label tools read 7e09422642878561 in a CSV file as infinity, and 0012345678901234 as a
    number without its zeros: a study would not know its own tasks again.
    """
    found = _NO_NUMBER.search(digest)
    return found[0] if found else digest[:16]
