"""Why pages cannot be decoded, in words of the format: what Arrow says of it names functions and numbers of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from streameval.errors import InputError, StreamevalError, outside_trouble

_UNKNOWN = "its pages are damaged, or not what their headers say"
_WORDS = (
    (r"not (yet )?(implemented|supported)|unsupported|unknown encoding|no conversion", "the reader has no such type or "
     "encoding"),
    (r"compress|corrupt \w+ |inflate|codec", "a page cannot be decompressed"),
    (r"levels", "its repetition and definition levels do not fit its values"),
    (r"crc|checksum", "a page's checksum differs"),
    (r"thrift|deserialize|page header", "the header of a page cannot be read"),
    (r"utf-?8", "a text is not UTF-8"),
    (r"out of (bounds|range)|dictionary", "a value is no entry of its dictionary"),
    (r"decimal|precision|does not fit", "a number has more digits than its column allows"),
    (r"end of (stream|file)|\beof\b|truncat|smaller|fewer|not enough|insufficient|too short|rows instead of",
     "a page ends too early"),
)  # fmt: skip


UNDECODABLE = "the file is damaged there, or has a type or encoding that the reader does not know"


def why_undecodable(error: BaseException) -> str:
    """Say in words of the format what is wrong with pages, of what Arrow raised.

    >>> why_undecodable(OSError("Corrupt snappy compressed data."))
    'a page cannot be decompressed'
    """
    return next((words for pattern, words in _WORDS if re.search(pattern, str(error), re.IGNORECASE)), _UNKNOWN)


@contextmanager
def decoding(place: str, hint: str = UNDECODABLE) -> Iterator[None]:
    """Raise what Arrow raises as an `InputError` that names the place; trouble of a disk or a store as such."""
    try:
        yield
    except StreamevalError:
        raise
    except (pa.ArrowException, OSError, NotImplementedError) as error:
        raise outside_trouble(error) or InputError(
            f"{place} cannot be decoded ({why_undecodable(error)})", hint
        ) from error
