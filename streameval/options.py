"""Options: fields of dataclasses that carry their help, for callers in Python and for the command line alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, fields
from decimal import Decimal
from functools import cache, reduce, wraps
from inspect import Parameter, isfunction, signature
from numbers import Complex, Integral, Real
from operator import or_
from sys import modules
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import streameval
from streameval.errors import InputError, did_you_mean
from streameval.text import short
from streameval.text.options import flag
from streameval.text.retired import RETIRED_OPTIONS

AnyKind = TypeVar("AnyKind")
AnyVerb = TypeVar("AnyVerb", bound=Callable[..., Any])


def option(default: Any, help: str, shown: str = "") -> Any:
    """Declare a field that is an option, with a sentence of help; `shown` is its default, where None stands for it."""
    return field(default=default, metadata={"help": help, "shown": shown})


@cache
def types_of(kind: type[object]) -> dict[str, Any]:
    """Types of the fields of a dataclass, by name: annotations are read once, for that takes a millisecond."""
    return get_type_hints(kind)


def alternatives(hint: Any) -> tuple[Any, ...]:
    """Types that an option takes, without None.

    >>> alternatives(int | None), alternatives(str)
    ((<class 'int'>,), (<class 'str'>,))
    """
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(kind for kind in kinds if kind is not type(None))


def takes(
    *kinds: Any, more: Callable[[], Iterable[str]] = tuple, in_python: Sequence[str] = ()
) -> Callable[[AnyVerb], AnyVerb]:
    """Declare the dataclasses whose options a function takes as keywords (`split`), for its types and its reference.

    A keyword that it does not take is refused (InputError): says which is meant, or whose it is. So is a value of
    another type than is declared; numbers of numpy's become Python's own.

    Args:
        more: Gives the names of further keywords.
        in_python: Options among them that the command line does not have.
    """

    def declared(verb: AnyVerb) -> AnyVerb:
        quick = [*_named(verb), *(one.name for kind in kinds for one in fields(kind))]

        @wraps(verb)
        def checked(*given: Any, **named: Any) -> Any:
            for name in [name for name in named if name not in quick]:
                if name not in keywords(checked):
                    raise _unknown(checked, name)
            given, named = tuple(map(plain, given)), {name: plain(value) for name, value in named.items()}
            for name, value, hint in _values(verb, kinds, given, named):
                check_type(name, value, hint)
            return verb(*given, **named)

        vars(checked).update(option_kinds=kinds, keywords=lambda: [*dict.fromkeys([*quick, *more()])])
        return cast(AnyVerb, checked)

    return declared


def keywords(verb: Callable[..., Any]) -> list[str]:
    """Names of all that a function takes."""
    names: list[str] = vars(verb)["keywords"]() if "keywords" in vars(verb) else _named(verb)
    return names


def _values(
    verb: Callable[..., Any], kinds: Sequence[Any], given: Sequence[Any], named: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Give name, value and type of all that a function is called with; an option that is None is not given."""
    parameters = signature(verb).parameters
    for name, value in signature(verb).bind(*given, **named).arguments.items():
        if parameters[name].kind is Parameter.VAR_KEYWORD:
            for key, one in value.items():
                hints = [types_of(kind)[key] for kind in kinds if key in types_of(kind)]
                if hints and one is not None:
                    yield key, one, reduce(or_, hints)
            continue
        hint = eval(parameters[name].annotation, vars(modules[verb.__module__]))  # of our own files alone
        for one in value if parameters[name].kind is Parameter.VAR_POSITIONAL else [value]:
            yield name, one, hint


def _named(verb: Callable[..., Any]) -> list[str]:
    return [one.name for one in signature(verb).parameters.values() if one.kind is not one.VAR_KEYWORD]


def _unknown(verb: Callable[..., Any], name: str) -> InputError:
    """Refuse a keyword that a function does not take: say what it is now, which is meant, or whose it is."""
    if now := RETIRED_OPTIONS.get(verb.__name__, {}).get(name):
        return InputError(f"{verb.__name__} has no option '{name}' any more", f"it is {now}")
    functions = {one: made for one in dir(streameval) if isfunction(made := getattr(streameval, one))}
    owners = [one for one, made in functions.items() if name in keywords(made)]
    hint = f"it is an option of {', '.join(owners)}" if owners else did_you_mean(name, keywords(verb))
    return InputError(f"{verb.__name__} has no option '{name}'", hint)


def listed(given: Any) -> tuple[str, ...]:
    """Read names or numbers: several of them, one, or a text in which commas separate them.

    >>> listed("day, id"), listed(["a, b"]), listed(10)
    (('day', 'id'), ('a, b',), ('10',))

    Raises:
        InputError: Commas with nothing between them: something may have been forgotten.
    """
    several = given if isinstance(given, Iterable) and not isinstance(given, str) else str(given).split(",")
    texts = [str(one).strip() for one in several]
    if isinstance(given, str) and given.strip() and not all(texts):
        raise InputError(f"'{given}': nothing stands on one side of a comma", "leave that comma out")
    return tuple(one for one in texts if one)


_IN_WORDS: dict[Any, str] = {bool: "True or False", int: "a whole number", float: "a number", str: "text",
                             os.PathLike: "a path", Sequence: "several of these", Callable: "a function"}  # fmt: skip
_WIDER: dict[Any, Any] = {int: Integral, float: (Real, Decimal), complex: Complex, Sequence: Iterable}


def check_type(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that is of no type that an annotation names, or none of its words (InputError).

    Numbers of numpy's are numbers, whole ones do for real ones, and what `listed` reads may be anything.
    """
    kinds, value = alternatives(hint), plain(value)
    if (value is None and type(None) in get_args(hint)) or any(_is_of(value, kind) for kind in kinds):
        return
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    if words and isinstance(value, str):
        raise InputError(f"{flag(name)} is '{value}'", did_you_mean(value, words))
    taken = [str if get_origin(kind) is Literal else get_origin(kind) or kind for kind in kinds]
    taken.sort(key=lambda kind: kind is Sequence)  # several of these, as it is said behind them
    *others, last = dict.fromkeys(_IN_WORDS.get(kind, kind.__name__) for kind in taken)
    wanted = f"{', '.join(others)} or {last}" if others else last
    raise InputError(f"{flag(name)} is {short(repr(value))}, not {wanted}", f"its type is {type(value).__name__}")


def check_types(options: Any) -> None:
    """Refuse a field of a dataclass whose value its annotation does not name (InputError)."""
    for name, hint in types_of(options.__class__).items():
        check_type(name, getattr(options, name), hint)


def _is_of(value: Any, kind: Any) -> bool:
    """Tell whether a value is of a type of an annotation; of one that says how it behaves, that is left to its use."""
    made = get_origin(kind) or kind
    if made is Literal:
        return value in get_args(kind)
    behaviour = getattr(made, "_is_protocol", False) and not getattr(made, "_is_runtime_protocol", False)
    if made in (Any, tuple) or not isinstance(made, type) or behaviour:
        return True
    if isinstance(value, bool):  # which is a whole number to Python
        return made is bool
    if made is Sequence and isinstance(value, list | tuple):
        inner = [one for hint in get_args(kind) for one in alternatives(hint)]
        return all(isinstance(one, str) or any(_is_of(plain(one), each) for each in inner) for one in value)
    return isinstance(value, _WIDER.get(made, made)) and not (made is Sequence and isinstance(value, str))


def plain(value: Any) -> Any:
    """Numbers of numpy's as Python's own: they end up in JSON."""
    if type(value).__module__ == "numpy" and value.shape == ():
        return value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def own_of(kind: type[Any], given: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a dataclass out of others that were given; None is not given."""
    taken = {one.name: given.pop(one.name) for one in fields(kind) if one.name in given}
    return {name: value for name, value in taken.items() if value is not None}


def own(kind: type[AnyKind], given: dict[str, Any]) -> AnyKind:
    """Take the options of a dataclass out of others that were given, and make one of them."""
    return kind(**own_of(kind, given))


def split(kinds: Sequence[Any], given: Mapping[str, Any], verb: str) -> list[Any]:
    """Make each of some dataclasses from those of the options given that are its own, and refuse all others."""
    names = [[one.name for one in fields(kind)] for kind in kinds]
    known = [name for own in names for name in own]
    for name in given:
        if name not in known:
            raise InputError(f"{verb} has no option '{name}'", did_you_mean(name, known))
    values = [{key: given[key] for key in own if given.get(key) is not None} for own in names]
    return [kind(**value) for kind, value in zip(kinds, values, strict=True)]
