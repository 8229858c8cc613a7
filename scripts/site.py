"""Build the guides, the references and the report of the demo as a site (`scripts/site`)."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from docstrings import as_markdown

from streameval.cli.commands.guide import PAGES

HOME = Path(__file__).resolve().parents[1]
PROJECT = {"benchmarks/README.md": "Benchmarks", "streameval/README.md": "The map", "CHANGELOG.md": "Changelog"}
FILES = {  # what the pages show or need beside the text, by its place in the site
    "streameval/guide/report.png": "streameval/guide/report.png",
    "streameval/guide/digits.ipynb": "streameval/guide/digits.ipynb",
    "benchmarks/figure1.svg": "benchmarks/figure1.svg",
    "site.css": "scripts/site.css",
    "iframe-worker.js": "scripts/iframe-worker.js",
}
_CODE = re.compile(r"(?s)(?<!`)(`+)(?!`).+?(?<!`)\1(?!`)")
_LONG = 34  # characters of code that a line on a phone cannot hold
REPORT = """# The report of the demo

`streameval evaluate` writes such a report for every study. This one is of the demo: 1,613,706 ranked pairs of pictures.
It can also be [read alone](demo/report.html).

<iframe class="report" src="demo/report.html" title="The report of the demo"></iframe>
"""


def topics() -> list[str]:
    """Files of the guides, in the order in which `streameval guide` lists them."""
    endings = {"digits": "ipynb"}
    return [f"streameval/guide/{name}.{endings.get(name, 'md')}" for names in PAGES.values() for name in names]


def pages() -> dict[str, str]:
    """Text of every page by its path in the site, which is the path in the repository."""
    texts = {path: (HOME / path).read_text(encoding="utf-8") for path in ("README.md", *topics(), *PROJECT)}
    found = {path.replace(".ipynb", ".md"): WRITTEN.get(path, str)(text) for path, text in texts.items()}
    found = {path: with_long_code_marked(text.replace("digits.ipynb)", "digits.md)")) for path, text in found.items()}
    index = re.sub(r"^!\[.*\]\(.*report\.png\)$", r"[\g<0>](report.md)", found.pop("README.md"), flags=re.MULTILINE)
    return {"index.md": index, "report.md": REPORT, **found}


def notebook(text: str) -> str:
    """Write a notebook's cells, and what they printed, as Markdown."""
    parts = []
    for cell in json.loads(text)["cells"]:
        source = "".join(cell["source"])
        parts.append(source if cell["cell_type"] == "markdown" else f"```python\n{source}\n```")
        for output in cell.get("outputs", ()):
            drawn = "".join(output.get("data", {}).get("text/html", ""))
            parts.append(f"<div>{drawn}</div>" if drawn else f"```text\n{''.join(output['text'])}```")
    parts.insert(1, '<a href="digits.ipynb" download>This page as a notebook</a>')
    return "\n\n".join(parts) + "\n"


WRITTEN: dict[str, Callable[[str], str]] = {
    "streameval/guide/digits.ipynb": notebook,
    "streameval/guide/functions.md": as_markdown,
}


def with_long_code_marked(text: str) -> str:
    """Mark code of more than a few words, which wraps as a sentence does (site.css)."""
    parts = re.split(r"(?ms)(^```.*?^```$)", text)
    for place in range(0, len(parts), 2):
        parts[place] = _CODE.sub(lambda code: code[0] + "{.long}" * (len(code[0]) > _LONG), parts[place])
    return "".join(parts)


def settings(texts: dict[str, str]) -> str:
    """Configuration of Zensical: `site.toml`, and every page under its title."""
    titles = {path: text.partition("\n")[0].removeprefix("# ") for path, text in texts.items()}
    titles |= PROJECT | {"index.md": "Overview"}

    def linked(*paths: str) -> str:
        return ", ".join(f"{{{json.dumps(titles[path])} = {json.dumps(path)}}}" for path in paths)

    guides = [path for path in texts if path.startswith("streameval/guide/")]
    sections = f"{{Guide = [{linked(*guides)}]}}, {{Project = [{linked(*PROJECT)}]}}"
    kept = (HOME / "scripts" / "site.toml").read_text(encoding="utf-8")
    return kept.replace("[project]\n", f"[project]\nnav = [{linked('index.md', 'report.md')}, {sections}]\n", 1)


def build(folder: Path) -> None:
    """Write the site into a folder, which is new or holds an earlier one."""
    if folder.exists() and any(folder.iterdir()) and not (folder / "search.js").exists():
        sys.exit(f"{folder} holds something that is no site of ours. Hint: name a new folder")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(prefix=".site-", dir=folder.parent) as temporary:
        source = Path(temporary)
        texts = pages()
        for path, text in texts.items():
            place = source / "docs" / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, encoding="utf-8")
        for place, path in FILES.items():
            shutil.copy(HOME / path, source / "docs" / place)
        demo = [sys.executable, "-m", "streameval", "demo", "streameval-demo", "--quiet"]
        subprocess.run(demo, cwd=source, check=True, stdout=subprocess.DEVNULL)
        (source / "docs" / "demo").mkdir()
        shutil.copy(source / "streameval-demo" / "study" / "report.html", source / "docs" / "demo")
        (source / "zensical.toml").write_text(settings(texts), encoding="utf-8")
        generator = HOME / ".venv" / "site" / "bin" / "zensical"
        subprocess.run([generator, "build", "--strict"], cwd=source, check=True)
        shutil.rmtree(folder, ignore_errors=True)
        (source / "site").rename(folder)
    print(f"Open {folder / 'index.html'}")


if __name__ == "__main__":
    build(Path(sys.argv[1]))
