"""Defaults of options from `streameval.toml` in the current folder: a table for each verb, `[plan]` with `seed = 7`."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

from cyclopts import App, ArgumentCollection, CycloptsError
from cyclopts.config import Toml

from streameval.cli.hints import VERBS
from streameval.errors import InputError, did_you_mean

FILE = "streameval.toml"
_HEADER = re.compile(r"\s*\[\s*[\"']?([^\]\"'.]+?)[\"']?\s*[\].]")
_KEY = re.compile(r"\[(.+)\]")


class Defaults(Toml):
    """The file, where there is one; what a command says itself goes before."""

    def __call__(self, app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
        """Refuse what is of no command, whichever runs; then give the defaults of the one that does."""
        for name, table in self.config.items():
            if name not in VERBS and isinstance(table, dict):
                raise InputError(f"{_place(name)}: there is no command '{name}'", did_you_mean(name, VERBS))
            if name not in VERBS:
                raise InputError(f"{_place('', name)}: '{name}' stands in no table", "[plan] above it, say")
            if not isinstance(table, dict):
                raise InputError(
                    f"{_place('', name)}: '{name}' is no table", f"[{name}] and below it options of {name}"
                )
        super().__call__(app, commands, arguments)

    def _load_config(self, path: Path) -> dict[str, Any]:
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise CycloptsError(msg=f"{FILE}: {error}. Hint: it is TOML: [plan] and below it seed = 7") from error


def key_of(error: CycloptsError) -> str | None:
    """Give the key of the file that an error is about; None where it is about what was typed."""
    token = getattr(error, "token", None)
    match = _KEY.match(token.keyword or "") if token is not None else None
    return None if match is None else match[1].replace("][", ".")


def with_place(verb: str, key: str, message: str) -> str:
    """Put before a message where the file has a key, which is then named as it is there."""
    named = message.replace(f"[{key}]", key).replace(f" from {Path(FILE).absolute()}", "")
    return f"{_place(verb, key)}: {named}"


def remark(message: str) -> str:
    """Give what a refusal adds where the file may be why, and is not named."""
    return f" (defaults come from {FILE})" if FILE not in message and Path(FILE).exists() else ""


def _place(table: str, key: str | None = None) -> str:
    """Name the file, and the line of a table or of a key in it where it can be found."""
    inside = ""
    for number, line in enumerate(Path(FILE).read_text(encoding="utf-8").splitlines(), 1):
        header = _HEADER.match(line)
        inside = header[1] if header else inside
        if inside == table and (bool(header) if key is None else re.match(rf"\s*[\"']?{re.escape(key)}\b", line)):
            return f"{FILE}, line {number}"
    return FILE
