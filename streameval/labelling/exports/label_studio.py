"""Tasks for Label Studio: JSON files of at most 50,000 tasks and 200 MB, and the labelling configuration to paste.

One file with exactly the given name where that suffices, else NAME-0001, NAME-0002 …; the configuration is beside them,
with the ending .xml. Its choices come back as labels; the full JSON export is the one that keeps skips.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

import pyarrow as pa

from streameval.errors import InputError
from streameval.labelling.exports import NO_QUESTION, OURS, Files, TaskQuestion, unambiguous
from streameval.labelling.exports.cells import address, dumps, is_drawn, records
from streameval.stores import atomic

SUFFIX = ".label-studio.json"
HOW = "import it into Label Studio with the .xml, and export the answers as answers.json"
BACK = "answers.json"
_MOST_TASKS, _MOST_BYTES = 50_000, 200_000_000
_LOOKED_AT = 1_000  # rows, to see which texts need a fixed font


def files(tasks: pa.Table, path: Path, question: TaskQuestion = NO_QUESTION) -> Files:
    """Task files and the configuration; an `InputError` where a single task is larger than a file may be."""
    shown = unambiguous(tasks)
    question = question.with_columns(shown.column_names)
    cuts = _cuts(shown, path, question)
    names = [path] if len(cuts) == 2 else [_numbered_path(path, i) for i in range(1, len(cuts))]
    parts = [shown.slice(first, last - first) for first, last in pairwise(cuts)]
    writers: dict[Path, atomic.Writer] = {
        name: _writer(part, question) for name, part in zip(names, parts, strict=True)
    }
    written = configuration(shown.column_names, question, _fixed_font_columns(shown))
    return {**writers, path.with_suffix(".xml"): atomic.text(written)}


def _numbered_path(path: Path, number: int) -> Path:
    stem = path.name[: -len(SUFFIX)]
    return path.with_name(f"{stem}-{number:04}{path.name[len(stem) :]}")


def _records(tasks: pa.Table, question: TaskQuestion) -> Iterator[dict[str, Any]]:
    """One task after another; a picture is the address of its bytes."""
    for record in records(tasks, question.images):
        yield {**record, **{name: address(record[name], question.image_root) for name in question.images}}


def _fixed_font_columns(tasks: pa.Table) -> list[str]:
    """Columns of texts of several short lines, as of code and drawings: they need a fixed font."""
    first = tasks.slice(0, _LOOKED_AT)
    texts = [
        field.name for field in first.schema if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
    ]
    return [name for name in texts if any(map(is_drawn, first.column(name).to_pylist()))]


def _cuts(tasks: pa.Table, path: Path, question: TaskQuestion) -> list[int]:
    """Row at which each file begins, and the number of rows."""
    cuts, size, count = [0], 0, 0
    for i, record in enumerate(_records(tasks, question)):
        more = len(_encode(record)) + 2
        if more > _MOST_BYTES - 4:
            raise InputError(f"{path}: task {record['se_task']} alone has {more:,} bytes", "--columns carries fewer")
        if count == _MOST_TASKS or size + more > _MOST_BYTES - 4:
            cuts.append(i)
            size = count = 0
        size, count = size + more, count + 1
    return [*cuts, tasks.num_rows]


def _encode(record: dict[str, object]) -> bytes:
    return dumps({"data": record}).encode("utf-8", "replace")


def _writer(tasks: pa.Table, question: TaskQuestion) -> atomic.Writer:
    def write(path: str) -> None:
        with open(path, "wb") as stream:
            stream.write(b"[\n")
            for i, record in enumerate(_records(tasks, question)):
                stream.write((b",\n" if i else b"") + _encode(record))
            stream.write(b"\n]\n")

    return write


def configuration(columns: list[str], question: TaskQuestion = NO_QUESTION, drawn: Collection[str] = ()) -> str:
    """Labelling configuration that shows the items' columns above the question and the choice.

    Whatever its words, a choice comes back under its alias, as positive or negative.

    A column whose name is no plain word cannot be shown (`$name` would end early); it stays in the task's data.

    Args:
        drawn: Columns whose texts need a fixed font.
    """
    items = [name for name in columns if name not in OURS and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)]
    shown = items or ["se_task"]
    cells = [_cell(name, "Image" if name in question.images else "Text", name in drawn) for name in shown]
    answers = ((question.yes, "positive"), (question.no, "negative"))
    choices = "\n".join(f'    <Choice value={quoteattr(word)} alias="{answer}"/>' for word, answer in answers)
    header = f"  <Header value={quoteattr(question.text)}/>\n" if question.text else ""
    return (
        "<View>\n"
        + _guidelines(question.guidelines)
        + "\n".join(cells)
        + f'\n{header}  <Choices name="label" toName={quoteattr("show_" + shown[0])} choice="single" required="true">'
        + f"\n{choices}\n  </Choices>\n</View>\n"
    )


def _cell(name: str, tag: str, drawn: bool) -> str:
    shown = f'<{tag} name={quoteattr("show_" + name)} value="${name}"/>'
    if drawn:
        shown = f'<View style="font-family: monospace; white-space: pre; overflow-x: auto">{shown}</View>'
    return f'  <Header value={quoteattr(name)} size="5"/>\n  {shown}'


def _guidelines(markdown: str) -> str:
    """A panel that opens by a click, a line for each paragraph of the Markdown."""
    paragraphs = [" ".join(paragraph.split()) for paragraph in re.split(r"\n\s*\n", markdown) if paragraph.strip()]
    lines = "".join(f'<Header value={quoteattr(" " + paragraph)} size="5"/>' for paragraph in paragraphs)
    return f'  <Collapse><Panel value="Guidelines"><View>{lines}</View></Panel></Collapse>\n' if lines else ""
