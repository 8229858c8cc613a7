"""Passwords, tokens and signatures in addresses: shown nowhere, kept nowhere."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote

_HIDDEN = "***"
_ADDRESS = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+:/+)(\S+)")
_QUERY_VALUE = re.compile(r"([?&;][^=&;#?\s]+=)[^&;#\s]+")
_SETTING = re.compile(
    r"(\w*(?:passw|pwd|secret|token|signature|credential)\w*\s*=\s*)('[^']*'|[^\s&;#]+)", re.IGNORECASE
)
_AT = re.compile(r"@(?=[\w.:\[\]-]*(?:[/?#]|$))")  # before a host
_STORES = ("s3", "s3a", "s3n", "gs", "az", "hf")  # an @ in a path is a letter there
_FILES = ("file", "sqlite", "duckdb", "delta")  # nobody logs in there
_STOPS = ":,.;!?)'\"]}"
_PIECES = re.compile(r"[\s:@/?#&;=]+")
_SHORTEST = 3  # a piece of fewer letters would hide every such letter of a message


def mask(text: str) -> str:
    """Hide what may be secret in the addresses of a text: all before the @, and every value after the question mark.

    Of s3://bucket/a@b the @ is part of the path, unless a colon or another @ before the path tells of a password.

    >>> mask("postgresql://me:secret@host/db?sslpassword=x&a=1#SELECT rank, label FROM t")
    'postgresql://***@host/db?sslpassword=***&a=***#SELECT rank, label FROM t'
    >>> mask("s3://bucket/a@b.parquet: no such file")
    's3://bucket/a@b.parquet: no such file'
    >>> mask("delta:/lake/table@3: no such version")
    'delta:/lake/table@3: no such version'
    """
    if "=" not in text and ":/" not in text:
        return text
    return _SETTING.sub(rf"\1{_HIDDEN}", _ADDRESS.sub(_mask_address, text))


def masked_source(source: str) -> str:
    """Hide the same in one address that is known whole: a password may then hold spaces.

    >>> masked_source("postgresql://me:se cr#et@host/db#SELECT 1")
    'postgresql://***@host/db#SELECT 1'
    """
    match = _ADDRESS.search(source)
    if match is None:
        return mask(source)
    body = source[match.start(2) :]
    hidden = _HIDDEN + "@" if (end := _login_end(match[1], body)) else ""
    return mask(source[: match.start(2)] + hidden + body[end:])


def masked_values(value: Any) -> Any:
    """Hide the same in every text of JSON values."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, dict):
        return {key: masked_values(item) for key, item in value.items()}
    return [masked_values(item) for item in value] if isinstance(value, list | tuple) else value


def without_secrets(text: str, sources: Iterable[str]) -> str:
    """Hide in a text that others wrote whatever is secret in these sources, in whole or in pieces.

    Drivers and parsers quote the part of an address that they could not read.

    >>> without_secrets('invalid port "secr" of postgresql', ["postgresql://me:secr@et@host/db"])
    'invalid port "***" of postgresql'
    >>> without_secrets("postgresql://postgres@host/db: role postgres is not there", ["postgresql://postgres@host/db"])
    'postgresql://***@host/db: role *** is not there'
    """
    for source in sources:
        text = text.replace(source, masked_source(source))
        scheme = rf"(\b{re.escape(source.partition(':')[0])}\b)"  # no part of it is secret
        for secret in sorted(_secrets(source), key=len, reverse=True):
            text = re.sub(f"{scheme}|{re.escape(secret)}", lambda address: address[1] or _HIDDEN, text)
    return mask(text)


def _mask_address(match: re.Match[str]) -> str:
    scheme, rest = match[1], match[2]
    if end := _login_end(scheme, rest.rstrip(_STOPS)):
        rest = f"{_HIDDEN}@{rest[end:]}"
    elif re.search(r":[^\d*]", authority := _authority(rest.rstrip(_STOPS))):
        rest = f"{_HIDDEN}{rest[len(authority) :]}"  # no port: the beginning of a password that holds a space or a #
    return scheme + _QUERY_VALUE.sub(rf"\1{_HIDDEN}", rest)


def _login_end(scheme: str, body: str) -> int:
    """Find where a user name and password end, behind their @; 0 where there are none."""
    kind = scheme.rstrip(":/").lower()
    ends = [match.end() for match in _AT.finditer(body)] or [body.rfind("@") + 1]
    authority = _authority(body)
    in_path = kind in _STORES and "/" in body[: ends[-1]] and not re.search("[@:]", authority)
    return 0 if kind in _FILES or in_path else ends[-1]


def _authority(body: str) -> str:
    return re.split(r"[/?#]", body, maxsplit=1)[0]


def _secrets(source: str) -> set[str]:
    """Parts of an address that are shown nowhere, as they stand there and decoded, whole and in pieces."""
    address = _ADDRESS.search(source)
    if address is None:
        return set()
    body = source[address.start(2) :]
    values = [match[0].partition("=")[2] for match in _QUERY_VALUE.finditer(body)]
    whole = [body[: max(0, _login_end(address[1], body) - 1)], *values]
    pieces = [piece for text in whole for piece in (text, *_PIECES.split(text))]
    return {form for piece in pieces for form in (piece, unquote(piece)) if len(form) >= _SHORTEST}
