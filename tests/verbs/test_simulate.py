"""Simulations: honest counts on a known list, through every door."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.cli import run
from streameval.errors import InputError

N = 2_000


@pytest.fixture
def labelled(tmp_path):
    rng = np.random.default_rng(2)
    truth = (rng.random(N) < np.linspace(0.95, 0.2, N)).astype(np.int8)
    path = tmp_path / "list.parquet"
    pq.write_table(pa.table({"item": np.arange(N), "label": truth}), path)
    return path, truth


def test_every_method_is_shown_beside_the_others(labelled, tmp_path, capsys):
    path, _ = labelled
    picture = tmp_path / "methods.svg"
    arguments = ["simulate", str(path), "--label", "label", "--replicates", "6", "--budget", "1000"]
    assert run([*arguments, "--plot", str(picture), "--json"]) == 0
    rows = {row["method"]: row for row in json.loads(capsys.readouterr().out)["methods"]}
    variants = {"paula(assume=independent)", "uniform(interval=hypergeometric)"}
    assert set(rows) == {"loguniform", "paula", "stratified", "uniform"} | variants
    for row in rows.values():
        assert row["labels"] <= 1000  # on average, where the draw decides
        assert row["held"] <= row["replicates"]
    assert rows["loguniform"]["coverage"] >= 0.8
    assert rows["paula"]["replicates"] == 1
    assert rows["loguniform"]["half_width"] < rows["uniform(interval=hypergeometric)"]["half_width"]
    assert picture.read_text().startswith("<svg")
    arguments[arguments.index("6")] = "2"  # what follows is about what is shown
    assert run([*arguments, "--method", "uniform,paula", "--method", "stratified", "--json"]) == 0
    chosen = [row["method"] for row in json.loads(capsys.readouterr().out)["methods"]]
    assert {name.partition("(")[0] for name in chosen} == {"uniform", "paula", "stratified"}
    assert run(arguments) == 0
    assert "promised" in capsys.readouterr().out


def test_paula_bracket_on_ppdb_as_measured(real):
    row, noise_aware = streameval.simulate(str(real("ppdb_human")), label="label", method="paula").rows
    assert row["labels"] == 11_692
    assert round(row["inside"] * 82) == 15
    assert row["claim"] == "none"
    assert noise_aware["held"] == noise_aware["inside"] == 1


def test_bad_input(labelled, tmp_path):
    path, _ = labelled
    with pytest.raises(InputError, match="no column 'labl'"):
        streameval.simulate(str(path), label="labl")
    with pytest.raises(InputError, match="no method 'paul'"):
        streameval.simulate(str(path), label="label", method=["paul"])
    with pytest.raises(InputError, match="replicates is 0"):
        streameval.simulate(str(path), label="label", replicates=0)
    with pytest.raises(InputError, match="below the smallest plan"):
        streameval.simulate(str(path), label="label", budget=1)
    odd = tmp_path / "odd.parquet"
    pq.write_table(pa.table({"label": pa.array([1, 0, 2])}), odd)
    with pytest.raises(InputError, match="rank 3 is 2"):
        streameval.simulate(str(odd), label="label")
    pq.write_table(pa.table({"label": pa.array([1, None, 0])}), odd)
    with pytest.raises(InputError, match="first at rank 2"):
        streameval.simulate(str(odd), label="label")
    assert run(["simulate", str(path), "--label", "label", "--plot", "x.doc"]) == 2
