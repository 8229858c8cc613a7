"""Trouble with object stores: tried again where that may help, told in one line where it does not.

What a store says is never shown as it came: it may hold names of keys, signatures, tokens. Only its reason is.
"""

from __future__ import annotations

import random
import re
import time
from collections.abc import Callable
from typing import TypeVar

from streameval.errors import InputError, OutsideError, StreamevalError

T = TypeVar("T")

_TRIES = 6
_FIRST_PAUSE = 0.2  # seconds; each further one about twice as long
_DENIED = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|INVALID_CLIENT_TOKEN|SIGNATURE|MISSING_AUTHENTICATION|EXPIRED_TOKEN|"
    r"UNRECOGNIZED_CLIENT|HTTP status (401|403)|PERMISSION_DENIED|UNAUTHENTICATED|AuthenticationFailed|"
    r"AuthorizationFailure|credential|401 Unauthorized|403 Forbidden",
    re.IGNORECASE,
)
_NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound|bucket does not exist", re.IGNORECASE)
_ELSEWHERE = re.compile(
    r"HTTP status 30[127]|PERMANENT_REDIRECT|PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint"
)
_AWAY = re.compile(
    r"\b50[0234]\b|timed? ?out|after \d+ retries|error sending request|connection re(fused|set)|dns error|"
    r"network_connection|slow_?down|throttl",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"AWS Error ([A-Z_]+(?: \(HTTP status \d+\))?)|(HTTP status \d+|HTTP 5\d\d|[A-Z_]{6,}|timed? ?out)"
)
_PERMANENT = re.compile(r"HTTP status 4(?!08|29)\d\d|NO_SUCH_KEY|RESOURCE_NOT_FOUND|INVALID_|NOT_IMPLEMENTED")


def tried(path: str, call: Callable[[], T]) -> T:
    """Make a request, again and again with longer pauses while the store is in trouble.

    Parameters
    ----------
    path : str
        What it is about, for messages.
    call : callable

    Raises
    ------
    InputError
        No such bucket or object; access denied. Asking again would not help.
    OutsideError
        The store did not answer in six tries.
    """
    pause = _FIRST_PAUSE
    for left in reversed(range(_TRIES)):
        try:
            return call()
        except StreamevalError:
            raise
        except (OSError, TimeoutError) as error:
            refused = _refusal(path, error)
            if refused is not None:
                raise refused from None
            if not left:
                raise OutsideError(
                    f"{path}: the store does not answer ({_reason(error)}; {_TRIES} tries)",
                    "nothing half-written was left behind; run the same command again later",
                ) from None
            time.sleep(pause * random.uniform(0.5, 1.0))  # so that many readers do not come back at once
            pause *= 2
    raise OutsideError(f"{path}: the store does not answer")


def meaning(path: str, error: Exception) -> StreamevalError | None:
    """Say what an error means that another library's client of a store gave up with; None where it is of another kind.

    Parameters
    ----------
    path : str
        What it is about, for messages.
    error : Exception
    """
    refused = _refusal(path, error)
    if refused is None and _AWAY.search(str(error)):
        return OutsideError(f"{path}: its store does not answer", "run the command again later")
    return refused


def _refusal(path: str, error: Exception) -> InputError | None:
    text = str(error)
    if _NO_BUCKET.search(text):
        return InputError(f"{path}: there is no such bucket")
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: no such file or folder")
    if _ELSEWHERE.search(text) is None and _DENIED.search(text):
        return InputError(
            f"{path}: the store denies access",
            "credentials are taken from their usual places: the variables and files of its own command-line tool, "
            "or the role of the machine",
        )
    if _ELSEWHERE.search(text):
        return InputError(f"{path}: the bucket lies in another region", "set AWS_REGION to the bucket's own")
    if _PERMANENT.search(text):
        hint = "is AWS_REGION that of the bucket?" if "HTTP status 400" in text else None
        return InputError(f"{path}: the store refuses the request ({_reason(error)})", hint)
    return None


def _reason(error: Exception) -> str:
    found = _REASON.search(str(error))
    if found is None:
        return "the connection broke" if isinstance(error, ConnectionError) else type(error).__name__
    return (found[1] or found[2]).lower().replace("_", " ").replace("http", "HTTP")
