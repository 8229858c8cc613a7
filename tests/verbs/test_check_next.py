"""What `check` says to do next does lead on: its commands are typed as printed."""

import json
import shlex
import shutil
import statistics
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from measured import with_tables
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.questions import Question
from streameval.reporting.next_step import more_labels
from streameval.study import Study
from streameval.verbs.grow import Growth, grown_plan


def next_step(capsys, study, *checks):
    """The command of the line "Next:", as the shell would read it."""
    status, said = next_said(capsys, study, *checks)
    assert status == 5
    assert run(["check", str(study), *checks]) == 5
    assert f"Next: {said}." in capsys.readouterr().out.splitlines()
    return words_of(said)


def next_said(capsys, study, *checks):
    """The status of `check`, and the next step that it names as JSON."""
    capsys.readouterr()
    status = run(["check", str(study), *checks, "--json"])
    return status, json.loads(capsys.readouterr().out.splitlines()[-1])["next"]


def words_of(said):
    assert said.startswith("`streameval ")
    return shlex.split(said.split("`")[1])[1:]


def answered(study, truth, path, most=None):
    """A label table of the first planned ranks, as a file."""
    ranks = streameval.Study(study).plan().ranks[:most]
    pq.write_table(pa.table({"rank": ranks, "label": truth[ranks - 1]}), path)
    return str(path)


def test_a_gate_whose_own_tasks_are_open_asks_for_them(catalogue, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    catalogue.copy("curve-half-labelled", "study")
    (bounds,) = streameval.show("study", "precision@1500").bounds.values()
    command = next_step(capsys, "study", f"precision@1500 >= {(bounds.lower + bounds.upper) / 2:.6f}")
    assert command[:1] == ["select"]
    assert run(command) == 0  # hands out the tasks that have no label yet


@pytest.mark.parametrize("growing", [{}, {"stages": "3:later"}])
def test_the_next_step_of_a_gate_leads_to_its_decision(tmp_path, monkeypatch, capsys, one_ranking, growing):
    folder, _, truth = one_ranking
    monkeypatch.chdir(tmp_path)
    asked = f"precision@5000 >= {truth[:5_000].mean() - 0.2:.6f}"
    streameval.plan(str(folder), "study", seed=4, budget=150, **growing)
    with_tables(Path("study"), answered("study", truth, "all.parquet"))
    study, steps = "study", []
    while (said := next_said(capsys, study, asked))[0] == 5:
        assert len(steps) < 4
        command = words_of(said[1])
        assert run([*command, *(["--seed", "1"] if command[0] == "plan" else [])]) == 0
        steps.append(command[0])
        study = command[1] if command[0] == "grow" else command[command.index("--study") + 1]
        assert run(["select", study]) == 0
        with_tables(Path(study), answered(study, truth, f"{len(steps)}.parquet"))
    assert steps[0] == ("grow" if growing else "plan")
    capsys.readouterr()
    assert run(["check", study, asked]) == 0
    assert "Next:" not in capsys.readouterr().out


@pytest.mark.parametrize("seed", range(4))
def test_the_labels_that_a_next_step_names_reach_the_next_stage(tmp_path, seed):
    plan = streameval.plan(pa.table({"x": range(9_000)}), tmp_path, budget=150, stages="3:later", seed=seed)
    planned = plan.table.num_rows
    for wanted in (1, 20, 56, 100, 200):
        account = {"account": {"labelled": planned, "planned": planned}}
        words = shlex.split(more_labels(plan, account, "study", planned + wanted).command)
        assert words[:3] == ["streameval", "grow", "study"]
        grown = grown_plan(Study(tmp_path), plan, Growth(budget=int(words[-1])))
        assert planned < grown.table.num_rows <= planned + int(words[-1])


def test_bounds_that_promise_nothing_lead_to_a_plan_that_does(tmp_path, monkeypatch, capsys, one_ranking):
    folder, _, truth = one_ranking
    monkeypatch.chdir(tmp_path)
    ranks = range(1, 2_000, 20)
    drawn = pa.table({"rank": list(ranks), "label": truth[[one - 1 for one in ranks]]})
    streameval.adopt(str(folder), "study", drawn, drawn="unknown")
    with_tables(Path("study"))
    assert run(next_step(capsys, "study", "precision@10 >= 0")) == 0


def said_alone(capsys, study, *checks):
    assert run(["check", str(study), *checks, "--json"]) == 5
    said = json.loads(capsys.readouterr().out.splitlines()[-1])["alone"]
    assert run(["check", str(study), *checks]) == 5
    assert (f"Or: {said}." in capsys.readouterr().out.splitlines()) == bool(said)
    return said


def offered(study, *checks):
    found = streameval.check(study, list(checks))
    assert found.outcome in ("waiting", "inconclusive")
    return found.alone


def labels_until_decided(question, truth):
    labels = 0
    while (tasks := streameval.select(question).table).num_rows:
        labels += tasks.num_rows
        ranks = tasks.column("rank")
        streameval.evaluate(question, labels=pa.table({"rank": ranks, "label": truth[ranks.to_numpy() - 1]}))
    return labels


def test_while_tasks_of_a_study_are_open_no_question_is_offered(catalogue):
    study = catalogue.path("curve-half-labelled")
    (bounds,) = streameval.show(study, "precision@1500").bounds.values()
    assert offered(study, f"precision@1500 >= {(bounds.lower + bounds.upper) / 2:.4f}") == ""


def test_conditions_that_are_open_are_offered_as_a_question_with_the_labels_that_it_takes(
    tmp_path, monkeypatch, capsys, one_ranking
):
    """The number is a median if the estimate is true; here the truth is near it, and a seed or three are tried."""
    folder, _, truth = one_ranking
    monkeypatch.chdir(tmp_path)
    asked = str(Question.of(f"precision@5000 >= {truth[:5_000].mean() - 0.12:.4f}"))
    streameval.plan(str(folder), "study", seed=4, budget=300)
    with_tables(Path("study"), answered("study", truth, "all.parquet"))
    said = said_alone(capsys, "study", asked)
    assert said == f"`streameval plan --study study --for '{asked}'` asks this as a question of its own"
    (one,) = streameval.check("study", asked)
    forecast = one.labels - Study("study").evaluation().summary["account"]["labelled"]
    assert one.decides == f"about {forecast:,} more labels, asked alone"
    taken = []
    for seed in (11, 12, 13)[: examples(1, 3)]:
        shutil.copytree("study", f"seed{seed}/study")
        monkeypatch.chdir(tmp_path / f"seed{seed}")
        words = [f"{word} round 400" if word == asked else word for word in shlex.split(said.split("`")[1])[1:]]
        assert run([*words, "--seed", str(seed)]) == 0
        taken.append(labels_until_decided("study/question-1", truth))
        assert run(["check", "study/question-1"]) == 0
        monkeypatch.chdir(tmp_path)
    assert forecast / 4 <= statistics.median(taken) <= 4 * forecast


def test_one_forecast_is_made_of_one_condition_wherever_it_is_said(tmp_path, monkeypatch, capsys, one_ranking):
    """A curve would take all items, the question fewer: the number is that of the command that is printed."""
    folder, _, truth = one_ranking
    monkeypatch.chdir(tmp_path)
    streameval.plan(str(folder), "study", seed=4, budget=300)
    with_tables(Path("study"), answered("study", truth, "all.parquet"))
    (bounds,) = streameval.show("study", "precision@5000").bounds.values()
    asked = f"precision@5000 >= {bounds.estimate + 0.06 * (bounds.upper - bounds.lower):.4f}"
    (one,) = streameval.check("study", asked)
    said = said_alone(capsys, "study", asked)
    labelled = Study("study").evaluation().summary["account"]["labelled"]
    assert one.decides == f"about {one.labels - labelled:,} more labels, asked alone"
    assert "about" not in said
    assert run(["check", "study", asked]) == 5
    assert capsys.readouterr().out.count("about ") == 1


def test_a_question_is_offered_only_where_one_answers_all_that_is_open(tmp_path, monkeypatch, one_ranking):
    folder, _, truth = one_ranking
    monkeypatch.chdir(tmp_path)
    streameval.plan(str(folder), "study", seed=4, budget=300, confidence=0.9)
    with_tables(Path("study"), answered("study", truth, "all.parquet"))
    share = truth[:5_000].mean()
    gates = [
        str(Question.of(f"precision@5000 >= {share - 0.08:.4f}")),
        str(Question.of(f"precision@2000 >= {truth[:2_000].mean() - 0.05:.4f}")),
    ]
    together = shlex.split(offered("study", *gates).split("`")[1])
    assert together[:6] == ["streameval", "plan", "--study", "study", "--for", gates[0]]
    assert together[6:] == ["--for", gates[1], "--confidence", "0.9"]
    recall = truth[:5_000].sum() / truth.sum()
    assert offered("study", f"recall@5000 >= {recall - 0.05:.4f}")
    assert offered("study", gates[0], f"recall@5000 >= {recall - 0.03:.4f}").count("--for") == 2
    assert not offered("study", f"average_precision >= {share:.4f}")
    assert not offered("study", gates[0], f"average_precision >= {share:.4f}")
    with_tables(Path("study"), misses=30)
    assert not offered("study", f"recall@5000 >= {recall - 0.05:.4f}")
    assert offered("study", gates[0])
    with_tables(Path("study"), label_error=0.01)
    assert not offered("study", gates[0])
    streameval.plan(pq.read_table(folder), "memory", seed=4, budget=300)
    with_tables(Path("memory"), answered("memory", truth, "all.parquet"))
    assert not offered("memory", gates[0])


def test_a_forecast_of_several_conditions_is_said_to_be_of_all_of_them(tmp_path, monkeypatch, capsys, one_ranking):
    """Asked by itself, a condition on the first 2,000 items could not take as many as the list has."""
    folder, _, truth = one_ranking
    monkeypatch.chdir(tmp_path)
    streameval.plan(str(folder), "study", seed=4, budget=300)
    with_tables(Path("study"), answered("study", truth, "all.parquet"))
    near = [
        f"{measure} >= {bounds.estimate - 0.1 * (bounds.estimate - bounds.lower):.4f}"
        for measure in ("precision@2000", "recall@5000")
        for bounds in streameval.show("study", measure).bounds.values()
    ]
    first, second = streameval.check("study", near)
    assert first.decides == second.decides
    assert first.decides.endswith(" more labels, asked with the others")
    assert said_alone(capsys, "study", *near).endswith(" asks these together, as questions of their own")
    (alone,) = streameval.check("study", near[0])
    assert alone.labels < first.labels
