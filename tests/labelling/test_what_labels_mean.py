"""Words and grades of a labelled list, and tables that list positives alone: what `exact` and others make of them."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import account_of

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.reporting.label_lines import label_lines
from streameval.study import Study

TRUTH = [1, 1, 0, 1, 0]
WORDS = ["fraud", "Fraud ", "ok", "fraud", "scam"]
GRADES = [3, 2, 1, 2, 0]


def listed(label):
    return pa.table({"id": ["a", "b", "c", "d", "e"], "score": [0.9, 0.8, 0.7, 0.6, 0.5], "label": label})


def values(found):
    return {(row["metric"], row["argument"]): (row["lower"], row["estimate"], row["upper"])
            for row in found.metrics.to_pylist()}  # fmt: skip


PLAIN = values(streameval.exact(listed(TRUTH), label="label"))
MEANT = [
    (TRUTH, {}),
    (["yes", "TRUE", "no", "1", "0.0"], {}),
    (WORDS, {"positive": "fraud"}),
    (WORDS, {"positive": "fraud", "negative": "ok,scam"}),
    (GRADES, {"relevant": ">=2"}),
    (GRADES, {"relevant": ">1"}),
    ([0.9, 0.8, 0.2, 0.7, 0.1], {"relevant": ">= 0.5"}),
    (["3", "2", "1", "2", "0"], {"relevant": ">=2"}),
    ([2, 2, 1, 2, 1], {"positive": "2", "negative": "1.0"}),
    ([[word] for word in WORDS], {"positive": "fraud"}),
    ([[one] for one in TRUTH], {}),
    (pa.array(GRADES).cast(pa.decimal128(25, 2)), {"relevant": ">=2"}),
    ([False, False, True, False, True], {"positive": "false", "negative": "true"}),
    (pa.array(WORDS).dictionary_encode(), {"positive": "fraud"}),
]


@pytest.mark.parametrize(("label", "meaning"), MEANT)
@pytest.mark.parametrize("order", [{}, {"score": "score"}])
def test_a_list_of_words_or_grades_is_the_list_of_zeros_and_ones_that_they_mean(label, meaning, order):
    found = streameval.exact(listed(label), label="label", **order, **meaning)
    assert found.summary["positives"] == 3
    by_value = {name: row for name, row in values(found).items() if not order or name in PLAIN}
    assert {name: by_value[name] for name in PLAIN} == PLAIN


@pytest.mark.parametrize(("label", "meaning"), MEANT)
def test_a_table_beside_the_list_is_read_alike(label, meaning):
    items, table = listed(TRUTH).drop_columns(["label"]), listed(label).select(["id", "label"]).take([4, 2, 0, 3, 1])
    assert values(streameval.exact(items, labels=table, on="id", **meaning)) == PLAIN


@pytest.mark.parametrize(("label", "meaning"), MEANT)
def test_methods_are_tried_on_what_labels_mean(label, meaning):
    found = streameval.simulate(listed(label), label="label", method="uniform", replicates=1, budget=5, **meaning)
    assert found.precision.tolist() == [1, 1, 2 / 3, 3 / 4, 3 / 5]


@pytest.mark.parametrize(
    ("label", "meaning", "positives"),
    [(WORDS, {"positive": "fraud"}, 3), (["yes", "yes", "no", "yes", "no"], {}, 3),
     (["3", "2", "1", "2", "0"], {"relevant": ">=2"}, 3), (["3", "2", "1", "2", "0"], {}, 4)],
)  # fmt: skip
def test_many_rankings_are_read_alike(label, meaning, positives):
    rows = listed(label).append_column("query", pa.array(["q"] * 5))
    found = streameval.exact(rows, label="label", per="query", at="5", **meaning)
    assert found.summary["positives"] == positives
    assert found.rankings.column("precision_at_5").to_pylist() == [positives / 5]


@pytest.mark.parametrize(
    ("label", "meaning", "message"),
    [
        (WORDS, {}, "row 1: label is 'fraud', neither 0/1, yes/no nor a number. Hint: --positive and"),
        (WORDS, {"positive": "fraud", "negative": "ok"}, "row 5: label is 'scam', neither"),
        (WORDS, {"positive": "fruad"}, "--positive fruad: no label is 'fruad'; there are 'fraud' (2), 'Fraud ' (1)"),
        (WORDS, {"positive": "fraud,scamm"}, "--positive scamm: no label is 'scamm'"),
        (WORDS, {"positive": "fraud,scam", "negative": "okay"}, "--negative okay: no label is 'okay'"),
        (GRADES, {}, "is not 0 or 1. Hint: --relevant '>=2' says from which label on an item is positive"),
        (GRADES, {"relevant": ">=4"}, "--relevant is '>=4', and none of 5 labels is"),
        (GRADES, {"relevant": "2"}, "--relevant is '2', not >=GRADE"),
        (GRADES, {"positive": "2"}, "Hint: such as --positive 2 --negative 0, or --relevant '>=2' for grades"),
        (["yes", "", "no", "skip", "yes"], {}, "2 labels missing"),
        (["1", "0,5", "0", "1", "1"], {}, "row 2: label is '0,5', neither 0/1, yes/no nor a number. Hint: a decimal"),
    ],
)  # fmt: skip
def test_what_labels_mean_is_refused_where_it_is_not_plain(label, meaning, message):
    with pytest.raises(InputError) as refused:
        streameval.exact(listed(label), label="label", **meaning)
    assert message in refused.value.line


def test_words_that_are_understood_need_no_one_to_occur():
    found = streameval.exact(listed(["no", "no", "0", "n", "no"]), label="label", positive="fraud")
    assert found.summary["positives"] == 0


def test_the_command_says_what_is_positive(tmp_path, capsys):
    pq.write_table(listed(GRADES), tmp_path / "list.parquet")
    assert run(["exact", str(tmp_path / "list.parquet"), "--score", "score", "--relevant", ">=2"]) == 0
    assert "Positive are labels >=2." in capsys.readouterr().out
    pq.write_table(listed(WORDS), tmp_path / "words.parquet")
    assert run(["exact", str(tmp_path / "words.parquet"), "--positive", "fraud"]) == 0
    assert "Positive: fraud. Negative: all other words." in capsys.readouterr().out
    assert run(["simulate", str(tmp_path / "words.parquet"), "--label", "label", "--positive", "fraud", "--method",
                "uniform", "--replicates", "1", "--budget", "5"]) == 0  # fmt: skip


POSITIVES = [
    ({"id": ["b", "d", "a", "b"]}, {}),
    ({"id": ["b", "d", "a"], "label": [1, 1, 1]}, {}),
    ({"id": ["b", "d", "a", "e"], "kind": ["fraud", "fraud", "fraud", "ok"]}, {"label": "kind", "positive": "fraud"}),
]


@pytest.mark.parametrize(("table", "meaning"), POSITIVES)
def test_a_table_of_positives_says_that_all_other_items_are_negative(table, meaning, tmp_path):
    items = listed(TRUTH).drop_columns(["label"])
    found = streameval.exact(items, labels=pa.table(table), on="id", labels_are="positives", **meaning)
    assert values(found) == PLAIN
    assert found.summary["account"]["unnamed"] == 5 - len({*table["id"]})
    streameval.plan(items, tmp_path / "s", method="uniform", budget=5, seed=0)
    streameval.select(tmp_path / "s", ranking=items)
    account = account_of(tmp_path / "s", pa.table(table), on="id", labels_are="positives", **meaning)
    assert (account["labelled"], account["positive"]) == (5, 3)


def test_it_is_said_how_many_items_a_table_of_positives_does_not_name(tmp_path, capsys):
    items = listed(TRUTH).drop_columns(["label"])
    pq.write_table(items, tmp_path / "list.parquet")
    (tmp_path / "fraud.csv").write_text("id\na\nb\nd\n")
    given = ["--labels", str(tmp_path / "fraud.csv"), "--on", "id", "--labels-are", "positives"]
    assert run(["exact", str(tmp_path / "list.parquet"), *given]) == 0
    assert "2 items that the table of positives does not name are negative." in capsys.readouterr().out
    study = str(tmp_path / "s")
    assert run(["plan", str(tmp_path / "list.parquet"), "--study", study, "--method", "uniform", "--budget", "5"]) == 0
    assert run(["select", study]) == 0
    capsys.readouterr()
    assert run(["evaluate", study, *given]) == 0
    assert "fraud.csv lists positives alone: 2 items that it does not name are negative." in capsys.readouterr().out
    given[1] = str(tmp_path / "fruad.csv")
    (tmp_path / "fruad.csv").write_text("id\nx\ny\n")
    assert run(["evaluate", study, *given]) == 2  # of another list: nothing in it is negative


def test_it_is_said_how_many_rows_of_labels_are_of_no_item(tmp_path, capsys):
    items = listed(TRUTH).drop_columns(["label"])
    pq.write_table(items, tmp_path / "list.parquet")
    (tmp_path / "labels.csv").write_text("id,label\nx,1\na,1\nb,1\nc,0\nz,0\nd,1\ne,0\nblank,\n")
    given = ["--labels", str(tmp_path / "labels.csv"), "--on", "id"]
    assert run(["exact", str(tmp_path / "list.parquet"), *given, "--out", str(tmp_path / "out")]) == 0
    assert "2 rows of the table of labels are of no item of the list." in capsys.readouterr().out
    twice = pa.concat_tables([items, items.slice(0, 2)])
    table = pa.table({"id": ["a", "b", "c", "d", "e", "x"], "label": [1, 1, 0, 1, 0, 1]})
    assert streameval.exact(twice, labels=table, on="id").summary["account"]["of_no_item"] == 1
    assert streameval.exact(items, labels=table.slice(0, 5), on="id").summary["account"]["of_no_item"] == 0


def test_a_table_of_positives_says_of_a_plan_that_has_grown_what_it_says_of_the_first(tmp_path):
    items = pa.table({"id": range(1_000)})
    positives = pa.table({"id": range(0, 1_000, 3)})
    streameval.plan(items, tmp_path / "s", budget=80, stages="3:later", seed=0)
    planned = []
    for grows in (True, False):
        streameval.select(tmp_path / "s", ranking=items)
        found = streameval.evaluate(tmp_path / "s", labels=positives, on="id", labels_are="positives")
        planned.append(found.summary["account"]["planned"])
        assert found.summary["account"]["labelled"] == planned[-1]
        if grows:
            streameval.grow(tmp_path / "s", budget=40)
    assert planned[0] < planned[1]
    said = label_lines(found.issues, found.summary)
    table = Study(tmp_path / "s").labels.sources()[0].table
    negative = sum(row["value"] == 0 for row in table.to_pylist())
    assert said[0] == f"labels in memory lists positives alone: {negative} items that it does not name are negative."


@pytest.mark.parametrize("how", [{"relevant": ">=1"}, {"positive": "1", "negative": "0"}, {}])
def test_nan_is_no_answer(how):
    """It counted as negative where a threshold was named."""
    with pytest.raises(InputError, match="row 3: 1 label missing"):
        streameval.exact(listed([1.0, 1.0, float("nan"), 1.0, 0.0]), label="label", **how)


@pytest.mark.parametrize(("labels", "said"), [
    ([[1], [0], [1, 0], [0], [1]], "row 3: label is a list of 2 labels"),
    ([[1], [0], [], [0], [1]], "row 3: 1 label missing"),
])  # fmt: skip
def test_a_list_of_several_labels_or_none_is_refused(labels, said):
    with pytest.raises(InputError, match=said):
        streameval.exact(listed(labels), label="label")


def test_what_labels_are_is_refused_without_a_table():
    with pytest.raises(InputError, match="labels_are says what a table of labels is, and there is none"):
        streameval.exact(listed(TRUTH), labels_are="positives")
    with pytest.raises(InputError, match=r"3 of 5 items have no label .*labels_are='positives' says"):
        streameval.exact(listed(TRUTH), labels=pa.table({"id": ["a", "b"], "label": [1, 1]}), on="id")
