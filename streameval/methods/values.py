"""Methods as values: a name, and those of its parameters that are not as by default, as `paula(window=50)`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from operator import attrgetter
from typing import TYPE_CHECKING, Any, cast

from streameval.calls import Argument, Call, read_call, split_at_commas, write_call
from streameval.errors import InputError, did_you_mean
from streameval.methods import Method, create, list_parameters, named, own_parameters
from streameval.methods.options import SHARED, option_of
from streameval.methods.stage_text import stages_typed
from streameval.options import alternatives, types_of
from streameval.text import short
from streameval.text.numbers import whole_number
from streameval.text.options import flag

if TYPE_CHECKING:
    from streameval.types import Plan

_EXAMPLE = "paula(window=50, epsilon=0.02)"


@dataclass(frozen=True)
class MethodValue:
    """A method that plans, by its name and parameters; `str` writes it as it is typed.

    Attributes:
        parameters: Only those that were given, or differ from their defaults.
    """

    name: str
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return write_call(self.name, self.parameters)

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
            raise InputError(f"none of {', '.join(map(str, values))} has a parameter {option_of(name)}")
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
    texts = split_at_commas(methods) if isinstance(methods, str) else map(str, methods)
    values = [_value_of(read_call(text.strip(), _EXAMPLE)) for several in texts for text in split_at_commas(several)]
    return list({str(value): value for value in values}.values())


def _value_of(call: Call) -> MethodValue:
    """Read the parameters of a method by their types."""
    if call.name not in list_parameters():
        raise InputError(f"there is no method '{call.name}'", did_you_mean(call.name, list_parameters()))
    names = [parameter.name for parameter in parameters_of(call.name)]
    for argument in call.arguments:
        owners = [name for name in list_parameters() if argument.key in map(attrgetter("name"), parameters_of(name))]
        if owners and argument.key not in names:
            raise InputError(f"{call.name} has no parameter '{argument.key}'", f"it is one of {' and '.join(owners)}")
    return MethodValue(call.name, {key: _read(call, word) for key, word in call.keys_alone(names).items()})


def _read(call: Call, word: Argument) -> Any:
    """Read a value by the type of its parameter; words and decimals are kept as they are typed."""
    kinds = alternatives(types_of(list_parameters()[call.name])[word.key])
    if int in kinds and word.key != "stages":
        return call.read(word, whole_number, "a whole number")
    if kinds == (bool,):
        return call.read(word, {"true": True, "false": False}.__getitem__, "true or false")
    return call.read(word, float, "a number") if kinds == (float,) else word.value
