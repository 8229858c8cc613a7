"""What `check` says to do next does lead on: its commands are typed as printed."""

import json
import shlex

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.cli import run


def next_step(capsys, study, *checks):
    """The command of the line "Next:", as the shell would read it."""
    assert run(["check", str(study), *checks, "--json"]) == 5
    said = json.loads(capsys.readouterr().out.splitlines()[-1])["next"]
    assert said.startswith("`streameval ")
    assert run(["check", str(study), *checks]) == 5
    assert f"Next: {said}." in capsys.readouterr().out.splitlines()
    return shlex.split(said.split("`")[1])[1:]


def answered(study, truth, path, most=None):
    """A label table of the first planned ranks, as a file."""
    ranks = streameval.Study(study).plan().ranks[:most]
    pq.write_table(pa.table({"rank": ranks, "label": truth[ranks - 1]}), path)
    return str(path)


@pytest.mark.parametrize("growing", [{}, {"stages": 3, "growing": True}])
def test_the_next_step_of_a_gate_leads_to_its_decision(tmp_path, monkeypatch, capsys, one_ranking, growing):
    folder, _, truth = one_ranking
    monkeypatch.chdir(tmp_path)
    asked = f"precision@5000 >= {truth[:5_000].mean() - 0.15:.6f}"
    streameval.plan(str(folder), "study", seed=4, budget=150, **growing)
    streameval.evaluate("study", labels=answered("study", truth, "some.parquet", most=40))
    command = next_step(capsys, "study", asked)
    assert run(command) == 0  # hands out the tasks that have no label yet
    assert command[:1] == ["select"]
    streameval.evaluate("study", labels=answered("study", truth, "all.parquet"))
    study, steps = "study", []
    while run(["check", study, asked]) == 5:
        assert len(steps) < 4
        command = next_step(capsys, study, asked)
        assert run(command) == 0
        steps.append(command[0])
        study = command[1] if command[0] == "grow" else command[command.index("--study") + 1]
        assert run(["select", study]) == 0
        streameval.evaluate(study, labels=answered(study, truth, f"{len(steps)}.parquet"))
    assert steps[0] == ("grow" if growing else "plan")
    capsys.readouterr()
    assert run(["check", study, asked]) == 0
    assert "Next:" not in capsys.readouterr().out


def test_bounds_that_promise_nothing_lead_to_a_plan_that_does(tmp_path, monkeypatch, capsys, one_ranking):
    folder, _, truth = one_ranking
    monkeypatch.chdir(tmp_path)
    ranks = range(1, 2_000, 20)
    drawn = pa.table({"rank": list(ranks), "label": truth[[one - 1 for one in ranks]]})
    streameval.adopt(str(folder), "study", drawn, drawn="unknown")
    streameval.evaluate("study")
    assert run(next_step(capsys, "study", "precision@10 >= 0")) == 0
