"""`streameval guide`."""

from __future__ import annotations

import sys
from importlib import resources

from streameval.cli.output import Drawn, Output
from streameval.errors import InputError

_PLAIN = Output()


def guide(topic: str | None = None, output: Output = _PLAIN) -> None:
    """Read the guides: concepts, methods, labels, SQL and more; without a topic, list them.

    Example: streameval guide methods

    Args:
        topic: Name of a guide, as the list has it.
    """
    pages = {
        page.name.removesuffix(".md"): page.read_text(encoding="utf-8")
        for page in sorted((resources.files("streameval") / "guide").iterdir(), key=lambda page: page.name)
        if page.name.endswith(".md")
    }
    if topic is None:
        titles = {name: text.partition("\n")[0].removeprefix("# ") for name, text in pages.items()}
        width = max(map(len, titles))
        output.say(titles, [f"{name:{width}}  {title}" for name, title in titles.items()])
        return
    if topic not in pages:
        raise InputError(f"no guide '{topic}'", f"there are {', '.join(pages)}")
    lines = [Drawn(_drawn(pages[topic]))] if sys.stdout.isatty() else pages[topic].splitlines()
    output.say({"topic": topic, "text": pages[topic]}, lines)


def _drawn(text: str) -> str:
    """Markdown as a terminal shows it."""
    from rich.console import Console
    from rich.markdown import Markdown

    console = Console()
    with console.capture() as capture:
        console.print(Markdown(text))
    return capture.get().rstrip("\n")
