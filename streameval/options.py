"""Options: fields of dataclasses that carry their help, for callers in Python and for the command line alike."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields
from functools import cache, wraps
from inspect import isfunction, signature
from numbers import Integral, Real
from types import UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import streameval
from streameval.errors import InputError, did_you_mean
from streameval.text.options import flag

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

    A keyword that it does not take is refused (InputError): says which is meant, or whose it is.

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
            return verb(*given, **named)

        vars(checked).update(option_kinds=kinds, keywords=lambda: [*dict.fromkeys([*quick, *more()])])
        return cast(AnyVerb, checked)

    return declared


def keywords(verb: Callable[..., Any]) -> list[str]:
    """Names of all that a function takes."""
    names: list[str] = vars(verb)["keywords"]() if "keywords" in vars(verb) else _named(verb)
    return names


def _named(verb: Callable[..., Any]) -> list[str]:
    return [one.name for one in signature(verb).parameters.values() if one.kind is not one.VAR_KEYWORD]


def _unknown(verb: Callable[..., Any], name: str) -> InputError:
    """Refuse a keyword that a function does not take: say which is meant, or whose it is."""
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


def check_word(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that is none of the words that a type names, where it names any (InputError)."""
    words = [word for kind in alternatives(hint) if get_origin(kind) is Literal for word in get_args(kind)]
    if words and value is not None and value not in words:
        raise InputError(f"{flag(name)} is '{value}'", did_you_mean(str(value), words))


def check_type(kind: Any, name: str, value: Any) -> None:
    """Refuse a value, or a type, that a field's annotation does not name; whole numbers do for real ones (InputError).

    Args:
        kind: The dataclass.
    """
    hint = types_of(kind)[name]
    check_word(name, value, hint)
    accepted = {str if get_origin(one) is Literal else one for one in alternatives(hint)}
    given: type = int if isinstance(value, Integral) and not isinstance(value, bool) else type(value)
    if isinstance(value, Real) and not isinstance(value, Integral):
        given = float
    if given not in accepted and not (given is int and float in accepted):
        wanted = " or ".join(sorted(one.__name__ for one in accepted))
        raise InputError(f"{flag(name)} is {value!r}, of type {type(value).__name__}", f"it takes {wanted}")


def plain(value: Any) -> Any:
    """Numbers of numpy's as Python's own: they end up in JSON."""
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def check_words(options: Any) -> None:
    """Refuse a field of a dataclass that is none of the words that its type names (InputError)."""
    for name, hint in types_of(options.__class__).items():
        check_word(name, getattr(options, name), hint)


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
