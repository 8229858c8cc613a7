"""A labelled list that is a sample: intervals beside its metrics, whatever way it is read, wherever they are shown."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from spark_cluster import Cluster

import streameval
from streameval.cli import run
from streameval.counting import block_sums as sums
from streameval.counting import by_score as scored
from streameval.counting import scans as here

OF_SAMPLES = ["standard_error", "low", "high", "no_interval", "bins"]
CLAIM = "approximately 95 %, if these are independent draws"


@pytest.fixture
def small_blocks(monkeypatch):
    for module in (sums, here, scored):
        monkeypatch.setattr(module, "BLOCK", 64)


def sample(n=1_000, values=None, seed=5):
    """Rows of users, some with many, in no order; scores of few values where that is asked."""
    rng = np.random.default_rng(seed)
    label = (rng.random(n) < 0.3).astype(np.int8)
    score = rng.normal(size=n) + label
    user = rng.integers(0, 200, n)
    return pa.table({"label": label, "score": score if values is None else np.round(score * values / 4), "user": user,
                     "name": [f"user {one}" for one in user], "row": np.arange(n)})  # fmt: skip


def value(found, metric, argument="", side="estimate"):
    (row,) = [one for one in found.metrics.to_pylist() if (one["metric"], one["argument"]) == (metric, argument)]
    return row[side]


def tables_of(found):
    return found.metrics, found.tables["influence"]


def by_score(table, **options):
    return streameval.exact(table, score="score", sample_of="user", **options)


@pytest.mark.parametrize("values", [None, 1, 12])
def test_every_way_of_reading_a_sample_gives_the_same_bytes(values, small_blocks, monkeypatch):
    table = sample(values=values)
    first = tables_of(by_score(table, key="row"))
    mixed = table.take(np.random.default_rng(2).permutation(table.num_rows))
    assert tables_of(by_score(mixed, key="row")) == first
    assert tables_of(by_score(table, key="row", threads=3)) == first
    in_order = by_score(table.sort_by([("score", "descending")]), key="row")
    assert "in score order" in in_order.summary["how"]
    assert tables_of(in_order) == first
    monkeypatch.setattr(scored, "_WORDS", 0.0)
    ranges = by_score(table, key="row", memory=0.05)
    assert ranges.summary["how"] == "ordered range by range"
    assert tables_of(ranges) == first


def test_workers_give_the_bytes_of_one_machine(tmp_path):
    table = sample(3_000)
    for name, rows in (("mixed", table), ("stored", table.sort_by([("score", "descending")]))):
        pq.write_table(rows, tmp_path / f"{name}.parquet", row_group_size=700)
        alone, together = (
            tables_of(by_score(str(tmp_path / f"{name}.parquet"), engine=engine)) for engine in ("local", Cluster(1))
        )
        assert alone == together
    alone, together = (
        tables_of(streameval.exact(str(tmp_path / "stored.parquet"), sample_of="rows", engine=engine))
        for engine in ("local", Cluster(2))
    )
    assert alone == together


def test_a_list_that_is_no_sample_is_as_it_was():
    found = streameval.exact(sample(), score="score")
    assert found.metrics.column_names == ["metric", "argument", "lower", "estimate", "upper", "coverage"]
    assert "sample" not in found.summary
    drawn = by_score(sample())
    assert drawn.metrics.drop_columns(OF_SAMPLES) == found.metrics
    assert drawn.evaluation_id != found.evaluation_id


def test_an_open_end_is_one_that_the_first_k_can_reach():
    """Of 1,300 positives the first 1,000 of 4,000 hold 77 % at most; the share of positives is known to a few %."""
    label = np.r_[np.ones(500), np.zeros(15), np.ones(485), np.ones(315), np.zeros(2_685)].astype(np.int8)
    table = pa.table({"label": label, "score": -np.arange(4_000.0)})
    found = streameval.exact(table, score="score", sample_of="rows")
    assert value(found, "precision_at", "1000", "high") == 1.0
    low, high = (0.325 - 1.97 * 0.0074, 0.325 + 1.97 * 0.0074)  # of the share of positives
    recall = value(found, "recall_at", "1000", "high")
    assert 0.25 / high < recall == pytest.approx(0.25 / low, abs=2e-3)
    share = 0.25 / recall
    assert value(found, "f1_at", "1000", "high") == pytest.approx(0.5 / (0.25 + share))
    assert value(found, "e_measure_at", "1000", "low") == pytest.approx(1 - 0.5 / (0.25 + share))
    assert value(found, "mcc_at", "1000", "high") == pytest.approx(np.sqrt(0.25 * (1 - share) / (0.75 * share)))


def test_a_column_row_is_another_draw_than_each_row():
    ids = {streameval.exact(sample(), score="score", sample_of=of).evaluation_id for of in ("row", "rows")}
    assert len(ids) == 2


@pytest.mark.parametrize("nothing", [[], ""])
def test_no_column_is_no_draw(nothing):
    with pytest.raises(streameval.InputError, match="sample_of names no column"):
        streameval.exact(sample(60), sample_of=nothing)


def test_clusters_are_told_apart_by_their_values():
    """Those of names are other bins than those of numbers, and so another estimate of the same error."""
    errors = [value(streameval.exact(sample(), score="score", sample_of=of), "roc_auc", side="standard_error")
              for of in ("user", "name", ("user", "name"))]  # fmt: skip
    assert errors == pytest.approx([errors[0]] * 3, rel=0.05)
    rows = streameval.exact(sample(), score="score", sample_of="rows")
    assert rows.summary["sample"] == {"of": "rows", "confidence": 0.95, "claim": f"{CLAIM}: each row", "bins": 4_096,
                                      "seed": "9e6c63d0876a9a35"}  # fmt: skip
    assert by_score(sample()).summary["sample"]["claim"] == f"{CLAIM}: each user"


def test_each_metric_has_an_interval_or_a_reason():
    for row in by_score(sample(values=12)).metrics.to_pylist():
        has = [row[side] is not None for side in ("standard_error", "low", "high")]
        assert has == [row["no_interval"] is None] * 3
        if row["low"] is not None:
            assert row["low"] < row["estimate"] < row["high"]


def test_draws_may_all_have_the_same_share_of_positives():
    rng = np.random.default_rng(4)
    table = pa.table({"user": np.repeat(np.arange(200), 4), "label": np.tile([1, 0, 0, 1], 200),
                      "score": rng.normal(size=800)})  # fmt: skip
    low, high = (value(by_score(table), "recall_at", "100", side) for side in ("low", "high"))
    assert 0.0 < low < high < 1.0


def test_reasons_say_what_is_in_the_way():
    found = by_score(sample(values=2))
    assert value(found, "precision_at", "100", "no_interval") == "tied items leave it open at this cutoff"
    assert value(found, "max_f1", side="no_interval").startswith("the best of all cutoffs of a sample is too high")
    assert value(found, "dcg_at", "10", "no_interval") == "none is known for this metric"
    missed = streameval.exact(sample(), score="score", sample_of="user", misses=3)
    assert value(missed, "roc_auc", side="no_interval") == "misses are counted without saying whose they are"
    few = by_score(sample(60))
    assert value(few, "roc_auc", side="no_interval").endswith("draws have a positive; it takes 50")


def test_what_is_one_less_has_the_mirrored_interval():
    found = by_score(sample(4_000))
    for name, other in (("e_measure_at", "f1_at"), ("false_positive_rate_at", "specificity_at")):
        sides = [value(found, name, "1000", side) for side in ("low", "high", "standard_error")]
        mirrored = [value(found, other, "1000", side) for side in ("high", "low", "standard_error")]
        assert sides == pytest.approx([1 - mirrored[0], 1 - mirrored[1], mirrored[2]])


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sample")
    pq.write_table(sample(3_000), folder / "list.parquet")
    by_score(str(folder / "list.parquet"), out=folder / "results")
    return folder / "results"


def test_the_terminal_shows_intervals_with_what_they_claim(results, capsys):
    source = str(results.parent / "list.parquet")
    assert run(["exact", source, "--score", "score", "--sample-of", "user"]) == 0
    out = capsys.readouterr().out
    assert f"From low to high: {CLAIM}: each user." in out
    assert "first k  precision  standard error       low      high" in out
    assert "No interval of precision@10: only 10 draws have an item above the cutoff; it takes 50." in out


def test_show_and_check_say_what_is_of_the_population(results, capsys):
    shown, metrics = streameval.show(results, "roc_auc", "precision@10"), pq.read_table(results / "metrics.parquet")
    (area,) = [row for row in metrics.to_pylist() if (row["metric"], row["argument"]) == ("roc_auc", "")]
    assert shown.intervals == {"roc_auc": (area["low"], area["high"]), "precision@10": (None, None)}
    assert shown.table.column_names[-2:] == ["low", "high"]
    assert shown.rows()[0]["low"] == area["low"]
    assert "low and high are about the population that it was drawn from." in repr(shown)
    assert run(["check", str(results), "roc_auc >= 0.5"]) == 0
    assert "low and high are about the population that it was drawn from." in capsys.readouterr().out


def test_equal_scores_vary_in_nothing():
    table = sample().set_column(1, "score", pa.array(np.ones(1_000)))
    assert value(by_score(table), "roc_auc", side="no_interval") == "no draw changes it, as where all scores are equal"


def test_page_database_and_notebook_show_them(results, capsys):
    page = (results / "report.html").read_text(encoding="utf-8")
    assert f"From low to high: {CLAIM}: each user." in page
    assert "standard error" in page
    assert "low and high are about the population that it was drawn from." in page
    assert f"{CLAIM}: each user" in by_score(sample(3_000))._repr_html_()
    assert run(["sql", str(results), "SELECT low < estimate AND estimate < high FROM metrics WHERE metric = 'roc_auc' "
                "AND argument = ''", "--json"]) == 0  # fmt: skip
    assert "true" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("of", "message"),
    [
        ("usr", "has no column 'usr' to say what was drawn"),
        ("score", "float that is no exact whole number"),
        ("rare", "row 3: 1 row without rare, what was drawn"),
    ],
)
def test_what_cannot_tell_draws_apart_is_refused(of, message):
    rare = pa.array([None if i == 2 else i for i in range(60)])
    table = sample(60).append_column("rare", rare)
    with pytest.raises(streameval.InputError, match=message):
        streameval.exact(table, sample_of=of)


def test_a_row_of_a_file_without_a_key_is_named_as_its_row_group_counts(tmp_path):
    rare = pa.array([float("nan") if i in (2, 9) else float(i) for i in range(60)])
    pq.write_table(sample(60).append_column("rare", rare), tmp_path / "list.parquet")
    with pytest.raises(streameval.InputError, match=r"row group 0, row 2 \(from 0\): 2 rows without rare, what was"):
        streameval.exact(str(tmp_path / "list.parquet"), sample_of="rare")


def test_many_rankings_take_no_sample_of_rows():
    with pytest.raises(streameval.InputError, match="does not go with sample_of"):
        streameval.exact(sample(), per="user", score="score", sample_of="rows")


def at_scores(table, of="user", **options):
    return streameval.exact(table, score="score", sample_of=of, at=["score:0.5", "score:-1"], **options)


@pytest.mark.parametrize("values", [None, 12])
def test_metrics_at_a_score_are_those_of_all_items_of_it_or_a_better_one(values, small_blocks):
    """Counted with numpy, by score and as stored, with ties at the score itself, and by workers."""
    table = sample(values=values)
    score, label = table["score"].to_numpy(), table["label"].to_numpy()
    found = at_scores(table)
    stored = at_scores(table.sort_by([("score", "descending")]))
    assert "in score order" in stored.summary["how"]
    assert stored.metrics == found.metrics
    for text, above in (("0.5", score >= 0.5), ("-1", score >= -1)):
        assert value(found, "rank_at_score", text) == above.sum()
        assert value(found, "yield_at_score", text) == label[above].sum()
        assert value(found, "precision_at_score", text) == pytest.approx(label[above].mean())
        assert value(found, "specificity_at_score", text) == pytest.approx(1 - above[label == 0].mean())
        assert value(found, "mcc_at_score", text) == pytest.approx(np.corrcoef(above, label)[0, 1])


def test_workers_count_by_score_as_one_machine_does(tmp_path):
    table = sample(3_000).sort_by([("score", "descending")])
    pq.write_table(table, tmp_path / "stored.parquet", row_group_size=700)
    there, alone = (at_scores(str(tmp_path / "stored.parquet"), engine=one).metrics for one in (Cluster(3), "local"))
    assert there == alone


def test_shares_of_independent_rows_have_the_interval_of_clopper_and_pearson():
    """80 of 150 selected, of 100 positives in 1,000: ends from scipy's beta quantiles."""
    label = np.r_[np.ones(80), np.zeros(70), np.ones(20), np.zeros(830)].astype(np.int8)
    table = pa.table({"label": label, "score": np.r_[np.full(150, 0.9), np.full(850, 0.1)]})
    found = streameval.exact(table, score="score", sample_of="rows", at="score:0.5")
    for metric, ends in (("precision", (0.450194, 0.615130)), ("recall", (0.708157, 0.873344)),
                         ("accuracy", (0.890533, 0.927010)), ("specificity", (0.902752, 0.938869))):  # fmt: skip
        sides = value(found, f"{metric}_at_score", "0.5", "low"), value(found, f"{metric}_at_score", "0.5", "high")
        assert sides == pytest.approx(ends, abs=2e-6)


def test_questions_at_a_score_that_was_counted_are_answered_exactly(tmp_path, capsys):
    at_scores(sample(), out=tmp_path / "results")
    assert run(["check", str(tmp_path / "results"), "precision@score:.50 >= 0.3", "--json"]) == 0
    found = at_scores(sample())
    precision = value(found, "precision_at_score", "0.5")
    assert f"{precision:.12g}"[:10] in capsys.readouterr().out


def test_no_item_may_have_the_score():
    found = streameval.exact(sample(), score="score", sample_of="user", at="score:99")
    assert value(found, "rank_at_score", "99") == 0
    assert value(found, "recall_at_score", "99") == 0
    assert value(found, "precision_at_score", "99") is None
    assert value(found, "precision_at_score", "99", "no_interval") == "it is undefined"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"score": "score", "sample_of": "user", "at": "10"}, "a sample has metrics at every rank"),
        ({"score": "score", "at": "score:0.5"}, "are those of a sample that is ranked by one"),
        ({"sample_of": "user", "at": "score:0.5"}, "are those of a sample that is ranked by one"),
        ({"score": "score", "sample_of": "user", "at": "score:high"}, "score is 'high', not a number"),
    ],
)
def test_scores_that_nothing_can_have_are_refused(options, message):
    with pytest.raises(streameval.InputError, match=message):
        streameval.exact(sample(60), **options)


@pytest.mark.parametrize("way", ["by score", "stored", "without scores"])
def test_as_many_items_as_positives_are_counted_by_bin_in_any_block(way, small_blocks):
    """P is known at the end alone. A bootstrap of 4,000 draws of users has a standard error of .0235."""
    table = sample()
    in_order = table.sort_by([("score", "descending")])
    found = by_score(table) if way == "by score" else by_score(in_order)
    if way == "without scores":
        found = streameval.exact(in_order, sample_of="user")
    positives = found.summary["positives"]
    assert value(found, "r_precision") == pytest.approx(np.mean(in_order["label"].to_numpy()[:positives]))
    assert value(found, "r_precision", side="standard_error") == pytest.approx(0.0233, abs=1e-4)


def test_a_dry_run_counts_the_column_of_what_was_drawn(results, capsys):
    source = str(results.parent / "list.parquet")
    read = {}
    for of in ("rows", "user", "usr"):
        status = run(["exact", source, "--score", "score", "--sample-of", of, "--dry-run"])
        read[of] = status, *capsys.readouterr()
    assert "2 column chunks" in read["rows"][1]
    assert "3 column chunks" in read["user"][1]
    assert read["usr"][0] == 2
    assert "no column 'usr'" in read["usr"][2]
