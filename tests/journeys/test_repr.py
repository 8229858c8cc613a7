"""What results are to a notebook and to other libraries: a line, a table, a picture."""

import re
import shutil

import polars
import pyarrow as pa
import pytest
from label_tables import small_study

import streameval
from streameval.study import Study


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """What every verb gives, with words that a notebook shows of it, and columns of its table."""
    home = tmp_path_factory.mktemp("results")
    study = small_study(home)
    selection = streameval.select(study, export=home / "tasks.csv")
    ranks = selection.table.column("rank").to_numpy()
    found = streameval.evaluate(study, labels=pa.table({"rank": ranks, "label": (ranks <= 50).astype(int)}))
    other = shutil.copytree(study, home / "other")
    return {
        "plan": (Study(study).plan(), ["60 (100.00%)", "paula"], ["rank", "stratum"]),
        "selection": (selection, ["rows read", "tasks.csv", "se_task"], ["rank", "stratum"]),
        "labels": (found.labels, ["<td>labelled</td><td>60</td>"], ["rank", "label", "votes", "positive_votes"]),
        "curve": (found.curve, ["<svg", "exact"], ["rank", "yield_lower"]),
        "evaluation": (found, ["(60 of 60 labels)", "<svg", "exact"], ["rank", "yield_lower"]),
        "cut": (streameval.cut(study, 40), ["40 of 60", "precision"], ["metric", "lower", "estimate", "upper"]),
        "comparison": (streameval.compare(study, other), ["average_precision"], ["metric", "argument"]),
        "progress": (streameval.labels(study), ["60 of 60 planned items labelled"], ["stratum", "first_rank"]),
        "costs": (streameval.cost(1000), ["loguniform", "uniform"], ["method", "labels", "accuracy"]),
    }


KINDS = ["plan", "selection", "labels", "curve", "evaluation", "cut", "comparison", "progress", "costs"]


def test_results_show_themselves_in_a_line(results, tmp_path):
    shown = {name: repr(one) for name, (one, _, _) in results.items()}
    assert shown["selection"] == "<Selection of 60 items, 7 columns, 60 tasks in 'tasks.csv'>"
    assert shown["plan"] == "<Plan by paula: 60 of 60 items to label, seed 0>"
    assert shown["evaluation"].splitlines()[:5] == [
        "Every item is labelled: the curve is exact, if every label is right (60 of 60 labels).",
        "",
        "first k   lower  estimate   upper",
        "10       1.0000    1.0000  1.0000",
        "60       0.8333    0.8333  0.8333",
    ]
    assert shown["cut"].startswith("The first 40 of 60 items. All of them are positive.\n")
    assert shown["curve"] == "<Curve of 60 items: every value is exact>"
    assert shown["labels"] == "<Labels of 60 of 60 planned items, 50 positive>"


def test_what_is_tried_and_what_is_published_say_what_a_terminal_says(tmp_path):
    items = pa.table({"good": [1] * 600 + [0] * 400})
    found = streameval.simulate(items, label="good", method="loguniform", replicates=2, budget=100)
    assert repr(found).splitlines()[0].split() == ["method", "labels", "half-width", "held", "of", "promised", "inside"]
    assert not re.search(r"\d\.\d{7}", found._repr_html_())
    study = small_study(tmp_path)
    assert not re.search(r"\d\.\d{7}", streameval.select(study)._repr_html_())
    streameval.evaluate(study, labels=pa.table({"rank": range(1, 61), "label": [1] * 60}))
    assert repr(streameval.publish(study, tmp_path / "shared")) == f"Published: {tmp_path / 'shared'}"


def test_a_next_step_is_right_from_another_folder(tmp_path, monkeypatch):
    study = small_study(tmp_path)
    streameval.select(study)
    monkeypatch.chdir(study.parent)
    found = streameval.evaluate(study.name, labels=pa.table({"rank": range(1, 61), "label": [1] * 60}))
    here = repr(found)
    monkeypatch.chdir("/")
    assert repr(found) == here.replace(f" {study.name} ", f" {study} ")
    assert f"Next: streameval cut {study} " in repr(found)


def test_a_selection_names_one_file_of_its_tasks(tmp_path):
    study = small_study(tmp_path)
    streameval.select(study, export=tmp_path / "tasks.csv")
    assert repr(streameval.select(study)) == "<Selection of 60 items, 7 columns>"
    two = streameval.select(study, export=tmp_path / "tasks.label-studio.json")
    assert repr(two).endswith("60 tasks in 'tasks.label-studio.json' and 1 more>")


@pytest.mark.parametrize("kind", KINDS)
def test_a_result_is_a_table_for_any_library_and_for_a_notebook(results, kind):
    one, words, names = results[kind]
    shown = one._repr_html_()
    assert [word for word in words if word not in shown] == []
    assert "<script" not in shown
    table = pa.table(one)
    assert table.column_names[: len(names)] == names
    assert table.num_rows > 0
    assert one.to_pandas().shape == (table.num_rows, table.num_columns)
    assert polars.DataFrame(one).shape == (table.num_rows, table.num_columns)


def test_the_labels_of_an_evaluation_are_those_that_were_given(results):
    labels = results["evaluation"][0].labels
    assert isinstance(labels, streameval.Labels)
    assert (labels.rank.size, labels.label.sum(), labels.account["labelled"], labels.about) == (60, 50, 60, "the truth")


def test_an_exact_evaluation_has_labels_of_no_planned_rank():
    table = pa.table({"good": [1, 0, 1]})
    assert streameval.exact(table, label="good").labels.rank.size == 0


def test_text_in_a_result_is_no_markup(tmp_path):
    items = pa.table({"<b>id": ["<script>alert(1)</script>"] * 50})
    streameval.plan(items, tmp_path / "s", budget=50)
    assert "<script" not in streameval.select(tmp_path / "s", ranking=items)._repr_html_()
