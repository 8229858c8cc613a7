"""Rankings in memory: whatever hands out Arrow data is one, and gives what the table gives."""

import pyarrow as pa
import pyarrow.dataset
import pytest

import streameval
from streameval import RankingOptions
from streameval.errors import InputError
from streameval.labelling.options import Judging, LabelColumns, ReuseOptions
from streameval.study.known_labels import KnownLabels

TABLE = pa.table({"id": range(1000)})


def test_a_batch_is_a_ranking_as_its_table_is(tmp_path):
    (batch,) = TABLE.to_batches()
    plan = streameval.plan(batch, tmp_path / "study", budget=50, seed=1)
    assert plan.plan_id == streameval.plan(TABLE, tmp_path / "other", budget=50, seed=1).plan_id
    found = streameval.select(tmp_path / "study", ranking=batch).table
    assert found.column("id").to_pylist() == [rank - 1 for rank in plan.ranks.tolist()]


@pytest.mark.parametrize("thing", [5, [1, 2], {"a": 1}, object()])
def test_anything_else_is_none(tmp_path, thing):
    with pytest.raises(streameval.InputError, match=f"a {type(thing).__name__} is not a ranking"):
        streameval.plan(thing, tmp_path / "study", seed=1)


LIST = pa.table({"id": range(100), "a": [i / 100 for i in range(100)], "label": [i % 2 for i in range(100)]})


@pytest.mark.parametrize("call", [
    lambda to, **given: streameval.plan(LIST, to, seed=1, **given).plan_id,
    lambda to, **given: streameval.plan(LIST, to, on="id", seed=1, **given).plan_id,
    lambda to, **given: streameval.adopt(
        LIST, to, LIST, drawn="uniform(size=100)", on="id", seed=1, **given
    ).plan_id,
    lambda to, **given: streameval.exact(LIST, label="label", **given),
    lambda to, **given: streameval.simulate(LIST, label="label", replicates=1, **given).rows,
    lambda to, **given: streameval.cost(LIST, **given),
])  # fmt: skip
def test_what_describes_the_ranking_goes_by_keywords_or_at_once(tmp_path, call):
    options = RankingOptions(score="a", key=("id",))
    made = [call(tmp_path / "one", score="a", key="id"), call(tmp_path / "two", options=options),
            call(tmp_path / "three", options=RankingOptions(score="a"), key="id")]  # fmt: skip
    assert len({repr(one) for one in made}) == 1
    with pytest.raises(InputError, match="key is for a ranking by score, and no score is named"):
        call(tmp_path / "study", key="id")
    with pytest.raises(InputError, match="no column 'b'"):
        call(tmp_path / "study", score="b")


def test_options_that_take_several_names_take_a_text(tmp_path):
    assert RankingOptions(score="a", key="id") == RankingOptions(score="a", key=("id",))
    assert RankingOptions(score="a", key="id, a").key == ("id", "a")
    assert str(Judging(vote=" Mean ≥ 3").rule) == Judging(vote=" Mean ≥ 3").vote == "mean>=3"
    assert Judging(prefer="person,llm").prefer == ("person", "llm")
    assert {KnownLabels.from_options([ReuseOptions(on)]).columns.on for on in ("id,a", ["id", "a"])} == {"id,a"}
    assert (LabelColumns(on=["id", "a"]).on, LabelColumns(positive="Good").positive) == ("id,a", ("good",))
    options = RankingOptions(score="a", key="id")
    for name in ("first", "second"):
        plan = streameval.plan(LIST, tmp_path / name, options=options, budget=50, seed=3)
        kept = streameval.select(tmp_path / name, ranking=LIST, columns="id, label")
        assert kept.table.column_names[-2:] == ["id", "label"]
    labels = pa.table({"rank": plan.ranks, "label": [1] * plan.ranks.size})
    streameval.evaluate(tmp_path / "first", labels=labels)
    assert streameval.check(tmp_path / "first", "precision@1 > 0").outcome == "pass"
    assert streameval.simulate(LIST, label="label", method="uniform, loguniform", replicates=1).rows
