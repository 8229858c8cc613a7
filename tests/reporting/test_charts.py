"""Charts are Vega-Lite by its own schema; pictures are drawn of them, or it is said what draws them."""

import json
import sys
from functools import cache
from importlib.metadata import version
from pathlib import Path

import altair
import jsonschema
import numpy as np
import pyarrow as pa
import pytest
from report_charts import charts_of
from suite_cases import LONG

import streameval
from streameval.errors import InputError
from streameval.kinds.curve import comparison_page
from streameval.reporting import charts, simulation
from streameval.reporting.charts import picture
from streameval.text import escape


def check(chart):
    """The schema's own check, and a picture; `container` is a width of Vega-Lite that pictures do not have."""
    follows_schema(chart)
    assert picture({key: value for key, value in chart.items() if key != "$schema"}, "svg").startswith(b"<svg")


def follows_schema(chart):
    """With a few rows of each table: the schema holds of all alike, and would be held against each of thousands."""
    vega_lite().validate(with_few_rows(chart))


@cache
def vega_lite():
    """The schema of Vega-Lite, which Altair brings."""
    (path,) = Path(altair.__file__).parent.rglob("vega-lite-schema.json")
    return jsonschema.Draft7Validator(json.loads(path.read_text()))


def with_few_rows(part):
    if isinstance(part, list):
        return [with_few_rows(one) for one in part]
    if not isinstance(part, dict):
        return part
    few = {**part, "values": part["values"][:20]} if isinstance(part.get("values"), list) else part
    return {name: with_few_rows(inside) for name, inside in few.items()}


def test_what_is_no_vega_lite_is_refused():
    with pytest.raises(jsonschema.ValidationError):
        follows_schema({"data": {"values": []}, "mark": {"type": "nonsense"}})


CURVES = ["precision", "recall", "roc", "yield", "labels", "local"]


def test_charts_of_reports_are_vega_lite(catalogue):
    drawn = charts_of((catalogue.path("curve-evaluated") / "report.html").read_text())
    assert list(drawn) == CURVES
    for chart in drawn.values():
        follows_schema(chart)


@pytest.fixture(scope="module")
def both(catalogue, tmp_path_factory):
    """The charts of a page of two studies."""
    studies = [catalogue.path(name) for name in ("curve-evaluated", "paula-evaluated")]
    drawn = charts_of(streameval.report(*studies, out=tmp_path_factory.mktemp("both") / "both.html").read_text())
    assert list(drawn) == CURVES
    return drawn


@pytest.mark.parametrize("name", CURVES)
def test_charts_of_several_reports_are_vega_lite(both, name):
    if LONG or name in ("precision", "labels"):
        check(both[name])
    else:
        follows_schema(both[name])


def test_the_chart_of_a_comparison_is_vega_lite(catalogue):
    check(
        comparison_page.figure(streameval.compare(*(catalogue.path(f"{one}-evaluated") for one in ("curve", "paula"))))
    )


def test_charts_of_slices_are_vega_lite(catalogue):
    drawn = charts_of((catalogue.path("slices-evaluated") / "report.html").read_text())
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
    assert charts.still(chart).endswith(f"which is not installed. {escape(hint)}.</p>")
    with pytest.raises(InputError, match="pictures need vl_convert, which is not installed"):
        charts.chart_file(chart, "svg")
    page = tmp_path / "chart.html"
    charts.chart_file(chart, "html")(str(page))
    assert "</script><b>" not in page.read_text()
