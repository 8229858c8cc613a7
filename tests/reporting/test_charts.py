"""Charts are Vega-Lite by its own schema, and pictures can be drawn of them; the script of pages is kept."""

import base64
import gzip
import json
import re

import altair as alt
import numpy as np
import pyarrow as pa
import pytest
from small_studies import study_of

import streameval
from streameval.reporting import bundle, comparison, simulation
from streameval.reporting.charts import picture


def check(chart):
    """The schema's own check; `container` is a width of Vega-Lite that pictures do not have."""
    assert alt.Chart.from_dict(chart).to_dict()
    assert picture({key: value for key, value in chart.items() if key != "$schema"}, "svg").startswith(b"<svg")


def charts_of(page):
    (packed,) = re.findall(r'const CHARTS = "(.*?)"', page)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_charts_of_reports_and_comparisons_are_vega_lite(ranking, tmp_path):
    studies = [study_of(ranking, tmp_path / name, name) for name in ("loguniform", "paula")]
    alone = charts_of((tmp_path / "loguniform" / "report.html").read_text())
    both = charts_of(streameval.report(*studies, out=tmp_path / "both.html").read_text())
    assert list(alone) == list(both) == ["precision", "recall", "roc", "yield", "labels", "local"]
    for chart in (*alone.values(), *both.values()):
        check(chart)
    check(comparison.figure(streameval.compare(*studies)))


def test_charts_of_slices_are_vega_lite(tmp_path):
    items = pa.table({"team": np.arange(900) % 3})
    plan = streameval.plan(items, tmp_path / "s", by="team", seed=0, budget=300)
    streameval.select(tmp_path / "s", ranking=items)
    labels = pa.table({"rank": plan.ranks, "label": plan.ranks % 2})
    streameval.evaluate(tmp_path / "s", labels=labels)
    drawn = charts_of((tmp_path / "s" / "report.html").read_text())
    assert {"slice-0", "slice-1", "slice-2"} <= set(drawn)
    check(drawn["slice-0"])


def test_charts_of_simulations_are_vega_lite():
    truth = pa.table({"label": (np.arange(2_000) % 3 < 2).astype(np.int8)})
    check(simulation.figure(streameval.simulate(truth, label="label", method=("loguniform", "paula"), replicates=2)))


@pytest.mark.parametrize("folder", ["there", "not writable"])
def test_the_script_of_pages_is_made_once(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(bundle, "__file__", str(tmp_path / "package" / "bundle.py"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "user"))
    if folder == "not writable":
        (tmp_path / "package").write_text("a file where the folder should be")
    script = bundle.bundle()
    assert "</script" not in script
    with monkeypatch.context() as patch:
        patch.setattr("vl_convert.javascript_bundle", lambda: pytest.fail("made again"))
        assert bundle.bundle() == script
