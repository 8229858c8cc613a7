"""Which label tables a study was given, in which order and with which options: what makes its labels again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from streameval.parquet.own_tables import read_table
from streameval.study.vote_store import Given
from streameval.types import Plan
from streameval.typing import Int64Array

_USUAL = {"on": "se_task", "label": "label", "annotator": "annotator", "time": "time", "source": "source"}
_RESTORE = "restore it: it is a smaller plan that the study grew from"


def label_history(folder: Path, plan: Plan, stored: Sequence[Given]) -> list[dict[str, Any]]:
    """Say of each label table that counts, in the order in which they came, how it was given, as JSON-ready values.

    Returns:
        list of dict: `place`: where it lies (empty of a table in memory). `flags`: by option the columns that it was
            read with, where others would be found without. `given`: its number. `stages`: how often the plan had
            grown when the ranks that it is about were planned, each once. `forgotten`: which of its rows do not count.
    """
    stage = _stages(folder, plan)
    history = []
    for one in stored:
        ranks = one.table.column("rank").drop_null().unique().to_numpy()
        known = ranks[np.isin(ranks, plan.ranks)]
        stages = np.unique(stage[np.searchsorted(plan.ranks, known)]).tolist()
        columns = one.facts["columns"]
        history.append({"place": one.facts["place"], "flags": flags_of(columns), "given": one.facts["given"],
                        "stages": stages, "forgotten": list(one.facts["forgotten"])})  # fmt: skip
    return history


def flags_of(columns: Mapping[str, str | None]) -> dict[str, str]:
    """Options that read the same columns again; none where a table of ours is read as it is."""
    read = {option: (columns.get(option) or usual).replace("\0", ",") for option, usual in _USUAL.items()}
    return {option: name for option, name in read.items() if name.lower() != _USUAL[option]}


def _stages(folder: Path, plan: Plan) -> Int64Array:
    """How often the plan had grown when each of its ranks was planned, int64, shape of its ranks."""
    grown = len(plan.grown_by)
    stage = np.full(plan.ranks.size, grown, dtype=np.int64)
    for at, name in zip(reversed(range(grown)), plan.notes.get("grown_from", ()), strict=False):
        former = read_table(folder / "plans" / f"{name}.parquet", _RESTORE).table.column("rank").to_numpy()
        stage[np.isin(plan.ranks, former)] = at
    return stage
