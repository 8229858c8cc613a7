"""Declaration of a verb, read from its file without running it: what it computes with would take a second to import.

Its docstring is the manual of both, and is read: a parameter is an option of the command where `Args:` has it, unless
its text begins with "In Python"; from these words on, nothing is in help. An entry that has the name of an option of
a dataclass (`takes`) goes before the help that is declared there. A first parameter `ranking` or `studies` takes all
words, a later one words where its type is a Sequence. Types that only computing needs stand for `str`: no word has
them.
"""

from __future__ import annotations

import ast
import os
import pkgutil
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import cache, cached_property
from importlib import import_module
from inspect import cleandoc
from pathlib import Path
from typing import Any, Literal, cast

import streameval
from streameval.options import types_of
from streameval.text.options import flag

_IN_PYTHON = "In Python"  # where the manual says what the command line has no words for
_SECTION = re.compile(r"^(Args|Returns|Raises|Yields|Attributes):$", re.MULTILINE)
_ENTRY = re.compile(r"^    (\w[\w, ]*?)(?: \([^)]*\))?: ", re.MULTILINE)


@dataclass(frozen=True)
class Parameter:
    """One parameter of a verb.

    Attributes:
        hint: Its type; names that only computing needs stand for `str` in it.
        default: `REQUIRED` where it has none.
        position: One word; `all` takes every further one, `rest` one by one; None where it goes by name.
    """

    name: str
    hint: Any
    default: Any
    position: Literal["one", "all", "rest"] | None


REQUIRED = object()


class _TypeNames(dict[str, Any]):
    """Names of types; those that only computing needs stand for `str`."""

    def __missing__(self, name: str) -> Any:
        return str


_NAMES = {"Any": Any, "Callable": Callable, "Iterable": Iterable, "Literal": Literal, "Path": Path,
          "Sequence": Sequence, "os": os, "bool": bool, "float": float, "int": int, "str": str,
          "tuple": tuple}  # fmt: skip


@dataclass(frozen=True)
class Declared:
    """A verb as its file declares it."""

    name: str
    folder: str = "verbs"

    @cached_property
    def _source(self) -> str:
        return (pkgutil.get_data("streameval", f"{self.folder}/{self.name}.py") or b"").decode()

    @cached_property
    def _file(self) -> ast.Module:
        return ast.parse(self._source)

    @cached_property
    def _function(self) -> ast.FunctionDef:
        functions = (node for node in self._file.body if isinstance(node, ast.FunctionDef) and node.name == self.name)
        return [*functions][-1]  # those before are overloads

    @property
    def rehearses(self) -> bool:
        """Tell whether its file has a function `rehearsal`, which takes the same and changes nothing."""
        return any(isinstance(node, ast.FunctionDef) and node.name == "rehearsal" for node in self._file.body)

    @cached_property
    def manual(self) -> str:
        """Docstring: found without parsing the file, for every command names those of all."""
        docstrings = re.findall(rf'^def {self.name}\(.*?"""(.*?)"""', self._source, re.DOTALL | re.MULTILINE)
        return cleandoc(docstrings[-1])

    @property
    def about(self) -> str:
        """Say what help says before it lists options."""
        before = _SECTION.split(self.manual)[0]
        shown = [part for part in before.strip().split("\n\n") if not part.startswith(_IN_PYTHON)]
        return self._as_typed("\n\n".join(shown))

    @cached_property
    def helps(self) -> dict[str, str]:
        """Help of parameters and options, by name, as the manual has it; those of Python alone are missing."""
        parts = _SECTION.split(self.manual)
        entries = _ENTRY.split(dict(zip(parts[1::2], parts[2::2], strict=True)).get("Args", ""))
        helps = {}
        for name, text in zip(entries[1::2], entries[2::2], strict=True):
            typed = " ".join(text.split())
            if not typed.startswith(_IN_PYTHON):
                helps[name] = typed.split(f" {_IN_PYTHON}")[0]
        return helps

    @property
    def names(self) -> set[str]:
        """Names of all that it takes by name."""
        options = {parameter.name for parameter in self.parameters if parameter.position is None}
        return options | {field.name for kind in self.kinds for field in fields(kind)}

    def help_of(self, name: str, otherwise: str = "") -> str:
        """Help of a parameter or an option."""
        return self._as_typed(self.helps.get(name, otherwise))

    def _as_typed(self, text: str) -> str:
        """Write options that a manual names in backticks as they are typed."""
        return re.sub(
            r"`(\w+)`", lambda name_match: flag(name_match[1]) if name_match[1] in self.names else name_match[0], text
        )

    @cached_property
    def parameters(self) -> list[Parameter]:
        """Give the parameters that are not options of others, in the order of the verb."""
        return [*self._parameters()]

    def _parameters(self) -> Iterator[Parameter]:
        arguments = self._function.args
        plain = [*arguments.posonlyargs, *arguments.args]
        defaults = [None] * (len(plain) - len(arguments.defaults)) + [*arguments.defaults]
        leads_on = False
        for place, (argument, default) in enumerate(zip(plain, defaults, strict=True)):
            hint = _type(argument.annotation)
            several = argument.arg in ("ranking", "studies") or (place > 0 and _takes_several(hint))
            position: Literal["one", "all"] | None = None if leads_on else "all" if several else "one"
            leads_on = leads_on or several
            yield Parameter(argument.arg, hint, _value(default), position)
        if arguments.vararg is not None:
            yield Parameter(arguments.vararg.arg, _type(arguments.vararg.annotation), REQUIRED, "rest")
        for argument, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
            yield Parameter(argument.arg, _type(argument.annotation), _value(default), None)

    @cached_property
    def _takes(self) -> ast.Call | None:
        calls = (one for one in self._function.decorator_list if isinstance(one, ast.Call))
        return next((one for one in calls if isinstance(one.func, ast.Name) and one.func.id == "takes"), None)

    @cached_property
    def kinds(self) -> list[type[Any]]:
        """Dataclasses whose options it takes."""
        homes = {alias.name: node.module for node in self._file.body if isinstance(node, ast.ImportFrom)
                 for alias in node.names}  # fmt: skip
        names = [node.id for node in (self._takes.args if self._takes else []) if isinstance(node, ast.Name)]
        return [getattr(import_module(str(homes[name])), name) for name in names]

    @property
    def _in_python(self) -> tuple[str, ...]:
        """Options of its dataclasses that no word gives."""
        keywords = self._takes.keywords if self._takes else []
        return tuple(next((ast.literal_eval(keyword.value) for keyword in keywords if keyword.arg == "in_python"), ()))

    def options(self) -> Iterator[tuple[str, type[Any], Any, Any, str]]:
        """Give each option: its name, the dataclass that declares it, its type, default and help."""
        seen = set(self._in_python)
        for kind in self.kinds:
            for option in fields(kind):
                if "help" in option.metadata and option.name not in seen:
                    seen.add(option.name)
                    hint = types_of(cast(Any, kind))[option.name]
                    yield (
                        option.name,
                        kind,
                        hint,
                        option.default,
                        self.help_of(option.name, str(option.metadata["help"])),
                    )


@cache
def read_declaration(name: str, folder: str = "verbs") -> Declared:
    """Give what the verb of a name takes; or a command, by the folder of its file."""
    return Declared(name, folder)


def verbs() -> list[str]:
    """Names of the verbs that are commands: `register` is for a connection of one's own."""
    return [name for name, home in vars(streameval)["_HOMES"].items() if home == f"verbs.{name}" and name != "register"]


def _type(annotation: ast.expr | None) -> Any:
    text = "str" if annotation is None else ast.unparse(annotation)
    return eval(text, {"__builtins__": {}}, _TypeNames(_NAMES))  # names and types of our own files alone


def _takes_several(hint: Any) -> bool:
    return "Sequence" in str(hint)


def _value(default: ast.expr | None) -> Any:
    """Default of a parameter; what is no literal stands for what no word can be."""
    if default is None:
        return REQUIRED
    try:
        return ast.literal_eval(default)
    except ValueError:
        return None
