"""What people are asked of the items of a study: kept in asked.json once it is given, and asked everywhere."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import asdict
from pathlib import Path

from streameval.errors import InputError, did_you_mean
from streameval.labelling.exports import NO_QUESTION, TaskQuestion
from streameval.labelling.options import AskOptions
from streameval.stores import atomic, is_remote
from streameval.stores.own_files import UNUSABLE, read_json, unusable
from streameval.study import Study

_NAME = "asked.json"
_RESTORE = "restore it, or remove it and say again what is asked"


def kept_question(folder: Study) -> TaskQuestion:
    """What was asked before; nothing of a study that never said it."""
    path = folder.folder / _NAME
    if not path.exists():
        return NO_QUESTION
    try:
        kept = read_json(path, _RESTORE, folder.folder)
        text, yes, no, guidelines = (str(kept[name]) for name in ("text", "yes", "no", "guidelines"))
        images, shown = (tuple(map(str, kept.get(name, ()))) for name in ("images", "shown"))
        return TaskQuestion(text, yes, no, guidelines, images, float(kept.get("overlap", 0)), shown,
                            str(kept.get("image_root", ".")))  # fmt: skip
    except UNUSABLE as error:
        raise unusable(path, error, _RESTORE) from error


def question_of(folder: Study, options: AskOptions, columns: Collection[str]) -> TaskQuestion:
    """What is asked now: what the options say, and where they say nothing what was asked before.

    Args:
        columns: That people see.

    Raises:
        InputError: Both answers have the same word; guidelines that cannot be read; no such column of pictures.
    """
    kept = kept_question(folder)
    words = TaskQuestion(options.ask, "yes", "no") if options.ask else kept
    guidelines = kept.guidelines if options.guidelines is None else _read(options.guidelines)
    yes, no = options.positive or words.yes, options.negative or words.no
    images = options.image or kept.images
    root = _image_root(folder, options, kept) if images else kept.image_root
    question = TaskQuestion(words.text, yes, no, guidelines, images, kept.overlap, kept.shown, root)
    if question.yes == question.no:
        raise InputError(f"both answers are called '{question.yes}'", "--positive and --negative name them")
    for name in options.image:
        if name not in columns:
            raise InputError(f"--image: the tasks show no column '{name}'", did_you_mean(name, columns))
    return question


def _image_root(folder: Study, options: AskOptions, kept: TaskQuestion) -> str:
    """Folder that pictures have to be in: what was said, now or before, else that of the list, or the working one."""
    if options.image_root is not None:
        if not os.path.isdir(options.image_root):
            raise InputError(f"--image-root {options.image_root}: is no folder")
        return os.path.abspath(options.image_root)
    if kept.image_root != NO_QUESTION.image_root:
        return kept.image_root
    location = folder.plan().location
    source = (location.get("copied") or location).get("source") or [""]
    place = source[0].partition("#")[0]
    if is_remote(place) or not os.path.exists(place):
        return os.getcwd()
    return os.path.abspath(place if os.path.isdir(place) else os.path.dirname(place) or ".")


def question_file(folder: Study, question: TaskQuestion) -> dict[Path, atomic.Writer]:
    """Writer of what is asked; none where that is kept already."""
    if question == kept_question(folder):
        return {}
    return {folder.folder / _NAME: atomic.json_object(asdict(question))}


def _read(name: str) -> str:
    try:
        return Path(name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", None) or "is no UTF-8 text"
        raise InputError(f"--guidelines {name}: {why}", "name a Markdown file") from error
