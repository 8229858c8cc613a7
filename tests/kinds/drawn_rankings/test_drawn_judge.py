"""A judge of many rankings: the martingale with predictions, the predictions themselves, and the journey."""

import itertools
import math

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from binomial import binomial_tail
from drawn_found import found_by, found_of, told_of
from suite_cases import examples

import streameval
from streameval import InputError, RankingOptions
from streameval.cli import run
from streameval.kernels.jit import small
from streameval.kernels.predictions import STEP
from streameval.kernels.without_replacement import lower_bound, stakes_for, wealth_of
from streameval.per_query.predicted import METRICS, predict_all, predictions_of
from streameval.per_query.scattered import Room
from streameval.progress import silent
from streameval.rankings import open_ranking
from streameval.study import Study

# numbers of mean 1/2 or 1/4 exactly, and what judges say of them
POPULATIONS = [
    ((0.0, 1.0), (1.0, 0.25)),
    ((0.0, 0.0, 0.0, 1.0), (0.0, 0.0, 0.0, 1.0)),
    ((0.0, 0.0, 0.0, 1.0), (1.0, 1.0, 1.0, 0.0)),
    ((0.25, 0.0, 1.0, 0.75), (0.5, 0.5, 0.5, 0.5)),
    ((0.0, 0.0, 0.5, 1.0, 1.0), (0.25, 0.0, 0.75, 0.5, 1.0)),
    ((1.0, 1.0, 0.5, 0.0, 0.0), (0.25, 0.0, 0.75, 0.5, 1.0)),
]


@pytest.mark.parametrize(("population", "judge"), POPULATIONS)
def test_the_mean_of_the_martingale_is_one_for_every_judge(population, judge):
    size, mean = len(population), sum(population) / len(population)
    for n, delta in itertools.product(range(1, size), (0.5, 0.01)):
        grown = []
        for order in itertools.permutations(range(size)):
            drawn, said = (np.array([one[i] for i in order[:n]]) for one in (population, judge))
            known = (said, float(sum(judge)), max(judge))
            grown.append(wealth_of.plain()(drawn, known, float(size), mean, stakes_for.plain()(n, delta), math.inf))
            assert grown[-1] > 0
        assert np.mean(grown) == pytest.approx(1, abs=1e-12)


def judged(rng, size, n):
    """Predictions of a population, and of those drawn of it."""
    said = np.round(rng.random(size) ** 3 / STEP) * STEP
    return said[:n], float(said.sum()), float(said.max())


def test_the_bound_rises_in_every_draw_whatever_the_judge_says():
    rng = np.random.default_rng(5)
    for _ in range(20):
        drawn = np.round(rng.random(rng.integers(1, 30)) ** 3, 2)
        size, lowered = drawn.size + int(rng.integers(0, 50)), drawn.copy()
        lowered[rng.integers(0, drawn.size)] *= rng.random()
        judge = judged(rng, size, drawn.size)
        assert lower_bound(lowered, size, 0.05, judge) <= lower_bound(drawn, size, 0.05, judge) + 1e-12
        stakes = stakes_for.plain()(drawn.size, 0.05)
        wealth = [
            wealth_of.plain()(drawn, judge, float(size), m, stakes, math.inf) for m in np.linspace(drawn.mean(), 1, 9)
        ]
        assert all(a >= b - 1e-9 for a, b in itertools.pairwise(wealth))


def sides(drawn, at, said, delta):
    """Both bounds on a mean with a judge."""
    below = said[at], float(said.sum()), float(said.max())
    above = 1 - said[at], float((1 - said).sum()), float(1 - said.min())
    return (lower_bound(drawn, said.size, delta / 2, below), 1 - lower_bound(1 - drawn, said.size, delta / 2, above))


JUDGES = {"perfect": lambda values, noise: values, "inverted": lambda values, noise: 1 - values,
          "at random": lambda values, noise: noise}  # fmt: skip


@pytest.mark.parametrize("name", JUDGES)
def test_bounds_hold_with_a_good_judge_and_with_one_that_is_always_wrong(name):
    rng, size, n, delta, runs = np.random.default_rng(3), 4_000, 200, 0.2, examples(100, 200)
    values = rng.binomial(4, rng.random(size)) / 4
    said = JUDGES[name](values, np.round(rng.random(size) / STEP) * STEP)
    missed, width, alone = 0, 0.0, 0.0
    for _ in range(runs):
        at = rng.choice(size, n, replace=False)
        low, high = sides(values[at], at, said, delta)
        missed += not low <= values.mean() <= high
        width += high - low
        alone += 1 - lower_bound(1 - values[at], size, delta / 2) - lower_bound(values[at], size, delta / 2)
    assert binomial_tail(runs, missed, delta) > 5e-4
    assert 0.97 < width / alone < 1.1 if name != "perfect" else width / alone < 0.45


def test_kernels_in_plain_python_give_the_same_bound():
    rng = np.random.default_rng(1)
    drawn, judge = rng.random(12), judged(rng, 30, 12)
    with small(0):
        plain = lower_bound(drawn, 30, 0.1, judge)
    assert plain == lower_bound(drawn, 30, 0.1, judge)


def rankings(rng, apart):
    """Rankings with tied scores, and a judge of their items; stored together, or shuffled."""
    query = np.repeat(np.arange(60), rng.integers(1, 40, 60))
    table = pa.table({"query": query, "name": [f"q{one}" for one in query],
                      "score": np.round(rng.random(query.size), 1),
                      "says": np.round(rng.random(query.size), 3)})  # fmt: skip
    return table.take(rng.permutation(query.size)) if apart else table


def by_hand(table, cuts):
    """Every prediction of each ranking, by its definition: tied items each have the mean of their group."""
    found = {}
    for query in sorted(set(table.column("query").to_pylist())):
        own = [row for row in table.to_pylist() if row["query"] == query]
        chances = []
        for score in sorted({row["score"] for row in own}, reverse=True):
            group = [round(127 * row["says"]) / 127 for row in own if row["score"] == score]
            chances += [sum(group) / len(group)] * len(group)
        for k in cuts:
            top = chances[:k]
            none = [math.prod(1 - p for p in top[:r]) for r in range(len(top) + 1)]
            discount = [1 / math.log2(r + 2) for r in range(k)]
            found.setdefault(query, []).extend([
                sum(top) / k, 1 - none[-1], sum(p * none[r] / (r + 1) for r, p in enumerate(top)),
                sum(p * d for p, d in zip(top, discount, strict=False)) / sum(discount)])  # fmt: skip
    return np.array([found[query] for query in sorted(found)])


@pytest.mark.parametrize("per", ["query", "name"])
def test_predictions_are_those_of_the_definition_in_any_storage(per, tmp_path):
    seen, options = [], RankingOptions("score")
    for apart in (False, True):
        table = rankings(np.random.default_rng(8), apart)
        plan = streameval.plan(table, tmp_path / str(apart), per=per, budget=1800, questions="precision@1, 5, 30",
                                        judge="says", seed=3, options=options)  # fmt: skip
        known, want = predictions_of(plan), by_hand(table, (1, 5, 30))
        first = np.unique(plan.table.column("stratum").to_numpy(), return_index=True)[1]
        number = [int(one.strip('"[]q')) for one in plan.table.column("ranking").take(first).to_pylist()]
        gap = want[number] - known.drawn
        assert gap.min() > -1e-12
        assert gap.max() < STEP + 1e-12
        assert (known.sums == known.drawn.sum(axis=0)).all()
        assert (known.least == known.drawn.min(axis=0)).all()
        assert (known.greatest == known.drawn.max(axis=0)).all()
        seen.append((plan.notes, sorted(zip(number, known.drawn.tolist(), strict=True))))
    assert seen[0] == seen[1]


def test_a_ranking_that_memory_does_not_hold_is_predicted_alike(monkeypatch):
    rng, query = np.random.default_rng(2), np.arange(2_400) % 2 + 1
    table = pa.table({"query": query, "score": np.round(rng.random(2_400), 2) * (query > 1), "says": rng.random(2_400)})
    found, chosen = [], np.array([1, 2], np.uint64)
    for _ in range(2):
        ranking = open_ranking(table, RankingOptions("score"))
        found.append(predict_all(ranking, "says", (["query"], [10, 100]), chosen, silent).drawn)
        monkeypatch.setattr(
            Room, "for_memory", staticmethod(lambda spill, threads, memory: Room(spill, threads, 1_024))
        )
    assert found[0].all()
    assert (found[0] == found[1]).all()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A list of 600 rankings whose judge is right on nine of ten items."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    query = np.repeat(np.arange(600), 6)
    truth = rng.random(query.size) < np.repeat(rng.random(600) ** 2, 6)
    says = np.where(rng.random(query.size) < 0.9, truth, ~truth)
    table = pa.table({"query": [f"q{one}" for one in query], "id": np.arange(query.size), "rel": rng.random(query.size),
                      "truth": truth, "llm": 0.1 + 0.8 * says, "answer": np.where(says, "yes", "no"),
                      "gaps": pa.array([None, *[0.5] * 3_599]), "over": says * 1.5,
                      "word": ["maybe"] * 3_600})  # fmt: skip
    pq.write_table(table.take(rng.permutation(query.size)), "runs.parquet")
    return tmp_path


PLAN = [
    "plan",
    "runs.parquet",
    "--score",
    "rel",
    "--per",
    "query",
    "--for",
    "precision@5",
    "--budget",
    "1000",
    "--seed",
    "4",
]


def answered(study):
    """Answer the tasks of a study by the truth."""
    table = pq.read_table("runs.parquet", columns=["id", "truth"])
    truth = dict(zip(*table.to_pydict().values(), strict=True))
    assert run(["select", study, "--export", f"{study}.csv"]) == 0
    tasks = csv.read_csv(f"{study}.csv")
    labels = pa.array([int(truth[one]) for one in tasks.column("id").to_pylist()])
    csv.write_csv(tasks.drop_columns("label").append_column("label", labels), f"{study}-done.csv")
    return tasks.column_names


def test_the_journey_with_a_judge_of_rankings(home, capsys):
    assert run([*PLAN, "--study", "with", "--judge", "llm"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "'llm' is the judge of every ranking: bounds hold whatever it says" in said
    assert run([*PLAN, "--study", "none"]) == 0
    recipe = said.split("kept in plan.json: ")[1].split(" plans the same again")[0]
    assert run(["plan", "runs.parquet", "--study", "again", *recipe.split()]) == 0
    assert pq.read_table("with/plan.parquet").equals(pq.read_table("again/plan.parquet"))
    assert pq.read_table("with/plan.parquet").column("rank").equals(pq.read_table("none/plan.parquet").column("rank"))
    found = {}
    for study in ("with", "none"):
        shown = answered(study)
        assert not {"rel", "truth"} & set(shown)
        assert ("llm" in shown) == (study == "none")
        capsys.readouterr()
        evaluated = found_by(study, "--labels", f"{study}-done.csv")
        assert ("is the judge of every ranking: bounds hold whatever it says" in told_of(study, evaluated)) == (
            study == "with"
        )
        page = evaluated.page(study, Study(home / study).plan())
        assert ("without judge" in page) == (study == "with")
        found[study] = evaluated.metrics.to_pylist()
    exact = streameval.exact("runs.parquet", label="truth", per="query", at=[5], options=RankingOptions("rel"))
    for judge, alone in zip(found["with"], found["none"], strict=True):
        width = alone["upper"] - alone["lower"]
        assert judge["width_without_judge"] == pytest.approx(width, abs=1e-12)
        assert judge["upper"] - judge["lower"] < 0.85 * width
        if judge["metric"] != "mean_dcg_at":
            assert judge["lower"] <= exact.mean(judge["metric"].removeprefix("mean_"), 5) <= judge["upper"]
        assert judge["lower"] <= judge["estimate"] <= judge["upper"]
        assert judge["normal_upper"] - judge["normal_lower"] < alone["normal_upper"] - alone["normal_lower"]
        assert alone["width_without_judge"] is None
    assert [one.split("_at")[0] for one in METRICS] == ["precision", "success", "reciprocal_rank", "dcg"]


def test_bounds_on_both_sides_use_the_judge_alike(home):
    table = pq.read_table("runs.parquet")
    says, truth = 0.4 + 0.2 * table.column("llm").to_numpy(), table.column("truth").to_numpy().astype(int)
    sides = []
    for name, flip in (("one", False), ("other", True)):
        own = table.append_column("says", pa.array(1 - says if flip else says))
        own = own.append_column("good", pa.array(1 - truth if flip else truth))
        streameval.plan(own, name, per="query", budget=300, questions="precision@5", seed=1, judge="says")
        chosen = streameval.select(name, ranking=own).table
        row = found_of(name, chosen, label="good").metrics.to_pylist()[0]
        sides.append((row["lower"], row["estimate"], row["upper"]))
    assert sides[0] == pytest.approx([1 - one for one in reversed(sides[1])], abs=1e-4)
    assert sides[0][2] - sides[0][0] < 0.5


def test_words_and_numbers_are_the_same_judge(home):
    plans = [streameval.plan("runs.parquet", name, per="query", budget=150, questions="precision@3", seed=1, judge=name)
             for name in ("answer", "truth")]  # fmt: skip
    assert {*np.unique(predictions_of(plans[0]).drawn[:, 1])} == {0.0, 1.0}
    assert plans[0].ranks.tolist() == plans[1].ranks.tolist()


@pytest.mark.parametrize(
    ("given", "said"),
    [("--judge lmm", "no column 'lmm'"), ("--judge gaps", "1 row without an answer in judge column 'gaps'"),
     ("--judge over", ", row 5 (from 0): judge column 'over' has 1.5."),
     ("--judge word", ", row 0 (from 0): judge column 'word' has 'maybe'."),
     ("--judge llm(0.5)", "--judge 'llm(0.5)' has parameters, and here its values count as they are. Hint: name"),
     ("--stages 3 --by query", "does not go with --by, --stages. Hint: leave"),
     ("--stages 2", "does not go with --stages. Hint: leave it out: it is for a study of a curve")],
)  # fmt: skip
def test_what_is_no_judge_of_rankings_is_one_line(home, given, said, capsys):
    assert run([*PLAN, "--study", "st", *given.split()]) == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert said in told
    assert not (home / "st").exists()


def test_a_judge_is_a_column_of_the_list_in_python(home):
    with pytest.raises(InputError, match="no column 'lmm'"):
        streameval.plan("runs.parquet", "st", per="query", judge="lmm")
