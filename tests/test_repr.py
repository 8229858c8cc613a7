"""What a notebook shows of results: a line that says what they are."""

import csv

from label_tables import small_study

import streameval
from streameval.study import Study


def test_results_show_themselves_in_a_line(tmp_path):
    study = small_study(tmp_path)
    selection = streameval.select(study, export=tmp_path / "tasks.csv")
    assert repr(selection) == "<Selection of 60 items, 7 columns, 60 tasks in 'tasks.csv'>"
    assert repr(streameval.select(study)) == "<Selection of 60 items, 7 columns>"
    two = streameval.select(study, export=tmp_path / "tasks.label-studio.json")
    assert repr(two).endswith("60 tasks in 'tasks.label-studio.json' and 1 more>")
    assert repr(Study(study).plan()) == "<Plan by paula: 60 of 60 items to label, seed 0>"
    with open(tmp_path / "done.csv", "w", newline="") as stream:
        out = csv.writer(stream)
        out.writerow(["se_task", "label"])
        out.writerows([number, int(rank <= 50)] for rank, number in zip(
            *(selection.table.column(name).to_pylist() for name in ("rank", "se_task")), strict=True))  # fmt: skip
    found = streameval.evaluate(study, labels=tmp_path / "done.csv")
    assert repr(found) == (
        f"<Evaluation {found.evaluation_id} of 60 items by paula: 60 of 60 labels, bounds exact, of the truth>"
    )
    assert repr(streameval.cut(study, rank=40)) == (
        "<Cut at rank 40 of 60: precision 1 to 1, bounds exact, of the truth>"
    )
