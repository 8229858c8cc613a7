"""What is made from the code: the reference of the commands and of the functions, and the types that users check by."""

from __future__ import annotations

import ast
import inspect
import os
import re
import sys
from collections.abc import Callable
from dataclasses import fields
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_overloads, get_type_hints
from unittest.mock import patch

PACKAGE = Path(__file__).resolve().parents[1] / "streameval"


def commands() -> str:
    """Every verb with its parameters, from the command line's own help."""
    from streameval.cli import app
    from streameval.cli.output import of_all

    with patch.object(sys, "argv", ["streameval"]):  # the name that usage lines begin with
        body = app.generate_docs(output_format="markdown", include_hidden=False)
    verbs = body[body.index("\n## streameval ") :]  # what comes before is a table of contents, twice
    text = verbs.replace("\nExample: ", "\n\nExample: ").replace("```console", "```text")
    head = "# Commands: every verb and its options\n\nMade from the code by `scripts/reference`.\n"
    return f"{head}\n```text\n{of_all()}\n```\n{_tidy(text)}"


def functions() -> str:
    """Every public name with its signature and docstring."""
    import streameval
    from streameval.kinds.results import StudyResult

    parts = ["# Functions: every public name of the package\n\nMade from the code by `scripts/reference`.\n"]
    for name in sorted(streameval.__all__, key=str.lower):
        value = getattr(streameval, name)
        if name.startswith("__"):
            continue
        parts.append(f"\n## {name}\n\n```text\n{_signature(name, value)}\n\n{inspect.getdoc(value)}\n```\n")
        parts += [
            f"\n### {name}.{member}\n\n```text\n{_signature(member, what)}\n\n{inspect.getdoc(what)}\n```\n"
            for member, what in sorted(vars(value).items() if inspect.isclass(value) else ())
            if not member.startswith("_")
            and not (issubclass(value, StudyResult) and member in vars(StudyResult))  # what commands print of any
            and (inspect.isfunction(what) or isinstance(what, property | cached_property))
            and what.__doc__
        ]
    return _tidy("".join(parts))


def _together(home: str, imports: set[str]) -> list[str]:
    """One line that imports all names of a module; none where there is no name."""
    names = sorted(line.split()[-1] for line in imports if line.startswith(home))
    return [f"{home}import {', '.join(names)}"] if names else []


def stub() -> str:
    """Every public name for type checkers; options that a function takes as keywords (`takes`) are named."""
    import streameval

    imports, written = set(), []
    for name in sorted(set(streameval.__all__) - {"__version__"}):
        value = getattr(streameval, name)
        if inspect.isfunction(value) and getattr(value, "option_kinds", ()):
            written += [_with_options(value, made, imports) for made in get_overloads(value) or [inspect.unwrap(value)]]
        else:
            imports.add(f"from {value.__module__} import {name} as {name}")
    ours = sorted((line for line in imports if "streameval" in line), key=str.lower)
    several = ("from typing ", "from collections.abc ")
    together = [_together(home, imports) for home in several]
    rest = {line for line in imports - set(ours) if not line.startswith(several)}
    theirs = sorted(line for line in rest if line.split()[1].split(".")[0] not in sys.stdlib_module_names)
    rest -= set(theirs)
    head = sorted(rest.union(*together), key=lambda line: (line.startswith("from"), line))
    parts = [
        "# Made from the code by `scripts/reference`.",
        *head,
        "",
        *theirs,
        "",
        *ours,
        "",
        "__version__: str",
        "",
        *written,
    ]
    return "\n".join(parts) + "\n"


def keywords(function: Callable[..., Any]) -> dict[str, Any]:
    """Types of what a verb takes as keywords besides its own: options of its dataclasses."""
    from streameval.options import alternatives

    kinds: dict[str, set[object]] = {}
    for kind in getattr(function, "option_kinds", ()):
        hints = get_type_hints(kind)
        for field in fields(kind):
            if "help" in field.metadata:
                kinds.setdefault(field.name, set()).update(alternatives(hints[field.name]))
    return kinds


def _with_options(function: Callable[..., Any], made: Callable[..., Any], imports: set[str]) -> str:
    """Write a function, or one overload of it, with all that it takes as keywords in place of `**options`."""
    signature = inspect.signature(made)
    own = {name: one for name, one in signature.parameters.items() if one.kind is not one.VAR_KEYWORD}
    said = {name: one.annotation.replace("'", '"') for name, one in own.items()}
    said |= {name: _type(kinds) for name, kinds in keywords(function).items() if name not in own}
    homes = {"Any": "from typing import Any", "Literal": "from typing import Literal",
             "overload": "from typing import overload",
             "Sequence": "from collections.abc import Sequence", **_homes(function)}  # fmt: skip
    overloaded = "overload" if get_overloads(function) else ""
    for word in re.findall(r"(?<![.\w\"])\w+", " ".join([overloaded, *said.values(), signature.return_annotation])):
        if word in homes:
            imports.add(homes[word])
    lines = []
    for name, annotation in said.items():
        one = signature.parameters.get(name)
        if (one is None or one.kind is one.KEYWORD_ONLY) and "    *," not in lines:
            lines.append("    *,")
        optional = one is None or one.default is not one.empty
        lines.append(f"    {name}: {annotation}{' = ...' * optional},")
    head = [*["@overload"] * bool(overloaded), f"def {function.__name__}("]
    return "\n".join([*head, *lines, f") -> {signature.return_annotation}: ..."])


def _type(kinds: set[object]) -> str:
    return "Any" if Any in kinds else " | ".join([*sorted(map(_written, kinds)), "None"])


def _written(kind: Any) -> str:
    if get_origin(kind) is Literal:
        words = ", ".join(f'"{word}"' for word in get_args(kind))
        return f"Literal[{words}]"
    if not get_args(kind):
        return str(kind.__name__)
    inner = get_args(kind)[0]
    if get_origin(kind) is os.PathLike:
        return "os.PathLike[str]"
    return f"Sequence[{' | '.join(one.__name__ for one in get_args(inner) or (inner,))}]"


def _homes(function: Callable[..., Any]) -> dict[str, str]:
    """What a function's annotations may name, as statements that import it."""
    import streameval

    module = inspect.getmodule(function)
    found = {name: f"from {module.__name__} import {name}" for name in vars(module)}
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        for one in node.names if isinstance(node, ast.ImportFrom | ast.Import) else ():
            start = f"from {node.module} " if isinstance(node, ast.ImportFrom) else ""
            found[one.asname or one.name] = f"{start}import {one.name}" + (f" as {one.asname}" if one.asname else "")
    return {name: line for name, line in found.items() if name not in streameval.__all__}


def _signature(name: str, value: object) -> str:
    if isinstance(value, property | cached_property) or (inspect.isclass(value) and issubclass(value, Exception)):
        return name
    signature = inspect.signature(inspect.unwrap(value) if inspect.isfunction(value) else value)  # type: ignore[arg-type]
    parameters = [one.replace(annotation=_asis(one.annotation), default=_asis(one.default, repr))
                  for one in signature.parameters.values()]  # fmt: skip
    return name + str(signature.replace(parameters=parameters, return_annotation=_asis(signature.return_annotation)))


class _AsIs(str):
    """Text that a signature shows without quotation marks."""

    __repr__ = str.__str__


def _asis(value: Any, written: Callable[[Any], str] = str) -> Any:
    """An annotation, which is text, or a default as a signature shows it: functions by their name."""
    if value is inspect.Parameter.empty:
        return value
    return _AsIs(value.__name__ if inspect.isfunction(value) else written(value))


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


PAGES = {"guide/commands.md": commands, "guide/functions.md": functions, "__init__.pyi": stub}

if __name__ == "__main__":
    for page, make in PAGES.items():
        (PACKAGE / page).write_text(make(), encoding="utf-8")
