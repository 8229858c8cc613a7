"""The list that recipes for schedulers and for dbt evaluate, and what people answer."""

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

NIGHT = "2026-11-22"
N = 3_000


def make_list(home):
    """A folder `lake/ranked` with a score and ids in no order."""
    rng = np.random.default_rng(5)
    rows = {"id": rng.permutation(N), "confidence": rng.random(N)}
    (home / "lake" / "ranked").mkdir(parents=True)
    pq.write_table(pa.table(rows), home / "lake" / "ranked" / "0.parquet")
    (home / "data" / "answers").mkdir(parents=True)


def answers(tasks):
    """What Ann answers to tasks with an `id`: one item of a hundred is wrong."""
    ids = tasks.column("id").to_numpy()
    return pa.table({"id": ids, "label": (ids % 100 != 0).astype(np.int8), "annotator": ["ann"] * ids.size})


def fill_in(tasks, path):
    """Answer the tasks of a CSV file."""
    filled = pa.csv.read_csv(tasks)
    label = filled.schema.get_field_index("label")
    pa.csv.write_csv(filled.set_column(label, "label", answers(filled).column("label")), path)


def at_home(code, home):
    """A recipe with its folders below `home`."""
    return code.replace("/lake/", f"{home}/lake/").replace("/data/", f"{home}/data/")
