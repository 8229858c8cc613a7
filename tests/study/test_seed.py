"""The seed: fresh for every study, kept with its plan, and asked for where versions of a list are to share a draw."""

import json
import random
import re
import shlex

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from binomial import binomial_tail
from label_tables import judged
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.kinds.planning import fresh_seed
from streameval.study import Study
from streameval.study.provenance import commands
from streameval.types import Plan

N = 4_000


@pytest.fixture
def items(tmp_path):
    path = tmp_path / "list.parquet"
    score = np.linspace(1, 0, N)
    pq.write_table(pa.table({"id": np.arange(N), "team": np.arange(N) % 2, "conf": score}), path)
    return str(path)


def said(capsys, *arguments):
    capsys.readouterr()
    status = run([str(one) for one in arguments])
    out = capsys.readouterr()
    return status, out.out if status == 0 else out.err


def header(study):
    return json.loads((study / "plan.json").read_text())


def mended_nightly(nights, folder, **options):
    """Plan, label and evaluate a list every night, and each day mend what was found wrong; how often truth is out."""
    truth = (np.random.default_rng(1).random(N) < 0.8).astype(np.int8)
    missed = []
    for night in range(nights):
        study = folder / f"night-{night}{len(options)}"
        ranks = streameval.plan(pa.table({"id": np.arange(N)}), study, budget=600, **options).ranks
        found = judged(study, pa.table({"rank": ranks, "label": truth[ranks - 1]}))
        assert found.curve.claim.coverage == "simultaneous"
        low, high = found.curve.envelope.at(np.arange(1, N + 1))
        y = np.cumsum(truth)
        missed.append(not np.all((low <= y) & (y <= high)))
        truth[ranks - 1] = 1  # what was found wrong is mended, and the next list has it right
    return missed


def test_a_list_that_is_mended_by_its_labels_is_bounded_all_the_same(tmp_path, monkeypatch):
    source = random.Random(11)  # stands in for the system's entropy, so that this test is the same every time
    monkeypatch.setattr("secrets.randbits", source.getrandbits)
    missed = [one for i in range(examples(1, 20)) for one in mended_nightly(examples(3, 8), tmp_path / str(i))]
    assert sum(missed[:3]) == 0
    assert binomial_tail(len(missed), sum(missed), 0.05) > 1e-3  # a night's bounds may be wrong one time in twenty
    same = mended_nightly(examples(2, 4), tmp_path, seed=0)
    assert all(same[1:])  # with one seed for all nights, every list after the first


def test_a_default_seed_is_fresh_and_fits_any_reader_of_json(items, tmp_path, capsys):
    seeds = [streameval.plan(items, tmp_path / f"p{i}", budget=300).seed for i in range(3)]
    assert run(["plan", items, "--study", str(tmp_path / "c"), "--budget", "300"]) == 0
    assert len({*seeds, header(tmp_path / "c")["seed"]}) == 4
    many = np.array([fresh_seed() for _ in range(2_000)])
    assert np.all((many >= 0) & (many < 2**53))
    assert 0.4 < np.mean(many >= 2**52) < 0.6
    assert float(many[0]) == int(many[0])


def test_the_seed_is_printed_kept_and_drawn_again(items, tmp_path, capsys):
    _, out = said(capsys, "plan", items, "--study", tmp_path / "a", "--budget", "300")
    seed = header(tmp_path / "a")["seed"]
    assert f"--seed {seed} plans the same again" in out
    status, out = said(capsys, "plan", items, "--study", tmp_path / "b", "--budget", "300", "--seed", seed, "--json")
    assert (status, json.loads(out)["seed"]) == (0, seed)
    assert pq.read_table(tmp_path / "a" / "plan.parquet").equals(pq.read_table(tmp_path / "b" / "plan.parquet"))
    status, out = said(capsys, "plan", items, "--study", tmp_path / "never", "--budget", "300", "--dry-run")
    assert "--seed " in out
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize("flags", [["--budget", "300"], ["--by", "team", "--budget", "300"],
                                   ["--method", "paula(epsilon=0.3, window=10)"],
                                   ["--stages", "3:later", "--budget", "300"]])  # fmt: skip
def test_the_same_plan_again_keeps_the_seed(items, tmp_path, capsys, flags):
    study = tmp_path / "s"
    assert run(["plan", items, "--study", str(study), *flags]) == 0
    before = {name: (study / name).read_bytes() for name in ("plan.json", "plan.parquet")}
    for made in ([], ["select", str(study)]):
        assert not made or run(made) == 0
        status, out = said(capsys, "plan", items, "--study", study, *flags)
        assert (status, "as planned before" in out) == (0, True)
        assert {name: (study / name).read_bytes() for name in before} == before
    status, err = said(capsys, "plan", items, "--study", study, *flags, "--seed", "7")
    seed = header(study)["seed"]
    assert (status, err.count("\n")) == (2, 1)
    assert f"seed {seed} then, 7 now" in err


def test_a_study_that_grew_keeps_its_seed(items, tmp_path, capsys):
    study = tmp_path / "s"
    flags = ["--stages", "3:later", "--budget", "300"]
    assert run(["plan", items, "--study", str(study), *flags]) == 0
    seed, ranks = header(study)["seed"], Study(study).plan().ranks
    assert run(["grow", str(study), "--budget", "400"]) == 0
    assert header(study)["seed"] == seed
    assert np.all(np.isin(ranks, Study(study).plan().ranks))
    status, out = said(capsys, "plan", items, "--study", study, *flags)
    assert (status, "as planned before" in out) == (0, True)


def test_shards_find_the_ranks_of_one_machine(items, tmp_path, capsys):
    shared, alone = tmp_path / "shared", tmp_path / "alone"
    flags = ["--score", "conf", "--budget", "300"]
    assert run(["plan", items, "--study", str(shared), *flags]) == 0
    done = ""
    while "All scans are done" not in done:
        for shard in ("1/2", "2/2"):
            assert run(["plan", items, "--study", str(shared), *flags]) == 0  # every job plans: the first one's stays
            done = said(capsys, "scan", shared, "--shard", shard)[1]
    assert run(["select", str(shared)]) == 0
    assert run(["plan", items, "--study", str(alone), *flags, "--seed", str(header(shared)["seed"])]) == 0
    assert run(["select", str(alone)]) == 0
    assert pq.read_table(shared / "selection.parquet").equals(pq.read_table(alone / "selection.parquet"))


def test_versions_share_a_draw_by_key_only_with_one_seed(items, tmp_path, capsys):
    draw = ["--budget", "300", "--on", "id"]
    labels = tmp_path / "v1.csv"
    labels.write_text("id,label\n" + "".join(f"{i},1\n" for i in range(0, N, 2)))
    reuse = ["--budget", "300", "--reuse", str(labels), "--on", "id", "--labels-unseen-by-model", "yes"]
    for flags in (draw, reuse):
        status, err = said(capsys, "plan", items, "--study", tmp_path / "none", *flags)
        assert (status, err.count("\n")) == (2, 1)
        assert "share a draw by key only if they share a seed" in err
        assert "Hint: --seed " in err
        assert not (tmp_path / "none").exists()
    with pytest.raises(streameval.InputError, match="only if they share a seed"):
        streameval.plan(items, tmp_path / "none", on="id", budget=300)
    drawn = {}
    for name, seed in (("a", 41), ("b", 41), ("c", 42)):
        status, out = said(capsys, "plan", items, "--study", tmp_path / name, *draw, "--seed", seed)
        assert (status, f"with --seed {seed}" in out) == (0, True)
        drawn[name] = set(Study(tmp_path / name).plan().ranks.tolist())
    assert drawn["a"] == drawn["b"]
    assert len(drawn["a"] & drawn["c"]) < 0.6 * len(drawn["a"])
    before = (tmp_path / "a" / "plan.json").read_bytes()
    assert run(["plan", items, "--study", str(tmp_path / "a"), *draw]) == 0  # again: its own seed
    assert (tmp_path / "a" / "plan.json").read_bytes() == before


def test_simulations_are_the_same_every_time(tmp_path, capsys):
    table = pa.table({"label": (np.random.default_rng(0).random(500) < 0.7).astype(np.int8)})
    pq.write_table(table, tmp_path / "l.parquet")
    ask = [
        "simulate",
        tmp_path / "l.parquet",
        "--label",
        "label",
        "--method",
        "loguniform",
        "--replicates",
        5,
        "--json",
    ]
    assert said(capsys, *ask) == said(capsys, *ask)


def test_a_study_is_made_again_by_the_command_it_tells(catalogue, tmp_path):
    study = catalogue.path("curve-evaluated")
    command = streameval.sql(study, "SELECT command FROM provenance").column(0)[0].as_py().splitlines()[0]
    again = [str(tmp_path / "again") if one == "STUDY" else one for one in shlex.split(command)[1:]]
    assert run(again) == 0
    assert header(tmp_path / "again")["plan_id"] == header(study)["plan_id"]


@pytest.mark.parametrize("how", ["--by", "--on"])
def test_what_plan_prints_and_what_the_page_prints_plan_the_same_again(items, tmp_path, capsys, how):
    column = "team" if how == "--by" else "id"
    study, seed = tmp_path / "a", [] if how == "--by" else ["--seed", "5"]
    _, out = said(capsys, "plan", items, "--study", study, how, column, *seed)
    same = re.search(r"--seed \d+ " + how + r" \w+", out)[0].split()
    assert said(capsys, "plan", items, "--study", tmp_path / "b", *same)[0] == 0
    plan = Study(study).plan()
    assert Study(tmp_path / "b").plan().plan_id == plan.plan_id
    command = shlex.split(commands(plan, {}, str(tmp_path / "c"))[0])
    assert said(capsys, *command[1:])[0] == 0
    assert Study(tmp_path / "c").plan().plan_id == plan.plan_id
    assert all(one["seed"] < 2**53 for one in plan.notes.get("slices", ()))  # doubles keep such integers


def test_plan_again_leads_on_from_where_the_study_stands(items, tmp_path, capsys):
    command = ["plan", items, "--study", tmp_path / "study", "--stages", "2:later"]
    assert f"Next: streameval select {tmp_path / 'study'}" in said(capsys, *command)[1]
    assert said(capsys, "select", tmp_path / "study")[0] == 0
    assert f"Next: streameval evaluate {tmp_path / 'study'} --labels" in said(capsys, *command)[1]
    grown = ["grow", tmp_path / "study", "--budget", 2_000]
    assert f"Next: streameval select {tmp_path / 'study'}" in said(capsys, *grown)[1]


def test_the_command_that_plans_again_names_all_that_describes_the_ranking():
    ranking = {"score": "s", "ascending": True, "key": ["a", "b"], "nan": "last", "where": "day >= '2026-11-01'"}
    location = {"source": ["lake"], "file_order": "natural", "memory": 4.0, "threads": 2, "verify": "off"}
    plan = Plan("uniform", {}, 9, 0, pa.table({"rank": [1]}), ranking, {"by": "land"}, location)
    words = shlex.split(commands(plan, {})[0])
    for option, value in (("--key", "a,b"), ("--nan", "last"), ("--file-order", "natural"),
                          ("--where", "day >= '2026-11-01'"), ("--verify", "off"), ("--by", "land")):  # fmt: skip
        assert words[words.index(option) + 1] == value
    assert "--score=-s" in words
    assert not {"--memory", "--threads"} & set(words)
