"""Write a generated section of README.md between its markers."""

from __future__ import annotations

from pathlib import Path

README = Path(__file__).resolve().parents[1] / "README.md"


def write_section(name: str, text: str) -> None:
    """Replace what stands between `<!-- name -->` and `<!-- /name -->`."""
    before, rest = README.read_text().split(f"<!-- {name} -->\n")
    _, after = rest.split(f"<!-- /{name} -->", 1)
    README.write_text(f"{before}<!-- {name} -->\n{text.strip()}\n<!-- /{name} -->{after}")


def markdown(head: list[str], rows: list[list[str]]) -> str:
    """A table; all columns but the first are aligned to the right."""
    lines = [head, [":--"] + ["--:"] * (len(head) - 1), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)
