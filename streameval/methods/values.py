"""Methods as values: a name, and those of its parameters that are not as by default, as `paula(window=50)`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any, cast

from streameval.errors import InputError, did_you_mean
from streameval.methods import Method, create, list_parameters, named, own_parameters
from streameval.methods.options import SHARED
from streameval.methods.stage_text import stages_typed
from streameval.options import alternatives, types_of
from streameval.text import short
from streameval.text.numbers import whole_number
from streameval.text.options import flag

if TYPE_CHECKING:
    from streameval.types import Plan

_NAME = re.compile(r"\s*(\w[\w-]*)\s*")
_PARAMETER = re.compile(r"\s*([^\W\d][\w-]*)\s*")
_WORD = re.compile(r"\s*([^\s,()=]+)\s*")
_EXAMPLE = "such as paula(window=50, epsilon=0.02)"


@dataclass(frozen=True)
class MethodValue:
    """A method that plans, by its name and parameters; `str` writes it as it is typed.

    Attributes:
        parameters: Only those that were given, or differ from their defaults.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        written = ", ".join(f"{name}={_written(value)}" for name, value in self.parameters.items())
        return f"{self.name}({written})" if written else self.name

    @classmethod
    def of(cls, name: str, parameters: Mapping[str, Any]) -> MethodValue:
        """Make the value of a method from all that it is planned with, as in plan.json; defaults are left out."""
        values = {**parameters, "stages": stages_typed(parameters)}
        defaults = {parameter.name: parameter.default for parameter in parameters_of(name)}
        implied = (list_parameters().get(name) or named(name)).implied(parameters)
        return cls(name, {key: values[key] for key, default in defaults.items()
                          if values.get(key) not in (None, default, implied.get(key))})  # fmt: skip

    @property
    def without_shared(self) -> MethodValue:
        """Leave out the parameters that are options of the command line."""
        return MethodValue(self.name, {key: value for key, value in self.parameters.items() if key not in SHARED})

    @property
    def shared(self) -> dict[str, Any]:
        """Give the parameters that are options of the command line."""
        return {key: value for key, value in self.parameters.items() if key in SHARED}

    def create(self, options: Mapping[str, Any]) -> Method:
        """Make the method.

        Args:
            options: Of `MethodOptions`; None counts as not given.

        Raises:
            InputError: A parameter that is given twice, that the method lacks, or that is out of range.
        """
        chosen = {name: value for name, value in options.items() if value is not None}
        for name in self.parameters.keys() & chosen.keys():
            raise InputError(f"{self} and {flag(name)} both give {name}", "leave out one of them")
        return create(self.name, {**self.parameters, **chosen})

    def takes(self, options: Mapping[str, Any]) -> dict[str, Any]:
        """Of options given to several methods, give those that this one has."""
        return own_parameters(list_parameters()[self.name], options)


def value_of(plan: Plan) -> MethodValue:
    """Give the method of a plan with its own parameters, as it is printed: options are told apart from it."""
    return MethodValue.of(plan.method, plan.parameters).without_shared


def parameters_of(name: str) -> list[Field[Any]]:
    """Give the parameters of a method that a value may name, in order, as they are declared."""
    method = list_parameters().get(name) or named(name)
    return [parameter for parameter in fields(cast(Any, method)) if "help" in parameter.metadata]


def chosen_methods(methods: str | Sequence[str] | None, options: Mapping[str, Any]) -> list[MethodValue]:
    """Read the values of methods, or give every method where none is named.

    Raises:
        InputError: As `method_values`; or an option that none of them has.
    """
    values = [MethodValue(name) for name in list_parameters()] if methods is None else method_values(methods)
    for name in options:
        if not any(value.takes({name: options[name]}) for value in values):
            raise InputError(f"none of {', '.join(map(str, values))} has a parameter {flag(name)}")
    return values


def method_value(text: str) -> MethodValue:
    """Read the value of one method (`method_values`)."""
    first, *others = method_values(text)
    if others:
        raise InputError(f"'{short(text)}' names {len(others) + 1} methods", "a plan is made by one")
    return first


def method_values(methods: str | Sequence[str]) -> list[MethodValue]:
    """Read the values of methods: one, several between commas, or several texts.

    >>> [str(value) for value in method_values("loguniform, paula(window = 1e2, epsilon=0.02)")]
    ['loguniform', 'paula(window=100, epsilon=0.02)']

    Raises:
        InputError: No such method or parameter, a value of another type, or what is no value; it names the column.
    """
    text = methods if isinstance(methods, str) else ",".join(map(str, methods))
    values, at = [], 0
    while True:
        value, at = _value_at(text, at)
        values.append(value)
        if at == len(text):
            return list({str(value): value for value in values}.values())
        if text[at] != ",":
            raise _refused(text, at, f"'{text[at]}' stands where a comma or the end is expected")
        at += 1


def _value_at(text: str, at: int) -> tuple[MethodValue, int]:
    """Read a value from a place of a text on, and the place behind it."""
    named = _NAME.match(text, at)
    if named is None:
        raise _refused(text, at, "the name of a method is missing")
    name, at = named[1], named.end()
    if name not in list_parameters():
        raise InputError(f"there is no method '{name}'", did_you_mean(name, list_parameters()))
    if at == len(text) or text[at] != "(":
        return MethodValue(name), at
    parameters: dict[str, Any] = {}
    while text[at] != ")":
        key, value, at = _parameter_at(text, at + 1, name)
        if key in parameters:
            raise InputError(f"{name} has {key} twice", "leave out one of them")
        parameters[key] = value
        if at == len(text) or text[at] not in ",)":
            raise _refused(text, at, "a comma or ) is missing")
    return MethodValue(name, parameters), at + 1 + _blanks(text, at + 1)


def _parameter_at(text: str, at: int, method: str) -> tuple[str, Any, int]:
    """Read a parameter and its value from a place of a text on, and the place behind them."""
    named = _PARAMETER.match(text, at)
    if named is None:
        raise _refused(text, at, "the name of a parameter is missing")
    key = named[1].replace("-", "_")
    names = [parameter.name for parameter in parameters_of(method)]
    if key not in names:
        owners = [name for name in list_parameters() if key in [parameter.name for parameter in parameters_of(name)]]
        hint = f"it is one of {' and '.join(owners)}" if owners else did_you_mean(key, names)
        raise InputError(f"{method} has no parameter '{named[1]}'", hint)
    if not text.startswith("=", named.end()):
        raise _refused(text, named.end(), f"= and the value of {key} are missing")
    word = _WORD.match(text, named.end() + 1)
    if word is None:
        raise _refused(text, named.end() + 1, f"the value of {key} is missing")
    return key, _read(text, word, method, key), word.end()


def _read(text: str, word: re.Match[str], method: str, key: str) -> Any:
    """Read a value by the type of its parameter; words and decimals are kept as they are typed."""
    kinds = alternatives(types_of(list_parameters()[method])[key])
    try:
        if int in kinds and key != "stages":
            return whole_number(word[1])
        if kinds == (bool,):
            return {"true": True, "false": False}[word[1].lower()]
        return float(word[1]) if kinds == (float,) else word[1]
    except (ValueError, KeyError):
        wanted = "a whole number" if int in kinds else "true or false" if bool in kinds else "a number"
        raise _refused(text, word.start(1), f"{key} is {wanted}, and '{word[1]}' is none") from None


def _written(value: Any) -> str:
    return f"{value!r}" if isinstance(value, float) else str(value)


def _refused(text: str, at: int, what: str) -> InputError:
    """Say what is wrong in a text, and at which column."""
    return InputError(f"{short(text, 100)}: {what} (at column {at + _blanks(text, at) + 1})", _EXAMPLE)


def _blanks(text: str, at: int) -> int:
    """Count the blanks from a place of a text on."""
    return len(text[at:]) - len(text[at:].lstrip())
