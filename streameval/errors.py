"""What can go wrong, as a tree; each branch has its exit status.

::

    StreamevalError (ValueError)
    ├── InputError     what was given cannot be used             exit status 2
    │   └── NoRowsError    because it has no rows
    ├── StudyError     the files of a study do not fit together  exit status 2
    └── OutsideError   disk, memory, network: worth a retry      exit status 3

Anything else that escapes is a defect of ours (exit status 1).
"""

from __future__ import annotations

import difflib
import errno
import os
import re
from collections.abc import Callable, Iterable
from numbers import Integral
from pathlib import Path
from typing import Any, TypeVar

from streameval.text.credentials import mask
from streameval.text.numbers import whole_number
from streameval.text.options import with_flags, with_keywords

AnyAsked = TypeVar("AnyAsked")
AnyAnswer = TypeVar("AnyAnswer")
EXIT_DONE = 0
EXIT_DEFECT = 1
EXIT_INPUT = 2
EXIT_OUTSIDE = 3
EXIT_FAILS = 4  # `check`: the bounds prove that a condition is not met
EXIT_INCONCLUSIVE = 5  # `check`: they prove neither, or not yet: planned labels are missing
EXIT_INTERRUPTED = 130

_OUTSIDE_ERRNOS = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM, errno.EMFILE, errno.EIO, errno.ETIMEDOUT}
_PATH_ERRNOS = {
    errno.ENOENT,
    errno.EACCES,
    errno.EPERM,
    errno.ENOTDIR,
    errno.EISDIR,
    errno.EROFS,
    errno.ELOOP,
    errno.EEXIST,
    errno.EINVAL,
    errno.ENAMETOOLONG,
}
_OUTSIDE_PHRASES = ("no space left on device", "disk quota exceeded", "file too large", "out of memory")


class StreamevalError(ValueError):
    """One line: what, where, hint; passwords and signatures in addresses are hidden.

    Options are named as flags (`--half-width`), which `str` shows as Python's keywords.

    Args:
        what: What is wrong, with the numbers that show it.
        hint: What the reader can do next.
    """

    exit_status = EXIT_INPUT

    def __init__(self, what: str, hint: str | None = None) -> None:
        self.what = mask(" ".join(what.split()))
        self.hint = mask(" ".join(hint.split())) if hint else None
        super().__init__(with_keywords(self._text))

    @property
    def line(self) -> str:
        """The line as the command line prints it: options are flags, where `str` names Python's keywords."""
        return with_flags(self._text)

    @property
    def _text(self) -> str:
        stop = "" if self.what.endswith((".", "?", "!")) else "."
        return f"{self.what}{stop} Hint: {self.hint}" if self.hint else self.what


class InputError(StreamevalError):
    """Input (a path, a parameter, a table, a label) that cannot be used."""


class NoRowsError(InputError):
    """A table that can be used, but for having no rows."""


class NothingMetError(InputError):
    """A table whose rows may be about items, and are about none of those that were asked for."""


class StudyError(StreamevalError):
    """The files of a study do not fit together, or do not fit what was asked."""


class OutsideError(StreamevalError):
    """Something outside the program failed; the same command may succeed later."""

    exit_status = EXIT_OUTSIDE


def installed_by(extra: str) -> str:
    """The command that installs what an extra brings: by the libraries' names, since no package index knows ours.

    >>> installed_by("delta").partition(">")[0]
    "pip install 'deltalake"
    """
    import shlex
    from importlib.metadata import requires

    wanted = (requirement.partition(";") for requirement in requires("streameval") or ())
    names = [name.strip() for name, _, when in wanted if when.replace("'", '"').strip() == f'extra == "{extra}"']
    return f"pip install {shlex.join(names)}"


def need(module: str, extra: str, what: str | None = None) -> Any:
    """Import a library that an extra brings; an `InputError` says what needs it, and how to install it."""
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        missing = f"{what or f'{extra} tables'} need {module.split('.')[0]}, which is not installed"
        raise InputError(missing, installed_by(extra)) from error


def outside_trouble(error: BaseException, where: object = None) -> OutsideError | None:
    """Recognise a full disk, exhausted memory and their like in an error of any library.

    Args:
        error: What a library raised; libraries wrap the operating system's errors in types of their own.
        where: What was being written or read, for an error that does not say so.

    Returns:
        OutsideError or None: The error to raise instead, or None where it is none of these.

    >>> print(outside_trouble(OSError(28, "No space left on device")))
    No space left on device. Hint: nothing half-written was left behind; make room and run the same command again
    """
    text = " ".join(str(error).split())
    is_recognised = isinstance(error, MemoryError) or getattr(error, "errno", None) in _OUTSIDE_ERRNOS
    if not is_recognised and not any(phrase in text.lower() for phrase in _OUTSIDE_PHRASES):
        return None
    if isinstance(error, OSError) and error.strerror:
        text = error.strerror
        where = _final_name(error.filename) if error.filename else where
    text = text or "out of memory"
    return OutsideError(
        text if where is None or str(where) in text else f"{where}: {text}",
        "nothing half-written was left behind; make room and run the same command again",
    )


def unusable_path(error: OSError) -> InputError | None:
    """Recognise a path that cannot be used: missing, forbidden, a folder where a file belongs, and their like."""
    if error.errno not in _PATH_ERRNOS or error.strerror is None:
        return None
    where = f"{_final_name(error.filename)}: " if error.filename else ""
    return InputError(f"{where}{error.strerror[0].lower()}{error.strerror[1:]}")


def _final_name(path: object) -> str:
    """The name a file was to have: it is first written in a folder beside it (`streameval.stores.temporary`)."""
    path_shown = re.sub(r"\.streameval\.[^./]+\.part/", "", str(path))
    return re.sub(r"\.([^/]+)\.[^./]+\.part(?=/|$)", r"\1", path_shown)


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Hint at the closest of the known names, or list them.

    >>> did_you_mean("scor", ["item", "score"])
    "did you mean 'score'?"
    >>> did_you_mean("zzz", ["item", "score"])
    'there are: item, score'
    """
    names = list(candidates)
    if close := closest(name, names):
        return close
    shown = ", ".join(names[:12])
    return f"there are: {shown}{' …' if len(names) > 12 else ''}" if names else "there are none"


def closest(name: str, candidates: Iterable[str]) -> str | None:
    """Hint at the closest of the known names; None where none is close.

    Capitals and what separates words count for nothing, and a name that begins like it is close.

    >>> closest("scoreA", ["score_a", "score_b"]), closest("conf", ["id", "Confidence"])
    ("did you mean 'score_a'?", "did you mean 'Confidence'?")
    """
    plain = {"".join(filter(str.isalnum, candidate.lower())): candidate for candidate in reversed(list(candidates))}
    wanted = "".join(filter(str.isalnum, name.lower()))
    begins = sorted(candidate for candidate in plain if len(wanted) > 2 and candidate.startswith(wanted))
    close = [wanted] * (wanted in plain) or difflib.get_close_matches(wanted, list(plain), n=1) or begins
    return f"did you mean '{plain[close[0]]}'?" if close else None


def of_each(wanted: Iterable[AnyAsked], answer: Callable[[AnyAsked], AnyAnswer]) -> list[AnyAnswer]:
    """AnyAnswer all that is asked; one `InputError` names everything that has no answer."""
    answers, refused = [], []
    for item in wanted:
        try:
            answers.append(answer(item))
        except InputError as error:
            refused.append(error)
    if len(refused) > 1:
        hints = dict.fromkeys(error.hint for error in refused if error.hint)
        raise InputError("; ".join(error.what for error in refused), "; ".join(hints) or None)
    if refused:
        raise refused[0]
    return answers


def misses_or_study(misses: object) -> int | Path:
    """Tell how many misses there are, or which study bounds them: a text that is no number names its folder."""
    if not isinstance(misses, str | os.PathLike):
        return check_misses(misses)
    text = os.fspath(misses)
    try:
        return check_misses(whole_number(text))
    except InputError:
        raise
    except ValueError as error:
        if re.fullmatch(r"[-+.\d_,e]+", str(text)):
            raise InputError(f"--misses: {error}", _MISSES) from None
        return Path(text)


def check_misses(misses: object) -> int:
    """Read a number of positives that were never returned: an `InputError` unless it is a whole number in 0..2⁵³."""
    if not isinstance(misses, Integral) or isinstance(misses, bool):
        raise InputError(f"--misses is {misses!r}, not a whole number", _MISSES)
    if misses < 0:
        raise InputError(f"--misses is {int(misses):,}, below 0", _MISSES)
    if int(misses) > _MOST_MISSES:
        raise InputError(f"--misses is {int(misses):,}, above {_MOST_MISSES:,}", _MISSES)
    return int(misses)


def check_price(price: float | None) -> float | None:
    """Read what a label costs: an `InputError` for what is no price."""
    if price is not None and not 0 <= price < float("inf"):
        raise InputError(f"--price-per-label is {price}, not a price")
    return price


_MOST_MISSES = 2**53  # every whole number to here is a float64
_MISSES = "it counts positives that the ranking never returned"
