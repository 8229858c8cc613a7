"""The same lake a day later: what an earlier study is worth, against what a full sort says."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError

SMALL = ["--method", "paula", "--seed", "0", "--epsilon", "0.1", "--window", "20", "--score", "conf", "--key", "id"]


def write(folder, day, n):
    rng = np.random.default_rng(day)
    score = rng.random(n)
    home = folder / f"day={day:02d}"
    home.mkdir(parents=True)
    ids = np.arange(n) + 100_000 * day
    truth = (np.random.default_rng(day + 99).random(n) < score).astype(np.int8)
    table = pa.table({"id": ids, "conf": score, "truth": truth})
    pq.write_table(table, home / "0.parquet", write_page_index=True)
    return table


@pytest.fixture
def days(tmp_path):
    """Ten days of 500 items, studied and labelled; then 20 partitions more, planned and selected."""
    lake = tmp_path / "lake"
    tables = [write(lake, day, 500) for day in range(10)]
    study(lake, tmp_path / "before")
    labels = pq.read_table(tmp_path / "before" / "selection.parquet").select(["rank", "truth"])
    streameval.evaluate(tmp_path / "before", labels=labels.slice(0, labels.num_rows - 7), label="truth")
    tables += [write(lake, day, 25) for day in range(10, 30)]
    study(lake, tmp_path / "after")
    return tmp_path, pa.concat_tables(tables[:10]), pa.concat_tables(tables)


def study(lake, home):
    assert run(["plan", str(lake), "--study", str(home), *SMALL]) == 0
    assert run(["select", str(home)]) == 0


def ranks_of(table):
    order = np.argsort(-table.column("conf").to_numpy(), kind="stable")
    return {int(table.column("id")[int(row)].as_py()): rank + 1 for rank, row in enumerate(order)}


def test_what_is_known_moved_and_left_to_label_is_what_a_sort_says(days):
    home, old, new = days
    found = streameval.growth(home / "before", home / "after")
    then, now = ranks_of(old), ranks_of(new)
    planned = {n: set(pq.read_table(home / n / "plan.parquet").column("rank").to_pylist()) for n in ("before", "after")}
    both = {i: (now[i], then[i]) for i in then if then[i] in planned["before"] and now[i] in planned["after"]}
    said = found.summary
    assert (said["items_before"], said["items_after"]) == (5_000, 5_500)
    assert said["known"] == len(both) > 0
    assert sorted(zip(*(found.items.column(n).to_pylist() for n in ("rank", "rank_before")), strict=True)) == sorted(
        both.values()
    )
    assert said["moved"]["down"] == sum(a > b for a, b in both.values())
    assert said["to_label"] == len(planned["after"]) - said["labelled"]
    assert said["labelled"] <= said["known"]


def test_cutoffs_stand_where_a_sort_puts_them(days):
    home, _, new = days
    cutoffs = streameval.growth(home / "before", home / "after").summary["cutoffs"]
    assert [one["rank"] for one in cutoffs][:3] == [1, 10, 100]
    assert cutoffs[-1]["rank"] == 5_000
    scores = np.sort(new.column("conf").to_numpy())[::-1]
    for one in cutoffs:
        true = int(np.sum(scores >= one["score"]))
        assert one["first_rank"] <= true <= one["last_rank"], one


@pytest.mark.parametrize("kind", [pa.int64(), pa.uint64(), pa.decimal128(30, 10), pa.float32()])
def test_cutoffs_of_scores_that_no_float_holds(tmp_path, kind):
    options = streameval.RankingOptions(score="conf", key=("id",))
    tables = []
    for name, n in (("before", 900), ("after", 1_000)):
        ids = np.arange(n)
        near = [2**62 + int(i) % 450 for i in np.random.default_rng(5).permutation(n)]  # ties, and neighbours of 2**62
        score = pa.array(near, pa.int64() if kind != pa.uint64() else kind)
        score = score.cast(kind, safe=False)
        tables.append(pa.table({"id": ids, "conf": score}))
        pq.write_table(tables[-1], tmp_path / f"{name}.parquet")
        streameval.plan(
            tmp_path / f"{name}.parquet", tmp_path / name, method="uniform", budget=400, options=options, seed=0
        )
        streameval.select(tmp_path / name)
    old, new = (np.sort(np.array(t.column("conf").to_pylist(), dtype=object))[::-1] for t in tables)
    found = streameval.growth(tmp_path / "before", tmp_path / "after").summary["cutoffs"]
    assert found[0]["rank"] == 1
    for one in found:
        here = np.flatnonzero(new == old[one["rank"] - 1]) + 1
        assert one["first_rank"] <= here[0] <= here[-1] <= one["last_rank"]
        assert not here.size or one["last_rank"] - one["first_rank"] < 40 or kind == pa.float32()


def test_known_labels_are_evaluated_in_the_later_study(days, capsys):
    home, _, new = days
    out = home / "known.parquet"
    capsys.readouterr()
    command = ["growth", str(home / "before"), str(home / "after"), "--out", str(out), "--json"]
    assert run(command) == 0
    said = json.loads(capsys.readouterr().out)
    found = streameval.evaluate(home / "after", labels=str(out))
    assert found.summary["account"]["labelled"] == said["labelled"]
    truth = dict(zip(new.column("id").to_pylist(), new.column("truth").to_pylist(), strict=True))
    selection = pq.read_table(home / "after" / "selection.parquet")
    true = [truth[i] for i in selection.column("id").to_pylist()]
    assert all(a in (None, b) for a, b in zip(found.label_table.column("label").to_pylist(), true, strict=True))
    assert run(command[:-1]) == 0
    text = capsys.readouterr().out
    assert "5,000 items before, 5,500 now." in text
    assert f"To label: {said['to_label']:,}." in text


def test_what_cannot_be_compared_is_refused(days, ranking):
    home, _, _ = days
    folder, _, _ = ranking
    with pytest.raises(InputError, match="did you mean 'id'"):
        streameval.growth(home / "before", home / "after", on=["idd"])
    with pytest.raises(InputError, match="does not tell items apart"):
        streameval.growth(home / "before", home / "after", on=["truth"])
    assert run(["plan", str(folder), "--study", str(home / "other"), "--seed", "0"]) == 0
    with pytest.raises(StudyError, match="nothing is selected yet"):
        streameval.growth(home / "before", home / "other", on=["id"])
    with pytest.raises(InputError, match="--on COL"):
        streameval.growth(home / "before", home / "other")
