"""Show: where a study stands, and the bounds of measures; of one ranking, of a labelled list and of many rankings."""

import json
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError
from streameval.kinds import results_of
from streameval.kinds.curve import measures as of_a_curve
from streameval.questions import Question
from streameval.study import Study


def stands(capsys, *more):
    """Lines and JSON of `show pairs`, and the command that it names next."""
    capsys.readouterr()
    assert run(["show", "pairs", *more]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert run(["show", "pairs", *more, "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    assert lines[0] == said["head"]
    assert repr(streameval.show("pairs")).splitlines() == lines
    return lines, said


@pytest.fixture
def pairs(catalogue, tmp_path, monkeypatch):
    """Put a copy of a study of the catalogue into the working directory, as `pairs`; how many labels it has planned."""
    monkeypatch.chdir(tmp_path)

    def put(name):
        catalogue.copy(name, "pairs")
        return Study("pairs").plan().ranks.size

    return put


def test_a_planned_study_says_that_it_is_to_be_selected(pairs, capsys):
    total = pairs("curve-planned")
    lines, said = stands(capsys)
    assert said["stage"] == "planned"
    assert lines[0] == f"pairs: precision of 3,000 items, {total:,} labels planned, none of which is in."
    assert lines[1].startswith("Next: streameval select pairs --export tasks.csv      writes ")
    assert run(shlex.split(said["next"])[1:]) == 0
    lines, said = stands(capsys)
    assert (said["stage"], said["next"]) == ("selected", "streameval evaluate pairs --labels FILE")


def test_a_study_labelled_in_part_says_which_tasks_are_open(pairs, capsys):
    total = pairs("curve-half-labelled")
    some = round(total / 2)
    lines, said = stands(capsys)
    assert lines[0] == f"pairs: precision of 3,000 items, {total:,} labels of which {some:,} are in."
    assert lines[1].startswith("So far, with probability 0.95, the truth lies inside the bounds at every rank at once")
    assert lines[2].endswith(f" --remaining --export remaining.csv      tasks without a label: {total - some:,} open")
    assert run(shlex.split(said["next"])[1:]) == 0
    assert len(Path("remaining.csv").read_text().splitlines()) == total - some + 1


def test_items_without_a_label_are_counted_alike_wherever_they_are_told(pairs, capsys):
    """Of those without one 4 are skipped (one of them by two people), 3 undecided, 2 open: in words, and as JSON."""
    total = pairs("curve-planned")
    ranks = Study("pairs").plan().ranks[:-2].tolist()
    votes = [(rank, "skip" if rank in ranks[:4] else "1") for rank in [*ranks, ranks[0]]] + [
        (one, "0") for one in ranks[-3:]
    ]
    pq.write_table(pa.table({"rank": [one for one, _ in votes], "label": [one for _, one in votes]}), "votes.parquet")
    words = "2 open, 4 skipped, 3 undecided"
    for command in (["evaluate", "pairs", "--labels", "votes.parquet"], ["labels", "pairs"]):
        capsys.readouterr()
        assert run(command) == 0
        assert words in capsys.readouterr().out
    accounts = [streameval.labels("pairs").account, Study("pairs").evaluation().summary["account"]]
    assert run(["show", "pairs"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(f"{total:,} labels of which {total - 9:,} are in.")
    assert lines[2].endswith(f"tasks without a label: {words}")
    assert run(["report", "pairs", "--out", "page.html"]) == 0
    assert f"without a label: {words}." in Path("page.html").read_text(encoding="utf-8")
    for account in accounts:
        assert [account[name] for name in ("missing", "open", "skipped", "undecided")] == [9, 2, 4, 3]


def test_a_study_with_all_labels_leads_to_a_cut(pairs, capsys):
    total = pairs("curve-evaluated")
    lines, said = stands(capsys)
    assert lines[0] == f"pairs: precision of 3,000 items, {total:,} labels, all of them in."
    assert lines[1].startswith("With probability 0.95, the truth lies inside the bounds")
    assert said["claim"]["coverage"] == "simultaneous"
    assert said["next"].startswith("streameval cut pairs precision:")
    assert run(shlex.split(said["next"])[1:]) == 0
    assert "Kept: the first " in capsys.readouterr().out


def test_results_of_other_labels_are_outdated_and_made_again(pairs, capsys):
    pairs("curve-evaluated")
    (source,) = Study("pairs").labels.sources()
    head = source.table.select(["rank", "value"]).slice(0, 5).rename_columns(["rank", "label"])
    streameval.evaluate("pairs", labels=head)
    Study("pairs").labels.forget(source.identity)
    lines, said = stands(capsys)
    assert (said["stage"], said["next"]) == ("outdated", "streameval evaluate pairs")
    assert "its labels have changed since the results were written" in lines[1]
    with pytest.raises(StudyError, match="labels have changed"):
        streameval.show("pairs", "precision@10")


def test_measures_are_those_of_the_curve(catalogue, capsys):
    study = catalogue.path("curve-evaluated")
    found = Study(study).evaluation()
    curve = found.curve
    asked = {
        "precision@1000": curve.precision_at(1_000),
        "precision@5%": curve.precision_at(150),
        "recall@1000": curve.recall_at(1_000),
        "yield@1000": curve.yield_at(1_000),
        "f2@1000": curve.f_measure(1_000, 2.0),
        "mcc@1000": curve.between(1_000, 1_000)["mcc"],
        "positives": curve.yield_at(curve.n_items),
        "rank@precision:0.9": curve.rank_at_precision(0.9),
        "rank@recall:0.5": curve.rank_at_recall(0.5),
        "precision@score:0.5": curve.between(*curve.rank_at_score(0.5))["precision"],
        "score@1": curve.threshold_at(1),
    }
    shown = streameval.show(study, *asked)
    assert {name: tuple(bounds) for name, bounds in shown.bounds.items()} == {
        name: tuple(bounds) for name, bounds in asked.items()}  # fmt: skip
    rows = {(row["metric"], row["argument"]): row for row in found.metrics.to_pylist()}
    for name, row in (("average_precision", ("average_precision", "positives")), ("dcg@100", ("dcg_at", "100"))):
        lower, estimate, upper = streameval.show(study, name).bounds[name]
        assert (lower, estimate, upper) == tuple(rows[row][side] for side in ("lower", "estimate", "upper"))
    for name in of_a_curve.measures(Study(study).evaluation()):
        whole = name in ("positives", "average_precision", "pr_area", "roc_auc", "breakeven", "r_precision")
        whole |= name.startswith(("max_f", "reciprocal", "eleven"))
        assert not np.isnan(streameval.show(study, f"{name}{'' if whole else '@100'}").rows()[0]["lower"])
    assert shown.table.column_names == ["measure", "lower", "estimate", "upper"]
    assert tuple(streameval.show(study, "rank@5%").bounds["rank@5%"]) == (150, 150, 150)
    capsys.readouterr()
    assert run(["show", str(study), "precision@5%", "precision@10,1000"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["lower", "estimate", "upper"]
    low, middle, high = curve.precision_at(150)
    assert lines[1].split() == ["precision@5%", f"{low:.4f}", f"{middle:.4f}", f"{high:.4f}"]
    assert lines[3].split()[0] == "precision@1000"
    assert "with 95 % confidence" in lines[4]
    low, middle, high = curve.precision_at(1_000)
    assert repr(streameval.show(study, "precision@1000")).splitlines()[1] == lines[3]


def test_what_cannot_be_shown_is_refused_in_one_line(catalogue):
    with pytest.raises(StudyError, match="no results yet"):
        streameval.show(catalogue.path("curve-planned"), "precision@10")
    study = catalogue.path("curve-evaluated")
    for asked, said in (
        (["precision@10O0"], "(at column 11)"),
        (["precison@10"], "did you mean 'precision'?"),
        (["precision"], "precision@10000 is of the first 10,000 items"),
        (["precision@3001"], "rank 3,001 is outside 1..3,000"),
        (["f1@precision:.5"], "there is no f1 at a precision. Hint: there are: recall, rank"),
        (["precision@10 >= .5"], "is a condition. Hint: `streameval check`"),
        (["precision@10 within .5"], "how wide bounds may be"),
        (["map"], "there is no metric 'map' of the whole list. Hint: did you mean 'average_precision'?"),
    ):
        with pytest.raises(InputError) as refused:
            streameval.show(study, *asked)
        assert said in str(refused.value)
    with pytest.raises(InputError, match="no measure was asked for"):
        streameval.show(study, slice="de")


def test_everything_that_cannot_be_shown_is_named_at_once(catalogue):
    study = catalogue.path("curve-evaluated")
    with pytest.raises(InputError, match=r"'bad1' of the whole list; there is no metric 'bad2' of the whole list"):
        streameval.show(study, "bad1", "precision@10", "bad2")
    with pytest.raises(InputError, match=r"'bad1' at 3; precision@10 > 60: precision lies in 0\.\.1, and 60 does not"):
        streameval.check(study, ["bad1@3 > 0", "precision@10 > 60"])


def test_measures_may_be_given_as_a_list(catalogue):
    study = catalogue.path("curve-evaluated")
    asked = ["precision@10", Question.of("recall@10")]
    assert streameval.show(study, asked, "f1@10") == streameval.show(study, *asked, "f1@10")


@pytest.mark.parametrize("verb", ["show", "check", "report", "sql"])
def test_a_folder_that_is_no_study_is_said_to_be_none(tmp_path, capsys, verb):
    asked = {"show": ["map"], "check": ["map >= 0.3"], "sql": ["FROM metrics"]}
    for command in ([verb, str(tmp_path), *asked.get(verb, [])], ["show", str(tmp_path)]):
        assert run(command) == 2
        assert f"so {tmp_path} is not a study. Hint: make one with `streameval plan`" in capsys.readouterr().err


def test_exact_results_stand_alone(tmp_path, capsys):
    truth = np.array([1, 1, 0, 1, 0, 0, 1, 0])
    streameval.exact(pa.table({"good": truth}), label="good", out=tmp_path / "exact")
    assert repr(streameval.show(tmp_path / "exact")).startswith(
        "exact: 8 items, each with a label.\nEvery value is exact"
    )
    assert tuple(streameval.show(tmp_path / "exact", "precision@4").bounds["precision@4"]) == (0.75, 0.75, 0.75)
    with pytest.raises(StudyError):
        streameval.show(tmp_path / "nowhere")


@pytest.fixture(scope="module")
def runs():
    rng = np.random.default_rng(4)
    queries, depth = 300, 20
    labels = (rng.random((queries, depth)) < np.linspace(0.9, 0.1, depth)).astype(np.int8)
    query, score = np.repeat(np.arange(queries), depth), np.tile(np.linspace(1, 0.05, depth), queries)
    return pa.table({"query": query, "score": score, "relevant": labels.ravel()}), labels


def test_many_rankings_with_every_label_are_gated_by_their_means(runs, tmp_path, capsys):
    table, labels = runs
    pq.write_table(table, tmp_path / "runs.parquet")
    out = str(tmp_path / "result")
    assert run(["exact", str(tmp_path / "runs.parquet"), "--per", "query", "--score", "score", "--label", "relevant",
                "--at", "1,10", "--out", out]) == 0  # fmt: skip
    precision = labels[:, :10].mean()
    hits = np.cumsum(labels, axis=1) * labels / np.arange(1, labels.shape[1] + 1)
    average = (hits.sum(axis=1) / np.maximum(labels.sum(axis=1), 1)).mean()
    shown = streameval.show(out, "map", "mean_average_precision", "precision@10", "mean_precision_at@10")
    assert shown.bounds["map"] == shown.bounds["mean_average_precision"]
    assert shown.bounds["map"].estimate == pytest.approx(average)
    assert shown.bounds["precision@10"].estimate == pytest.approx(precision)
    assert shown.bounds["precision@10"] == shown.bounds["mean_precision_at@10"]
    for conditions, status in (
        ([f"map >= {average - 0.01:.4f}", f"precision@10 < {precision + 0.01:.4f}"], 0),
        ([f"map >= {average - 0.01:.4f}", f"mean_precision@10 >= {precision + 0.01:.4f}"], 4),
    ):
        capsys.readouterr()
        assert run(["check", out, *conditions]) == status
        assert "Every item has a label: the means are exact" in capsys.readouterr().out
    assert "result: 300 rankings by query, 6,000 items" in repr(streameval.show(out))
    result = results_of(Study(out))
    known = result.measures()
    assert {"map", "mrr", "ndcg", "ndcg@1", "success@10"} <= {*known}
    for name in known:
        result.bounds(Question.of(name))
    for asked, said in (
        ("ndgc@10", "did you mean 'ndcg@10'?"),
        ("ndcg@7", "there is no mean of 'ndcg@7'"),
        ("ndcg@1%", "after a number of items"),
    ):
        with pytest.raises(InputError) as refused:
            streameval.check(out, f"{asked} >= 0.1")
        assert said in str(refused.value)
    standing(out, capsys, {"map", "precision@10", "ndcg@10"}, {"precision@1", "success@1"})
    with pytest.raises(InputError, match="no slices"):
        streameval.show(out, "map", slice="de")
    with pytest.raises(InputError, match=r"ndcg lies in 0\.\.1, and 40 does not"):
        streameval.check(out, "ndcg@10 >= 40")


def standing(study, capsys, numbers, others):
    """Measures that `show` prints without being asked are those of `show MEASURE`, and its command passes."""
    lines = repr(streameval.show(study)).splitlines()
    values = dict(line.split("   ", 1) for line in lines[2:] if not line.startswith(("Other measures", "Next")))
    assert numbers <= {*values}
    for name, value in values.items():
        alone = repr(streameval.show(study, name)).splitlines()[1].split()
        assert [name, *value.strip().split(" … ")] == (alone if "…" in value else alone[:2])
    told = [line.removeprefix("Other measures: ").rstrip(".").split(", ") for line in lines if "Other" in line]
    listed = {name for names in told for name in names}
    assert others <= listed
    for name in listed:
        streameval.show(study, name.replace("@K", "@4"))
    capsys.readouterr()
    assert lines[-1].startswith(f"Next: streameval check {study} ")
    assert run(shlex.split(lines[-1].split("      ")[0])[2:]) == 0


def test_a_labelled_list_is_shown_with_its_numbers(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    truth = (np.random.default_rng(5).random(1_000) < 0.4).astype(np.int8)
    streameval.exact(pa.table({"good": truth}), label="good", out="exact")
    standing("exact", capsys, {"precision@10", "precision@1000", "average_precision"}, {"recall@K", "positives"})


def test_drawn_rankings_answer_within_their_bounds(runs, tmp_path, capsys, monkeypatch):
    table, labels = runs
    monkeypatch.chdir(tmp_path)
    pq.write_table(table.drop_columns(["relevant"]), "runs.parquet")
    assert run(["plan", "runs.parquet", "--study", "drawn", "--per", "query", "--budget", "1500",
                "--score", "score", "--seed", "1"]) == 0  # fmt: skip
    assert repr(streameval.show("drawn")).startswith(
        "drawn: means over 300 rankings by query, 1,500 labels planned, none of which is in.\nNext: streameval select"
    )
    streameval.select("drawn")
    plan, flat = Study("drawn").plan(), labels.ravel()
    some = plan.ranks[::3]
    for ranks, status in ((some, 5), (plan.ranks, 0)):
        streameval.evaluate("drawn", labels=pa.table({"rank": ranks, "label": flat[ranks - 1]}))
        (bounds,) = streameval.show("drawn", "precision@10").bounds.values()
        assert bounds.lower <= labels[:, :10].mean() <= bounds.upper
        capsys.readouterr()
        assert run(["check", "drawn", "precision@10 >= 0.5"]) == status
        told = capsys.readouterr().out
        assert "all of these means over all rankings lie inside their bounds" in told
        assert ("Next: `streameval select drawn --remaining" in told) == (status == 5)
        head = repr(streameval.show("drawn")).splitlines()[0]
        assert ("of which 500 are in" if status else "1,500 labels, all of them in.") in head
    standing("drawn", capsys, {"precision@10", "success@10", "mrr@10", "dcg@10"}, set())
    found = results_of(Study("drawn"))
    assert f"precision@10  {bounds.lower:.4f} " in repr(found)
    assert found.mean("precision", 10) == found.mean("precision_at", 10) == bounds.estimate
    assert run(["check", "drawn", "dcg@10 >= 1", "precision@10 < 0.5"]) == 4
    with pytest.raises(InputError, match="there is no mean of 'map'"):
        streameval.check("drawn", "map >= 0.1")
    Study("drawn").labels.forget(Study("drawn").labels.sources()[0].identity)
    with pytest.raises(StudyError, match="labels have changed"):
        streameval.check("drawn", "precision@10 >= 0.1")


def test_where_no_label_counts_any_more_nothing_sends_to_evaluate_without_one(catalogue, tmp_path, capsys):
    """That led round: evaluate asked for labels, and all else for evaluate."""
    study = str(catalogue.copy("curve-evaluated", tmp_path / "s"))
    (source,) = streameval.Study(study).labels.sources()
    takes_in = f"streameval evaluate {study} --labels FILE"
    assert run(["labels", study, "--forget", source.identity]) == 0
    assert f"Next: {takes_in}\n" in capsys.readouterr().out
    assert run(["show", study]) == 0
    assert takes_in in capsys.readouterr().out
    assert "no label counts any more: run evaluate with --labels FILE" in refused(capsys, "cut", study, 5)
