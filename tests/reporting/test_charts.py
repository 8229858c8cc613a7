"""Charts are Vega-Lite by its own schema; pictures are drawn of them, or it is said what draws them."""

import base64
import gzip
import json
import re
import sys
from importlib.metadata import version

import altair as alt
import numpy as np
import pyarrow as pa
import pytest
from small_studies import study_of

import streameval
from streameval.errors import InputError
from streameval.reporting import charts, comparison, simulation
from streameval.reporting.charts import picture
from streameval.text import escaped


def check(chart):
    """The schema's own check, and a picture; `container` is a width of Vega-Lite that pictures do not have."""
    follows_schema(chart)
    assert picture({key: value for key, value in chart.items() if key != "$schema"}, "svg").startswith(b"<svg")


def follows_schema(chart):
    """With a few rows of each table: the schema holds of all alike, and would be held against each of thousands."""
    assert alt.Chart.from_dict(with_few_rows(chart)).to_dict()


def with_few_rows(part):
    if isinstance(part, list):
        return [with_few_rows(one) for one in part]
    if not isinstance(part, dict):
        return part
    few = {**part, "values": part["values"][:20]} if isinstance(part.get("values"), list) else part
    return {name: with_few_rows(inside) for name, inside in few.items()}


def charts_of(page):
    (packed,) = re.findall(r'const CHARTS = "(.*?)"', page)
    return json.loads(gzip.decompress(base64.b64decode(packed)))


def test_charts_of_reports_and_comparisons_are_vega_lite(ranking, tmp_path):
    studies = [study_of(ranking, tmp_path / name, name) for name in ("loguniform", "paula")]
    alone = charts_of((tmp_path / "loguniform" / "report.html").read_text())
    both = charts_of(streameval.report(*studies, out=tmp_path / "both.html").read_text())
    assert list(alone) == list(both) == ["precision", "recall", "roc", "yield", "labels", "local"]
    for chart in alone.values():
        follows_schema(chart)
    for chart in both.values():
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


@pytest.mark.slow
def test_the_script_of_pages_is_that_of_the_library():
    """`scripts/vega` makes it anew."""
    if not version("vl-convert-python").startswith("1.9.0"):
        pytest.skip("another vl-convert is installed than that which the script is of")
    import vl_convert

    assert charts.page_script() == vl_convert.javascript_bundle().replace("</script", "<\\/script")
    assert "</script" not in charts.page_script()


def test_without_the_library_pages_say_so_and_files_are_refused(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    chart = {"mark": "point", "data": {"values": [{"x": "</script><b>"}]}, "encoding": {"x": {"field": "x"}}}
    hint = "Hint: pip install 'vl-convert-python>=1.9'"
    assert charts.still(chart).endswith(f"which is not installed. {escaped(hint)}.</p>")
    with pytest.raises(InputError, match="pictures need vl_convert, which is not installed"):
        charts.chart_file(chart, "svg")
    page = tmp_path / "chart.html"
    charts.chart_file(chart, "html")(str(page))
    assert "</script><b>" not in page.read_text()
