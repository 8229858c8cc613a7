"""How fast people label, as `labels` and the report say it."""

import re

import streameval
from streameval.cli import run


def test_labels_and_the_report_say_who_labelled_how_fast_and_what_was_asked(study, tmp_path, capsys):
    streameval.select(study, export=tmp_path / "t.html", ask="Is it <odd>?")
    selected = streameval.Study(study).selection(streameval.Study(study).plan())
    tasks = selected.column("se_task").to_pylist()[:13]
    rows = [f"{task},1,ann,2026-11-23T09:{i:02}:00Z" for i, task in enumerate(tasks[:7])]  # one a minute
    rows += [f"{task},1,ben,2026-11-23T{9 + i:02}:00:00Z" for i, task in enumerate(tasks[7:])]  # never at work
    (tmp_path / "labels.csv").write_text("\n".join(["se_task,label,annotator,time", *rows]) + "\n")
    streameval.evaluate(study, labels=tmp_path / "labels.csv")
    still_open = selected.num_rows - 13
    state = streameval.labels(study)
    assert state.pace == {
        "people": {"ann": 60.0},
        "hours": {"ann": 0.1},
        "per_hour": 60.0,
        "left_hours": still_open / 60,
    }
    assert run(["labels", str(study)]) == 0
    time = f"{still_open / 60:.1f} hours" if still_open >= 60 else f"{still_open} minutes"
    said = f"At 60 answers in an hour of work, {still_open} open tasks would take one person {time}."
    assert said in capsys.readouterr().out
    shown = state._repr_html_()
    assert "<td>ann</td><td>7</td><td>0</td><td>6 minutes</td><td>60</td>" in shown
    assert "<td>ben</td><td>6</td><td>0</td><td>–</td><td>–</td>" in shown
    assert f"<p>{said}</p>" in shown
    page = (study / "report.html").read_text()
    assert "Asked: Is it &lt;odd&gt;? (yes, or no)" in page
    page = re.sub(' data-name="[^"]*"', "", page)
    assert '<th scope="row">ann</th><td>7</td><td>0</td><td>6 minutes</td><td>60</td>' in page
    assert '<th scope="row">ben</th><td>6</td><td>0</td><td>–</td><td>–</td>' in page
