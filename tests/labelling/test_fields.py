"""Keys and labels that lie within structs, or objects of JSON, of a label file."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import streameval

N = 40
META = [{"id": f"m{i}", "score": i / N, "in": {"good": i % 2}} for i in range(N)]


@pytest.fixture
def study(tmp_path):
    pq.write_table(pa.table({"meta": META, "id": np.arange(N)}), tmp_path / "list.parquet")
    streameval.plan(tmp_path / "list.parquet", tmp_path / "study", score="meta.score", key="meta.id", budget=30, seed=2)
    streameval.select(tmp_path / "study")
    return tmp_path / "study"


def as_parquet(path):
    pq.write_table(pa.table({"Meta": META, "label": np.arange(N) % 2}), path / "labels.parquet")
    return path / "labels.parquet"


def as_lines(path):
    file = path / "labels.jsonl"
    file.write_text("".join(json.dumps({"Meta": one, "label": one["in"]["good"]}) + "\n" for one in META))
    return file


def as_table(path):
    return pa.table({"Meta": META, "label": np.arange(N) % 2})


@pytest.mark.parametrize("write", [as_parquet, as_lines, as_table])
def test_fields_say_which_item_a_row_is_about_and_what_was_said_of_it(write, study, tmp_path):
    labels = write(tmp_path)
    found = streameval.evaluate(study, labels=labels, on="meta.id")
    assert found.summary["account"]["labelled"] == len(streameval.select(study).table)
    again = streameval.evaluate(study, labels=labels, on="meta.id", label="meta.in.good")
    assert again.metrics.equals(found.metrics)


def test_fields_of_labels_meet_fields_of_a_list(tmp_path):
    labels = as_parquet(tmp_path)
    exact = streameval.exact(pa.table({"meta": META}), score="meta.score", labels=labels, on="meta.id")
    assert exact.summary["positives"] == N // 2


def test_fields_of_labels_meet_those_of_a_struct_that_was_selected_whole(tmp_path):
    pq.write_table(pa.table({"meta": META, "id": np.arange(N)}), tmp_path / "list.parquet")
    streameval.plan(tmp_path / "list.parquet", tmp_path / "study", budget=30, seed=2)
    assert "meta.id" not in streameval.select(tmp_path / "study").table.column_names
    found = streameval.evaluate(tmp_path / "study", labels=as_lines(tmp_path), on="meta.id", label="meta.in.good")
    assert found.summary["account"]["labelled"] == len(streameval.select(tmp_path / "study").table)


@pytest.mark.parametrize("write", [as_parquet, as_lines])
def test_a_field_that_is_not_there_is_a_column_that_is_not_there(write, study, tmp_path, capsys):
    labels = write(tmp_path)
    for name in ("meta.nix", "meta.id.more", "label.id", "other.id"):
        assert f"no column '{name}'" in refused(capsys, "evaluate", study, "--labels", labels, "--on", name)


def test_labels_by_a_column_that_items_call_otherwise_are_told_to_call_it_so(study, tmp_path, capsys):
    (tmp_path / "uid.csv").write_text("uid,label\n" + "".join(f"{i},1\n" for i in range(N)))
    (tmp_path / "doc.csv").write_text("doc,label\n" + "".join(f"{i},1\n" for i in range(N)))
    told = refused(capsys, "evaluate", study, "--labels", tmp_path / "uid.csv", "--on", "uid")
    assert "did you mean 'id'? then call the column of the labels so; or, where the list has 'uid', " in told
    told = refused(capsys, "evaluate", study, "--labels", tmp_path / "uid.csv", "--on", "item_id")
    assert "no column 'item_id'. Hint: there are: uid, label; name it with --on COL" in told
    pq.write_table(pa.table({"id": np.arange(N), "score": np.arange(N) / N}), tmp_path / "list.parquet")
    exact = ["exact", tmp_path / "list.parquet", "--score", "score"]
    told = refused(capsys, *exact, "--labels", tmp_path / "uid.csv", "--on", "uid")
    assert "which the list does not have. Hint: did you mean 'id'? then call the column of the labels so" in told
    told = refused(capsys, *exact, "--labels", tmp_path / "doc.csv", "--on", "doc")
    assert "there are: id, score; call the column of the labels as that of the items" in told
