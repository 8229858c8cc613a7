"""Iceberg and Delta tables made by their own libraries: the plan's snapshot is what is read, whatever comes after."""

import datetime
import json
import re
import struct
import sys
import warnings
import zlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import streameval
from streameval.cli import run
from streameval.errors import InputError, StreamevalError
from streameval.rankings import open_ranking
from streameval.rows import iceberg
from streameval.rows.options import RankingOptions

SMALL = {"method": "paula(epsilon=0.1, window=20)", "seed": 0, "score": "conf"}


def items(first, n, day):
    """Items whose order by score is shuffled, and differs from one batch to the next."""
    rows = np.arange(first, first + n)
    score = np.random.default_rng(first + 1).permutation(n) / n + first / 1e7
    odd = (np.random.default_rng(first + 2).random(n) < score).astype(np.int8).astype(np.int64)
    return pa.table({"id": rows, "conf": score, "day": [day] * n, "good": odd})


class Delta:
    """A Delta table partitioned by day."""

    def __init__(self, folder):
        self.place, self.name = str(folder / "table"), f"delta:{folder / 'table'}"

    def write(self, table, mode="append"):
        deltalake = pytest.importorskip("deltalake", reason="pip install 'streameval[delta]'")
        deltalake.write_deltalake(self.place, table, mode=mode, partition_by=["day"])
        return deltalake.DeltaTable(self.place).version()


class Iceberg:
    """An Iceberg table partitioned by day, in an SQLite catalog."""

    name = "iceberg:local.lake.ranked"

    def __init__(self, folder, monkeypatch, schema=None):
        pytest.importorskip("pyiceberg", reason="pip install 'streameval[iceberg]'")
        for key, value in {
            "TYPE": "sql",
            "URI": f"sqlite:///{folder}/catalog.db",
            "WAREHOUSE": f"file://{folder}",
        }.items():
            monkeypatch.setenv(f"PYICEBERG_CATALOG__LOCAL__{key}", value)
        from pyiceberg.catalog import load_catalog
        from pyiceberg.transforms import IdentityTransform
        from pyiceberg.utils.config import Config

        monkeypatch.setattr("pyiceberg.catalog._ENV_CONFIG", Config())  # read once a process
        catalog = load_catalog("local")
        catalog.create_namespace("lake")
        self.table = catalog.create_table("lake.ranked", schema=schema or items(0, 1, "").schema)
        with self.table.update_spec() as update:
            update.add_field("day", IdentityTransform(), "day")

    def write(self, table, mode="append"):
        (self.table.append if mode == "append" else self.table.overwrite)(table)
        return self.table.current_snapshot().snapshot_id


@pytest.fixture(scope="module", params=["delta", "iceberg"])
def lake(request):
    """A kind of table, whose library is there."""
    for module in ("deltalake",) if request.param == "delta" else ("pyiceberg.catalog.sql", "pyiceberg.io.pyarrow"):
        pytest.importorskip(module, reason=f"pip install 'streameval[{request.param}]'")
    return request.param


def made_in(folder, lake, monkeypatch):
    """A table of 3,000 items in two days."""
    table = Delta(folder) if lake == "delta" else Iceberg(folder, monkeypatch)
    table.write(items(0, 2_000, "2026-11-20"))
    table.first = table.write(items(2_000, 1_000, "2026-11-21"))
    return table


@pytest.fixture
def made(lake, tmp_path, monkeypatch):
    """A table that the test may write to."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield made_in(tmp_path, lake, monkeypatch)


@pytest.fixture(scope="module")
def kept(lake, tmp_path_factory):
    """A table that tests leave as it is."""
    with pytest.MonkeyPatch.context() as patch, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield made_in(tmp_path_factory.mktemp("kept"), lake, patch)


def best(*tables, ranks):
    whole = pa.concat_tables(tables)
    order = np.argsort(-whole.column("conf").to_numpy(), kind="stable")
    return whole.column("id").to_numpy()[order][np.asarray(ranks) - 1].tolist()


def test_the_plans_snapshot_is_read_after_appends_and_overwrites(made, tmp_path):
    """By select, and by the cut of what is above a cutoff."""
    study = tmp_path / "study"
    assert run(["plan", made.name, "--study", str(study), "--score", "conf", "--budget", "300", "--seed", "0"]) == 0
    plan = json.loads((study / "plan.json").read_text())
    assert plan["location"]["source"][0].endswith(f"@{made.first}")
    assert plan["ranking"]["snapshot"] == made.first
    made.write(items(3_000, 500, "2026-11-22"))
    made.write(items(9_000, 10, "2026-11-20"), mode="overwrite")
    found = streameval.select(study).table
    before = (items(0, 2_000, "2026-11-20"), items(2_000, 1_000, "2026-11-21"))
    assert found.column("id").to_pylist() == best(*before, ranks=found.column("rank").to_pylist())
    assert set(found.column("day").to_pylist()) <= {"2026-11-20", "2026-11-21"}
    streameval.evaluate(study, labels=found.select(["rank", "good"]), label="good")
    streameval.cut(study, 40).write(tmp_path / "best", order="rank")
    assert pq.read_table(tmp_path / "best").column("id").to_pylist() == best(*before, ranks=np.arange(1, 41))


def test_a_fully_labelled_table_is_evaluated_exactly(kept):
    options = RankingOptions(score="conf")
    tables = [items(0, 2_000, "2026-11-20"), items(2_000, 1_000, "2026-11-21")]
    there = streameval.exact(kept.name, label="good", options=options)
    here = streameval.exact(pa.concat_tables(tables), label="good", options=options)
    assert there.metrics.equals(here.metrics)
    assert there.summary["ranking"]["snapshot"] == kept.first


def test_the_same_plan_on_a_table_that_grew_names_the_snapshot(made, tmp_path):
    study = tmp_path / "study"
    for _ in range(2):
        streameval.plan(made.name, study, **SMALL)
    streameval.select(study)
    second = made.write(items(3_000, 500, "2026-11-22"))
    with pytest.raises(StreamevalError, match="items 3,000 then, 3,500 now"):
        streameval.plan(made.name, study, **SMALL)
    streameval.plan(f"{made.name}@{made.first}", study, **SMALL)
    assert open_ranking(f"{made.name}@{second}", RankingOptions(score="conf")).n_items == 3_500


def test_drawn_keys_that_repeat_in_the_snapshot_are_refused(made, tmp_path):
    made.first = made.write(items(2_500, 500, "2026-11-22"))  # ids that are there already
    how = {"score": "conf", "seed": 0}
    with pytest.raises(InputError, match=r"(?s)key 'id' does not tell items apart.*' at 2"):
        streameval.plan(made.name, tmp_path / "x", on="id", **how)
    streameval.plan(made.name, tmp_path / "x", on="id,day", **how)


def test_where_prunes_partitions_and_restricts_the_ranking(kept, tmp_path, capsys):
    study = tmp_path / "study"
    assert streameval.plan(kept.name, study, where="day = '2026-11-20'", **SMALL).n_items == 2_000
    found = streameval.select(study).table
    only = items(0, 2_000, "2026-11-20")
    assert found.column("id").to_pylist() == best(only, ranks=found.column("rank").to_pylist())
    for bad in ("conf > 0.5", "day = 'never'", "dya = '2026-11-20'", "day = '2026-11-20' and conf > 0.5", "((", "day"):
        with pytest.raises(InputError) as told:
            open_ranking(kept.name, RankingOptions(score="conf", where=bad))
        assert "\n" not in str(told.value)
    refused(capsys, "plan", kept.name, "--study", tmp_path / "x", "--score", "conf", "--seed", "0", "--where", "((")


CONDITIONS = [
    "day <> '2026-11-20'", "day != '2026-11-20' or day is null", "not day = '2026-11-20'", "day not in ('2026-11-20')",
    "day not in ('2026-11-19', '2026-11-20')", "day not like '2026-11-20%'", "day like '2026-11-2%'", "day is null",
    "day is not null", "not (day > '2026-11-20' or day is null)", "day < '2026-11-21' or day is null",
    "(day = '2026-11-20' or day = '2026-11-21') and not (day < '2026-11-21')",
    "not (day is null or day >= '2026-11-21')",
]  # fmt: skip


def test_where_takes_nulls_as_sql_does(lake, tmp_path, monkeypatch):
    import duckdb

    nameless = items(300, 50, "x").set_column(2, "day", pa.array([None] * 50, pa.string()))
    tables = [items(0, 200, "2026-11-20"), items(200, 100, "2026-11-21"), nameless]
    made, rows = Delta(tmp_path) if lake == "delta" else Iceberg(tmp_path, monkeypatch), pa.concat_tables(tables)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for table in tables:
            made.write(table)
    for condition in CONDITIONS:
        expected = duckdb.from_arrow(rows).filter(condition).order("conf DESC").fetchall()
        ranking = open_ranking(made.name, RankingOptions(score="conf", where=condition))
        assert ranking.n_items == len(expected), condition
        found = ranking.fetch(np.arange(1, len(expected) + 1), ["id", "conf"]).table
        assert sorted(found.column("id").to_pylist()) == sorted(row[0] for row in expected), condition
        assert found.column("conf").to_pylist() == [row[1] for row in expected], condition


@pytest.mark.parametrize(
    ("condition", "days"),
    [("day = '2026-11-02'", [2]), ("day <> '2026-11-02'", [1, 3]), ("day in ('2026-11-01', '2026-11-03')", [1, 3]),
     ("day between '2026-11-02' and '2026-11-03'", [2, 3]), ("not day >= '2026-11-02'", [1]),
     ("day = date '2026-11-02' or day = '2026-11-03'", [2, 3]), ("day > '2026-11-1'", None),
     ("name = '2026-11-02' and day = '2026-11-02'", None)],
)  # fmt: skip
def test_dates_of_delta_are_compared_with_texts_that_are_dates(tmp_path, condition, days):
    deltalake = pytest.importorskip("deltalake", reason="pip install 'streameval[delta]'")
    place = str(tmp_path / "table")
    for day in (1, 2, 3, None):
        rows = items(100 * (day or 0), 50, "2026-11-02").rename_columns(["id", "conf", "name", "good"])
        one = None if day is None else datetime.date(2026, 11, day)
        rows = rows.append_column("day", pa.array([one] * 50, pa.date32()))
        deltalake.write_deltalake(place, rows, mode="append", partition_by=["day", "name"])
    options = RankingOptions(score="conf", where=condition)
    if days is None:
        with pytest.raises(InputError, match="cannot be understood"):
            open_ranking(f"delta:{place}", options)
        return
    ranking = open_ranking(f"delta:{place}", options)
    ids = ranking.fetch(np.arange(1, ranking.n_items + 1), ["id"]).table.column("id").to_pylist()
    assert sorted(ids) == [100 * day + i for day in days for i in range(50)]


def test_a_tag_that_is_a_number_names_a_snapshot(tmp_path, monkeypatch):
    table = Iceberg(tmp_path, monkeypatch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = table.write(items(0, 100, "2026-11-20"))
        table.write(items(100, 100, "2026-11-20"))
    table.table.manage_snapshots().create_tag(first, "2026").commit()
    assert open_ranking(f"{table.name}@2026", RankingOptions(score="conf")).n_items == 100
    for nothing in ("²", "2027", "9" * 30):
        with pytest.raises(InputError, match=f"no snapshot '{nothing}'"):
            open_ranking(f"{table.name}@{nothing}", RankingOptions(score="conf"))


def test_a_plan_reads_no_data_file(kept, monkeypatch):
    from streameval.rows import lake as tables
    from streameval.rows import parquet as stored

    monkeypatch.setattr(stored, "read_footers", None)
    monkeypatch.setattr(tables, "read_footer", None)
    ranking = open_ranking(kept.name, RankingOptions(score="conf"))
    assert (ranking.n_items, ranking.columns()) == (3_000, ["id", "conf", "day", "good"])


def test_what_cannot_be_read_says_why(kept, tmp_path, capsys, monkeypatch):
    def opened(source, **options):
        with pytest.raises(InputError) as told:
            streameval.plan(source, tmp_path / "x", seed=0, **options)
        assert "\n" not in str(told.value)
        return str(told.value)

    assert "no order of its own" in refused(capsys, "plan", kept.name, "--study", tmp_path / "x", "--seed", "0")
    assert "did you mean 'conf'" in opened(kept.name, score="cnf")
    assert "@77" in opened(f"{kept.name}@77", score="conf")
    assert "nowhere" in opened(f"{kept.name}-nowhere", score="conf")
    for library in ("deltalake", "pyiceberg.catalog"):
        monkeypatch.setitem(sys.modules, library, None)
    hint = r"Hint: pip install '(deltalake|pyiceberg\[sql-sqlite\])>="
    assert re.search(hint, opened(kept.name, score="conf"))


def test_files_that_vanished_are_named(made, tmp_path, capsys):
    study = tmp_path / "study"
    streameval.plan(made.name, study, **SMALL)
    gone = next(path for path in tmp_path.rglob("*.parquet") if "2026-11-20" in str(path))
    gone.unlink()
    capsys.readouterr()
    assert run(["select", str(study)]) == 2
    message = capsys.readouterr().err
    assert gone.name in message
    assert "expired or was vacuumed" in message
    assert len(message.strip().splitlines()) == 1


def test_an_expired_snapshot_is_said_to_be_gone(tmp_path, monkeypatch, capsys):
    table, study = Iceberg(tmp_path, monkeypatch), tmp_path / "study"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = table.write(items(0, 2_000, "2026-11-20"))
        streameval.plan(table.name, study, **SMALL)
        table.write(items(0, 10, "2026-11-20"), mode="overwrite")
        table.table.maintenance.expire_snapshots().by_id(first).commit()
    capsys.readouterr()
    assert run(["select", str(study)]) == 2
    assert f"no snapshot '{first}' (any more: snapshots expire)" in capsys.readouterr().err


def delete(table, rows, where):
    """Delete rows of the newest file of a Delta table by a deletion vector, as Spark does; nothing is rewritten."""
    values = np.array(rows, "<u2")
    head = struct.pack("<IqIIIHHI", 1681511377, 1, 0, 12346, 1, 0, len(rows) - 1, 16)  # one roaring container
    vector = head + values.tobytes()
    where.write_bytes(b"\x01" + struct.pack(">I", len(vector)) + vector + struct.pack(">I", zlib.crc32(vector)))
    log = Path(table.place) / "_delta_log"
    lines = [json.loads(line) for path in sorted(log.glob("*.json")) for line in path.read_text().splitlines()]
    add = [line["add"] for line in lines if "add" in line][-1]
    said = {"storageType": "p", "pathOrInlineDv": where.as_uri(), "offset": 1, "sizeInBytes": len(vector)}
    features = {"readerFeatures": ["deletionVectors"], "writerFeatures": ["deletionVectors"]}
    commit = [
        {"protocol": {"minReaderVersion": 3, "minWriterVersion": 7, **features}},
        {"remove": {**add, "deletionTimestamp": 1}},
        {"add": {**add, "deletionVector": {**said, "cardinality": len(rows)}}},
    ]
    version = len(list(log.glob("*.json")))
    (log / f"{version:020}.json").write_text("\n".join(json.dumps(line) for line in commit))


@pytest.mark.parametrize("gone", [[0], [5, 6, 7, 99], [*range(0, 100, 2)], [*range(100)]])
def test_rows_that_a_deletion_vector_names_have_no_rank(tmp_path, gone):
    table = Delta(tmp_path)
    table.write(items(0, 50, "2026-11-20"))
    table.write(items(50, 100, "a b%/=é"))
    delete(table, gone, tmp_path / "deleted.bin")
    before, after = (open_ranking(f"{table.name}{at}", RankingOptions(score="conf")) for at in ("@1", "@2"))
    assert (before.n_items, after.n_items) == (150, 150 - len(gone))
    assert before.rows.fingerprint != after.rows.fingerprint
    left = pa.concat_tables([items(0, 50, "2026-11-20"), items(50, 100, "a b%/=é").take(np.delete(range(100), gone))])
    ranks = np.arange(1, after.n_items + 1)
    assert after.fetch(ranks, ["id", "day"]).table.column("id").to_pylist() == best(left, ranks=ranks)
    nothing = after.rows.take(np.empty(0, np.int64), ["id", "day"]).table
    assert nothing.schema.equals(after.rows.take(np.arange(after.n_items), ["id", "day"]).table.schema)
    exact = streameval.exact(f"{table.name}@2", label="good", score="conf")
    assert exact.summary["positives"] == sum(left.column("good").to_pylist())
    with pytest.raises(InputError, match="its table deleted rows"):
        after.rows.units()[0].for_workers()


def test_a_deletion_vector_that_cannot_be_read_is_named(tmp_path):
    table = Delta(tmp_path)
    table.write(items(0, 100, "2026-11-20"))
    delete(table, [1], tmp_path / "deleted.bin")
    (tmp_path / "deleted.bin").unlink()
    with pytest.raises(InputError, match=r"a deletion vector cannot be read.*Hint: restore its file.*rewrite"):
        open_ranking(table.name, RankingOptions(score="conf"))
    assert open_ranking(f"{table.name}@0", RankingOptions(score="conf")).n_items == 100


@pytest.mark.parametrize("mode", ["name", "id"])
def test_mapped_columns_of_delta_are_found_under_their_names_in_files(tmp_path, mode):
    deltalake = pytest.importorskip("deltalake", reason="pip install 'streameval[delta]'")
    stored = items(0, 100, "2026-11-20").drop_columns(["day"])
    inside = {"id": "col-a1", "conf": "col-b2", "good": "col-c3"}
    fields = [
        pa.field(inside[one.name], one.type, metadata={"PARQUET:field_id": str(i)})
        for i, one in enumerate(stored.schema)
    ]
    deltalake.write_deltalake(str(tmp_path / "table"), stored)
    log = tmp_path / "table" / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (add,) = (line["add"] for line in lines if "add" in line)
    pq.write_table(
        stored.cast(stored.schema).rename_columns([*inside.values()]).cast(pa.schema(fields)), tmp_path / "f"
    )
    (tmp_path / "f").replace(tmp_path / "table" / add["path"])
    add.pop("stats")
    add["size"] = (tmp_path / "table" / add["path"]).stat().st_size
    for line in lines:
        if "protocol" in line:
            line["protocol"] = {"minReaderVersion": 2, "minWriterVersion": 5}
        if "metaData" in line:
            schema = json.loads(line["metaData"]["schemaString"])
            for i, one in enumerate(schema["fields"]):
                name = inside[one["name"]] if mode == "name" else f"unlike-{i}"
                one["metadata"] = {"delta.columnMapping.id": i, "delta.columnMapping.physicalName": name}
            line["metaData"]["schemaString"] = json.dumps(schema)
            line["metaData"]["configuration"] = {"delta.columnMapping.mode": mode}
    log.write_text("\n".join(json.dumps(line) for line in lines))
    found = open_ranking(f"delta:{tmp_path}/table", RankingOptions(score="conf")).fetch(np.arange(1, 101), ["id"])
    assert found.table.column("id").to_pylist() == best(stored, ranks=np.arange(1, 101))


def test_a_table_with_a_change_data_feed_is_read_without_its_files(tmp_path):
    deltalake = pytest.importorskip("deltalake", reason="pip install 'streameval[delta]'")
    place = str(tmp_path / "table")
    deltalake.write_deltalake(place, items(0, 100, "d"), configuration={"delta.enableChangeDataFeed": "true"})
    deltalake.DeltaTable(place).update(predicate="id < 10", updates={"conf": "2.0 + id"})
    assert list(Path(place).glob("_change_data/*.parquet"))
    ranking = open_ranking(f"delta:{place}", RankingOptions(score="conf"))
    assert ranking.n_items == 100
    assert ranking.fetch(np.arange(1, 11), ["id"]).table.column("id").to_pylist() == [*range(9, -1, -1)]


def test_partition_values_of_delta_are_scores_keys_and_columns_of_their_types(tmp_path):
    deltalake = pytest.importorskip("deltalake", reason="pip install 'streameval[delta]'")
    levels = [i % 4 for i in range(100)]
    whole = items(0, 100, "d").append_column("level", pa.array(levels, pa.int32()))
    deltalake.write_deltalake(str(tmp_path / "table"), whole, partition_by=["level"])
    ranking = open_ranking(f"delta:{tmp_path}/table", RankingOptions(score="level", key=("id",)))
    found = ranking.fetch(np.arange(1, 101), ["level", "id"]).table
    assert found.column("level").to_pylist() == sorted(levels, reverse=True)
    assert {i: levels[i] for i in range(100)} == dict(
        zip(found.column("id").to_pylist(), found.column("level").to_pylist(), strict=True)
    )


def test_columns_that_were_added_are_null_in_older_files(lake, tmp_path, monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        new = items(100, 50, "2026-11-21").append_column("model", pa.array(["b"] * 50))
        if lake == "delta":
            deltalake = pytest.importorskip("deltalake")
            name = f"delta:{tmp_path}/table"
            deltalake.write_deltalake(f"{tmp_path}/table", items(0, 100, "2026-11-20"))
            deltalake.write_deltalake(f"{tmp_path}/table", new, mode="append", schema_mode="merge")
        else:
            table = Iceberg(tmp_path, monkeypatch)
            table.write(items(0, 100, "2026-11-20"))
            with table.table.update_schema() as update:
                update.union_by_name(new.schema)
            table.write(new)
            name = table.name
    found = open_ranking(name, RankingOptions(score="conf")).fetch(np.arange(1, 151), ["id", "model"]).table
    models = dict(zip(found.column("id").to_pylist(), found.column("model").to_pylist(), strict=True))
    assert models == {i: "b" if i >= 100 else None for i in range(150)}
    assert found.column("id").to_pylist() == best(items(0, 100, ""), items(100, 50, ""), ranks=np.arange(1, 151))


def test_times_have_the_zone_of_their_table(tmp_path):
    """Spark writes them without one."""
    deltalake = pytest.importorskip("deltalake", reason="pip install 'streameval[delta]'")
    when = datetime.datetime(2026, 11, 20, 12, tzinfo=datetime.UTC)
    zoned = items(0, 10, "d").append_column("when", pa.array([when] * 10, pa.timestamp("us", "UTC")))
    deltalake.write_deltalake(str(tmp_path / "table"), zoned)
    log = tmp_path / "table" / "_delta_log" / f"{0:020}.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    (add,) = (line["add"] for line in lines if "add" in line)
    pq.write_table(zoned, tmp_path / "table" / add["path"], use_deprecated_int96_timestamps=True, store_schema=False)
    add["size"] = (tmp_path / "table" / add["path"]).stat().st_size
    log.write_text("\n".join(json.dumps(line) for line in lines))
    found = open_ranking(f"delta:{tmp_path}/table", RankingOptions(score="conf")).fetch(np.array([1, 2]), ["when"])
    assert found.table.column("when").to_pylist() == [when, when]


def delete_positions(table, path, rows, where):
    """Delete rows of a file of an Iceberg table by a position delete file, as Spark does; nothing is rewritten."""
    from pyiceberg.manifest import DataFile, DataFileContent, FileFormat

    pq.write_table(pa.table({"file_path": [path] * len(rows), "pos": rows}), where)
    (data,) = (one.file for one in table.table.scan().plan_files() if one.file.file_path == path)
    deletes = DataFile.from_args(
        content=DataFileContent.POSITION_DELETES, file_path=f"file://{where}", file_format=FileFormat.PARQUET,
        partition=data.partition, record_count=len(rows), file_size_in_bytes=where.stat().st_size, spec_id=data.spec_id,
    )  # fmt: skip
    deletes.spec_id = data.spec_id
    with table.table.transaction() as transaction, transaction.update_snapshot().fast_append() as commit:
        commit.append_data_file(deletes)


def test_rows_that_position_deletes_name_have_no_rank(tmp_path, monkeypatch):
    gone = [99, 0, 7]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = Iceberg(tmp_path, monkeypatch)
        table.write(items(0, 50, "2026-11-20"))
        first = table.write(items(50, 100, "2026-11-21"))
        (path,) = (one.file.file_path for one in table.table.scan().plan_files() if one.file.record_count == 100)
        delete_positions(table, path, gone, tmp_path / "deletes.parquet")
    before, after = (open_ranking(f"{table.name}{at}", RankingOptions(score="conf")) for at in (f"@{first}", ""))
    assert (before.n_items, after.n_items) == (150, 147)
    assert before.rows.fingerprint != after.rows.fingerprint
    left = pa.concat_tables([items(0, 50, ""), items(50, 100, "").take(np.delete(range(100), gone))])
    ranks = np.arange(1, 148)
    assert after.fetch(ranks, ["id"]).table.column("id").to_pylist() == best(left, ranks=ranks)


@pytest.mark.parametrize(
    ("kind", "stored", "said"),
    [("EQUALITY_DELETES", "PARQUET", "equality deletes"), ("POSITION_DELETES", "PUFFIN", "PUFFIN files")],
)
def test_deletes_of_iceberg_that_are_not_read_are_refused_by_name(kind, stored, said):
    deletes = SimpleNamespace(content=f"DataFileContent.{kind}", file_format=f"FileFormat.{stored}")
    task = SimpleNamespace(delete_files=[deletes], file=None)
    with pytest.raises(InputError, match=f"{said}.*rewrite_data_files"):
        iceberg._refuse_what_files_do_not_show([task], None, "iceberg:a.b.c@1")


def test_renamed_columns_of_iceberg_are_found_by_their_ids(tmp_path, monkeypatch):
    table = Iceberg(tmp_path, monkeypatch)
    table.write(items(0, 100, "2026-11-20"))
    with table.table.update_schema() as update:
        update.rename_column("id", "item")
        update.rename_column("conf", "id_score")
    table.write(items(100, 50, "2026-11-20").rename_columns(["item", "id_score", "day", "good"]))
    found = open_ranking(table.name, RankingOptions(score="id_score")).fetch(np.arange(1, 151), ["item"]).table
    assert found.column("item").to_pylist() == best(items(0, 100, ""), items(100, 50, ""), ranks=np.arange(1, 151))


def test_partition_values_of_delta_come_back_as_columns(tmp_path):
    table = Delta(tmp_path)
    odd = items(0, 100, "a b%/=é")
    table.write(odd)
    table.write(items(100, 50, None).set_column(2, "day", pa.array([None] * 50, pa.string())))
    found = open_ranking(table.name, RankingOptions(score="conf")).fetch(np.arange(1, 151), ["id", "day"]).table
    days = dict(zip(found.column("id").to_pylist(), found.column("day").to_pylist(), strict=True))
    assert days == {i: "a b%/=é" if i < 100 else None for i in range(150)}


def test_row_counts_come_from_footers_where_delta_does_not_say(tmp_path):
    table = Delta(tmp_path)
    table.write(items(0, 100, "2026-11-20"))
    log = Path(table.place) / "_delta_log" / "00000000000000000000.json"
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    for line in lines:
        line.get("add", {}).pop("stats", None)
    log.write_text("\n".join(json.dumps(line) for line in lines))
    assert open_ranking(table.name, RankingOptions(score="conf")).n_items == 100


def test_hive_folders_are_restricted_by_where(tmp_path):
    for i, day in enumerate(("2026-11-19", "2026-11-20", "2026-11-21")):
        folder = tmp_path / f"day={day}"
        folder.mkdir()
        pq.write_table(items(i * 100, 100, day).drop_columns(["day"]), folder / "0.parquet")
    some = open_ranking(str(tmp_path), RankingOptions(where="day >= '2026-11-20'"))
    assert some.n_items == 200
    assert some.description()["where"] == "day >= '2026-11-20'"
    assert some.fingerprint != open_ranking(str(tmp_path)).fingerprint
    with pytest.raises(InputError, match="'conf' in where is not a partition key"):
        open_ranking(str(tmp_path), RankingOptions(where="conf > 0"))


ANSWERS = [
    (
        "Kernel error -> Generic S3 error\n ↳ Error performing GET http://h/lake/credentials/_last_checkpoint in 2.1s, "
        "after 10 retries, max_retries\n ↳ 180s - Server returned non-2xx status code\n ↳ 503 Service Unavailable",
        3, "does not answer",
    ),
    ("Generic S3 error\n ↳ Error performing GET http://h/x in 1s - HTTP error\n ↳ error sending request", 3, "answer"),
    ("When reading key 'signature' in bucket 'b': AWS Error SLOW_DOWN during HeadObject operation", 3, "answer"),
    ("(sqlite3.OperationalError) database is locked", 3, "does not answer"),
    ("Generic S3 error\n ↳ Error performing GET http://h/x?list-type=2 in 53ms\n ↳ 404 Not Found\n"
     "<Error><Code>NoSuchBucket</Code><HostId>secret/ok</HostId></Error>", 2, "there is no such bucket"),
    ("The operation lacked the necessary privileges to complete for path x\n ↳ 403 Forbidden", 2, "denies access"),
    ("Generic S3 error\n ↳ Error performing PUT http://169.254.169.254/latest/api/token in 1ms, after 3 retries", 2,
     "denies access"),
    ("Generic delta kernel error: LogSegment end version 5 not the same as 99", 2, "LogSegment end version 5"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "status", "shown"), ANSWERS)
def test_a_librarys_trouble_with_a_store_is_worth_a_retry_or_not(said, status, shown):
    from streameval.rows.lake import call_library

    def ask():
        raise OSError(said)

    with pytest.raises(StreamevalError, match=shown) as caught:
        call_library("delta:s3://b/x", ask)
    assert caught.value.exit_status == status
    assert "secret" not in str(caught.value)
