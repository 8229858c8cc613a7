"""Task files for people: one file here per format, found by the ending of the path that was asked for.

Each module has `SUFFIX`, `HOW` people answer, `BACK`, the file in which answers come back (as a word of a shell; the
exported one where it is empty), and `write(tasks, path, question)`, or, where tasks may take several files, `files` of
the same arguments, which returns a writer for each of them; `tasks` is a table in the order people will see it, with
`se_study` and `se_task` before the items' columns. A column whose name a label table would give a meaning of its own is
called NAME_item.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import pyarrow as pa

from streameval.errors import InputError

Files = Mapping[Path, Callable[[str], None]]
_MEANINGS = {
    "label", "annotator", "time", "source", "answer", "accept", "choice", "choices", "annotation_id", "created_at",
    "updated_at", "lead_time", "annotations", "meta", "_input_hash", "_task_hash", "_timestamp", "_annotator_id",
    "_session_id",
}  # fmt: skip


@dataclass(frozen=True)
class TaskQuestion:
    """Question shown to annotators, and the words of both answers; no question where `text` is empty.

    Attributes:
        guidelines: How to answer, as Markdown.
        images: Columns that hold pictures: paths, web addresses or bytes.
        overlap: Share of the tasks that `label` gives to two people, drawn at random.
        shown: Columns that `label` shows, where they were named.
        image_root: Folder that pictures which are files have to be in.
    """

    text: str = ""
    yes: str = "positive"
    no: str = "negative"
    guidelines: str = ""
    images: tuple[str, ...] = ()
    overlap: float = 0.0
    shown: tuple[str, ...] = ()
    image_root: str = "."

    @property
    def has_words(self) -> bool:
        """Tell whether there is anything to say in one line."""
        return (self.text, self.yes, self.no) != ("", "positive", "negative")

    @property
    def in_short(self) -> str:
        """Question and words in one line; empty where nothing was said."""
        return f"{self.text} ({self.yes}, or {self.no})".strip() if self.has_words else ""

    def with_columns(self, columns: Collection[str]) -> TaskQuestion:
        """Give the same with pictures only of these columns, which are called as in an export."""
        return replace(self, images=tuple(column for column in map(_unambiguous, self.images) if column in columns))

    def in_words(self, yes: str, no: str) -> str:
        """Question and answers in one line, for tools that show text.

        >>> TaskQuestion("Is it a bird?", "yes", "no").in_words("1", "0")
        'Is it a bird? 1: yes, 0: no'
        """
        return f"{self.text} {yes}: {self.yes}, {no}: {self.no}".strip()


NO_QUESTION = TaskQuestion()
OURS = ("se_study", "se_task")


@dataclass(frozen=True)
class Format:
    """Format of exports, from its module (see above)."""

    files: Callable[[pa.Table, Path, TaskQuestion], Files]
    how: str
    back: str


def available() -> dict[str, Format]:
    """Formats by suffix, the longest first: `.label-studio.json` is not `.json`."""
    modules = [importlib.import_module(f"{__name__}.{info.name}") for info in pkgutil.iter_modules(__path__)]
    formats = {
        module.SUFFIX: Format(_files(module), module.HOW, module.BACK)
        for module in modules
        if hasattr(module, "SUFFIX")
    }
    return dict(sorted(formats.items(), key=lambda pair: (-len(pair[0]), pair[0])))


def _files(module: ModuleType) -> Callable[[pa.Table, Path, TaskQuestion], Files]:
    return getattr(module, "files", None) or (
        lambda tasks, path, question=NO_QUESTION: {path: lambda temporary: module.write(tasks, temporary, question)}
    )


def format_of(path: str) -> Format:
    """Return the format for a path's ending; an `InputError` where none has it."""
    for suffix, task_format in available().items():
        if path.lower().endswith(suffix):
            return task_format
    raise InputError(f"{path}: there is no task format with this ending", f"there are: {', '.join(available())}")


def unambiguous(tasks: pa.Table) -> pa.Table:
    """Rename the items' columns that would be read as part of an answer.

    >>> unambiguous(pa.table({"se_task": [1], "label": [0], "Source": ["x"]})).column_names
    ['se_task', 'label_item', 'Source_item']
    """
    return tasks.rename_columns([_unambiguous(name) for name in tasks.column_names])


def _unambiguous(name: str) -> str:
    return f"{name}_item" if name.lower() in _MEANINGS else name
