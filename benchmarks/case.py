"""What a case is, and how cases are found."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import benchmarks
from benchmarks.data import Dataset


@dataclass(frozen=True)
class Context:
    """What every runner is told.

    Attributes
    ----------
    root : Path
        Folder of all data.
    n_items : int
        Items of the narrow list; a case may use fewer.
    seed : int
    threads : int
    """

    root: Path
    n_items: int
    seed: int
    threads: int

    def dataset(self, kind: str = "narrow", n_items: int | None = None, index: str = "pages") -> Dataset:
        return Dataset(self.root, n_items or self.n_items, kind, self.seed, index)

    @property
    def scratch(self) -> Path:
        """A folder for what runners leave for one another."""
        folder = self.root / f"scratch-{self.n_items}-{self.seed}"
        folder.mkdir(parents=True, exist_ok=True)
        return folder


# prepare (imports, warming-up), then return what is timed; that returns a result
Runner = Callable[[Context], Callable[[], Any]]


@dataclass(frozen=True)
class Case:
    """One table.

    Attributes
    ----------
    title : str
        May contain {n}, the number of items.
    runners : mapping of name to Runner
        In the order of the table; the first is ours.
    datasets : callable
        Data that has to be there.
    check : callable
        Raises AssertionError where a result is wrong; returns facts to print (bytes of the pages …).
    once : bool
        Run cold only: a step that cannot be repeated.
    """

    title: str
    runners: Mapping[str, Runner]
    datasets: Callable[[Context], list[Dataset]]
    check: Callable[[Context, Any], dict[str, Any]] = lambda context, result: {}
    once: bool = False


def cases() -> dict[str, Case]:
    """All cases, by module name."""
    found = {}
    for info in pkgutil.iter_modules(benchmarks.__path__):
        if not info.name.startswith("_"):
            case = getattr(importlib.import_module(f"benchmarks.{info.name}"), "CASE", None)
            if isinstance(case, Case):
                found[info.name] = case
    return found
