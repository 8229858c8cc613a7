"""Tasks for Label Studio: JSON files of at most 50,000 tasks and 200 MB, and the labelling configuration to paste.

One file with exactly the given name where that suffices, else NAME-0001, NAME-0002 …; the configuration is beside them,
with the ending .xml. Its choices come back as labels; the full JSON export is the one that keeps skips.
"""

from __future__ import annotations

import re
from itertools import islice
from pathlib import Path
from xml.sax.saxutils import quoteattr

import pyarrow as pa

from streameval.errors import InputError
from streameval.labelling.exports import NO_QUESTION, OURS, Files, TaskQuestion, unambiguous
from streameval.labelling.exports.cells import dumps, records
from streameval.stores import atomic

SUFFIX = ".label-studio.json"
HOW = "import it into Label Studio with the .xml, and export the answers as answers.json"
BACK = "answers.json"
_MOST_TASKS, _MOST_BYTES = 50_000, 200_000_000


def files(tasks: pa.Table, path: Path, question: TaskQuestion = NO_QUESTION) -> Files:
    """Task files and the configuration; an `InputError` where a single task is larger than a file may be."""
    shown = unambiguous(tasks)
    cuts = _cuts(shown, path)
    names = [path] if len(cuts) == 2 else [_numbered(path, i) for i in range(1, len(cuts))]
    writers: dict[Path, atomic.Writer] = {
        name: _writer(shown, first, last) for name, first, last in zip(names, cuts[:-1], cuts[1:], strict=True)
    }
    return {**writers, path.with_suffix(".xml"): atomic.text(configuration(shown.column_names, question))}


def _numbered(path: Path, number: int) -> Path:
    stem = path.name[: -len(SUFFIX)]
    return path.with_name(f"{stem}-{number:04}{path.name[len(stem) :]}")


def _cuts(tasks: pa.Table, path: Path) -> list[int]:
    """Row at which each file begins, and the number of rows."""
    cuts, size, count = [0], 0, 0
    for i, record in enumerate(records(tasks)):
        more = len(_encoded(record)) + 2
        if more > _MOST_BYTES - 4:
            raise InputError(f"{path}: task {record['se_task']} alone has {more:,} bytes", "--columns carries fewer")
        if count == _MOST_TASKS or size + more > _MOST_BYTES - 4:
            cuts.append(i)
            size = count = 0
        size, count = size + more, count + 1
    return [*cuts, tasks.num_rows]


def _encoded(record: dict[str, object]) -> bytes:
    return dumps({"data": record}).encode("utf-8", "replace")


def _writer(tasks: pa.Table, first: int, last: int) -> atomic.Writer:
    def write(path: str) -> None:
        with open(path, "wb") as stream:
            stream.write(b"[\n")
            for i, record in enumerate(islice(records(tasks.slice(first, last - first)), last - first)):
                stream.write((b",\n" if i else b"") + _encoded(record))
            stream.write(b"\n]\n")

    return write


def configuration(columns: list[str], question: TaskQuestion = NO_QUESTION) -> str:
    """Labelling configuration that shows the items' columns above the question and the choice.

    Whatever its words, a choice comes back under its alias, as positive or negative.

    A column whose name is no plain word cannot be shown (`$name` would end early); it stays in the task's data.
    """
    items = [name for name in columns if name not in OURS and re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name)]
    shown = items or ["se_task"]
    texts = [
        f'  <Header value={quoteattr(name)} size="5"/>\n  <Text name={quoteattr("show_" + name)} value="${name}"/>'
        for name in shown
    ]
    answers = ((question.yes, "positive"), (question.no, "negative"))
    choices = "\n".join(f'    <Choice value={quoteattr(word)} alias="{answer}"/>' for word, answer in answers)
    asked = f"  <Header value={quoteattr(question.text)}/>\n" if question.text else ""
    return (
        "<View>\n"
        + "\n".join(texts)
        + f'\n{asked}  <Choices name="label" toName={quoteattr("show_" + shown[0])} choice="single" required="true">'
        + f"\n{choices}\n  </Choices>\n</View>\n"
    )
