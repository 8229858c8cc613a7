"""`streameval guide`."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import resources
from importlib.resources.abc import Traversable

from streameval.cli.output import Output, TerminalLine
from streameval.errors import InputError

_PLAIN = Output()


def guide(topic: str | None = None, /, output: Output = _PLAIN) -> None:
    """Read the guides: concepts, methods, labels, SQL and more; without a topic, list them.

    Example: streameval guide methods

    Args:
        topic: Name of a guide, as the list has it.
    """
    files = sorted((resources.files("streameval") / "guide").iterdir(), key=lambda file: file.name)
    pages = {
        file.name.removesuffix(ending): read(file)
        for file in files
        for ending, read in ((".md", _page), (".ipynb", _notebook))
        if file.name.endswith(ending)
    }
    if topic is None:
        titles = {name: text.partition("\n")[0].removeprefix("# ") for name, text in pages.items()}
        width = max(map(len, titles))
        output.say(titles, [f"{name:{width}}  {title}" for name, title in titles.items()])
        return
    if topic not in pages:
        raise InputError(f"no guide '{topic}'", f"there are {', '.join(pages)}")
    lines = [TerminalLine(_drawn(pages[topic]))] if sys.stdout.isatty() else pages[topic].splitlines()
    output.say({"topic": topic, "text": pages[topic]}, lines)


def _page(file: Traversable) -> str:
    return file.read_text(encoding="utf-8")


def _notebook(file: Traversable) -> str:
    """What a notebook is about, how it is opened, and its cells without what they printed."""
    cells = json.loads(_page(file))["cells"]
    text = ["".join(cell["source"]) for cell in cells]
    parts = [one if cell["cell_type"] == "markdown" else f"```python\n{one}\n```"
             for cell, one in zip(cells, text, strict=True)]  # fmt: skip
    how = f"A notebook, to be opened in Jupyter or an editor: `jupyter lab {shlex.quote(str(file))}`."
    return "\n\n".join([parts[0], how, *parts[1:]])


def _drawn(text: str) -> str:
    """Markdown as a terminal shows it."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.capture() as capture:
        console.print(Markdown(text))
    return capture.get().rstrip("\n")
