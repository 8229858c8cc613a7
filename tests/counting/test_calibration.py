"""Brier score, log loss and calibration of exact results: beside numpy and scikit-learn, however a list is read."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from report_charts import charts_of

import streameval
from streameval.cli import run
from streameval.counting import block_sums as sums
from streameval.counting import by_score as scored
from streameval.counting import scans as here


@pytest.fixture
def small_blocks(monkeypatch):
    for module in (sums, here, scored):
        monkeypatch.setattr(module, "BLOCK", 64)


def probabilities(n=900, values=None, kind=np.float64, seed=3):
    """Scores in [0, 1], of few values where that is asked, and labels that they say too little of."""
    rng = np.random.default_rng(seed)
    score = rng.random(n) if values is None else rng.integers(1, values, n) / values
    label = (rng.random(n) < score**2).astype(np.int8)
    return pa.table({"label": label, "score": score.astype(kind), "user": rng.integers(0, 300, n)})


def values_of(result):
    return {row["metric"]: row for row in result.metrics.to_pylist() if row["argument"] == ""}


def twin(table):
    """Give the metrics and the rows of tenths by their definitions."""
    y, s = table["label"].to_numpy().astype(float), table["score"].to_numpy().astype(np.float64)
    edges = np.arange(11) / 10
    place = np.searchsorted(edges[1:-1], s, side="left")
    rows = [(int(np.sum(place == k)), int(y[place == k].sum()), s[place == k].mean() if np.any(place == k) else None)
            for k in range(10)]  # fmt: skip
    error = sum(abs(p - n * mean) for n, p, mean in rows if n) / y.size
    with np.errstate(divide="ignore"):
        return {"brier": np.mean((s - y) ** 2), "log_loss": -np.mean(np.log(np.where(y == 1, s, 1 - s))),
                "calibration_error": error}, rows  # fmt: skip


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.float16])
@pytest.mark.parametrize("values", [None, 10, 7])
def test_metrics_and_tenths_are_those_of_their_definitions(values, kind, tmp_path):
    table = probabilities(values=values, kind=kind)
    metrics, rows = twin(table)
    result = streameval.exact(table, score="score", out=tmp_path / "out")
    for name, value in metrics.items():
        assert values_of(result)[name]["estimate"] == pytest.approx(value, rel=1e-11)
        assert streameval.show(tmp_path / "out", name).bounds[name].estimate == pytest.approx(value, rel=1e-11)
    shown = streameval.show(tmp_path / "out", "calibration").table.to_pylist()
    assert [(row["items"], row["positives"]) for row in shown] == [row[:2] for row in rows]
    for row, (n, p, mean) in zip(shown, rows, strict=True):
        assert (row["mean_score"] is None) == (row["share"] is None) == (n == 0)
        assert n == 0 or (row["mean_score"], row["share"]) == pytest.approx((mean, p / n), rel=1e-11)
        assert row["share_low"] is row["share_high"] is None


def test_scikit_learn_says_the_same():
    calibration, metrics = pytest.importorskip("sklearn.calibration"), pytest.importorskip("sklearn.metrics")
    table = probabilities()
    label, score = table["label"].to_numpy(), table["score"].to_numpy()
    result = streameval.exact(table, score="score")
    row = values_of(result)
    assert row["brier"]["estimate"] == pytest.approx(metrics.brier_score_loss(label, score), rel=1e-11)
    assert row["log_loss"]["estimate"] == pytest.approx(metrics.log_loss(label, score), rel=1e-11)
    share, mean = calibration.calibration_curve(label, score, n_bins=10)
    assert result.tables["calibration"]["share"].to_numpy() == pytest.approx(share, rel=1e-12)
    assert result.tables["calibration"]["mean_score"].to_numpy() == pytest.approx(mean, rel=1e-11)


@pytest.mark.parametrize("drawn", [None, "user", "rows"])
@pytest.mark.parametrize(("values", "kind"), [(None, np.float64), (12, np.float64), (12, np.float32)])
def test_every_way_of_reading_gives_the_same_bytes(values, kind, drawn, small_blocks, monkeypatch, tmp_path):
    table = probabilities(values=values, kind=kind).sort_by([("score", "descending")])

    def tables(rows, **options):
        result = streameval.exact(rows, score="score", sample_of=drawn, **options)
        metrics = [row for row in result.metrics.to_pylist() if row["metric"] in ("brier", "log_loss")]
        return result.summary["how"], (result.tables["calibration"].to_pylist(), metrics)

    how, first = tables(table)
    assert "in score order" in how
    pq.write_table(table, tmp_path / "list.parquet", row_group_size=100)
    assert tables(tmp_path / "list.parquet", threads=3) == (how, first)
    mixed = table.take(np.random.default_rng(2).permutation(table.num_rows))
    if drawn != "rows":  # which are told apart by their place
        assert tables(mixed, threads=2)[1] == first
        monkeypatch.setattr(scored, "_WORDS", 0.0)
        assert tables(mixed, memory=0.05)[1] == first


def test_rows_of_a_sample_have_intervals_and_clusters_have_none(tmp_path):
    table = probabilities(3_000)
    streameval.exact(table, score="score", sample_of="rows", out=tmp_path / "rows")
    for row in streameval.show(tmp_path / "rows", "calibration").table.to_pylist():
        assert row["share_low"] < row["share"] < row["share_high"]
    clustered = streameval.exact(table, score="score", sample_of="user", out=tmp_path / "users")
    shown = streameval.show(tmp_path / "users", "calibration")
    assert shown.table["share_low"].null_count == 10
    assert "rows of one user are not independent" in repr(shown)
    assert values_of(clustered)["calibration_error"]["no_interval"]


def test_standard_errors_are_those_of_the_means_of_clusters():
    table = probabilities(3_000)
    row = values_of(streameval.exact(table, score="score", sample_of="user"))
    y, s = table["label"].to_numpy(), table["score"].to_numpy()
    for name, loss in (("brier", (s - y) ** 2), ("log_loss", -np.log(np.where(y == 1, s, 1 - s)))):
        away = np.bincount(table["user"].to_numpy(), loss - loss.mean()) / loss.size
        assert row[name]["standard_error"] == pytest.approx(np.sqrt(np.sum(away**2)), rel=0.05)
        assert row[name]["low"] < row[name]["estimate"] < row[name]["high"]


def test_intervals_of_losses_hold_the_value_of_the_population():
    grid, missed = (np.arange(100_000) + 0.5) / 100_000, {"brier": 0, "log_loss": 0}
    right = grid**2  # the chance of a positive
    truth = {"brier": np.mean(right * (1 - grid) ** 2 + (1 - right) * grid**2),
             "log_loss": -np.mean(right * np.log(grid) + (1 - right) * np.log1p(-grid))}  # fmt: skip
    for seed in range(25):
        row = values_of(streameval.exact(probabilities(800, seed=seed), score="score", sample_of="rows"))
        for name, of in row.items():
            if name in missed and of["no_interval"] is None:
                missed[name] += not of["low"] <= truth[name] <= of["high"]
    assert max(missed.values()) <= 5  # of 25 at 5 %: 6 are seen once in 800 times


def test_a_log_loss_that_one_item_decides_has_no_interval():
    table = probabilities(800)
    table = table.set_column(1, "score", [np.append(1e-300, table["score"].to_numpy()[1:])])
    table = table.set_column(0, "label", [np.append(np.int8(1), table["label"].to_numpy()[1:])])
    row = values_of(streameval.exact(table, score="score", sample_of="rows"))
    assert "one has more than 10 % of the variance" in row["log_loss"]["no_interval"]
    assert row["brier"]["no_interval"] is None


@pytest.mark.parametrize(("score", "label"), [(0.0, 1), (1.0, 0)])
def test_an_infinite_log_loss_is_null_and_the_reason_is_said(score, label, tmp_path):
    table = pa.table({"score": [score, 0.5, 0.25], "label": [label, 1, 0]})
    row = values_of(streameval.exact(table, score="score", out=tmp_path / "out"))
    assert row["log_loss"]["estimate"] is None
    assert row["brier"]["estimate"] == pytest.approx((1 + 0.25 + 0.0625) / 3)
    assert "The log loss is infinite: 1 item has a score of 0 or 1 and the other label." in repr(
        streameval.show(tmp_path / "out", "calibration")
    )


@pytest.mark.parametrize(
    ("scores", "by", "reason"),
    [
        ([1.5, 0.5, 0.2], "score", "not all scores are floats in [0, 1]"),
        ([0.5, 0.2, -0.1], "score", "not all scores are floats in [0, 1]"),
        ([1, 0, 0], "score", "not all scores are floats in [0, 1]"),
        ([0.1, 0.2, 0.3], "-score", "a low score is the better one"),
        ([0.9, 0.5, 0.2], None, "in its stored order, without scores"),
    ],
)
def test_scores_that_are_no_probabilities_have_no_such_metrics(scores, by, reason, tmp_path):
    table = pa.table({"score": scores, "label": [1, 0, 1]})
    result = streameval.exact(table, score=by, out=tmp_path / "out")
    assert not {"brier", "log_loss", "calibration_error"} & set(values_of(result))
    assert "calibration" not in result.tables
    with pytest.raises(streameval.InputError, match="there is no calibration") as refused:
        streameval.show(tmp_path / "out", "calibration")
    assert reason in str(refused.value)
    with pytest.raises(streameval.InputError, match="no metric 'brier'"):
        streameval.show(tmp_path / "out", "brier")


def test_a_terminal_a_page_and_sql_show_it(tmp_path, capsys):
    pq.write_table(probabilities(), tmp_path / "list.parquet")
    out = str(tmp_path / "out")
    assert run(["exact", str(tmp_path / "list.parquet"), "--score", "score", "--out", out]) == 0
    assert "log_loss" in capsys.readouterr().out
    assert run(["show", out, "calibration", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert sum(row["items"] for row in facts["calibration"]) == 900
    assert "Calibration" in (tmp_path / "out" / "report.html").read_text()
    assert run(["sql", out, "select sum(items) as n from calibration"]) == 0
    assert "900" in capsys.readouterr().out


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """Results of rows that were drawn, of a whole list, and of scores that are no probabilities."""
    folder, table = tmp_path_factory.mktemp("shown"), probabilities()
    streameval.exact(table, score="score", sample_of="rows", out=folder / "drawn")
    streameval.exact(table, score="score", out=folder / "whole")
    large = table.set_column(1, "score", pa.array(table["score"].to_numpy() + 1))
    streameval.exact(large, score="score", out=folder / "large")
    return folder


@pytest.mark.parametrize(("name", "with_intervals"), [("drawn", True), ("whole", False)])
def test_a_page_draws_the_shares_by_mean_score(name, with_intervals, shown):
    rows = pq.read_table(shown / name / "calibration.parquet").to_pylist()
    points = drawn_charts(shown / name)["calibration"]["data"]["values"]
    assert [point["share"] for point in points] == [row["share"] for row in rows]
    assert [point["mean_score"] for point in points] == [row["mean_score"] for row in rows]
    assert all(("share_low" in point) == with_intervals for point in points)


def test_several_lists_share_a_picture_and_scores_that_are_no_probabilities_have_none(shown, tmp_path):
    assert "calibration" not in drawn_charts(shown / "large")
    both = streameval.report(shown / "whole", shown / "large", out=tmp_path / "both.html")
    assert {point["study"] for point in charts_of(both.read_text())["calibration"]["data"]["values"]} == {"whole"}
    assert "Only whole has it." in both.read_text()


@pytest.mark.slow
def test_the_picture_is_drawn_into_a_file(shown, tmp_path):
    streameval.report(shown / "whole", plot=tmp_path / "charts")
    assert (tmp_path / "charts" / "calibration.svg").read_text().startswith("<svg")


def drawn_charts(folder):
    return charts_of((folder / "report.html").read_text())
