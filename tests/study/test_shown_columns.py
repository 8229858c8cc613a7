"""Tasks show nothing that tells people the rank of an item; who joins by a key keeps it."""

import csv
import itertools
import json
from math import comb

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import account_of
from refusals import refused
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.rows.options import RankingOptions
from streameval.study import Study
from streameval.study.tasks import follows, zero_or_one

N = 2_000


def frame():
    """Items by falling score, as pandas holds them: their index is their rank, or a text."""
    pandas = pytest.importorskip("pandas")
    rng = np.random.default_rng(2)
    s = np.sort(rng.random(N))[::-1]
    columns = {
        "pair_id": [f"p{i}" for i in rng.permutation(N)], "p1": [f"text {i}" for i in rng.permutation(N)], "s": s,
        "logit": np.log(s / (1 - s)), "noisy": s + rng.normal(0, 0.005, N), "percentile": np.ceil(100 * s),
        "numbered": [str(i + 1) for i in range(N)], "padded": [f"item-{i:06d}" for i in range(N)],
        "when": pandas.to_datetime(10**9 * (1 + s), unit="s"), "first_half": np.arange(N) < N / 20,
        "length": rng.integers(1, 90, N), "nothing": [None] * N, "one": [1] * N, "list": [[1.0]] * N,
    }  # fmt: skip
    return pandas.DataFrame(columns)


FOLLOW = ["logit", "noisy", "percentile", "numbered", "padded", "when", "first_half"]


def shown_in(path):
    with open(path, encoding="utf-8-sig", newline="") as stream:
        return next(csv.reader(stream))[2:-1]


def planned(tmp_path, table, **options):
    table.to_parquet(tmp_path / "list.parquet")
    how = RankingOptions(score="s", **options)
    return streameval.plan(str(tmp_path / "list.parquet"), tmp_path / "study", budget=300, seed=1, options=how)


@pytest.mark.parametrize(("index", "left"), [(None, "__index_level_0__"), ("pair_id", "pair_id")])
def test_tasks_show_no_index_and_nothing_that_follows_the_order(tmp_path, capsys, index, left):
    """The index of a frame that was sorted and then shuffled is the rank; it stays where it tells nobody."""
    table = frame().sample(frac=1, random_state=1)
    planned(tmp_path, table if index is None else table.set_index(index))
    study, tasks = str(tmp_path / "study"), str(tmp_path / "tasks.csv")
    assert run(["select", study, "--export", tasks]) == 0
    told = capsys.readouterr().out
    assert f"{left} (the index of a pandas frame); {', '.join(FOLLOW)} (they follow the order of the ranking)" in told
    assert "s (it looks like a score or an answer)" in told
    others = ["pair_id", "p1", "length", "nothing", "one", "list"]
    assert sorted(shown_in(tasks)) == sorted(set(others) - {left})
    assert {left, *FOLLOW} <= set(pq.read_table(tmp_path / "study" / "selection.parquet").column_names)
    assert run(["select", study, "--export", str(tmp_path / "asked.csv"), "--columns", f"p1,logit,{left}"]) == 0
    assert "Left out" not in capsys.readouterr().out
    assert shown_in(tmp_path / "asked.csv") == ["p1", "logit", left]
    assert run(["select", study, "--export", str(tmp_path / "more.csv"), "--json"]) == 0
    why = json.loads(capsys.readouterr().out)["left_out"]
    assert why == {"s": "answer", left: "index", **dict.fromkeys(FOLLOW, "order")}


def test_a_key_in_the_order_of_the_ranking_is_kept_and_not_shown(tmp_path, capsys):
    planned(tmp_path, frame(), key=("numbered",))
    study = str(tmp_path / "study")
    assert run(["select", study, "--export", str(tmp_path / "tasks.csv")]) == 0
    told = capsys.readouterr().out
    assert "numbered" not in shown_in(tmp_path / "tasks.csv")
    assert "Answers come back by se_task. Labels made elsewhere join by the key" in told
    assert "`evaluate --on numbered`" in told
    selection = Study(tmp_path / "study").selection(Study(tmp_path / "study").plan())
    labels = pa.table({"numbered": selection.column("numbered"), "label": [1] * selection.num_rows})
    assert account_of(study, labels, on="numbered")["missing"] == 0


@pytest.mark.parametrize("key", ["index", "column"])
def test_a_key_is_shown_where_it_tells_nothing(tmp_path, key):
    """Even where it was the index of the frame."""
    planned(tmp_path, frame().set_index("pair_id") if key == "index" else frame(), key=("pair_id",))
    streameval.select(tmp_path / "study", export=tmp_path / "tasks.csv")
    assert "pair_id" in shown_in(tmp_path / "tasks.csv")


def test_key_columns_are_carried_whatever_is_asked_for(tmp_path, capsys):
    planned(tmp_path, frame(), key=("pair_id",))
    study, tasks = str(tmp_path / "study"), str(tmp_path / "tasks.csv")
    assert run(["select", study, "--columns", "p1", "--export", tasks]) == 0
    assert shown_in(tasks) == ["p1"]
    assert run(["select", study, "--columns", "p1"]) == 0
    selection = pq.read_table(tmp_path / "study" / "selection.parquet")
    assert selection.column_names[-2:] == ["p1", "pair_id"]
    labels = pa.table({"pair_id": selection.column("pair_id"), "label": [1] * selection.num_rows})
    pq.write_table(labels, tmp_path / "labels.parquet")
    file = tmp_path / "labels.parquet"
    assert account_of(study, file, on="pair_id")["missing"] == 0

    earlier = selection.drop_columns(["pair_id"])  # as a study that was selected before has it
    facts = json.loads(selection.schema.metadata[b"streameval"]) | {"columns": ["p1"]}
    kept = {b"streameval": json.dumps(facts).encode()}
    pq.write_table(earlier.replace_schema_metadata(kept), tmp_path / "study" / "selection.parquet")
    told = refused(capsys, "evaluate", study, "--labels", file, "--on", "pair_id")
    assert f"`select --columns` left out 'pair_id': `streameval select {study}` again" in told
    assert run(["select", study, "--columns", "p1"]) == 0
    assert account_of(study, file, on="pair_id")["missing"] == 0


def test_labels_by_a_column_that_was_left_out_are_told_how_to_get_it(tmp_path, capsys):
    planned(tmp_path, frame())
    study = str(tmp_path / "study")
    assert run(["select", study, "--columns", "p1"]) == 0
    top = frame()["pair_id"][0]
    pq.write_table(pa.table({"pair_id": [top], "label": [1]}), tmp_path / "labels.parquet")
    file = tmp_path / "labels.parquet"
    told = refused(capsys, "evaluate", study, "--labels", file, "--on", "pair_id")
    assert f"where the list has 'pair_id', `streameval select {study} --columns p1,pair_id` fetches it" in told
    assert run(["select", study, "--columns", "p1,pair_id"]) == 0
    assert account_of(study, file, on="pair_id")["labelled"] == 1


def test_an_export_that_would_show_nothing_is_refused(tmp_path, capsys):
    planned(tmp_path, frame()[["s", "padded"]])
    study, tasks = str(tmp_path / "study"), tmp_path / "tasks.csv"
    assert run(["select", study, "--export", str(tasks)]) == 2
    said = capsys.readouterr().err
    assert "nothing is left to show: padded would tell people the ranks" in said
    assert "selection.parquet. Hint: --columns padded" in said
    assert "--columns padded" in said
    assert not tasks.exists()
    assert run(["select", study, "--export", str(tasks), "--columns", "padded"]) == 0
    assert shown_in(tasks) == ["padded"]


def test_a_judge_is_asked_as_blindly(tmp_path, capsys):
    table = frame()
    table.to_parquet(tmp_path / "list.parquet")
    study, tasks = str(tmp_path / "study"), str(tmp_path / "judge.csv")
    plan = ["plan", str(tmp_path / "list.parquet"), "--study", study, "--budget", "100", "--judge", "sample=800"]
    assert run([*plan, "--score", "s"]) == 0
    assert run(["select", study, "--export", tasks]) == 0
    assert "(they follow the order of the ranking)" in capsys.readouterr().out
    assert not {"logit", *FOLLOW} & set(shown_in(tasks))


def test_items_of_many_rankings_are_asked_about_each_ranking(tmp_path):
    """A score within each ranking tells the place in it, though rows of all rankings lie mixed."""
    rng = np.random.default_rng(4)
    query = rng.integers(0, 60, N)
    s = rng.random(N)
    table = pa.table({"query": query, "s": s, "logit": np.log(s / (1 - s)) + 7 * query, "text": [f"t{i}" for i in
                      rng.permutation(N)], "other": rng.random(N)})  # fmt: skip
    pq.write_table(table, tmp_path / "list.parquet")
    plan = ["plan", str(tmp_path / "list.parquet"), "--study", str(tmp_path / "study"), "--per", "query"]
    assert run([*plan, "--score", "s", "--budget", "200", "--for", "precision@5"]) == 0
    assert run(["select", str(tmp_path / "study"), "--export", str(tmp_path / "tasks.csv")]) == 0
    assert shown_in(tmp_path / "tasks.csv") == ["query", "text", "other"]


def one_ranking(values):
    return follows(pa.chunked_array([pa.array(values)]), np.arange(len(values)), np.zeros(len(values), np.int64))


def test_chance_makes_no_column_of_two_values_follow_the_order():
    """Of any number of items, and of ones among them, exactly: fewer than one of 10^5 arrangements."""
    worst = 0.0
    for n, ones in itertools.product((17, 20, 23, 26, 30, 35, 40, 60, 100), range(1, 13)):
        if 2 * ones > n:
            continue
        # inversions of an arrangement with the ones first: those of at most m have partitions of 0..m as many
        inversions, found = partitions(ones, n - ones), 0
        for m, count in enumerate(inversions):
            if not one_ranking(with_inversions(n, ones, m)):
                break
            found += count
        worst = max(worst, 2 * found / comb(n, ones))
    assert 1e-8 < worst < 1e-5


def partitions(parts, largest, most=40):
    """How many partitions of 0, 1, … have at most so many parts, none larger than `largest`."""
    counts = np.zeros((parts + 1, most + 1), dtype=object)
    counts[0, 0] = 1
    for size in range(1, largest + 1):
        for used in range(1, parts + 1):
            for total in range(size, most + 1):
                counts[used, total] += counts[used - 1, total - size]
    return counts.sum(axis=0).tolist()


def with_inversions(n, ones, count):
    """An arrangement of ones and zeros whose ones stand so many places too low, summed over all ones."""
    place, left = list(range(ones)), count
    for i in reversed(range(ones)):
        step = min(left, n - ones)
        place[i] += step
        left -= step
    values = np.zeros(n, int)
    values[place] = 1
    return values


@pytest.mark.parametrize("n", [9, 12, 17, 25, 60, 600])
@pytest.mark.parametrize("values", [2, 3, 5, 10**9])
def test_chance_makes_no_column_follow_the_order(n, values):
    rng = np.random.default_rng(n + values)
    assert not any(one_ranking(rng.integers(0, values, n)) for _ in range(examples(120, 500)))


def test_no_order_is_read_into_few_items_or_what_has_none():
    assert one_ranking(list(range(17)))
    assert one_ranking([-i for i in range(17)])
    assert one_ranking(list(range(9)))
    assert one_ranking([-i for i in range(16)])
    assert not one_ranking(list(range(8)))
    assert not one_ranking([*range(14), 15, 14])
    assert not one_ranking([*range(15), 14])
    assert one_ranking([*range(17), None, None, 17])  # those without a value tell nothing
    assert not one_ranking([float("nan")] * 30)
    assert not one_ranking([1] * 30)
    assert not one_ranking([{"a": i} for i in range(30)])


def test_columns_of_nothing_but_0_and_1_are_named(tmp_path, capsys):
    """Unless they were asked for: an answer of another name than usual would be given to those who are to find it."""
    n, rng = 900, np.random.default_rng(1)
    flag = rng.integers(0, 2, n)
    columns = {"good": flag, "so": flag == 1, "text": flag.astype(str), "real": flag.astype(float), "all": flag * 0,
               "both": [None if i % 7 else int(i % 2) for i in range(n)], "more": rng.integers(0, 3, n)}  # fmt: skip
    table, study = pa.table({"id": rng.permutation(n), **columns}), tmp_path / "study"
    assert zero_or_one(table) == ("good", "so", "text", "real", "both")
    pq.write_table(table.select(["id", "good", "more"]), tmp_path / "list.parquet")
    streameval.plan(tmp_path / "list.parquet", study, budget=100, seed=1)
    assert run(["select", str(study), "--export", str(tmp_path / "tasks.csv")]) == 0
    said = "Annotators see a column of only 0 and 1: good. If that is the answer, choose columns with --columns."
    assert said in capsys.readouterr().out.splitlines()
    assert streameval.select(study, export=tmp_path / "asked.csv", columns=["good"]).zero_or_one == ()


def test_tasks_of_a_comparison_keep_a_key_in_stored_order_unless_a_ranking_is_that_order(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    pq.write_table(pa.table({"id": np.arange(400), "sa": rng.random(400), "sb": rng.random(400)}), "t.parquet")
    how = {"against": "t.parquet", "score": "sb", "key": "id", "questions": "gain@50", "seed": 1}
    for study, against_score, head in (
        ("scores", "sa", "se_study,se_task,id,label"),
        ("stored", None, "se_study,se_task,sa,label"),
    ):
        streameval.plan("t.parquet", study, against_score=against_score, **how)
        assert run(["select", study, "--export", f"{study}.csv"]) == 0
        assert (tmp_path / f"{study}.csv").read_text(encoding="utf-8-sig").splitlines()[0] == head
    assert "id (it follows the order of the ranking)" in capsys.readouterr().out


def test_a_column_with_a_space_is_quoted_in_the_command_that_shows_it(tmp_path, capsys):
    items = pa.table({"doc id": [f"d{i}" for i in range(9)], "text": [f"t{i % 2}" for i in range(9)]})
    pq.write_table(items, tmp_path / "list.parquet")
    study = str(tmp_path / "study")
    assert run(["plan", str(tmp_path / "list.parquet"), "--study", study]) == 0
    assert run(["select", study, "--columns", "text"]) == 0
    pq.write_table(pa.table({"doc id": ["d1"], "label": [1]}), tmp_path / "labels.parquet")
    told = refused(capsys, "evaluate", study, "--labels", tmp_path / "labels.parquet", "--on", "doc id")
    assert f"`streameval select {study} --columns 'text,doc id'` fetches it" in told
