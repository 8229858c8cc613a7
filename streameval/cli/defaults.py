"""Defaults of options from `streameval.toml` in the current folder: a table for each verb, `[plan]` with `seed = 7`."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from cyclopts.config import Toml

from streameval.errors import InputError

FILE = "streameval.toml"


class Defaults(Toml):
    """The file, where there is one; what a command says itself goes before."""

    def _load_config(self, path: Path) -> dict[str, Any]:
        try:
            return tomllib.loads(path.read_text(encoding="utf-8"))
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise InputError(f"{path}: {error}", "it is TOML: [plan] and below it seed = 7") from error


def remark() -> str:
    """What a refusal adds where the file may be why."""
    return f" (defaults come from {FILE})" if Path(FILE).exists() else ""
