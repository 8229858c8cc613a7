"""Write generated sections of `benchmarks/README.md` between their markers."""

from __future__ import annotations

import re
from pathlib import Path

README = Path(__file__).with_name("README.md")


def write_section(name: str, text: str, path: Path = README) -> None:
    """Replace what stands between `<!-- name -->` and `<!-- /name -->`.

    Raises
    ------
    SystemExit
        The file has no such markers.
    """
    content = path.read_text(encoding="utf-8")
    section = re.compile(rf"(<!-- {re.escape(name)} -->\n).*?(<!-- /{re.escape(name)} -->)", re.DOTALL)
    if not section.search(content):
        raise SystemExit(f"{path}: no markers for {name}")
    path.write_text(section.sub(lambda found: f"{found[1]}{text.strip()}\n{found[2]}", content), encoding="utf-8")


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table; all columns but the first are aligned to the right."""
    lines = [head, [":--"] + ["--:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
