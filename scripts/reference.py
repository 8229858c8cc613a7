"""The reference of the commands and that of the functions, as Markdown made from the code."""

from __future__ import annotations

import inspect
import re
import sys
from pathlib import Path
from unittest.mock import patch

GUIDE = Path(__file__).resolve().parents[1] / "streameval" / "guide"


def commands() -> str:
    """Every verb with its parameters, from the command line's own help."""
    from streameval.cli import app

    with patch.object(sys, "argv", ["streameval"]):  # the name that usage lines begin with
        body = app.generate_docs(output_format="markdown", include_hidden=False)
    verbs = body[body.index("\n## streameval ") :]  # what comes before is a table of contents, twice
    text = verbs.replace("\nExample: ", "\n\nExample: ").replace("```console", "```text")
    return "# Commands: every verb and its options\n\nMade from the code by `scripts/reference`.\n" + _tidy(text)


def functions() -> str:
    """Every public name with its signature and docstring."""
    import streameval

    parts = ["# Functions: every public name of the package\n\nMade from the code by `scripts/reference`.\n"]
    for name in sorted(streameval.__all__, key=str.lower):
        value = getattr(streameval, name)
        if name.startswith("__"):
            continue
        parts.append(f"\n## {name}\n\n```text\n{_signature(name, value)}\n\n{inspect.getdoc(value)}\n```\n")
        parts += [
            f"\n### {name}.{member}\n\n```text\n{_signature(member, what)}\n\n{inspect.getdoc(what)}\n```\n"
            for member, what in sorted(vars(value).items() if inspect.isclass(value) else ())
            if not member.startswith("_") and (inspect.isfunction(what) or isinstance(what, property)) and what.__doc__
        ]
    return _tidy("".join(parts))


def _signature(name: str, value: object) -> str:
    if isinstance(value, property) or (inspect.isclass(value) and issubclass(value, Exception)):
        return name
    signature = str(inspect.signature(value)).replace("'", "")  # type: ignore[arg-type]
    return name + re.sub(r"<function \w+ at 0x[0-9a-f]+>", "silent", signature)


def _tidy(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


PAGES = {"commands.md": commands, "functions.md": functions}

if __name__ == "__main__":
    for page, make in PAGES.items():
        (GUIDE / page).write_text(make(), encoding="utf-8")
