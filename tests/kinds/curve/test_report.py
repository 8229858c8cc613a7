"""The report as text: bands that hold, nothing that was not asked for, and a size that mail takes."""

import base64
import gzip
import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_tables import judged
from suite_cases import cases

import streameval
from streameval.cli import run
from streameval.curve import Curve
from streameval.curve.envelope import Envelope, Points, close
from streameval.kinds.curve.page import ReportedStudy
from streameval.kinds.curve.picker_data import pack, pack_all, thin
from streameval.methods import available, create
from streameval.reporting import chart_rows, charts
from streameval.reporting.sentences import page_verdict
from streameval.study import Study
from streameval.types import Claim, Labels


def curve_of(truth, n_labels, seed):
    method = create("loguniform", {"budget": n_labels})
    plan = method.plan(truth.size, seed)
    return method.curve(plan, Labels.of(plan, truth[plan.ranks - 1]))


@pytest.mark.parametrize("seed", range(6))
def test_what_is_drawn_holds_the_truth(seed):
    rng = np.random.default_rng(seed)
    n = 20_000
    truth = (rng.random(n) < 0.95 - 0.8 * np.arange(n) / n).astype(np.int8)
    curve = curve_of(truth, 1_500, seed)
    y, r = np.cumsum(truth), np.arange(1, n + 1)
    low, high = curve.envelope.at(r)
    assert np.all((low <= y) & (y <= high)), "a band that misses says nothing here: take another seed"
    precision, recall, rate = y / r, y / y[-1], (r - y) / (n - y[-1])
    for row in chart_rows.by_recall(curve):
        best = precision[recall >= row["recall"] - 1e-9].max()
        assert row["lower"] - 2e-5 <= best <= row["upper"] + 2e-5
    for row in chart_rows.by_false_positive_rate(curve):
        there = recall[rate <= row["rate"] + 1e-5].max(initial=0.0)
        assert row["lower"] - 2e-5 <= there <= row["upper"] + 2e-5
    places = np.flatnonzero(truth) + 1
    for row in chart_rows.by_yield(curve):
        if row["found"] <= y[-1]:
            there = row["found"] / places[int(row["found"]) - 1]
            assert row["lower"] - 2e-5 <= there <= row["upper"] + 2e-5


def unpack(packed):
    values = np.repeat(packed["runs"][::2], packed["runs"][1::2])
    return np.cumsum(values) if packed["delta"] else values


@settings(max_examples=50)
@given(n=st.integers(1, 60), seed=st.integers(0, 2**32), spread=st.sampled_from([1.0, 0.3]), most=st.integers(4, 20))
def test_the_picker_gets_the_envelope_and_thinning_only_widens(n, seed, spread, most):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.5).astype(np.int8)
    known, at = np.flatnonzero(rng.random(n) < 0.5), np.flatnonzero(rng.random(n) < 0.5)
    y = np.cumsum(truth)
    points = Points(at + 1, y[at] - spread, y[at] + spread)
    envelope = close(n, points, known + 1, truth[known])
    packed = json.loads(json.dumps(pack(Curve(n, envelope, np.array([n]), Claim("simultaneous", 0.9, "")), n + 1)))
    assert np.array_equal(unpack(packed["rank"]), envelope.rank)
    lower = unpack(packed["lower"])
    assert np.array_equal(lower, envelope.lower)
    assert np.array_equal(
        lower + unpack(packed["width"]) if "width" in packed else unpack(packed["upper"]), envelope.upper
    )
    thinner = thin(envelope, most)
    assert thinner.rank.size <= max(most, 2)
    ranks = np.arange(n + 1)
    (low, high), (wider_low, wider_high) = envelope.at(ranks), thinner.at(ranks)
    assert np.all((wider_low <= low) & (high <= wider_high))


@pytest.mark.parametrize("method", cases(sorted(available()), "loguniform", "paula"))
def test_the_page_is_small_and_says_what_it_claims(method, study):
    study = study("curve-evaluated" if method == "loguniform" else f"{method}-evaluated")
    page = (study / "report.html").read_text()
    assert len(page.encode()) < 2_000_000
    verdict = re.search(r'<p class="verdict">(.*?)</p>', page).group(1)
    claim = Study(study).evaluation().curve.claim
    assert ("Nothing is proven" in verdict) == (claim.coverage == "none")
    assert claim.coverage == "none" or claim.promise in verdict
    assert claim.coverage not in ("none", "conditional") or "proven to be" not in verdict
    assert "streameval plan" in page
    assert "item 17" not in page
    assert run(["report", str(study), "--examples"]) == 0
    shown = (study / "report.html").read_text()
    negatives = re.search(r"The highest negatives</h3>(.*?)</table>", shown, re.DOTALL).group(1)
    labels = pq.read_table(study / "labels.parquet").to_pandas()
    first = labels[labels.label == 0]["rank"].iloc[0]
    assert f'<th scope="row">{first}</th>' in negatives
    shown = pq.read_table(study / "selection.parquet").to_pandas().set_index("rank")["text"]
    assert f"{shown[first]}<" in negatives


def test_a_page_needs_no_plan_and_escapes_whatever_it_shows(catalogue, tmp_path):
    study = catalogue.path("curve-evaluated")
    found = Study(study).evaluation()
    page = ReportedStudy("study", None, found).page()
    assert "Where labels were spent" not in page
    assert "Precision by rank" in page
    evil = tmp_path / "<img src=x onerror=alert(1)>&\"'"
    catalogue.copy("curve-evaluated", evil)
    both = streameval.report(evil, study, out=tmp_path / "two.html").read_text()
    assert "<img src=x" not in both
    assert "&lt;img src=x onerror=alert(1)&gt;&amp;&quot;&#x27;" in both
    assert both.count("<script") == (study / "report.html").read_text().count("<script")
    assert both.count("<script") == 1


def test_a_verdict_under_an_assumption_is_an_if(tmp_path):
    items, labels = pa.table({"x": np.arange(600)}), np.repeat([1, 0], 300)
    streameval.plan(items, tmp_path / "s", method="paula(epsilon=0.1, window=5, tail=closed)", seed=0)
    chosen = streameval.select(tmp_path / "s", ranking=items).table.column("rank").to_numpy()
    found = judged(tmp_path / "s", pa.table({"rank": chosen, "label": labels[chosen - 1]}))
    assert page_verdict(found).startswith("If the assumption holds, the precision of the first ")
    assert "contradict" not in page_verdict(found)


def test_a_list_of_one_item_is_counted_as_one(tmp_path):
    one = pa.table({"x": [1]})
    streameval.plan(one, tmp_path / "s", method="uniform", budget=1, seed=0)
    streameval.select(tmp_path / "s", ranking=one)
    found = judged(tmp_path / "s", pa.table({"rank": [1], "label": [1]}))
    assert page_verdict(found).startswith("Every item is labelled, so every number here is exact")
    said = "1 item, in the order in which they are stored. 1 label, method uniform."
    assert said in ReportedStudy("s", Study(tmp_path / "s").plan(), found).page()


def test_several_studies_need_a_file_and_pictures_a_folder(study, tmp_path, capsys, monkeypatch):
    """One picture of each kind is drawn: all take long, and test_charts draws every chart."""
    seen = []

    def picture(chart, kind):
        seen.append(kind)
        return charts.picture(chart, kind) if seen.count(kind) == 1 else b"another"

    monkeypatch.setattr("streameval.verbs.report.picture", picture)
    studies = [str(study(name)) for name in ("curve-evaluated", "uniform-evaluated")]
    before = (tmp_path / "uniform-evaluated" / "report.html").read_bytes()
    assert run(["report", *studies]) == 2
    assert "--out FILE" in capsys.readouterr().err
    assert run(["report"]) == 2
    capsys.readouterr()
    flags = ["--out", str(tmp_path / "both.html"), "--plot", str(tmp_path / "plots"), "--json"]
    assert run(["report", *studies, *flags]) == 0
    said = json.loads(capsys.readouterr().out)
    assert {path.rsplit("/")[-1] for path in said["plots"]} == {
        f"{name}.{kind}"
        for name in ("precision", "recall", "roc", "yield", "labels", "local")
        for kind in ("svg", "png")
    }
    assert (tmp_path / "plots" / "precision.svg").read_text().startswith("<svg")
    assert (tmp_path / "plots" / "precision.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "uniform-evaluated" / "report.html").read_bytes() == before
    both = (tmp_path / "both.html").read_text()
    assert both.count('class="verdict"') == 2
    assert streameval.report(*studies, out=tmp_path / "again.html").read_text() == both


def test_lists_without_positives_or_negatives_are_drawn(tmp_path):
    for value in (0, 1):
        study = tmp_path / str(value)
        plan = streameval.plan(pa.table({"x": np.arange(500)}), study, method="uniform", budget=200, seed=0)
        labels = pa.table({"rank": plan.ranks, "label": np.full(plan.ranks.size, value, np.int8)})
        found = judged(study, labels)
        assert found.curve.proves
        assert "<h2>Precision by rank</h2>" in ReportedStudy("s", plan, found).page()


def test_a_page_stays_small_however_long_its_envelope_is():
    rng = np.random.default_rng(0)
    rank = np.concatenate([[0], np.cumsum(rng.integers(1, 10_000, 260_000))])
    lower = np.concatenate([[0], np.cumsum(rng.integers(0, 2, 260_000))]).astype(float)
    envelope = Envelope(rank, lower, lower + np.minimum(rank, 5000))
    curve = Curve(int(rank[-1]), envelope, rank[-1:], Claim("simultaneous", 0.9, ""))
    packed = pack_all({"long": curve})
    assert not packed.whole
    assert len(packed.text) <= 600_000
    (study,) = json.loads(gzip.decompress(base64.b64decode(packed.text)))
    assert study["rank"]["n"] > 20_000
    assert pack_all({"short": Curve(9, Envelope(rank[:2], lower[:2], lower[:2]), rank[1:2], curve.claim)}).whole


def test_what_the_report_names_next_is_what_there_is_to_do(tmp_path):
    items = pa.table({"x": np.arange(600)})
    rising = (np.arange(600) >= 300).astype(np.int8)

    def page(method, kept):
        study = tmp_path / f"{method} {kept}"
        plan = streameval.plan(items, study, method=method, seed=0, budget=300 if method == "loguniform" else None)
        streameval.select(study, ranking=items)
        ranks = plan.ranks[:kept]
        streameval.evaluate(study, labels=pa.table({"rank": ranks, "label": rising[ranks - 1]}))
        return (study / "report.html").read_text()

    cut = re.search(r"streameval cut &#x27;loguniform None&#x27; precision:([\d.]+)", page("loguniform", None))
    assert streameval.cut(tmp_path / "loguniform None", f"precision:{cut[1]}").rank >= 6
    assert "streameval select &#x27;loguniform 20&#x27; --remaining" in page("loguniform", 20)


def test_what_needs_scripts_is_hidden_without_them_and_a_band_without_width_is_seen(tmp_path):
    items, study = pa.table({"x": np.arange(50)}), tmp_path / "study"
    plan = streameval.plan(items, study, budget=50, seed=0)
    page = ReportedStudy("study", plan, judged(study, pa.table({"rank": plan.ranks, "label": [1] * 50}))).page()
    assert "<noscript><style>section:has(.chart:empty), .picker {display: none}</style></noscript>" in page
    row = {"study": "s", "rank": 1, "lower": 1.0, "estimate": None, "upper": 1.0}
    areas = [charts.band_chart(rows, charts.Axis("rank", "rank", "log", (1, 2)), "p", 9)["layer"][0]["mark"]
             for rows in ([row], [row, row | {"study": "t"}])]  # fmt: skip
    assert ["stroke" in area for area in areas] == [True, False]
