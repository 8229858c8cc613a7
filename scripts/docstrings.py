"""Docstrings of the reference of functions as Markdown, which a page shows better than text of a fixed width."""

from __future__ import annotations

import re

_BLOCK = re.compile(r"```text\n(.*?)\n```", re.DOTALL)
_SECTION = re.compile(r"(Args|Attributes|Returns|Raises):")
_ENTRY = re.compile(r"([\w*.|\[\], ]+?)( \(.*?\))?: (.*)")
_WIDEST = 88  # characters of a signature in one line


def as_markdown(page: str) -> str:
    """Write every signature of a page as Python, and what is said of it as paragraphs and lists."""
    return _BLOCK.sub(lambda found: _entry(*found[1].partition("\n\n")[::2]), page)


def _entry(signature: str, docstring: str) -> str:
    parts = [f"```python\n{_wrapped(signature)}\n```"]
    for part in re.split(r"\n\n+", docstring.strip()):
        head, _, rest = part.partition("\n")
        if section := _SECTION.fullmatch(head):
            parts += [f"**{section[1]}**", "\n".join(map(_listed, _joined(rest)))]
        elif part.startswith(">>> "):
            parts.append(f"```pycon\n{part}\n```")
        else:
            parts.append(_prose(" ".join(part.split())))
    return "\n\n".join(parts)


def _wrapped(signature: str) -> str:
    """A signature with each parameter on a line of its own where they do not all fit into one."""
    if len(signature) <= _WIDEST or "(" not in signature:
        return signature
    name, _, rest = signature.partition("(")
    inside, _, returned = rest.rpartition(") -> ")
    parameters = re.split(r", (?![^\[(]*[\])])", inside)
    return f"{name}(\n" + "".join(f"    {one},\n" for one in parameters) + f") -> {returned}"


def _joined(section: str) -> list[str]:
    """Entries of a section, each with its further lines, which are indented below it."""
    return [" ".join(one.split()) for one in re.split(r"\n {4}(?! )", "\n" + section) if one.strip()]


def _listed(entry: str) -> str:
    found = _ENTRY.fullmatch(entry)
    if found is None:
        return f"- {_prose(entry)}"
    names = ", ".join(f"`{name}`" for name in found[1].split(", "))
    return f"- {names}{_prose(found[2] or '')}: {_prose(found[3])}"


def _prose(text: str) -> str:
    """Escape what Markdown would take for its own, outside of code."""
    pieces = text.split("`")
    pieces[::2] = [re.sub(r"([*_<>\\])", r"\\\1", one) for one in pieces[::2]]
    return "`".join(pieces)
