"""Labels drawn elsewhere say nothing of a cutoff before the first of them: its estimate is unknown everywhere."""

import base64
import gzip
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.cli import run
from streameval.curve.estimated import YieldEstimate
from streameval.notebook import band
from streameval.reporting.chart_rows import by_false_positive_rate, by_rank, by_recall, by_yield
from streameval.study import Study
from streameval.verbs.sql import connect

N = 60
RANKS = [12, 14, 17, 20, 26, 31, 38, 44, 51, 57]
LABEL = [1, 1, 1, 0, 1, 0, 0, 1, 0, 0]
OF_A_CUTOFF = ("precision_at", "recall_at", "yield_at", "f1_at", "average_precision_at", "average_precision_at_found",
               "average_precision_at_capped", "dcg_at")  # fmt: skip


@pytest.fixture(scope="module")
def adopted(tmp_path_factory):
    """Ten of sixty items, of which the first is item 12."""
    home = tmp_path_factory.mktemp("top")
    pq.write_table(pa.table({"id": np.arange(1, N + 1)}), home / "list.parquet")
    sample = pa.table({"id": RANKS, "label": LABEL})
    how = {"on": "id", "drawn": "uniform(size=10)", "seed": 1}
    streameval.adopt(str(home / "list.parquet"), home / "s", labels=sample, **how)
    streameval.evaluate(home / "s")
    return home / "s"


def test_what_is_printed_of_a_cutoff_before_the_first_label_is_unknown(adopted, capsys):
    asked = ["precision@11", "recall@11", "yield@11", "f1@11", "precision@12"]
    assert run(["show", str(adopted), *asked, "--json"]) == 0
    said = {one["measure"]: one["estimate"] for one in json.loads(capsys.readouterr().out)["measures"]}
    assert {measure for measure, estimate in said.items() if estimate is None} == set(asked[:4])
    assert run(["show", str(adopted), "precision@11"]) == 0
    assert re.search(r"precision@11 +0\.0000 +– +1\.0000", capsys.readouterr().out)


def test_what_is_stored_of_a_cutoff_before_the_first_label_is_unknown(adopted):
    rows = {(row["metric"], row["argument"]): row["estimate"]
            for row in pq.read_table(adopted / "metrics.parquet").to_pylist()}  # fmt: skip
    assert [name for name in OF_A_CUTOFF if rows[name, "10"] is not None] == []
    assert [name for name in OF_A_CUTOFF if rows[name, "60"] is None] == []
    envelope = pq.read_table(adopted / "envelope.parquet").to_pylist()
    assert (
        {row["rank"] for row in envelope if row["yield"] is None}
        == {row["rank"] for row in envelope if 0 < row["rank"] < 12}
        >= {11}
    )
    # that the first positive comes before the first label is all that an estimate would say of it
    assert rows["reciprocal_rank", ""] is None
    for whole in ("average_precision", "positives"), ("roc_auc", ""), ("max_f1", ""), ("eleven_point_precision", ""):
        assert rows[whole] is not None


def test_the_same_is_unknown_when_the_study_is_opened_again(adopted):
    curve = Study(adopted).evaluation().curve
    assert (curve.estimated.first, curve.plug_in.curve.first) == (12, 12)
    known = [rank for rank in range(1, N + 1) if curve.at([rank]).column("precision")[0].is_valid]
    assert known == list(range(12, N + 1))
    assert curve.settled.envelope_table.equals(pq.read_table(adopted / "envelope.parquet"))


def test_sql_knows_as_much_as_the_package(adopted):
    curve, shares = Study(adopted).evaluation().curve, [i / 20 for i in range(1, 21)]
    with connect(adopted) as session:
        for macro, values in (
            ("precision_at", range(1, N + 1)), ("recall_at", range(1, N + 1)), ("yield_at", range(1, N + 1)),
            ("rank_at_precision", shares), ("rank_at_recall", shares),
        ):  # fmt: skip
            given = ", ".join(f"({value})" for value in values)
            rows = session.ask(f"SELECT x, {macro}(x) AS found FROM (VALUES {given}) AS given(x)").to_pylist()
            told = {float(row["x"]): row["found"]["estimate"] for row in rows}
            for value in values:
                estimate = getattr(curve, macro)(value).estimate
                assert told[value] == (None if np.isnan(estimate) else estimate), (macro, value)
            assert None in told.values()
            assert set(told.values()) != {None}


def test_the_page_draws_no_estimate_before_the_first_label(adopted):
    curve = Study(adopted).evaluation().curve
    assert {row["rank"] for row in by_rank(curve) if row.get("estimate") is None} == set(range(1, 12))
    begins = {name: curve.plug_in.at(name, [12])[0] for name in ("false_positive_rate", "yield")}
    for rows, x, first in (
        (by_false_positive_rate(curve), "rate", begins["false_positive_rate"]),
        (by_yield(curve), "found", begins["yield"]),
    ):
        estimated = [row[x] for row in rows if "estimate" in row]
        assert min(row[x] for row in rows) < first <= min(estimated)
        assert all("estimate" in row for row in rows if first <= row[x] <= max(estimated))
    assert all("estimate" in row for row in by_recall(curve))
    (packed,) = re.findall(r'const STUDIES = "(.*?)"', (adopted / "report.html").read_text())
    (read,) = json.loads(gzip.decompress(base64.b64decode(packed)))
    assert read["first"] == 12


def test_a_notebook_draws_no_estimate_before_the_first_label(adopted):
    curve = Study(adopted).evaluation().curve
    table = curve.at(np.arange(1, N + 1))
    sides = (table.column(name).to_numpy(zero_copy_only=False)
             for name in ("precision_lower", "precision", "precision_upper"))  # fmt: skip
    drawn = band("precision", np.arange(1, N + 1), *sides)
    (line,) = re.findall(r'polyline points="(.*?)"', drawn)
    assert len(line.split()) == N - 11


def test_where_the_first_rank_has_a_label_all_is_known():
    estimate = YieldEstimate(np.array([0, 4]), np.array([0.0, 2.0]))
    assert estimate.known_from(1) == estimate
    assert estimate.known_from(3).at([0, 1, 2, 3, 4]) == pytest.approx([0, np.nan, np.nan, 1.5, 2], nan_ok=True)
