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
from streameval.parquet import numbers
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
    monkeypatch.setattr(jit, "_left", [-1])


def write(folder, groups, files=100, rows=100):
    folder.mkdir()
    for number in range(files):
        rank = np.arange(number * rows, (number + 1) * rows)
        table = pa.table({"id": rank, "score": 1 - rank / 1e6, "label": rank % 2})
        pq.write_table(table, folder / f"{number:03d}.parquet", row_group_size=rows // groups, write_page_index=True)
    return str(folder)


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    """Lists of 100 files, by the number of row groups in each."""
    folder = tmp_path_factory.mktemp("lists")
    return {groups: write(folder / str(groups), groups) for groups in (1, 20)}


@pytest.mark.parametrize(("score", "most"), [(None, 18), ("score", 22)])
def test_calls_to_open_files_are_few_and_do_not_grow_with_row_groups(lists, score, most):
    options = RankingOptions(score=score)
    for path in lists.values():
        open_ranking(path, options)
    counted = {groups: calls(lambda path=path: open_ranking(path, options)) for groups, path in lists.items()}
    assert counted[20] == counted[1]
    assert counted[20].total() < most * 100, counted[20].most_common()


@pytest.mark.parametrize(("size", "compiled"), [(5_000, True), (50_000, True), (50_000, False)])
def test_calls_to_fetch_items_grow_with_jobs_not_with_pages_or_row_groups(tmp_path, monkeypatch, size, compiled):
    rows, path = 200_000, tmp_path / "list.parquet"
    table = pa.table({"id": np.arange(rows), "score": 1 - np.arange(rows) / rows, "label": np.arange(rows) % 2})
    encoding = {"use_dictionary": False, "column_encoding": {"id": "DELTA_BINARY_PACKED"}, "compression": "none"}
    pq.write_table(table, path, row_group_size=size, max_rows_per_page=500, write_page_index=True, **encoding)
    monkeypatch.setattr(numbers, "is_small", lambda steps: not compiled)
    opened, wanted = open_ranking(str(path), RankingOptions(threads=1)), np.arange(1, rows + 1, 500)
    taken = opened.fetch(wanted, table.column_names)
    assert (taken.pages_read, taken.table.num_rows) == (3 * wanted.size, wanted.size)
    counted = calls(lambda: opened.fetch(wanted, table.column_names))
    most = 1800 if compiled else 2300  # of 1,200 pages in 4 or 40 row groups
    assert counted.total() < most, counted.most_common()


def test_calls_to_find_pages_do_not_grow_with_columns(tmp_path):
    path, n = tmp_path / "list.parquet", 20_000
    table = pa.table({name: np.arange(n) for name in "abcdef"})
    pq.write_table(table, path, row_group_size=2000, max_rows_per_page=100, write_page_index=True)
    opened = open_ranking(str(path), RankingOptions(threads=1))
    opened.fetch(np.arange(1, n + 1, 100), ["a", "b"])
    counted = [calls(lambda of=of: opened.fetch(np.arange(1, n + 1, 100), of)) for of in (["a"], [*"abcdef"])]
    assert [one["find_pages"] for one in counted] == [1, 1]
    assert [one["_read_indexes"] for one in counted] == [1, 1]


def test_a_file_is_opened_by_one_job_where_that_is_not_too_long(tmp_path):
    path = write(tmp_path / "list", groups=20, files=6, rows=2000)
    opened = open_ranking(path, RankingOptions(threads=1))
    opened.fetch(np.arange(1, 12_001, 100), ["id"])
    counted = calls(lambda: opened.fetch(np.arange(1, 12_001, 100), ["id"]))
    assert counted["OpenFile.chunks"] == 6


def test_calls_to_check_statistics_are_few(tmp_path):
    """Of many row groups, that is; they were some for each column of each."""
    path = tmp_path / "list.parquet"
    pq.write_table(pa.table({"id": np.arange(20_000)}), path, row_group_size=100, write_page_index=True)
    opened = open_ranking(str(path), RankingOptions(threads=1))
    opened.fetch(np.arange(1, 20_001, 100), ["id"])
    counted = calls(lambda: opened.fetch(np.arange(1, 20_001, 100), ["id"]))
    assert counted["Statistics.bound"] == counted["Chunks.__getitem__"] == 0
