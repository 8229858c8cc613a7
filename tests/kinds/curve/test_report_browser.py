"""The report in a browser (`scripts/report-in-browser`): quiet, offline, accessible; its picker agrees with SQL."""

import json
import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from browser import CHROMIUM, found
from small_studies import study_of

import streameval
from streameval.methods import available
from streameval.verbs.sql import connect

AXE = os.environ.get("STREAMEVAL_AXE", "")
pytestmark = [pytest.mark.slow, pytest.mark.skipif(not CHROMIUM, reason="no chromium here")]

HERE = Path(__file__).parent


def drive(page, tmp_path, asked, *flags, size="1200,2000"):
    """Open a page, ask its picker, and return what the harness saw."""
    script = Path(AXE).read_text().replace("</script", "<\\/script") if AXE else ""
    asking = (HERE / "report_drive.js").read_text().replace("ASKED", json.dumps(asked))
    watching = (HERE / "report_watch.js").read_text()
    text = page.read_text().replace("<head>", f"<head><script>{watching}</script>", 1)
    opened = tmp_path / "driven.html"
    before, _, after = text.rpartition("</body>")  # Vega's own text has one too
    opened.write_text(f"{before}<script>{script}</script><script>{asking}</script></body>{after}")
    return found(f"file://{opened}", tmp_path / "profile", *flags, size=size)


def number(text):
    return None if text == "null" else float(text)


@pytest.mark.parametrize("method", sorted(available()))
def test_the_page_is_quiet_and_its_picker_tells_what_sql_tells(method, ranking, tmp_path):
    study = study_of(ranking, tmp_path / "study", method)
    if method == "uniform":  # misses that another study bounds
        rest = streameval.plan(pa.table({"id": range(400)}), tmp_path / "rest", budget=100, seed=0)
        streameval.evaluate(tmp_path / "rest", labels=pa.table({"rank": rest.ranks, "label": rest.ranks % 9 == 0}))
        streameval.evaluate(study, misses=tmp_path / "rest")
    else:
        streameval.evaluate(study, misses=30)
    asked = [("rank", k) for k in (1, 2, 77, 500, 1234, 5000, 9_999, 10_000)]
    asked += [(by, x) for by in ("precision", "recall") for x in (0.05, 0.5, 0.77, 0.9, 0.99, 1)]
    seen = drive(study / "report.html", tmp_path, asked)
    assert seen["trouble"] == []
    assert seen["requests"] == 0
    assert seen["slid"]
    assert all(seen["charts"])
    with connect(study) as session:
        proves = session.ask("SELECT proves FROM provenance").column(0)[0].as_py()
        assert len(seen["picked"]) == (len(asked) if proves else 8)
        for one in seen["picked"]:
            check_against_sql(session, one)


def test_rubbish_is_answered_with_what_to_give(ranking, tmp_path):
    study = study_of(ranking, tmp_path / "study")
    asked = [("rank", one) for one in ("", "0", "-3", "1.5", "10001", "1e99", "rubbish")]
    asked += [(by, one) for by in ("precision", "recall") for one in ("", "0", "-1", "1.01", "1e-13")]
    seen = drive(study / "report.html", tmp_path, asked)
    assert seen["trouble"] == []
    assert len(seen["picked"]) == len(asked)
    for one in seen["picked"]:
        assert one["said"].startswith("Give a "), one
        assert not one["rows"], one


def check_against_sql(session, one):
    rows = dict(one["rows"])
    k = one["asked"]
    if one["by"] != "rank":
        name = f"rank_at_{one['by']}"
        (found,) = session.ask(f"SELECT {name}({k}) AS found").column("found").to_pylist()
        told = rows.pop(name)
        assert {side: number(value) for side, value in told.items()} == found, one
        k = found["lower" if one["by"] == "precision" else "upper"]
        if not 1 <= k <= 10_000:
            assert not rows
            return
    for name, told in rows.items():
        arguments = f"{int(k)}, 1" if name == "f_measure" else int(k)
        (found,) = session.ask(f"SELECT {name}({arguments}) AS found").column("found").to_pylist()
        if name == "threshold_at":
            found = {"lower": found["lower"], "estimate": found["score"], "upper": found["upper"]}
        assert {side: number(value) for side, value in told.items()} == found, (one, name)


@pytest.mark.parametrize(
    ("size", "flags"), [("1200,2000", ()), ("390,844", ()), ("1200,2000", ("--blink-settings=preferredColorScheme=0",))]
)
def test_the_page_is_accessible_on_a_desk_a_phone_and_in_the_dark(size, flags, ranking, tmp_path):
    study = study_of(ranking, tmp_path / "study")
    streameval.report(study, examples="shown")
    seen = drive(study / "report.html", tmp_path, [("rank", 10)], *flags, size=size)
    assert seen["overflow"] <= 0
    assert seen["hidden"] <= 0, "a bound of the picker is out of sight"
    assert (seen["colour"] == "rgb(255, 255, 255)") == (not flags)
    if AXE:
        assert [one for one in seen["axe"] if one[0] in ("serious", "critical")] == []


def test_several_studies_are_drawn_over_one_another(ranking, tmp_path):
    studies = [study_of(ranking, tmp_path / f"<b>{name}'\"", name) for name in ("loguniform", "uniform", "paula")]
    page = streameval.report(*studies, out=tmp_path / "all.html")
    seen = drive(page, tmp_path, [("rank", 10)])
    assert seen["trouble"] == []
    assert all(seen["charts"])
    assert seen["picked"][0]["rows"]["precision_at"]["lower"]


def test_nothing_in_an_item_becomes_markup(tmp_path):
    import numpy as np
    import pyarrow as pa

    bad = "</script><script>trouble.push('ran')</script><img src=x onerror=\"trouble.push('ran')\">"
    path = tmp_path / "list.parquet"
    pq.write_table(
        pa.table({bad: [f"{bad}{i}" for i in range(300)], "se": [f"\x1b]0;{i}\x07{bad}" for i in range(300)]}), path
    )
    study = tmp_path / "</script><script>trouble.push('ran')"
    study.parent.mkdir(parents=True, exist_ok=True)
    streameval.plan(str(path), study, method="uniform", budget=300, seed=0)
    streameval.select(study)
    streameval.evaluate(
        study, labels=pa.table({"rank": np.arange(1, 301), "label": (np.arange(300) < 150).astype(np.int8)})
    )
    for page in (
        streameval.report(study, examples="shown"),
        streameval.report(study, study, out=tmp_path / "two.html", examples="shown"),
    ):
        seen = drive(page, tmp_path, [("rank", 10)])
        assert seen["trouble"] == []
        assert seen["requests"] == 0
