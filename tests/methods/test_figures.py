"""Figures that must come out: the table of the paper's constants, and the real lists."""

import json

import numpy as np
import pyarrow.parquet as pq
import pytest

from streameval.cli import run
from streameval.methods import create
from streameval.types import Labels

TABLE = [
    (35_615, "0.03", 3400, 276, 354, 3492, 103, 1.04971, 11_292),
    (35_615, "0.05", 2040, 157, 214, 2122, 105, 1.06952, 7_822),
    (217_077, "0.03", 3400, 276, 415, 3492, 103, 1.04971, 17_392),
    (10_000_000, "0.03", 3400, 276, 545, 3492, 103, 1.04971, 30_392),
    (169_000_000, "0.03", 3400, 276, 640, 3492, 103, 1.04971, 39_892),
    (2_000_000_000, "0.03", 3400, 276, 724, 3492, 103, 1.04971, 48_292),
]


@pytest.mark.parametrize("row", TABLE)
def test_cost_prints_the_table_of_the_paper(row, capsys):
    n, epsilon, *expected = row
    assert run(["cost", "--items", str(n), "--method", f"paula(epsilon={epsilon})", "--json"]) == 0
    (found,) = json.loads(capsys.readouterr().out)["methods"]
    assert [found[key] for key in ("head", "ell", "L", "g_ell", "m", "gamma", "labels")] == expected


def _evaluated(path):
    truth = pq.read_table(path).column("label").to_numpy().astype(np.int64)
    method = create("paula")
    plan = method.plan(truth.size)
    return truth, plan, method.curve(plan, Labels.of(plan, truth[plan.ranks - 1]))


def test_ppdb_human(real):
    truth, plan, curve = _evaluated(real("ppdb_human"))
    table = curve.table
    rank = table.column("rank").to_numpy()
    low = table.column("bracket_lower").to_numpy()
    high = table.column("bracket_upper").to_numpy()
    precision = np.cumsum(truth)[rank - 1] / rank
    beyond = (rank > 3492) & ~np.isnan(low)
    assert plan.table.num_rows == 11_692
    assert beyond.sum() == 82
    assert np.sum((low <= precision) & (precision <= high) & beyond) == 15
    assert np.sum((low > high) & beyond) == curve.diagnostics["crossings"] == 5
    assert round(100 * np.max((low / precision - 1)[beyond]), 2) == 1.28
    assert round(100 * np.min((high / precision - 1)[beyond]), 2) == -0.21
    assert curve.diagnostics["rises"] == 36
    assert curve.claim.coverage == "none"
    assert "proves nothing here" in curve.findings[0]
    assert "contradict A.2 taken literally" in curve.findings[0]
    assert not curve.diagnostics["assumptions"]["A.2"]["beyond_noise"]


def test_skin_logreg_fails_loudly(real):
    _, _, curve = _evaluated(real("skin_logreg"))
    assert curve.findings[0].startswith("The assumption fails")
