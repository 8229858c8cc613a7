"""Options: fields of dataclasses that carry their help, for callers in Python and for the command line alike."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, field, fields
from decimal import Decimal
from functools import cache, reduce, wraps
from inspect import Parameter, Signature, isfunction, signature
from numbers import Complex, Integral, Real
from operator import or_
from sys import modules
from types import MappingProxyType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import streameval
from streameval.calls import split_at_commas
from streameval.errors import InputError, did_you_mean
from streameval.text import short
from streameval.text.options import flag
from streameval.text.retired import now_spelt

AnyKind = TypeVar("AnyKind")
AnyVerb = TypeVar("AnyVerb", bound=Callable[..., Any])


def option(default: Any, help: str, shown: str = "") -> Any:
    """Declare a field that is an option, with a sentence of help; `shown` is its default, where None stands for it."""
    return field(default=default, metadata={"help": help, "shown": shown})


def parameter(default: Any) -> Any:
    """Declare a field that stands in the value of an option, as ties in "query(ties=all)": no keyword sets it."""
    return field(default=default, metadata={"parameter": True})


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
        options = [option for kind in kinds for option in fields(kind) if "parameter" not in option.metadata]
        quick = [*_parameter_names(verb), *(option.name for option in options)]

        @wraps(verb)
        def checked(*positional: Any, **named: Any) -> Any:
            for name in [name for name in named if name not in quick]:
                if name not in keywords(checked):
                    raise _unknown(checked, name, named[name])
            positional, named = tuple(map(plain, positional)), {name: plain(value) for name, value in named.items()}
            for name, value, hint in _values(verb, kinds, positional, named):
                check_type(flag(name), value, hint)
            return verb(*positional, **named)

        def names() -> list[str]:
            return [*dict.fromkeys([*quick, *more()])]

        vars(checked).update(option_kinds=kinds, keywords=names, __signature__=WholeSignature(verb, kinds, names))
        return cast(AnyVerb, checked)

    return declared


class WholeSignature(Signature):
    """The signature of a function with every keyword by its name, for help and Tab; they are gathered when asked for.

    Args:
        verb: The function, whose own signature has `**` for its options.
        kinds: Dataclasses with the options that it takes.
        names: Gives the names of all that it takes.
    """

    __slots__ = ("_kinds", "_names")

    def __init__(self, verb: Callable[..., Any], kinds: Sequence[Any], names: Callable[[], Sequence[str]]) -> None:
        """Keep what the parameters are made of."""
        bare = signature(verb)
        super().__init__([*bare.parameters.values()], return_annotation=bare.return_annotation)
        self._kinds, self._names = kinds, names

    @property
    def parameters(self) -> MappingProxyType[str, Parameter]:
        """The function's parameters without `**`, then its options: None where one is not given."""
        bare = {name: item for name, item in super().parameters.items() if item.kind is not Parameter.VAR_KEYWORD}
        options = [self._option(name) for name in self._names() if name not in bare]
        return MappingProxyType(bare | {option.name: option for option in options if option is not None})

    def _option(self, name: str) -> Parameter | None:
        """An option with its type and default; None for one that has no help, and is not for people."""
        declared = [(kind, field) for kind in self._kinds for field in fields(kind) if field.name == name]
        if declared and not any("help" in field.metadata for _, field in declared):
            return None
        hint = reduce(or_, (types_of(kind)[name] for kind, _ in declared)) if declared else Any
        default = declared[0][1].default if declared else None
        return Parameter(name, Parameter.KEYWORD_ONLY, default=None if default is MISSING else default, annotation=hint)


def keywords(verb: Callable[..., Any]) -> list[str]:
    """Names of all that a function takes."""
    names: list[str] = vars(verb)["keywords"]() if "keywords" in vars(verb) else _parameter_names(verb)
    return names


def _values(
    verb: Callable[..., Any], kinds: Sequence[Any], positional: Sequence[Any], named: Mapping[str, Any]
) -> Iterator[tuple[str, Any, Any]]:
    """Give name, value and type of all that a function is called with; an option that is None is not given."""
    parameters = signature(verb).parameters
    for name, value in signature(verb).bind(*positional, **named).arguments.items():
        if parameters[name].kind is Parameter.VAR_KEYWORD:
            for key, part in value.items():
                hints = [types_of(kind)[key] for kind in kinds if key in types_of(kind)]
                if hints and part is not None:
                    yield key, part, reduce(or_, hints)
            continue
        hint = eval(parameters[name].annotation, vars(modules[verb.__module__]))  # of our own files alone
        for part in value if parameters[name].kind is Parameter.VAR_POSITIONAL else [value]:
            yield name, part, hint


def _parameter_names(verb: Callable[..., Any]) -> list[str]:
    return [
        parameter.name
        for parameter in signature(verb).parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ]


def _unknown(verb: Callable[..., Any], name: str, value: object) -> InputError:
    """Refuse a keyword that a function does not take: say how it is spelt now, which is meant, or whose it is."""
    if now := now_spelt(verb.__name__, flag(name), value):
        return InputError(f"{verb.__name__} has no option '{name}' any more", f"it is {now}")
    functions = {
        name_of_function: function
        for name_of_function in dir(streameval)
        if isfunction(function := getattr(streameval, name_of_function))
    }
    owners = [name_of_function for name_of_function, function in functions.items() if name in keywords(function)]
    hint = f"it is an option of {', '.join(owners)}" if owners else did_you_mean(name, keywords(verb))
    return InputError(f"{verb.__name__} has no option '{name}'", hint)


def listed(value: Any) -> tuple[str, ...]:
    """Read names or numbers: several of them, one, or a text in which commas separate them, but those in parentheses.

    >>> listed("day, id(ties=all, gain=linear)"), listed(["a, b"]), listed(10)
    (('day', 'id(ties=all, gain=linear)'), ('a, b',), ('10',))

    Raises:
        InputError: Commas with nothing between them: something may have been forgotten.
    """
    several = value if isinstance(value, Iterable) and not isinstance(value, str) else split_at_commas(str(value))
    texts = [str(part).strip() for part in several]
    if isinstance(value, str) and value.strip() and not all(texts):
        raise InputError(f"'{value}': nothing stands on one side of a comma", "leave that comma out")
    return tuple(text for text in texts if text)


_IN_WORDS: dict[Any, str] = {bool: "True or False", int: "a whole number", float: "a number", str: "text",
                             os.PathLike: "a path", Sequence: "several of these", Callable: "a function"}  # fmt: skip
_WIDER: dict[Any, Any] = {int: Integral, float: (Real, Decimal), complex: Complex, Sequence: Iterable}


def check_type(name: str, value: Any, hint: Any) -> None:
    """Refuse a value that is of no type that an annotation names, or none of its words (InputError).

    Numbers of numpy's are numbers, whole ones do for real ones, and what `listed` reads may be anything. Errors begin
    with the name, which is a flag where it is an option.
    """
    kinds, value = alternatives(hint), plain(value)
    if (value is None and type(None) in get_args(hint)) or any(_is_of(value, kind) for kind in kinds):
        return
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    if words and isinstance(value, str):
        raise InputError(f"{name} is '{value}'", did_you_mean(value, words))
    accepted = [str if get_origin(kind) is Literal else get_origin(kind) or kind for kind in kinds]
    accepted.sort(key=lambda kind: kind is Sequence)  # several of these, as it is said behind them
    *others, last = dict.fromkeys(_IN_WORDS.get(kind, kind.__name__) for kind in accepted)
    wanted = f"{', '.join(others)} or {last}" if others else last
    raise InputError(f"{name} is {short(repr(value))}, not {wanted}", f"its type is {type(value).__name__}")


def check_types(options: Any) -> None:
    """Refuse a field of a dataclass whose value its annotation does not name (InputError)."""
    for name, hint in types_of(options.__class__).items():
        check_type(flag(name), getattr(options, name), hint)


def _is_of(value: Any, kind: Any) -> bool:
    """Tell whether a value is of a type of an annotation; of one that says how it behaves, that is left to its use."""
    origin = get_origin(kind) or kind
    if origin is Literal:
        return value in get_args(kind)
    behaviour = getattr(origin, "_is_protocol", False) and not getattr(origin, "_is_runtime_protocol", False)
    if origin in (Any, tuple) or not isinstance(origin, type) or behaviour:
        return True
    if isinstance(value, bool):  # which is a whole number to Python
        return origin is bool
    if origin is Sequence and isinstance(value, list | tuple):
        inner = [inner_kind for hint in get_args(kind) for inner_kind in alternatives(hint)]
        return all(isinstance(part, str) or any(_is_of(plain(part), each) for each in inner) for part in value)
    return isinstance(value, _WIDER.get(origin, origin)) and not (origin is Sequence and isinstance(value, str | bytes))


def plain(value: Any) -> Any:
    """Numbers of numpy's as Python's own: they end up in JSON."""
    if type(value).__module__ == "numpy" and value.shape == ():
        return value.item()
    if isinstance(value, bool):
        return value
    if isinstance(value, Integral):
        return int(value)
    return float(value) if isinstance(value, Real) else value


def own_of(kind: type[Any], raw_options: dict[str, Any]) -> dict[str, Any]:
    """Take the options of a dataclass out of others that were given; None is not given."""
    values = {
        declared_option.name: raw_options.pop(declared_option.name)
        for declared_option in fields(kind)
        if declared_option.name in raw_options
    }
    return {name: value for name, value in values.items() if value is not None}


def make_own(kind: type[AnyKind], raw_options: dict[str, Any]) -> AnyKind:
    """Take the options of a dataclass out of others that were given, and make one of them."""
    return kind(**own_of(kind, raw_options))


def split(kinds: Sequence[Any], raw_options: Mapping[str, Any], verb: str) -> list[Any]:
    """Make each of some dataclasses from those of the options given that are its own, and refuse all others."""
    names = [[declared_option.name for declared_option in fields(kind)] for kind in kinds]
    accepted = [name for accepted_here in names for name in accepted_here]
    for name in raw_options:
        if name not in accepted:
            raise InputError(f"{verb} has no option '{name}'", did_you_mean(name, accepted))
    values = [
        {key: raw_options[key] for key in accepted_here if raw_options.get(key) is not None} for accepted_here in names
    ]
    return [kind(**value) for kind, value in zip(kinds, values, strict=True)]
