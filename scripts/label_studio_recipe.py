"""Run the recipe of guide/recipes.md against a Label Studio that runs: push tasks, answer them all, pull twice.

    python scripts/label_studio_recipe.py http://127.0.0.1:8080 API_KEY [FOLDER]

Needs `label-studio-sdk`. Every decision has to arrive, and once.
"""

from __future__ import annotations

import os
import re
import shutil
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from label_studio_sdk import LabelStudio

import streameval

ITEMS = 60
GUIDE = Path(streameval.__file__).parent / "guide" / "recipes.md"


def main() -> None:
    """Run it in a folder."""
    address, key, *rest = sys.argv[1:]
    folder = Path(rest[0] if rest else "label-studio-recipe-run").resolve()
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    os.chdir(folder)
    recipe = re.search(r"```python\n(# label_studio\.py.*?)```", GUIDE.read_text(encoding="utf-8"), re.DOTALL)
    assert recipe is not None
    made: dict = {}
    exec(recipe[1], made)
    items = {"score": [1 - i / ITEMS for i in range(ITEMS)], "text": [f"item {i} <b>&" for i in range(ITEMS)]}
    pq.write_table(pa.table(items), "list.parquet")
    streameval.plan("list.parquet", "study", method=f"paula(epsilon=1.0, window={ITEMS})", score="score", seed=1)
    client = LabelStudio(base_url=address, api_key=key)
    project = made["push"](client, "study")
    tasks = [*client.tasks.list(project=project)]
    assert {task.data["text"] for task in tasks} == {*items["text"]}, "every text arrives as it is"
    said = {}
    for number, task in enumerate(tasks):
        said[task.data["se_task"]] = number % 3 == 0
        word = "positive" if number % 3 == 0 else "negative"
        answer = {"from_name": "label", "to_name": "show_text", "type": "choices", "value": {"choices": [word]}}
        client.annotations.create(id=task.id, result=[answer])
    for _ in range(2):
        found = made["pull"](client, "study", project)
        assert found.summary["account"]["votes"] == found.summary["account"]["labelled"] == ITEMS
    labels = dict(zip(*(found.label_table.column(name).to_pylist() for name in ("rank", "label")), strict=True))
    selected = pq.read_table("study/selection.parquet")
    for rank, task in zip(selected.column("rank").to_pylist(), selected.column("se_task").to_pylist(), strict=True):
        assert labels[rank] == int(said[task])
    print(f"{ITEMS} tasks pushed, {ITEMS} answers pulled twice: every decision arrived, and once")


if __name__ == "__main__":
    main()
