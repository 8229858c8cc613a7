"""Means over all rankings from labels of a few: the martingale against enumeration, and the journey."""

import itertools
import json
import math
import re
import shlex

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
from streameval.kernels import jit
from streameval.kernels.without_replacement import NO_JUDGE, lower_bound, stakes_for, wealth_of
from streameval.kinds.drawn_rankings import KIND

POPULATIONS = [(0, 0, 0, 1), (0, 0, 0, 0, 0.5, 1), (0, 1, 1, 1, 1), (0.2, 0.3, 0.9, 0.9, 1, 0), (0, 0, 0, 0, 0, 1)]


@pytest.mark.parametrize("population", POPULATIONS, ids=str)
@pytest.mark.parametrize("delta", [0.5, 0.1])
def test_the_bound_misses_no_more_than_it_may_over_every_order_of_the_draw(population, delta):
    mean, size = np.mean(population), len(population)
    for n in range(1, size + 1):
        orders = [np.array(one[:n], float) for one in itertools.permutations(population)]
        missed = np.mean([lower_bound(one, float(size), delta) > mean + 1e-12 for one in orders])
        assert missed <= delta
        stakes = stakes_for.plain()(n, delta)
        grown = [wealth_of.plain()(one, NO_JUDGE, float(size), mean - 1e-9, stakes, 1 / delta) for one in orders]
        assert n == size or min(grown) < 1 / delta


def test_the_martingale_has_expectation_one():
    population, stakes = (0.0, 0.0, 0.5, 1.0, 1.0), stakes_for.plain()(4, 0.1)
    for n in range(1, 5):
        grown = [wealth_of.plain()(np.array(order[:n]), NO_JUDGE, 5.0, 0.5, stakes, math.inf)
                 for order in itertools.permutations(population)]  # fmt: skip
        assert np.mean(grown) == pytest.approx(1, abs=1e-12)


def test_the_bound_rises_in_every_draw_so_that_missing_labels_only_widen():
    rng = np.random.default_rng(5)
    for _ in range(60):
        drawn = np.round(rng.random(rng.integers(1, 30)) ** 3, 2)
        size, lowered = float(drawn.size + rng.integers(0, 50)), drawn.copy()
        lowered[rng.integers(0, drawn.size)] *= rng.random()
        assert lower_bound(lowered, size, 0.05) <= lower_bound(drawn, size, 0.05) + 1e-12


@pytest.mark.parametrize("nearly_all", [0, 1])
def test_bounds_hold_on_skewed_populations_where_the_normal_interval_does_not(nearly_all):
    rng, size, n, delta, runs = np.random.default_rng(11), 20_000, 300, 0.1, examples(80, 250)
    population = np.where(rng.random(size) < 0.004, rng.random(size), 0.0)
    population = 1 - population if nearly_all else population
    mean, missed, normal = population.mean(), 0, 0
    for _ in range(runs):
        drawn = population[rng.choice(size, n, replace=False)]
        low, high = lower_bound(drawn, size, delta / 2), 1 - lower_bound(1 - drawn, size, delta / 2)
        half = 1.645 * drawn.std(ddof=1) / math.sqrt(n)
        missed += not low <= mean <= high
        normal += not drawn.mean() - half <= mean <= drawn.mean() + half
    assert binomial_tail(runs, missed, delta) > 5e-4
    assert normal > 0.24 * runs


def test_all_numbers_drawn_are_a_bound_without_room():
    assert lower_bound(np.array([0.25, 1.0, 0.0, 0.75]), 4.0, 1e-6) == pytest.approx(0.5, abs=1e-12)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A list of 400 rankings, most of which have no positive among their first items."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    query = np.repeat(np.arange(400), rng.integers(1, 30, 400))
    good = (rng.random(query.size) < 0.3) & (query % 3 == 0)
    table = pa.table({"query": [f"q{one}" for one in query], "user": query, "id": np.arange(query.size),
                      "score": np.round(rng.random(query.size), 2), "truth": good.astype(int)})  # fmt: skip
    pq.write_table(table.take(rng.permutation(query.size)), "runs.parquet")
    return tmp_path


def labelled(source, target, share=1.0):
    """Answer the tasks by the truth; leave the rest blank."""
    truth = dict(zip(*pq.read_table("runs.parquet", columns=["id", "truth"]).to_pydict().values(), strict=True))
    tasks = csv.read_csv(source)
    ids = tasks.column("id").to_pylist()
    answers = [truth[one] if i < share * len(ids) else None for i, one in enumerate(ids)]
    csv.write_csv(tasks.drop_columns("label").append_column("label", pa.array(answers)), target)


def test_the_journey(home, capsys):
    plan = ["plan", "runs.parquet", "--study", "st", "--score", "score", "--per", "query", "--for", "precision@5"]
    assert run([*plan, "--budget", "600", "--seed", "4"]) == 0
    assert "120 of 400 rankings by query, the first 5 items of each" in capsys.readouterr().out
    assert run(["select", "st", "--export", "tasks.csv"]) == 0
    labelled("tasks.csv", "done.csv")
    labelled("tasks.csv", "half.csv", 0.5)
    capsys.readouterr()
    half = {row["metric"]: row for row in found_by("st", "--labels", "half.csv").metrics.to_pylist()}
    assert run(["evaluate", "st", "--labels", "done.csv"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "With probability 0.95, all of these means over all rankings lie inside their bounds" in out
    assert "Nothing is claimed about average precision, recall and nDCG" in out
    rows = {row["metric"]: row for row in pq.read_table("st/metrics.parquet").to_pylist()}
    drawn = pq.read_table("st/rankings.parquet")
    exact = streameval.exact("runs.parquet", label="truth", per="query", at=[5], options=RankingOptions("score"))
    for name in ("precision_at", "success_at", "reciprocal_rank_at"):
        row = rows[f"mean_{name}"]
        assert row["lower"] <= exact.mean(name, 5) <= row["upper"]
        assert row["estimate"] == pytest.approx(np.mean(drawn.column(f"{name}_5_lower").to_numpy()))
        assert half[f"mean_{name}"]["lower"] <= row["lower"] < row["upper"] <= half[f"mean_{name}"]["upper"]
        assert half[f"mean_{name}"]["estimate"] is None
    assert streameval.sql("st", "SELECT count(*) AS n FROM rankings").column("n")[0].as_py() == 120
    page = (home / "st" / "report.html").read_text()
    assert run(["report", "st"]) == 0
    assert (home / "st" / "report.html").read_text() == page


def test_what_cannot_be_read_is_shown(home, capsys):
    plan = ["plan", "runs.parquet", "--study", "st", "--per", "query", "--for", "precision@3"]
    assert run([*plan, "--budget", "90", "--seed", "1"]) == 0
    assert run(["select", "st", "--export", "tasks.csv"]) == 0
    labelled("tasks.csv", "done.csv")
    answered = csv.read_csv("done.csv")
    words = ["2", "flase", *map(str, answered.column("label").to_pylist()[2:])]
    csv.write_csv(answered.drop_columns("label").append_column("label", pa.array(words)), "typo.csv")
    capsys.readouterr()
    told = told_of("st", found_by("st", "--labels", "typo.csv"))
    assert re.search(r"Unreadable: '(2|flase)' at rank .*, and 1 more", told)


def test_several_cutoffs_share_the_confidence_and_are_published(home, capsys):
    plan = ["plan", "runs.parquet", "--study", "st", "--score", "score", "--per", "query", "--budget", "120"]
    assert run([*plan, "--for", "precision@1,5", "--seed", "1"]) == 0
    assert "--for 'precision@1, 5'" in capsys.readouterr().out
    assert run(["select", "st", "--export", "tasks.csv"]) == 0
    labelled("tasks.csv", "done.csv")
    assert run(["evaluate", "st", "--labels", "done.csv"]) == run(["publish", "st", "there"]) == 0
    rows = {(row["metric"], row["argument"]): row for row in pq.read_table("there/metrics.parquet").to_pylist()}
    drawn = pq.read_table("st/rankings.parquet")
    for k in ("1", "5"):
        values = drawn.column(f"success_at_{k}_lower").to_numpy()
        assert rows["mean_success_at", k]["lower"] == pytest.approx(lower_bound(values, 400.0, 0.05 / 16), abs=1e-12)
    listed = {one["name"] for one in json.loads((home / "there" / "manifest.json").read_text())["files"]}
    assert listed == {"plan.parquet", "plan.json", *KIND.result.files(None)}


def test_the_first_items_are_those_of_each_ranking_by_score(home):
    table = pq.read_table("runs.parquet")
    plan = streameval.plan(table, "st", per="user", budget=1200, questions="precision@3", score="score", seed=1)
    rows = table.take(plan.ranks - 1).append_column("place", plan.table.column("place")).to_pylist()
    by_user = {}
    for row in table.to_pylist():
        by_user.setdefault(row["user"], []).append(row["score"])
    for row in rows:
        scores = sorted(by_user[row["user"]], reverse=True)
        assert row["score"] == scores[row["place"] - 1]
    assert len(rows) == sum(min(3, len(scores)) for scores in by_user.values())
    chosen = streameval.select("st", ranking=table).table
    truth = chosen.select(["rank"]).append_column("label", chosen.column("truth"))
    found = found_of("st", truth)
    exact = streameval.exact(table, label="truth", per="user", at=[3], options=RankingOptions("score"))
    assert sorted(found.rankings.column("user").to_pylist()) == sorted(set(table.column("user").to_pylist()))
    for row in found.rankings.to_pylist():
        assert row["items"] == min(3, len(by_user[row["user"]]))
    for row in found.metrics.to_pylist():
        assert row["lower"] == row["estimate"] == row["upper"]
        assert row["coverage"] == "exact"
    low, high = (exact.metrics.filter(pa.compute.equal(exact.metrics.column("metric"), "mean_success_at")).column(end)
                 [0].as_py() for end in ("lower", "upper"))  # fmt: skip
    assert low - 1e-12 <= found.metrics.column("estimate")[1].as_py() <= high + 1e-12


def test_every_ranking_is_drawn_equally_often(home):
    table, times = pq.read_table("runs.parquet"), np.zeros(400)
    draws = examples(20, 60)
    for seed in range(draws):
        plan = streameval.plan(table, f"st{seed}", per="user", budget=100, questions="precision@1", seed=seed,
                                        options=RankingOptions("score"))  # fmt: skip
        users = table.column("user").to_numpy()[plan.ranks - 1]
        assert np.unique(users).size == 100
        times[users] += 1
    expected = draws * 100 / 400
    chi = float(((times - expected) ** 2 / (expected * 0.75)).sum())
    assert 280 < chi < 520  # 399 degrees of freedom, 4 standard deviations


@pytest.mark.parametrize(("seed", "drawn"), [(0, ["[4]", "[2]", "[0]"]), (1, ["[5]", "[1]", "[4]"])])
def test_a_seed_draws_the_same_rankings_with_a_compiler_and_without(seed, drawn, tmp_path):
    """Salts of either half of 64 bits, whose words are mixed with a sign and without."""
    table = pa.table({"q": np.arange(6)})
    for steps in (0, jit.STEPS):
        with jit.small(steps):
            plan = streameval.plan(table, tmp_path / f"{steps}", per="q", budget=3, questions="precision@1", seed=seed)
        assert plan.table.sort_by("stratum")["ranking"].to_pylist() == drawn


@pytest.mark.parametrize(
    ("options", "said"),
    [({"per": "q"}, "no column 'q'"), ({"per": "user", "confidence": 1.0}, "confidence is 1.0"),
     ({"per": "user", "budget": 9}, "a budget of 9 labels is below the first 10 items of one ranking"),
     ({"per": "user", "budget": 1.5}, "budget is 1.5"),
     ({"per": "user", "budget": 90, "questions": "precision@10 within 0.1"}, "a width and budget were both given"),
     ({"per": "user", "questions": "precision@0"}, "rank 0 is below 1"),
     ({"per": "user", "questions": "precision@2.5"}, "a cutoff is a number"),
     ({"per": "user", "questions": "precision"}, "such as precision@5, 10"),
     ({"per": "user", "questions": "precision@1%"}, "such as precision@5, 10"),
     ({"per": "user", "questions": "precision@5 >= 0.3"}, "rankings are drawn for a width"),
     ({"per": "user", "questions": "precision@5 within 10%"}, "depends on.*else it is precision@5 within 0.1"),
     ({"per": "user", "questions": "dcg@5 within 0.1"}, "of dcg cannot be planned"),
     ({"per": "user", "questions": "recall@5"}, "depends on every positive.*plan precision@5"),
     ({"per": "user", "questions": "map@5"}, "map depends on every positive of a ranking"),
     ({"per": "user", "questions": "precision@5 zone 0.1"}, "rankings are drawn at once, by no zone 0.1"),
     ({"per": "user", "questions": "auc@5"}, "no rankings are drawn for this"),
     ({"per": "user", "options": RankingOptions("score", key=("id",))}, "key .id. breaks ties of one ranking")],
)  # fmt: skip
def test_bad_plans_are_one_line(home, options, said):
    with pytest.raises(InputError, match=said):
        streameval.plan("runs.parquet", "st", **options)


def test_what_is_not_known_is_refused(home):
    streameval.plan("runs.parquet", "st", per="query", budget=100, questions="precision@2", score="score", seed=1)
    chosen = streameval.select("st").table
    with pytest.raises(InputError, match=r"drawn rankings does not go with label_error.*for a study of a curve"):
        streameval.evaluate("st", labels=chosen, label="truth", label_error=0.1)
    assert run(["evaluate", "st", "--misses", "3"]) == 2
    assert run(["plan", "runs.parquet", "--study", "x", "--per", "query", "--alpha", "0.1"]) == 2
    assert run(["cut", "st", "precision:0.9"]) == 2
    streameval.plan("runs.parquet", "one", budget=15, seed=1)
    with pytest.raises(InputError, match=r"a study of a curve does not go with positives.*a study of drawn rankings"):
        streameval.evaluate("one", labels=chosen, positives="pool.parquet")


def test_names_of_64_bits_without_a_sign_are_evaluated(home):
    """Names from 2^63 on."""
    user = pa.array(np.repeat(2**64 - 1 - np.arange(20, dtype=np.uint64), 4))
    items = pa.table({"user": user, "id": np.arange(80), "good": [1, 0, 0, 1] * 20})
    streameval.plan(items, "st", per="user", budget=40, questions="precision@2", seed=1)
    chosen = streameval.select("st", ranking=items).table
    pool = items.filter(items.column("good").to_numpy() == 1).select(["user", "id"])
    found = found_of("st", labels=chosen, label="good", positives=pool, key="id", assume="complete")
    means = {row["metric"]: row["estimate"] for row in found.metrics.to_pylist()}
    assert (means["mean_recall_at"], found.summary["pool"]["beyond"]) == (0.5, 20)
    assert sorted(found.rankings.column("user").to_pylist()) == sorted(set(user.to_pylist()))


def test_a_score_that_is_missing_is_one_line(home):
    items = pa.table({"user": [1, 2], "score": [float("nan"), 1.0]})
    with pytest.raises(InputError, match=r"1 item has no score .* Hint: every item needs one: it decides its place"):
        streameval.plan(items, "st", per="user", budget=10, options=RankingOptions("score"))


def test_what_plans_differ_in_is_said(home, capsys):
    plan = ["plan", "runs.parquet", "--study", "st", "--per", "user", "--budget", "150", "--seed", "1"]
    assert run([*plan, "--for", "precision@3"]) == 0
    assert run(["select", "st", "--export", "tasks.csv"]) == 0
    capsys.readouterr()
    assert run([*plan, "--for", "precision@3", "--judge", "truth"]) == 2
    assert "a different plan: no judge then, truth now." in capsys.readouterr().err
    assert run([*plan, "--for", "precision@1,3"]) == 2
    assert "a different plan: cutoffs 3 then, 1 and 3 now." in capsys.readouterr().err


def test_bounds_of_drawn_rankings_are_not_compared(catalogue, study, capsys):
    drawn, exact, one = map(catalogue.path, ("drawn-rankings-evaluated", "labelled-rankings", "labelled-list"))
    for other in (study("drawn-rankings-evaluated"), exact):
        assert run(["compare", str(drawn), str(other)]) == 2
        hint = "Hint: show, check, report, sql and publish do"
        told = capsys.readouterr().err
        assert f"{drawn} is a study of drawn rankings, which compare does not read. {hint}" in told
    assert run(["compare", str(one), str(exact)]) == 2
    assert f"{one} is a labelled list, and {exact} is a list of labelled rankings" in capsys.readouterr().err


def test_a_judges_column_may_be_called_as_one_of_the_drawn_rankings(home, capsys):
    table = pq.read_table("runs.parquet")
    pq.write_table(table.append_column("labelled", table.column("truth")), "judged.parquet")
    assert run(["plan", "judged.parquet", "--study", "a", "--per", "user", "--budget", "90", "--for", "precision@3",
                "--judge", "labelled", "--seed", "1"]) == 0  # fmt: skip
    assert run(["select", "a", "--export", "a.csv"]) == 0
    labelled("a.csv", "done.csv")
    assert run(["evaluate", "a", "--labels", "done.csv"]) == 0


def test_commas_that_part_no_thousands_are_refused(home, capsys):
    plan = ["plan", "runs.parquet", "--study", "st", "--per", "user"]
    for text in ("1,10", "1,0000", ",1", "10,"):
        assert run([*plan, "--budget", text]) == 2
        assert f"'{text}' is not a whole number" in capsys.readouterr().err
    assert run(["plan", "runs.parquet", "--study", "one", "--budget", "1,000"]) == 0


def test_the_line_that_plans_the_same_again_does(home, capsys):
    assert run(["plan", "runs.parquet", "--study", "st", "--score=-score", "--per", "user,query",
                "--budget", "60", "--for", "precision@2"]) == 0  # fmt: skip
    said = " ".join(capsys.readouterr().out.split())
    recipe = said.split("kept in plan.json: ")[1].split(" plans the same again")[0]
    assert run(["plan", "runs.parquet", "--study", "again", *shlex.split(recipe)]) == 0
    assert pq.read_table("st/plan.parquet").to_pylist() == pq.read_table("again/plan.parquet").to_pylist()


def test_who_labels_sees_no_grades(home, capsys):
    table = pq.read_table("runs.parquet").rename_columns(["query", "user", "id", "score", "grade"])
    pq.write_table(table.append_column("qrels", table.column("grade")), "graded.parquet")
    assert run(["plan", "graded.parquet", "--study", "st", "--score", "score", "--per", "user", "--budget", "90"]) == 0
    assert run(["select", "st", "--export", "tasks.csv"]) == 0
    assert not {"grade", "qrels", "score"} & set(csv.read_csv("tasks.csv").column_names)


def test_what_does_not_go_with_per_is_named(home, capsys):
    assert run(["plan", "runs.parquet", "--study", "st", "--per", "user", "--by", "query"]) == 2
    assert "does not go with --by" in capsys.readouterr().err
    with pytest.raises(InputError, match="has no option 'rankngs'"):
        streameval.plan("runs.parquet", "st", per="user", rankngs=3)
    assert run(["plan", "--per", "--help"]) == 0
    assert "rankings are drawn, and means over all are bounded" in " ".join(
        re.sub("[│╭╰─╮╯]", " ", capsys.readouterr().out).split()
    )


def test_the_normal_interval_stays_where_the_metric_can_be(home):
    items = pa.table({"user": np.repeat(np.arange(20), 2), "good": [1, 1] * 9 + [0] * 22})
    streameval.plan(items, "st", per="user", budget=6, questions="precision@2", seed=3)
    chosen = streameval.select("st", ranking=items).table
    for row in found_of("st", chosen, label="good").metrics.to_pylist():
        assert 0 <= row["normal_lower"] <= row["normal_upper"] <= (1 if row["metric"] != "mean_dcg_at" else 2)
