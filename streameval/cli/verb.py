"""A verb as an app: its file is imported when it is first used, and its flags are read once a process."""

from __future__ import annotations

from copy import copy
from importlib import import_module
from importlib.util import find_spec

from cyclopts import App, ArgumentCollection, Parameter

from streameval.cli.generate import command_of

VERSION_FLAGS = ("--version", "-V")
_OF_ALL = "Options of every command, such as --json: `streameval --help`"


class Verb(App):
    """The app of one verb."""

    def assemble_argument_collection(
        self, *, default_parameter: Parameter | None = None, parse_docstring: bool = False
    ) -> ArgumentCollection:
        """Give every flag, without a value.

        To make them of types and defaults takes longer than to read a command by them. Errors look at them again.
        """
        if default_parameter is not None:
            return super().assemble_argument_collection(
                default_parameter=default_parameter, parse_docstring=parse_docstring
            )
        by_docstring = vars(self).setdefault("made", {})
        if parse_docstring not in by_docstring:
            by_docstring[parse_docstring] = super().assemble_argument_collection(parse_docstring=parse_docstring)
        return _without_values(by_docstring[parse_docstring])


def _without_values(flags: ArgumentCollection) -> ArgumentCollection:
    """Copy flags that hold nothing yet: the parser puts values into those that it is given."""
    copies = {id(one): copy(one) for one in flags}

    def copied(those: ArgumentCollection) -> ArgumentCollection:
        return ArgumentCollection(copies[id(flag)] for flag in those)  # type: ignore[no-untyped-call]

    for one in copies.values():
        one.tokens = []
        one.children = copied(one.children)
    return copied(flags)


def __getattr__(name: str) -> Verb:
    """Make the app of a verb, of the function in the file of `streameval.cli.commands` that has its name."""
    if name.startswith("_"):
        raise AttributeError(name)
    verb = Verb(name=name, version_flags=VERSION_FLAGS, help_epilogue=_OF_ALL)
    if find_spec(f"streameval.cli.commands.{name}") is None:
        verb.default(command_of(name))
    else:
        verb.default(getattr(import_module(f"streameval.cli.commands.{name}"), name))
    return verb
