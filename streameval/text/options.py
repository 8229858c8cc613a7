"""Options that sentences name: errors write them as flags, and Python shows them as keywords."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

# a command stays as it is; behind `=` is any value, behind a space a number, a placeholder, or what is quoted
_NAMED = re.compile(
    r"(?P<command>`[^`]*`|\bstreameval .*)|(?<![\w-])--(?P<name>[a-z][a-z0-9-]*)"
    r"(?:=(?P<word>[^\s,;)]*[^\s,;:).])| (?P<value>'[^']*'|[A-Z]+\b|\d(?:[\w.,:/-]*\w)?))?"
)
_AS_FLAG = {"questions": "for", "existing": "overwrite"}  # a word of Python's own cannot be a keyword
SWITCHES = {"existing": "replaced", "examples": "shown"}  # options of two words, and the one that a switch stands for


def flag(name: str) -> str:
    """Name an option as the command line does.

    >>> flag("half_width"), flag("questions")
    ('--half-width', '--for')
    """
    return f"--{_AS_FLAG.get(name, name).replace('_', '-')}"


def flags(values: Mapping[str, Any]) -> list[str]:
    """Give words of a command that set options; True is a flag alone, None is not given, a list is given one by one.

    >>> flags({"budget": 200, "dry_run": True, "seed": None, "score": "-loss"})
    ['--budget', '200', '--dry-run', '--score=-loss']
    >>> flags({"questions": ["precision@10 >= 0.9", "precision@100 >= 0.8"]})
    ['--for', 'precision@10 >= 0.9', '--for', 'precision@100 >= 0.8']
    """
    words: list[str] = []
    for key, value in values.items():
        for word in value if isinstance(value, list) else [value]:
            if word is True:
                words.append(flag(key))
            elif word is not None:
                words += [f"{flag(key)}={word}"] if str(word).startswith("-") else [flag(key), str(word)]
    return words


def with_flags(text: str) -> str:
    """Write values behind flags as people type them.

    >>> with_flags("put these last with --nan=last")
    'put these last with --nan last'
    """
    return _NAMED.sub(_as_typed, text)


def _as_typed(option: re.Match[str]) -> str:
    word = option["word"]
    return f"--{option['name']} {word}" if word and not word.startswith("-") else option[0]


def with_keywords(text: str) -> str:
    """Write flags as keywords of Python; what is a command stays one.

    >>> with_keywords("--alpha 1e-3 is low; --stages 4, or --nan=last. Next: streameval plan a --seed 3")
    "alpha=1e-3 is low; stages=4, or nan='last'. Next: streameval plan a --seed 3"
    >>> with_keywords("name another file, or replace it with --overwrite")
    "name another file, or replace it with existing='replaced'"
    """
    return _NAMED.sub(_keyword, text)


def _keyword(match: re.Match[str]) -> str:
    value = match["word"] or match["value"]
    if match["command"]:
        return match[0]
    name = next(
        (keyword for keyword, as_flag in _AS_FLAG.items() if as_flag == match["name"]), match["name"].replace("-", "_")
    )
    value = value or SWITCHES.get(name)
    if value is None:
        return name
    return f"{name}={value}" if re.fullmatch(r"[A-Z]+|\d+(\.\d+)?(e-?\d+)?|'.*'", value) else f"{name}={value!r}"
