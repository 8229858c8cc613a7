"""Results of many rankings in files: the command, SQL, the report, and two systems side by side."""

import json
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import streameval
from streameval import InputError, RankingOptions, StudyError
from streameval.cli import run
from streameval.kinds.rankings import KIND
from streameval.questions.printed import measure_of


def runs(seed=0, bias=0.0):
    rng = np.random.default_rng(seed)
    truth = np.random.default_rng(99).random(1_200) < 0.15
    query = np.repeat(np.arange(60), 20)
    score = np.round(rng.random(1_200) + bias * truth, 2)
    return pa.table({"query": [f"<q{one}>" for one in query], "doc": [f"d{i}" for i in range(1_200)], "score": score,
                     "label": (truth & (query % 9 > 0)).astype(int)}).take(rng.permutation(1_200))  # fmt: skip


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Results of two systems on the same queries."""
    folder = tmp_path_factory.mktemp("two")
    for name, bias in (("old", 0.0), ("new", 0.8)):
        pq.write_table(runs(len(name), bias), folder / f"{name}.parquet")
        arguments = ["--per", "query", "--label", "label", "--score", "score", "--key", "doc", "--at", "1,5"]
        assert run(["exact", str(folder / f"{name}.parquet"), *arguments, "--out", str(folder / name)]) == 0
    return folder


@pytest.fixture
def two(made, tmp_path):
    """A copy of them, which a test may change."""
    return shutil.copytree(made, tmp_path / "two")


def test_the_command_writes_every_file_and_says_the_means(two, capsys):
    capsys.readouterr()
    assert run(["exact", str(two / "old.parquet"), "--per", "query", "--label", "label", "--score", "score"]) == 0
    out = capsys.readouterr().out
    assert "60 rankings by query, 1,200 items" in out
    without = 60 - len(set(pc.unique(runs().filter(pc.field("label") > 0).column("query")).to_pylist()))
    assert f"{without} rankings have no positive: in the means they count as 0." in out
    assert all((two / "old" / name).exists() for name in KIND.result.files(None))
    found = streameval.exact(
        two / "old.parquet", label="label", per="query", at=[1, 5], options=RankingOptions("score")
    )
    metrics = pq.read_table(two / "old" / "metrics.parquet").replace_schema_metadata(None)
    assert metrics.equals(found.metrics)
    rankings = pq.read_table(two / "old" / "rankings.parquet").replace_schema_metadata(None)
    assert rankings.sort_by("query").equals(found.rankings.sort_by("query"))
    mean = np.nan_to_num(rankings.column("ndcg_at_5").to_numpy()).mean()
    assert found.mean("ndcg_at", 5) == pytest.approx(mean, rel=1e-14)
    sizes = found.by_size.to_pylist()
    assert [(row["items_from"], row["items_to"], row["rankings"]) for row in sizes] == [(10, 99, 60)]
    bars = [row["rankings"] for row in found.histograms.to_pylist() if row["metric"] == "average_precision"]
    assert sum(bars) == 60 - without
    lowest = found.summary["lowest"]
    assert lowest[0]["average_precision"] == min(one for one in rankings.column("average_precision").to_pylist() if one)


def test_json_is_one_object(two, capsys):
    capsys.readouterr()
    arguments = ["exact", str(two / "old.parquet"), "--per", "query", "--label", "label", "--score", "score", "--json"]
    assert run(arguments) == 0
    said = json.loads(capsys.readouterr().out)
    assert said["rankings"] == 60
    assert said["metrics"][0]["metric"] == "mean_average_precision"


def test_sql_and_report_read_the_files(two, capsys):
    (row,) = streameval.sql(two / "old", "SELECT count(*) AS n, avg(success_at_5) AS mean FROM rankings").to_pylist()
    assert row["n"] == 60
    assert row["mean"] == pytest.approx(streameval.sql(
        two / "old", "SELECT estimate FROM metrics WHERE metric = 'mean_success_at' AND argument = '5'"
    ).column(0)[0].as_py())  # fmt: skip
    drawn = (two / "old" / "report.html").read_text()
    (two / "old" / "report.html").unlink()
    assert run(["report", str(two / "old")]) == 0
    assert (two / "old" / "report.html").read_text() == drawn
    assert "<q" not in drawn
    assert "map</th>" in drawn
    assert "Lowest average precision" in drawn


def test_compare_pairs_the_same_queries(two, capsys):
    found = streameval.compare(two / "old", two / "new", confidence=0.9)
    assert (found.rankings, found.only_a, found.only_b) == (60, 0, 0)
    rows = {(row["metric"], row["argument"]): row for row in found.differences.to_pylist()}
    a, b = (pq.read_table(two / name / "rankings.parquet").sort_by("query") for name in ("old", "new"))
    pairs = [np.nan_to_num(side.column("ndcg_at_5").to_numpy()) for side in (a, b)]
    gap, row = pairs[0] - pairs[1], rows["mean_ndcg_at", "5"]
    assert row["estimate"] == pytest.approx(gap.mean(), rel=1e-12)
    assert row["standard_error"] == pytest.approx(gap.std(ddof=1) / np.sqrt(60))
    assert (row["higher"], row["a_higher"], row["b_higher"]) == ("b", int((gap > 0).sum()), int((gap < 0).sum()))
    worst = np.nan_to_num(a.column("ndcg_at_5_worst").to_numpy()) - np.nan_to_num(b.column("ndcg_at_5_best").to_numpy())
    assert row["lower"] == pytest.approx(worst.mean(), rel=1e-12)
    capsys.readouterr()
    assert run(["compare", str(two / "old"), str(two / "new"), "--confidence", "0.9", "--out", str(two / "both")]) == 0
    kept = pq.read_table(two / "both" / "differences.parquet").replace_schema_metadata(None)
    assert kept.equals(found.differences)
    assert run(["compare", str(two / "old"), str(two / "new")]) == 0
    assert "The higher one is named where it is so in every order of tied items" in " ".join(
        capsys.readouterr().out.split()
    )


def test_the_page_of_compared_rankings_has_every_difference_and_no_scripts(two, capsys):
    assert run(["compare", str(two / "old"), str(two / "new"), "--plot", str(two / "both.html"), "--json"]) == 0
    said, page = json.loads(capsys.readouterr().out), (two / "both.html").read_text()
    assert "<h1>old and new compared</h1>" in page
    assert "60 rankings are in both." in page
    higher = [row["higher"] for row in said["differences"]]
    assert f"a is higher in {higher.count('a')} of {len(higher)} means; b is higher in {higher.count('b')}" in page
    assert page.count("<svg") == 1
    assert "class='chart wide start'" in page  # on a telephone it scrolls, from the names on
    assert "<script" not in page
    for row in said["differences"]:
        assert measure_of(row["metric"], row["argument"]) in page
        assert f"{row['estimate']:.4f}" in page
    assert run(["compare", str(two / "old"), str(two / "new"), "--plot", str(two / "both.svg")]) == 0
    assert "b: new" in (two / "both.svg").read_text()


def test_what_does_not_go_together_is_one_line(two, study):
    other = two / "queries.parquet"
    pq.write_table(pa.table({"query": ["x", "x"], "score": [1.0, 2], "label": [0, 1]}), other)
    options = {"label": "label", "options": RankingOptions("score")}
    streameval.exact(other, per="query", out=two / "alone", **options)
    streameval.exact(other, per="query(gain=exponential)", out=two / "exponential", **options)
    one = study("labelled-list")
    for names, said in (((two / "old", two / "alone"), "no ranking in common"),
                        ((two / "alone", two / "exponential"), "gain=linear"),
                        ((two / "old", one), "like with like")):  # fmt: skip
        with pytest.raises(InputError, match=said):
            streameval.compare(*names)
    for names in (("old", "nowhere"), ("nowhere", "old")):
        with pytest.raises(StudyError, match="nowhere"):
            streameval.compare(*(two / name for name in names))
    with pytest.raises(StudyError, match="holds results of rankings, which have no curve"):
        streameval.Study(two / "old").evaluation()
    with pytest.raises(StudyError, match="was not written by `exact --per`"):
        streameval.exact(other, per="query", out=one, **options)
    with pytest.raises(StudyError, match="was not written by exact"):
        streameval.exact(other, out=two / "old", **options)
    assert run(["exact", str(other), "--label", "label", "--at", "3"]) == 2


def compared(tmp_path, capsys, tables, **options):
    """Compare two small results; what the command says, on one line."""
    given = {name: options.get(name, {}) for name in "ab"}
    for name, table in zip("ab", tables, strict=True):
        streameval.exact(pa.table(table), label="label", at=[2], out=tmp_path / name,
                         **{"per": "q", "options": RankingOptions("score"), **given[name]})  # fmt: skip
    capsys.readouterr()
    status = run(["compare", str(tmp_path / "a"), str(tmp_path / "b")])
    said = capsys.readouterr()
    return status, " ".join((said.out + said.err).split())


GOOD = {"q": [1, 1, 2, 2, 3, 3], "score": [2.0, 1] * 3, "label": [1, 0, 1, 0, 0, 0]}
BETTER = {**GOOD, "label": [1, 1, 1, 0, 0, 0]}


def test_rankings_with_other_positives_are_counted_and_decide_nothing(tmp_path, capsys):
    status, said = compared(tmp_path, capsys, (GOOD, BETTER))
    assert status == 0
    assert "In 1 ranking a and b do not count the same number of positives" in said
    rows = {row["metric"]: row for row in streameval.compare(tmp_path / "a", tmp_path / "b").differences.to_pylist()}
    assert [rows[name]["higher"] for name in ("mean_recall_at", "mean_average_precision")] == [None, None]
    assert rows["mean_precision_at"]["higher"] == "b"


def test_a_comparison_follows_the_rule_of_both_results(tmp_path, capsys):
    skip = {"per": "q(no_positives=skip)"}
    status, said = compared(tmp_path, capsys, (GOOD, GOOD), a=skip)
    assert status == 2
    assert "no_positives=skip" in said
    status, said = compared(tmp_path, capsys, (GOOD, pa.table(GOOD).slice(2)), a=skip, b=skip)
    assert status == 0
    assert "1 that a alone has is left out, which favours b." in said
    rows = streameval.compare(tmp_path / "a", tmp_path / "b").differences.to_pylist()
    assert [(row["rankings"], row["a"]) for row in rows if row["metric"] == "mean_precision_at"] == [(1, 0.5)]


def test_the_table_by_size_has_chosen_columns(two):
    page = (two / "old" / "report.html").read_text()
    table = page[page.index("By number of items") :]
    for name in ("map", "ndcg@5", "recall@5"):
        assert f'<th scope="col">{name}</th>' in table
    assert "Means over the rankings with a positive" in table
    assert 'class="scroll' in table


def test_a_mixed_set_of_files_is_refused(two):
    (two / "old" / "metrics.parquet").write_bytes((two / "new" / "metrics.parquet").read_bytes())
    with pytest.raises(StudyError, match="is of another evaluation"):
        streameval.sql(two / "old", "SELECT 1")


def test_means_of_many_rankings_have_intervals(two, capsys):
    """Of 60 queries, whose values the folder has: mean and standard error by numpy."""
    values = np.nan_to_num(pq.read_table(two / "old" / "rankings.parquet").column("ndcg_at_5").to_numpy())
    rows = pq.read_table(two / "old" / "metrics.parquet").to_pylist()
    row = next(
        row for row in rows if (row["metric"], row["argument"], row["no_positives"]) == ("mean_ndcg_at", "5", "zero")
    )
    assert row["standard_error"] == pytest.approx(values.std(ddof=1) / np.sqrt(values.size), rel=1e-9)
    assert row["low"] < row["estimate"] < row["high"]
    capsys.readouterr()
    source = str(two / "old")
    assert run(["compare", source, str(two / "new")]) == 0
    assert "From low to high, of the mean paired difference: approximately 95 %" in " ".join(
        capsys.readouterr().out.split()
    )
    assert "lies from low to high with a confidence of approximately 95 %, if" in (
        two / "old" / "report.html"
    ).read_text(encoding="utf-8")
