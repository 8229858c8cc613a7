"""A judge: classes, counts by block, coverage whatever it says, and the journey with one from plan to report."""

import json
import shutil
from math import comb
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from label_tables import judged
from suite_cases import examples, slow

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError
from streameval.judges.classes import agreement, judged_in_order
from streameval.judges.values import Judge
from streameval.methods import create
from streameval.methods.loguniform.design import blocks
from streameval.methods.loguniform.forecasts import Expected, simulate, simulated_median
from streameval.methods.replicates import replicate
from streameval.study import Study
from streameval.types import Labels

N = 6_000
RNG = np.random.default_rng(11)
TRUTH = (RNG.random(N) < np.linspace(0.95, 0.4, N)).astype(np.int8)
SAID = np.where(RNG.random(N) < 0.9, TRUTH, 1 - TRUTH).astype(float)
SAID[RNG.random(N) < 0.02] = np.nan


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    """A folder with the list best first, the list in no order, and the truth."""
    folder = tmp_path_factory.mktemp("lists")
    items = pa.table({"item": [f"item {r + 1}" for r in range(N)], "llm": pa.array(SAID, from_pandas=True),
                      "score": np.linspace(1, 0, N), "truth": TRUTH,
                      "day": pa.nulls(N, pa.date32())})  # fmt: skip
    pq.write_table(items, folder / "list.parquet", row_group_size=3_000)
    shuffled = items.take(pa.array(np.random.default_rng(2).permutation(N)))
    pq.write_table(shuffled, folder / "shuffled.parquet", row_group_size=3_000)
    pq.write_table(pa.table({"rank": np.arange(1, N + 1), "label": TRUTH}), folder / "truth.parquet")
    return folder


@pytest.fixture
def files(lists, tmp_path, monkeypatch):
    """The same, as the folder that one is in."""
    monkeypatch.chdir(shutil.copytree(lists, tmp_path / "files"))
    return tmp_path / "files"


def planned(*more, ranking="list.parquet", study="s"):
    return run(
        [
            "plan",
            ranking,
            "--study",
            study,
            "--seed",
            "3",
            "--alpha",
            "0.2",
            *([] if "--judge" in more else ["--judge", "llm"]),
            *more,
        ]
    )


@pytest.mark.parametrize(("ranking", "order"), [("list.parquet", ()), ("shuffled.parquet", ("--score", "score"))])
def test_counts_by_block_and_classes_of_planned_ranks_are_the_naive_ones(files, ranking, order):
    assert planned("--judge", "llm(0.3,0.6)", *order, ranking=ranking) == 0
    plan = Study(Path("s")).plan()
    naive = np.where(np.isnan(SAID), 3, np.where(SAID >= 0.6, 2, np.where(SAID >= 0.3, 1, 0))).astype(int)
    assert plan.table.column("judge_class").to_pylist() == naive[plan.ranks - 1].tolist()
    ends = np.unique(plan.judge_counts.column("stratum_last").to_numpy())
    block = np.searchsorted(ends, np.arange(1, N + 1))
    counts = plan.judge_counts.column("items").to_numpy().reshape(-1, 4)
    for g in range(4):
        assert counts[:, g].tolist() == np.bincount(block[naive == g], minlength=ends.size).tolist()


WORDS = pa.array(["yes", " No", None, "TRUE", "f", "", "skip", "0.7", "1", "0.2"])
KINDS = {
    "bool": pa.array([True, False, None, True, False, True]),
    "whole": pa.array([True, False, True]),
    "uint8": pa.array([1, 0, 1, 0], pa.uint8()),
    "int64": pa.array([1, None, 0]),
    "float32": pa.array([0.05, 0.3, np.nan, 0.95, None, 0.0, 1.0], pa.float32()),
    "float16": pa.array(np.array([0.05, 0.3, 0.95], np.float16)),
    "float64": pa.array([0.05, 0.3, 0.95, 0.0, 1.0]),
    "words": WORDS,
    "dictionary": WORDS.dictionary_encode(),
    "nothing": pa.array([], pa.float32()),
}


@pytest.mark.parametrize("kind", KINDS)
def test_classes_are_the_naive_ones_of_every_type(kind):
    judge, values = Judge("j", (0.05, 0.3, 0.95)), KINDS[kind]
    meant = {"yes": 1.0, "no": 0.0, "true": 1.0, "f": 0.0, "": None, "skip": None}
    plain = [meant.get(v.strip().lower(), v) if isinstance(v, str) else v for v in values.to_pylist()]
    numbers = [None if v is None or np.isnan(float(v)) else float(v) for v in plain]
    naive = [4 if v is None else sum(v >= least for least in judge.thresholds) for v in numbers]
    said = judge.said(pa.chunked_array([values]), "here")
    assert judge.codes_of(said).tolist() == naive
    edges = np.array([0, len(values) // 2, len(values)])
    counts = [np.bincount(np.array(part, int), minlength=5).tolist() for part in (naive[: edges[1]], naive[edges[1] :])]
    assert judge.counted(said, edges).tolist() == counts


def test_a_judge_may_answer_in_words(files):
    words = np.where(np.isnan(SAID), "", np.where(SAID > 0.5, "Yes", "no"))
    items = pq.read_table("list.parquet").set_column(1, "llm", pa.array(words).dictionary_encode())
    pq.write_table(items, "words.parquet", row_group_size=3_000)
    assert planned() == planned(ranking="words.parquet", study="w") == 0
    assert planned() == 0  # the same plan again changes nothing
    one, other = (Study(Path(name)).plan() for name in ("s", "w"))
    assert one.judge_counts == other.judge_counts
    assert one.table == other.table
    assert run(["select", "w", "--export", "tasks.csv"]) == 0
    assert "llm" not in csv.read_csv("tasks.csv").column_names


def test_the_journey_with_a_judge(files, capsys):
    assert planned("--judge", "llm(accuracy=0.9)") == 0
    out = capsys.readouterr().out
    assert ", no answer: 114. People should not see its answers." in out
    assert run(["select", "s", "--export", "tasks.csv"]) == 0
    assert "llm" not in csv.read_csv("tasks.csv").column_names
    assert run(["evaluate", "s", "--labels", "truth.parquet", "--json"]) == 0
    found = Study(Path("s")).evaluation()
    judge, plan = found.summary["diagnostics"]["judge"], Study(Path("s")).plan()
    told = SAID[plan.ranks - 1]
    answered = ~np.isnan(told)
    agrees = told[answered] == TRUTH[plan.ranks - 1][answered]
    assert (judge["labels"], judge["share"]) == (agrees.size, pytest.approx(agrees.mean()))
    assert sum(one["labels"] for one in judge["by_rank"]) == agrees.size
    assert [one["items"] for one in judge["classes"]] == [int(np.sum(SAID == 0)), int(np.sum(SAID == 1)),
                                                          int(np.isnan(SAID).sum())]  # fmt: skip
    low, high = found.curve.envelope.at(np.arange(1, N + 1))
    assert np.all((low <= np.cumsum(TRUTH)) & (np.cumsum(TRUTH) <= high))
    # what it says of the same labels without the judge is what those give
    reached, without = found.curve.half_width().alpha, judge["half_width_without"]
    assert f"The half-width is {reached:.2%} with it and {without:.2%} without" in found.curve.findings[1]
    assert reached < 0.85 * without
    assert "agrees with" in (files / "s" / "report.html").read_text()


def test_a_study_with_a_judge_is_asked_published_and_cut(catalogue, tmp_path, capsys):
    study = catalogue.copy("judge-evaluated", tmp_path / "study")
    assert streameval.sql(study, "SELECT count(DISTINCT judge_class) AS n FROM plan").to_pylist() == [{"n": 2}]
    assert run(["publish", str(study), str(tmp_path / "out")]) == 0
    assert Study(tmp_path / "out").evaluation().evaluation_id == Study(study).evaluation().evaluation_id
    assert run(["cut", str(study), "precision:0.8", "--out", str(tmp_path / "best")]) == 0


def test_a_judge_changes_neither_the_draw_nor_what_is_exact(files):
    assert planned() == 0
    assert run(["plan", "list.parquet", "--study", "plain", "--seed", "3", "--alpha", "0.2"]) == 0
    with_one, plain = (Study(Path(name)).plan() for name in ("s", "plain"))
    assert np.array_equal(with_one.ranks, plain.ranks)
    assert with_one.plan_id != plain.plan_id
    few = 600
    short = pa.table({"llm": SAID[:few]})
    assert streameval.plan(short, "all", judge="llm", budget=few, seed=0).table.num_rows == few
    labels = pa.table({"rank": np.arange(1, few + 1), "label": TRUTH[:few]})
    assert judged("all", labels).curve.half_width().alpha == 0


JUDGES = {
    "accuracy .9": lambda v, rng: np.where(rng.random(v.size) < 0.9, v, 1 - v),
    "always wrong": lambda v, rng: 1 - v,
    "perfect": lambda v, rng: v,
    "constant": lambda v, rng: np.ones(v.size),
    "coin": lambda v, rng: rng.integers(0, 2, v.size),
    "right, then inverted": lambda v, rng: np.where(np.arange(v.size) < v.size / 2, v, 1 - v),
    "right until the first e-folds, then a coin": lambda v, rng: np.where(np.arange(v.size) < v.size / 20, v,
                                                                         rng.integers(0, 2, v.size)),
    "errors rising": lambda v, rng: np.where(rng.random(v.size) < np.linspace(0, 0.6, v.size), 1 - v, v),
}  # fmt: skip
LISTS = {
    "flat": lambda n, rng: rng.random(n) < 0.6,
    "falling": lambda n, rng: rng.random(n) < np.linspace(0.95, 0.1, n),
    "zeros, then ones": lambda n, rng: np.arange(n) >= n // 2,
    "blocks": lambda n, rng: np.arange(n) // 300 % 2 == 0,
}


OFTEN = [(("falling", "blocks")[at % 2], kind) for at, kind in enumerate(JUDGES)]
SHAPES_AND_JUDGES = OFTEN + slow(*((shape, kind) for kind in JUDGES for shape in LISTS if (shape, kind) not in OFTEN))


@pytest.mark.parametrize(("shape", "kind"), SHAPES_AND_JUDGES)
def test_the_truth_is_held_at_every_rank_whatever_the_judge(shape, kind):
    """Up to 60 draws of ranks, 1 of 20 positive labels missing; binomial, p = 1e-4 with 32 pairs in mind."""
    n, rng, missed, delta, runs = 3_000, np.random.default_rng(5), 0, 0.2, examples(30, 60)
    v = LISTS[shape](n, rng).astype(np.int8)
    judge, method = Judge("j"), create("loguniform", {"budget": 250, "confidence": 1 - delta, "judge_accuracy": 0.9})
    codes = JUDGES[kind](v, rng).astype(np.uint8)
    y, ends = np.cumsum(v), method.rates(n)[0]
    for seed in range(runs):
        plan = judged_in_order(method.plan(n, seed), judge, ends, codes)
        label = v[plan.ranks - 1].copy()
        label[(label == 1) & (rng.random(label.size) < 0.05 * (seed % 2))] = -1
        points = method._points(plan, Labels.of(plan, label))[0]
        low, high = points.lower, points.upper
        missed += bool(np.any((low > y[ends - 1]) | (y[ends - 1] > high)))
    assert sum(comb(runs, k) * delta**k * (1 - delta) ** (runs - k) for k in range(missed, runs + 1)) > 1e-4


def test_a_wrong_judge_is_as_good_as_a_right_one_and_a_worthless_one_costs_little():
    n = 20_000
    rng = np.random.default_rng(1)
    v = (rng.random(n) < 0.5).astype(np.int8)
    right = np.where(rng.random(n) < 0.95, v, 1 - v).astype(np.uint8)
    method, judge = create("loguniform", {"budget": 1_500}), Judge("j")
    coin = rng.integers(0, 2, n).astype(np.uint8)
    answers = {"none": None, "right": (judge, right), "wrong": (judge, 1 - right), "coin": (judge, coin)}
    runs = {name: replicate(method, v, examples(4, 8), 0, said) for name, said in answers.items()}
    widths = {name: float(np.median(one.half_widths)) for name, one in runs.items()}
    assert widths["right"] < 0.7 * widths["none"]
    assert widths["wrong"] == pytest.approx(widths["right"], rel=0.05)
    assert widths["coin"] < 1.06 * widths["none"]


def test_a_plan_foresees_the_median_run():
    """In larger blocks, held against a few whole runs, as in runs of the blocks themselves."""
    design, of = blocks(10**6, 150.0), Expected.from_accuracy(0.5, 0.9)
    assert design.merge(6).labels == design.labels
    assert simulated_median(design, 0.05, of, 40_000) == pytest.approx(
        np.median(simulate(design, 0.05, of, 60, seed=1)[0]), rel=0.03
    )


def test_labels_that_a_judge_saves():
    without, with_one = (create("loguniform", {"alpha": 0.15, "judge_accuracy": a}).cost(10**6) for a in (None, 0.95))
    assert with_one["labels"] < 0.5 * without["labels"]
    assert with_one["accuracy"] == 0.15
    back = create("loguniform", {"budget": with_one["labels"], "judge_accuracy": 0.95}).cost(10**6)
    assert back["accuracy"] == pytest.approx(0.15, rel=0.03)


def test_simulate_runs_with_a_judge_and_without(files, capsys):
    assert run(["simulate", "list.parquet", "--label", "truth", "--method", "loguniform", "--judge", "llm",
                "--budget", "800", "--replicates", "3", "--json"]) == 0  # fmt: skip
    rows = {row["method"]: row for row in json.loads(capsys.readouterr().out)["methods"]}
    assert set(rows) == {"loguniform", "loguniform with llm"}
    assert rows["loguniform with llm"]["half_width"] < rows["loguniform"]["half_width"]
    assert rows["loguniform with llm"]["labels"] == rows["loguniform"]["labels"]


def test_bad_input_is_one_line(files, capsys):
    items = pq.read_table("list.parquet")
    pq.write_table(items.set_column(1, "llm", pa.array(np.linspace(0, 1.5, N))), "odd.parquet")
    for arguments, says in [
        (["--judge", "llm(0.5,0.2)"], "the thresholds of --judge are 0.5,0.2. Hint: they rise"),
        (
            ["--judge", "llm(0.5,x)"],
            "the thresholds of --judge are '0.5,x'. Hint: such as llm(0.05, 0.95, accuracy=0.9)",
        ),
        (["--judge", "llm(x)"], "no column 'llm(x)'"),
        (["--judge", "(0.5)"], "--judge '(0.5)' names no column"),
        (["--judge", "llm(0.5,1.5)"], "the thresholds of --judge are 0.5,1.5. Hint: they rise, inside (0, 1)"),
        (["--judge", "llm(.1,.2,.3,.4,.5,.6,.7)"], "9 classes of a judge"),
        (["--judge", "lllm"], "no column 'lllm'. Hint: did you mean 'llm'"),
        (
            ["--judge", "item"],
            "row group 0, row 0 (from 0): judge column 'item' has 'item 1'. Hint: a judge says yes or no",
        ),
        (["--judge", "day"], "judge column 'day' is date32[day]. Hint: a judge says yes or no"),
        (["--stages", "3:later"], "--stages 3:later does not go with a judge"),
        (["--by", "llm"], "a judge does not go with slices"),
        (["--method", "paula"], "has no use for a judge"),
        (["--on", "item"], "a judge does not go with draws by key"),
        (["--judge", "llm(accuracy=90)"], "accuracy of --judge is 90"),
        (["--judge", "llm(acuracy=0.9)"], "llm has no parameter 'acuracy'. Hint: did you mean 'accuracy'?"),
        (["--judge", "llm(accuracy=x)"], "accuracy is a number, and 'x' is none (at column 14)"),
    ]:
        alpha = ["--alpha", "0.2"] if "paula" not in arguments else []
        judge = [] if "--judge" in arguments else ["--judge", "llm"]
        assert run(["plan", "list.parquet", "--study", "x", "--seed", "3", *alpha, *judge, *arguments]) == 2, arguments
        said = capsys.readouterr().err
        assert says in said
        assert said.count("\n") == 1
    assert planned(ranking="odd.parquet", study="x") == 2
    assert "judge column 'llm' has 1.0" in capsys.readouterr().err
    with pytest.raises(InputError, match=r"'judge_accuracy' any more. Hint: it is judge='COLUMN\(accuracy=0.9\)'"):
        streameval.plan("list.parquet", "x", judge_accuracy=0.9)
    with pytest.raises(InputError, match=r"no option 'judge_classes' any more. Hint: it is judge='COLUMN\(0.5\)'"):
        streameval.plan("list.parquet", "x", judge_classes="0.5")


def test_a_judge_that_says_other_things_by_now_is_refused(files, monkeypatch):
    assert planned() == 0
    changed = pq.read_table("list.parquet")
    changed = changed.set_column(1, "llm", pa.array(np.where(np.isnan(SAID), 0, 1 - SAID)))
    monkeypatch.setattr(
        "streameval.study.planned_ranking.open_planned", lambda plan, ranking: streameval.open_ranking(changed)
    )
    with pytest.raises(StudyError, match="judge column 'llm' has changed since the plan"):
        streameval.select("s")


def test_agreement_counts_probabilities_by_their_middle():
    plan = create("loguniform", {"budget": 100}).plan(100)
    judge, ends = Judge("p", (0.2, 0.7)), create("loguniform", {"budget": 100}).rates(100)[0]
    judged = judged_in_order(plan, judge, ends, (np.arange(100) % 4).astype(np.uint8))
    weight = np.where(np.arange(100) % 4 == 2, 4.0, 1.0)
    found = agreement(judged, Labels.of(judged, np.ones(100, np.int8)), weight)
    assert (found["labels"], found["share"]) == (75, pytest.approx(1 / 3))  # 0.2 to 0.7 has its middle below a half
    assert found["share_of_list"] == pytest.approx(4 / 6)
    assert [one["labels"] for one in found["classes"]] == [25, 25, 25, 25]
