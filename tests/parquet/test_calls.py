"""How many calls reading takes, since seconds do not count in a suite that runs beside others."""

import sys
import threading
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.kernels import jit
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions

_HOME = Path(streameval.__file__).parent
_KERNELS = str(_HOME / "kernels")  # numba reports what it runs as calls, too


def calls(run):
    """Calls of functions of the package but kernels, by name, in all threads that `run` starts."""
    seen = Counter()

    def note(frame, event, _):
        file = frame.f_code.co_filename
        if event == "call" and file.startswith(str(_HOME)) and not file.startswith(_KERNELS):
            seen[frame.f_code.co_qualname] += 1

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        run()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return seen


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    """Kernels are compiled, as they are where there is much to do."""
    monkeypatch.setattr(jit, "_most", [0.0])


def write(folder, groups, files=100, rows=100):
    folder.mkdir()
    for number in range(files):
        rank = np.arange(number * rows, (number + 1) * rows)
        table = pa.table({"id": rank, "score": 1 - rank / 1e6, "label": rank % 2})
        pq.write_table(table, folder / f"{number:03d}.parquet", row_group_size=rows // groups, write_page_index=True)
    return str(folder)


@pytest.mark.parametrize(("score", "most"), [(None, 40), ("score", 45)])
def test_calls_to_open_files_are_few_and_do_not_grow_with_row_groups(tmp_path, score, most):
    lists = {groups: write(tmp_path / str(groups), groups) for groups in (1, 20)}
    options = RankingOptions(score=score)
    for path in lists.values():
        open_ranking(path, options)
    counted = {groups: calls(lambda path=path: open_ranking(path, options)) for groups, path in lists.items()}
    assert counted[20] == counted[1]
    assert counted[20].total() < most * 100, counted[20].most_common()
