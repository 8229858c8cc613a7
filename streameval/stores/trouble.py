"""Trouble with object stores: requests are repeated where that may help; other errors become one line.

A store's message is never shown as it came: it may hold names of keys, signatures, tokens. Only its reason is.
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
FIRST_PAUSE = 0.2  # seconds; each further one about twice as long
_DENIED = re.compile(
    r"ACCESS_DENIED|INVALID_ACCESS_KEY|INVALID_CLIENT_TOKEN|SIGNATURE|MISSING_AUTHENTICATION|EXPIRED_TOKEN|"
    r"UNRECOGNIZED_CLIENT|HTTP status (401|403)|PERMISSION_DENIED|UNAUTHENTICATED|AuthenticationFailed|"
    r"AuthorizationFailure|credential|401 Unauthorized|403 Forbidden",
    re.IGNORECASE,
)
_NO_BUCKET = re.compile(r"NO_SUCH_BUCKET|NoSuchBucket|ContainerNotFound|bucket does not exist", re.IGNORECASE)
_UNTRUSTED = re.compile(r"certificate verify failed|curlCode: 60\b|SSL peer certificate|invalid peer certificate", re.I)
_ELSEWHERE = re.compile(
    r"HTTP status 30[127]|PERMANENT_REDIRECT|PermanentRedirect|AuthorizationHeaderMalformed|IllegalLocationConstraint"
)
_REASON = re.compile(
    r"AWS Error ([A-Z_]+(?: \(HTTP status \d+\))?)|(HTTP status \d+|HTTP 5\d\d|[A-Z_]{6,}|timed? ?out)"
)
_AWS = "AWS Error "
_QUOTED = re.compile(r"'[^']*'|https?://\S+|path \S+")
_NO_ROLE = re.compile(r"169\.254\.169\.254")  # where a machine asks for its role when it finds no other credentials
_UNANSWERED = re.compile(
    r"after [1-9][0-9]* retries|error sending request|\b(?:408|429|5[0-9]{2}) [A-Z][a-z]+|HTTP status 5[0-9]{2}|"
    r"NETWORK_CONNECTION|SLOW_DOWN|SERVICE_UNAVAILABLE|INTERNAL_FAILURE|REQUEST_TIMEOUT|timed out|"
    r"database is locked|could not connect|connection re(?:fused|set)|dns error|throttl",
    re.IGNORECASE,
)
_PERMANENT = re.compile(r"HTTP status 4(?!08|29)\d\d|NO_SUCH_KEY|RESOURCE_NOT_FOUND|INVALID_|NOT_IMPLEMENTED")


def with_retries(path: str, call: Callable[[], T]) -> T:
    """Make a request, again and again with longer pauses while the store is in trouble.

    Raises:
        InputError: No such bucket or object; access denied; a certificate that is not trusted. Asking again is no help.
        OutsideError: The store did not answer in six tries.
    """
    pause = FIRST_PAUSE
    for left in reversed(range(_TRIES)):
        try:
            return call()
        except StreamevalError:
            raise
        except (OSError, TimeoutError) as error:
            text = _without_names(error)
            refused = _refusal(path, error, text)
            if refused is not None:
                raise refused from None
            if not left:
                raise OutsideError(
                    f"{path}: the store does not answer ({_reason(error, text)}; {_TRIES} tries)",
                    "nothing half-written was left behind; run the same command again later",
                ) from None
            time.sleep(pause * random.uniform(0.5, 1.0))  # so that many readers do not come back at once
            pause *= 2
    raise OutsideError(f"{path}: the store does not answer")


def store_error(where: str, error: Exception) -> StreamevalError | None:
    """Our error for a store's, as another library reports it after its own tries; None where it is no such error."""
    if _NO_ROLE.search(str(error)):
        return _denial(where)
    text = _without_names(error)
    os_error = isinstance(error, OSError) and not isinstance(error, FileNotFoundError)
    refused = _refusal(where, error, text) if os_error else None
    if refused is None and _UNANSWERED.search(text):
        return OutsideError(f"{where}: its store does not answer", "run the command again later")
    return refused


def _without_names(error: Exception) -> str:
    """A store's message, without the names of buckets and objects before it: these are no reasons."""
    text = str(error)
    return text[text.rindex(_AWS) :] if _AWS in text else _QUOTED.sub("", text)


def _refusal(path: str, error: Exception, text: str) -> InputError | None:
    if _NO_BUCKET.search(text):
        return InputError(f"{path}: there is no such bucket")
    if isinstance(error, FileNotFoundError):
        return InputError(f"{path}: no such file or folder")
    if _UNTRUSTED.search(text):
        return InputError(
            f"{path}: the certificate of its server is not trusted", "SSL_CERT_FILE names a file of those that are"
        )
    if _ELSEWHERE.search(text):
        return InputError(f"{path}: the bucket lies in another region", "set AWS_REGION to the bucket's own")
    if _DENIED.search(text):
        return _denial(path)
    if _PERMANENT.search(text):
        hint = "is AWS_REGION that of the bucket?" if "HTTP status 400" in text else None
        return InputError(f"{path}: the store refuses the request ({_reason(error, text)})", hint)
    return None


def _denial(path: str) -> InputError:
    if path.startswith(("http://", "https://")):
        return InputError(f"{path}: its server denies access", "copy the file, or give a link that needs no login")
    return InputError(
        f"{path}: the store denies access",
        "credentials are taken from their usual places: the variables and files of its own command-line tool, "
        "or the role of the machine",
    )


def _reason(error: Exception, text: str) -> str:
    match = _REASON.search(text)
    if match is None:
        return "the connection broke" if isinstance(error, ConnectionError) else type(error).__name__
    return (match[1] or match[2]).lower().replace("_", " ").replace("http", "HTTP")
