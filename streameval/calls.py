"""Values with parameters, as people type them: `name(value, key=value)`."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from streameval.errors import InputError, did_you_mean
from streameval.text import short

_NAME = re.compile(r"\s*(\w[\w-]*)\s*")
_KEY = re.compile(r"\s*([^\W\d][\w-]*)\s*=\s*")
_PARAMETERS = re.compile(rf"\s*(?:[-+.\d]|{_KEY.pattern})")  # else the parentheses are part of a column's name


@dataclass(frozen=True)
class Argument:
    """A value between the parentheses.

    Attributes:
        key: Empty where it has none.
        column: Of its first character in the text, from 1.
    """

    key: str
    value: str
    column: int


@dataclass(frozen=True)
class Call:
    """A name, and what its parentheses hold.

    Attributes:
        text: What was read.
        example: A value that is written well, for hints.
    """

    text: str
    name: str
    example: str = ""
    arguments: tuple[Argument, ...] = ()

    @property
    def values(self) -> list[str]:
        """Values without a key."""
        return [argument.value for argument in self.arguments if not argument.key]

    def named(self, names: Collection[str]) -> dict[str, Argument]:
        """Give the arguments that have a key; an `InputError` where it is none of these names, or stands twice."""
        by_key: dict[str, Argument] = {}
        for argument in self.arguments:
            if argument.key and argument.key not in names:
                name = self.name or f"'{short(self.text)}'"
                raise InputError(f"{name} has no parameter '{argument.key}'", did_you_mean(argument.key, names))
            if argument.key in by_key:
                raise InputError(f"{self.name} has {argument.key} twice", "leave out one of them")
            by_key |= {argument.key: argument} if argument.key else {}
        return by_key

    def keys_alone(self, names: Collection[str]) -> dict[str, Argument]:
        """Give the arguments by their keys; an `InputError` too where one has none."""
        for argument in self.arguments:
            if not argument.key:
                raise self.refuse(f"'{argument.value}' is not written as KEY=VALUE", argument.column)
        return self.named(names)

    def read(self, argument: Argument, kind: Callable[[str], Any], wanted: str) -> Any:
        """Make a value of a type; an `InputError` where it is none."""
        try:
            return kind(argument.value)
        except (ValueError, KeyError):
            what = f"{argument.key} is {wanted}, and '{argument.value}' is none"
            raise self.refuse(what, argument.column) from None

    def refuse(self, what: str, column: int) -> InputError:
        """Say what is wrong, and at which column."""
        return _refused(self.text, what, column - 1, self.example)


def read_call(text: str, example: str) -> Call:
    """Read a value whose name is one word.

    >>> read_call("paula(window=50)", "paula").keys_alone(["window"])["window"].value
    '50'

    Raises:
        InputError: Anything else; it names the column.
    """
    name = _NAME.match(text)
    if name is None:
        raise _refused(text, "a name is missing", 0, example)
    opens, end = name.end(), len(text.rstrip())
    if opens >= end:
        return Call(text, name[1], example)
    closes = _pairs(text).get(opens)
    if closes is None and text[opens] == "(":
        raise _refused(text, "a comma or ) is missing", end, example)
    if closes is None or closes < end - 1:
        at = opens if closes is None else closes + 1 + len(text[closes + 1 :]) - len(text[closes + 1 :].lstrip())
        raise _refused(text, f"'{text[at]}' stands where a comma or the end is expected", at, example)
    return Call(text, name[1], example, read_arguments(text, opens + 1, closes, example))


def read_column(text: str, example: str) -> Call:
    """Read a column, whose name may hold anything, and the parameters in parentheses behind it.

    >>> [read_column(text, "llm(0.5)").name for text in ("p(1)(0.5)", "f(x)", "q(ties=all)")]
    ['p(1)', 'f(x)', 'q']
    """
    opens, end = parameters_at(text), len(text.rstrip()) - 1
    if opens is None:
        return Call(text, text, example)
    return Call(text, text[:opens], example, read_arguments(text, opens + 1, end, example))


def parameters_at(text: str) -> int | None:
    """Find where the parentheses open that end a text; None where none do, or hold neither numbers nor keys."""
    end = len(text.rstrip()) - 1
    opens = next((opens for opens, closes in _pairs(text).items() if closes == end), None)
    return None if opens is None or _PARAMETERS.match(text, opens + 1) is None else opens


def read_arguments(text: str, start: int, end: int, example: str) -> tuple[Argument, ...]:
    """Read what stands between two places of a text, with commas between."""
    arguments = []
    for part in split_at_commas(text[start:end]):
        key = _KEY.match(part)
        value = part[key.end() if key else 0 :].strip()
        at = start + (key.end() if key else len(part) - len(part.lstrip()))
        if not value:
            raise _refused(text, f"the value of {key[1]} is missing" if key else "a value is missing", at, example)
        arguments.append(Argument(key[1].replace("-", "_") if key else "", value, at + 1))
        start += len(part) + 1
    return tuple(arguments)


def write_call(name: str, keys: Mapping[str, Any], values: Iterable[Any] = ()) -> str:
    """Write a value as it is typed; keys that are None are left out.

    >>> write_call("llm", {"accuracy": 0.9, "sample": None}, (0.05, 0.5)), write_call("q", {})
    ('llm(0.05, 0.5, accuracy=0.9)', 'q')
    """
    words = write_arguments(keys, values)
    return f"{name}({words})" if words else name


def write_arguments(keys: Mapping[str, Any], values: Iterable[Any] = ()) -> str:
    """Write what stands in the parentheses."""
    words = [*map(str, values), *(f"{key}={value}" for key, value in keys.items() if value is not None)]
    return ", ".join(words)


def split_at_commas(text: str) -> list[str]:
    """Split a text at its commas, but those in parentheses.

    >>> split_at_commas("country,query(ties=all, gain=linear)"), split_at_commas("a(,b")
    (['country', 'query(ties=all, gain=linear)'], ['a(', 'b'])
    """
    pairs = [*_pairs(text).items()]
    commas = [at for at, char in enumerate(text) if char == "," and not any(a < at < b for a, b in pairs)]
    return [text[first + 1 : last] for first, last in pairwise([-1, *commas, len(text)])]


def _pairs(text: str) -> dict[int, int]:
    """Find the places of parentheses that open, and of those that close them."""
    opened: list[int] = []
    pairs = {}
    for at, char in enumerate(text):
        if char == "(":
            opened.append(at)
        elif char == ")" and opened:
            pairs[opened.pop()] = at
    return pairs


def _refused(text: str, what: str, at: int, example: str) -> InputError:
    return InputError(f"{short(text, 100)}: {what} (at column {at + 1})", f"such as {example}")
