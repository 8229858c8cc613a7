"""The log of a job: JSON lines that can be shipped as they are, and what `--quiet` leaves."""

import json
import re
import shutil
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.cli import run
from streameval.study import Study


def logged(capsys, *command, status=0):
    """Events of a command that ends with a status."""
    capsys.readouterr()
    before = datetime.now(UTC)
    assert run([*map(str, command), "--log", "json"]) == status
    found = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    times = [datetime.fromisoformat(one["time"]) for one in found]
    assert all(one["time"].endswith("Z") for one in found)
    slack = 1e-3  # of milliseconds that are cut off
    assert before.timestamp() - slack <= times[0].timestamp()
    assert times == sorted(times)
    assert times[-1] <= datetime.now(UTC)
    assert all({"time", "level", "event"} <= set(one) for one in found)
    return found


def test_every_line_tells_its_time_level_and_study(catalogue, tmp_path, capsys):
    study, items = catalogue.path("stored-evaluated"), catalogue.lists / "stored.parquet"
    other, labels = str(tmp_path / "other"), str(tmp_path / "labels.parquet")
    truth = pq.read_table(items).column("right")
    pq.write_table(pa.table({"rank": range(1, len(truth) + 1), "label": truth}), labels)
    planned = ("plan", items, "--study", other, "--budget", "100", "--seed", "1")
    for command in (planned, ("select", other), ("evaluate", other, "--labels", labels), ("cut", other, "9")):
        events = logged(capsys, *command)
        assert {one["study"] for one in events} == {other}, command
        assert {one["level"] for one in events} == {"info"}
        assert (events[-1]["event"], events[-1]["verb"]) == ("done", command[0])
    assert "study" not in logged(capsys, "cost", "--items", "100000")[-1]
    assert "study" not in logged(capsys, "compare", study, other)[-1]  # there are two


def test_a_selection_logs_the_rows_that_it_read_and_each_step_once(catalogue, tmp_path, capsys):
    items, study = catalogue.lists / "list.parquet", tmp_path / "study"
    logged(capsys, "plan", items, "--study", study, "--score", "score", "--budget", "100", "--seed", "1")
    events = logged(capsys, "select", study)
    steps = [one["step"] for one in events if one["event"] == "step_begins"]
    assert sorted(steps) == ["count", "items", "sample"]
    (told,) = [one for one in events if one["event"] == "select"]
    assert told["rows"] == told["rows_scanned"] == pq.read_metadata(items).num_rows


@pytest.mark.parametrize(
    ("command", "kind", "status"),
    [
        (("check", "nowhere", "precision@10 >= 0.9"), "StudyError", 2),
        (("check", "nowhere", "--bogus"), "usage", 2),
        (("check", ""), "InputError", 2),
    ],
)
def test_an_error_is_a_line_of_its_own(command, kind, status, capsys):
    (event,) = logged(capsys, *command, status=status)
    assert (event["event"], event["level"], event["kind"], event["exit_status"]) == ("error", "error", kind, status)
    assert event["verb"] == "check"
    if kind == "StudyError":
        assert event["study"] == "nowhere"


def test_a_defect_is_one_line_too(catalogue, capsys, monkeypatch):
    study = catalogue.path("curve-evaluated")
    monkeypatch.setattr("streameval.verbs.check.check", lambda *given, **named: 1 / 0)
    (event,) = logged(capsys, "check", study, "precision@10 >= 0.9", status=1)
    assert (event["kind"], event["study"]) == ("defect", str(study))
    assert event["traceback"].rstrip().endswith("ZeroDivisionError: division by zero")


def test_the_log_of_a_check_tells_each_outcome_with_its_bounds(catalogue, capsys):
    study = catalogue.path("curve-evaluated")
    between = streameval.show(study, "precision@1000").bounds["precision@1000"].estimate
    asked = ["precision@1000 >= 0.1", "precision@2000 >= 0.999", f"precision@1000 >= {between:.4f}"]
    events = logged(capsys, "check", study, *asked, status=4)
    told = [one for one in events if one["event"] == "check"]
    assert [one["check"] for one in told] == asked
    assert [one["outcome"] for one in told] == ["pass", "fail", "inconclusive"]
    assert [one["level"] for one in told] == ["info", "warning", "warning"]
    curve = Study(study).evaluation().curve
    for one, rank in zip(told, (1000, 2000, 1000), strict=True):
        assert (one["lower"], one["upper"]) == (curve.precision_at(rank).lower, curve.precision_at(rank).upper)
    assert (events[-1]["level"], events[-1]["exit_status"]) == ("warning", 4)


def test_the_log_of_an_evaluation_tells_counts_and_half_width(study, capsys):
    study = study("curve-evaluated")
    events = logged(capsys, "evaluate", study)
    (told,) = [one for one in events if one["event"] == "evaluate"]
    found = Study(study).evaluation()
    assert told["labelled"] == told["planned"] == found.label_table.num_rows
    assert told["missing"] == 0
    assert told["half_width"]["alpha"] == found.curve.half_width().alpha
    assert told["claim"]["about"] == "the truth"


def test_the_log_of_a_cut_tells_its_rank(study, tmp_path, capsys):
    study = study("curve-evaluated")
    events = logged(capsys, "cut", study, "precision:0.9", "--out", tmp_path / "best")
    (told,) = [one for one in events if one["event"] == "cut"]
    assert told["rank"] == told["rows"] == streameval.cut(study, "precision:0.9").rank


def test_the_log_of_a_watch_tells_each_day_and_the_fall(days, tmp_path, capsys):
    first, *made = [folder for folder, _, _ in days[2:]]
    out = tmp_path / "history.parquet"
    asked = ["precision@score:0.5 >= 0.7", "--out", out]
    streameval.monitor([first], asked[0], out=out)
    kinds = []
    for folder in made:
        (told,) = [one for one in logged(capsys, "monitor", folder, *asked, status=4) if one["event"] == "monitor"]
        assert (told["study"], told["day"]) == (str(folder), folder.name)
        row = pq.read_table(out).to_pylist()[-1]
        for side in ("precision_lower", "precision_upper", "outcome", "change", "run_lower", "run_upper"):
            assert told[side] == row[side], side
        assert told["level"] == "warning"
        kinds.append(told["change"])
    assert "fall" in kinds


def test_of_days_that_are_in_the_history_the_log_tells_the_last(catalogue, days, tmp_path, capsys):
    made, out = [folder for folder, _, _ in days], tmp_path / "history.parquet"
    shutil.copyfile(catalogue.path("nights-watched") / "watch.parquet", out)
    asked = ["precision@score:0.5 >= 0.7", "--out", out]
    again = logged(capsys, "monitor", *made[:2], *asked, status=4)  # of the mean, still
    (told,) = [one for one in again if one["event"] == "monitor"]
    assert (told["day"], told["run_outcome"], told["level"]) == (made[-1].name, "fail", "warning")


@pytest.mark.parametrize(("verb", "result"), [
    ("plan", "to label"), ("select", "tasks.csv"), ("evaluate", "Precision among the first k items"),
    ("check", "inconclusive"),
])  # fmt: skip
def test_quiet_prints_results_and_no_next_step(verb, result, study, catalogue, tmp_path, capsys, monkeypatch):
    bounds = streameval.show(catalogue.path("curve-evaluated"), "precision@1000").bounds["precision@1000"]
    command = {
        "plan": ["plan", catalogue.lists / "list.parquet", "--study", tmp_path / "new", "--budget", 90, "--seed", 0],
        "select": ["select", study("curve-planned"), "--export", tmp_path / "tasks.csv"],
        "evaluate": ["evaluate", study("curve-evaluated")],
        "check": ["check", catalogue.path("curve-evaluated"),
                  f"precision@1000 >= {(bounds.lower + bounds.estimate) / 2:.4f}"],
    }[verb]  # fmt: skip
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)  # where a bar would be drawn
    for flags, step in (([], True), (["--quiet"], False)):
        capsys.readouterr()
        run([*map(str, command), *flags])
        said = capsys.readouterr()
        assert result in said.out
        assert bool(re.search("^Next: ", said.out, re.MULTILINE)) == step
    assert said.err == ""


def test_quiet_prints_errors_and_events(catalogue, capsys):
    study = str(catalogue.path("curve-evaluated"))
    assert run(["check", study, "precision@0 >= 0.5", "--quiet"]) == 2
    assert re.fullmatch(r"streameval: .*\n", capsys.readouterr().err)
    assert run(["check", study, "precision@100 >= 0.5", "--quiet", "--log", "json"]) == 0
    assert [json.loads(line)["event"] for line in capsys.readouterr().err.splitlines()] == ["check", "done"]
    assert run(["check", study, "precision@0 >= 0.5", "--quiet", "--log", "json"]) == 2
    assert [json.loads(line)["level"] for line in capsys.readouterr().err.splitlines()] == ["error"]


def test_the_defaults_file_may_ask_for_a_log(catalogue, tmp_path, capsys, monkeypatch):
    study = catalogue.path("curve-evaluated")
    monkeypatch.chdir(tmp_path)
    (tmp_path / "streameval.toml").write_text('[check]\nlog = "json"\n[show]\nquiet = true\n')
    capsys.readouterr()
    assert run(["check", str(study), "precision@1000 >= 0.1"]) == 0
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [one["event"] for one in lines] == ["check", "done"]
    assert run(["show", str(study), "precision@10"]) == 0
    assert capsys.readouterr().err == ""
