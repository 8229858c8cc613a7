"""Two tables as one: the rows of the second come after those of the first."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.rows.two_tables import TwoTables


@pytest.fixture(params=["files", "memory"])
def rows(request, tmp_path):
    """Rows 0 to 99, and 100 to 149 of another type, in files or in memory."""
    tables = [
        pa.table({"id": pa.array(range(100), pa.int64())}),
        pa.table({"id": pa.array(range(100, 150), pa.int32())}),
    ]
    if request.param == "files":
        for i, table in enumerate(tables):
            pq.write_table(table, tmp_path / f"{i}.parquet", row_group_size=20)
        tables = [str(tmp_path / f"{i}.parquet") for i in range(2)]
    return TwoTables(*(open_ranking(one, RankingOptions()).rows for one in tables))


@pytest.mark.parametrize("wanted", [[0, 3, 99, 100, 149], [0, 99], [100, 101, 149], [149]])
def test_rows_of_either_and_of_both_are_taken(rows, wanted):
    taken = rows.take(np.array(wanted, np.int64), ["id"])
    assert taken.table.column("id").to_pylist() == wanted
    assert rows.forecast(np.array(wanted, np.int64), ["id"]).files <= 2


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())], ids=str
)
def test_text_of_one_list_is_shown_as_it_is_beside_numbers_of_the_other(kind, order):
    tables = [pa.table({"code": pa.array(["007", "7.50"], kind)}), pa.table({"code": [7, 8]})][::order]
    texts = [["007", "7.50"], ["7", "8"]][::order]
    rows = TwoTables(*(open_ranking(one, RankingOptions()).rows for one in tables))
    shown = rows.take(np.arange(4), ["code"]).table.column("code")
    assert shown.to_pylist() == [*texts[0], *texts[1]]
    assert shown.type == rows.schema.field("code").type
