"""`streameval guide`."""

from __future__ import annotations

import json
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import Field
from importlib import resources
from importlib.resources.abc import Traversable
from typing import Any, Literal, get_args, get_origin

from streameval.cli.output import Output
from streameval.cli.picture import TerminalLine
from streameval.errors import InputError
from streameval.methods import list_parameters
from streameval.methods.options import SHARED
from streameval.methods.values import parameters_of
from streameval.options import alternatives, types_of
from streameval.text.options import flag

_PLAIN = Output()
PAGES = {
    "To begin with": ("concepts", "labels", "methods", "faq", "glossary", "digits"),
    "What is asked": (
        "question",
        "comparing",
        "monitor",
        "slices",
        "many-rankings",
        "exact",
        "sample",
        "adopt",
        "missed",
    ),
    "Where the list is, and who labels": ("order", "lakes", "labelling", "clusters", "batch", "recipes"),
    "To look up": ("python", "sql", "claims", "guarantees", "commands", "functions"),
}


def guide(*topic: str, output: Output = _PLAIN) -> None:
    """Read a guide, or list them.

    Example: streameval guide methods

    Args:
        topic: Name of a guide, as the list has it, or of a method; or words, to list the sections in which they stand,
            best first.
    """
    files = sorted((resources.files("streameval") / "guide").iterdir(), key=lambda file: file.name)
    pages = {
        file.name.removesuffix(ending): read(file)
        for file in files
        for ending, read in ((".md", _page), (".ipynb", _notebook))
        if file.name.endswith(ending)
    }
    wanted = " ".join(topic)
    if not topic:
        titles = {name: text.partition("\n")[0].removeprefix("# ") for name, text in pages.items()}
        width = max(map(len, titles))
        lines = [line for head, names in PAGES.items()
                 for line in (head, *(f"  {name:{width}}  {titles[name]}" for name in names))]  # fmt: skip
        output.say(titles, lines)
        return
    if wanted in list_parameters():
        pages[wanted] = _of_method(wanted, pages["methods"])
    if wanted not in pages:
        _search(wanted, pages, output)
        return
    lines = [TerminalLine(_render(pages[wanted]))] if sys.stdout.isatty() else pages[wanted].splitlines()
    output.say({"topic": wanted, "text": pages[wanted]}, lines)


def _of_method(name: str, page: str) -> str:
    """Give the section of a method, and a table of what its value may name."""
    summary = list_parameters()[name].summary
    written = (part for part in _sections(page) if part.partition("\n")[0] == name)
    section = next(written, f"{name}\n\n{summary[0].upper()}{summary[1:]}.")
    rows = [f"| {parameter.name} | {_default(parameter)} | {_meaning(parameter, types_of(list_parameters()[name]))} |"
            for parameter in parameters_of(name)]  # fmt: skip
    typed = f"--method '{name}(NAME=VALUE, NAME=VALUE)' sets these:"
    return "\n".join(
        [f"# {section.rstrip()}", "", typed, "", "| name | default | what it is |", "| --- | --- | --- |", *rows, ""]
    )


def _default(parameter: Field[Any]) -> str:
    return parameter.metadata["shown"] or ("" if parameter.default is None else str(parameter.default))


def _meaning(parameter: Field[Any], types: Mapping[str, Any]) -> str:
    """Say what a parameter is, which words it takes, and whether it is an option of commands too."""
    words = [word for kind in alternatives(types[parameter.name]) if get_origin(kind) is Literal
             for word in get_args(kind)]  # fmt: skip
    listed = f" One of {', '.join(words)}." if words else ""
    return f"{parameter.metadata['help']}{listed}{f' Also {flag(parameter.name)}.' * (parameter.name in SHARED)}"


def _search(word: str, pages: dict[str, str], output: Output) -> None:
    """List the sections that have a word, or one that begins with it: of guides that speak most of it first."""
    words = [*map(re.escape, word.split())]
    by_topic = _found([r"\s+".join(words)], pages) or _found(words, pages)
    if not words or not by_topic:
        raise InputError(f"no guide is named '{word}', and no section has all these words",
                         f"there are {', '.join(pages)}")  # fmt: skip

    def weight(topic: str) -> tuple[bool, float]:
        times = sum(times for _, times in by_topic[topic])
        return _has(words, by_topic[topic][0][0]), times / len(pages[topic])

    best = {topic: by_topic[topic] for topic in sorted(by_topic, key=weight, reverse=True)}
    rows = [
        {"topic": topic, "section": heading, "times": times}
        for topic, sections in best.items()
        for heading, times in sections
    ]
    width = max(map(len, best))
    lines = [f"streameval guide {topic:{width}}  {_few([name for name, _ in best[topic]])}" for topic in best]
    output.say({"word": word, "sections": rows}, lines)


def _found(words: list[str], pages: dict[str, str]) -> dict[str, list[tuple[str, int]]]:
    """Find the sections in which all words begin a word: headings and how often, those that name the words first."""
    found = {}
    for topic, text in pages.items():
        parts = [(body.partition("\n")[0], _times(words, body)) for body in _sections(text) if _has(words, body)]
        if parts:
            found[topic] = sorted(parts, key=lambda part: (not _has(words, part[0]), -part[1]))
    return found


def _times(words: list[str], text: str) -> int:
    return sum(len(re.findall(rf"(?<!\w){word}", text, re.IGNORECASE)) for word in words)


def _has(words: list[str], text: str) -> bool:
    return all(re.search(rf"(?<!\w){word}", text, re.IGNORECASE) for word in words)


def _sections(text: str) -> list[str]:
    """Divide a page at its headings (a `#` in a block of code is none); each section begins with its heading."""
    blocks = re.split(r"(?ms)(^```.*?^```$)", text)
    marked = "".join(block if i % 2 else re.sub(r"(?m)^#+ ", "\0", block) for i, block in enumerate(blocks))
    return marked.split("\0")[1:]


def _few(names: list[str]) -> str:
    more = f"; {len(names) - 3} more" if len(names) > 3 else ""
    return "; ".join(names[:3]) + more


def _page(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")


def _notebook(file: Traversable) -> str:
    """Say what a notebook is about, how it is opened, and its cells without what they printed."""
    cells = json.loads(_page(file))["cells"]
    text = ["".join(cell["source"]) for cell in cells]
    parts = [cell_text if cell["cell_type"] == "markdown" else f"```python\n{cell_text}\n```"
             for cell, cell_text in zip(cells, text, strict=True)]  # fmt: skip
    how = f"A notebook, to be opened in Jupyter or an editor: `jupyter lab {shlex.quote(str(file))}`."
    return "\n\n".join([parts[0], how, *parts[1:]])


def _render(text: str) -> str:
    """Markdown as a terminal shows it."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.capture() as capture:
        console.print(Markdown(text))
    return capture.get().rstrip("\n")
