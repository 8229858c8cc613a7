"""Labels that were drawn elsewhere, from the command to the curve; every mistake in one line."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from label_tables import judged
from measured import curve_so_far
from sklearn.model_selection import KFold, train_test_split
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.methods.adopted.designs import DrawValue
from streameval.methods.adopted.method import Adopted
from streameval.methods.adopted.steps import Floor, Strata
from streameval.stores import atomic
from streameval.study import Study
from streameval.study.plan_files import plan_files
from streameval.types import Labels

N = 10_000


@pytest.fixture(scope="module")
def listed(one_ranking):
    """Folder of the list, its truth by rank, and its items."""
    folder, _, truth = one_ranking
    return folder, truth


def table(truth, rank, **columns):
    return pa.table(
        {"item": [f"item {r}" for r in rank], "rank": rank, "label": truth[np.asarray(rank) - 1], **columns}
    )


def uniform(seed=1, size=800):
    return np.sort(np.random.default_rng(seed).choice(N, size, replace=False) + 1)


def inside(curve, truth):
    low, high = curve.envelope.at(np.arange(1, N + 1))
    y = np.cumsum(truth)
    return bool(np.all((low <= y) & (y <= high)))


def test_a_uniform_sample_by_key_becomes_a_study(listed, tmp_path, capsys, monkeypatch):
    folder, truth = listed
    monkeypatch.chdir(tmp_path)
    (tmp_path / "uniform").mkdir()  # a design, and no file of that name
    sample = table(truth, uniform()).drop_columns(["rank"])
    pyarrow.csv.write_csv(sample.take(np.random.default_rng(0).permutation(800)), tmp_path / "sample.csv")
    study = str(tmp_path / "study")
    assert run(["adopt", str(folder), "--study", study, "--score", "conf", "--labels", str(tmp_path / "sample.csv"),
                "--on", "item", "--drawn", "uniform(size=800)"]) == 0  # fmt: skip
    assert Study(study).plan().location["adopted"]["drawn"] == "uniform(size=800)"
    assert run(["evaluate", study]) == 0
    said = capsys.readouterr().out
    assert "if the labels were drawn as stated, the truth lies inside the bounds at every rank at once" in said
    assert "(800 of 800 labels.)" in said
    found = streameval.Study(study).evaluation()
    assert found.curve.claim.coverage == "simultaneous"
    assert found.curve.claim.assumes.startswith("that the labels were drawn as stated: every set of so many items")
    assert inside(found.curve, truth)


def test_the_same_sample_may_be_adopted_again_and_a_draw_has_to_be_known(catalogue, tmp_path):
    items = pq.read_table(catalogue.lists / "list.parquet")
    drawn = np.random.default_rng(7).choice(items.num_rows, 100, replace=False)
    sample = items.take(drawn).select(["id"]).append_column("label", items.take(drawn).column("right"))
    pyarrow.csv.write_csv(sample, tmp_path / "sample.csv")
    adopt = ["adopt", str(catalogue.lists / "list.parquet"), "--study", str(tmp_path / "study"), "--score", "score",
             "--labels", str(tmp_path / "sample.csv"), "--on", "id", "--drawn"]  # fmt: skip
    assert run([*adopt, "uniform(size=100)"]) == 0
    assert run([*adopt, "uniform(size=100)"]) == 0
    assert run([*adopt, "uniformly"]) == 2
    said = streameval.Study(tmp_path / "study").plan().location["adopted"]
    assert {*said} == {"labels", "drawn", "on"}  # nothing that was left as it is by default


def test_every_verb_takes_an_adopted_study(study, tmp_path):
    adopted = str(study("adopted-evaluated"))
    for verb in (["show", adopted, "precision@500"], ["report", adopted], ["sql", adopted, "SELECT 1 FROM curve"],
                 ["cut", adopted, "precision:0.5", "--out", str(tmp_path / "cut")], ["labels", adopted]):  # fmt: skip
        assert run(verb) == 0, verb


@pytest.mark.parametrize("design", ["top", "strata", "poisson", "listed"])
def test_other_designs_bound_the_curve(listed, tmp_path, design):
    folder, truth = listed
    rng = np.random.default_rng(5)
    rank = np.arange(1, N + 1)
    probability = np.minimum(1.0, 150 / (rank + 50))
    given = {"drawn": design}
    if design == "top":
        taken = np.concatenate([np.arange(1, 201), np.sort(rng.choice(N - 200, 500, replace=False) + 201)])
        given = ranges([200, N], [200, 500])
    elif design == "strata":
        taken = np.concatenate([np.sort(rng.choice(w, k, replace=False)) + s + 1 for s, w, k in
                                ((0, 500, 200), (500, 4500, 200), (5000, 5000, 10))])  # fmt: skip
        given = ranges([500, 5000, N], [200, 200, 10])
    else:
        taken = rank[rng.random(N) < probability]
    labels = table(truth, taken)
    source = str(folder)
    if design == "poisson":
        last = np.unique(np.rint(np.geomspace(1, N, 60)).astype(np.int64))
        least = pa.table({"last_rank": last, "probability": probability[last - 1]})
        labels = labels.append_column("p", pa.array(probability[taken - 1]))
        pq.write_table(least, tmp_path / "least.parquet")
        given = {"drawn": f"poisson(probability=p, least={tmp_path / 'least.parquet'})"}
    if design == "listed":
        whole = pa.table({"item": [f"item {r}" for r in rank], "p": probability, "label": truth})
        source = str(tmp_path / "list.parquet")
        pq.write_table(whole, source)
        labels = labels.append_column("p", pa.array(probability[taken - 1]))
        given = P
    streameval.adopt(source, tmp_path / "study", labels.drop_columns(["item"]), **given)
    curve = curve_so_far(tmp_path / "study")
    assert curve.claim.coverage == "simultaneous"
    assert inside(curve, truth)
    low, high = curve.envelope.at([N])
    assert high[0] - low[0] < N / 2


def test_drawn_items_without_a_label_widen_and_stay_in_the_account(listed, tmp_path):
    folder, truth = listed
    full = table(truth, uniform()).drop_columns(["item"])
    label = full.column("label").to_pylist()
    holes = full.set_column(1, "label", pa.array([None if i % 9 == 0 else x for i, x in enumerate(label)]))
    widths = []
    for name, labels in (("full", full), ("holes", holes)):
        streameval.adopt(str(folder), tmp_path / name, labels, drawn="uniform(size=800)")
        found = judged(tmp_path / name)
        low, high = found.curve.envelope.at([N // 2, N])
        widths.append(high - low)
        assert inside(found.curve, truth)
    assert np.all(widths[1] > widths[0])
    assert found.summary["account"]["missing"] == 89


def test_what_is_no_random_draw_has_estimates_and_promises_nothing(listed, tmp_path, capsys):
    folder, truth = listed
    labels = table(truth, uniform()).drop_columns(["item"])
    streameval.adopt(str(folder), tmp_path / "study", labels, drawn="unknown")
    assert run(["evaluate", str(tmp_path / "study")]) == 0
    said = capsys.readouterr().out
    assert said.startswith("These bounds promise nothing: ")
    assert "assumed" not in said
    assert run(["show", str(tmp_path / "study"), "precision@50"]) == 0
    assert "The bounds prove nothing.\n" in capsys.readouterr().out
    assert streameval.Study(tmp_path / "study").evaluation().curve.claim.coverage == "none"
    assert run(["cut", str(tmp_path / "study"), "precision:.5", "--out", str(tmp_path / "cut")]) == 2


def test_an_unknown_draw_claims_nothing_and_estimates_as_if_all_items_were_equally_likely():
    method, rank = Adopted(drawn="unknown"), uniform()
    plan = method.adopt(N, 1, rank, Strata(np.array([N]), np.array([800])), None)
    curve = method.curve(plan, Labels.of(plan, rank % 2))
    assert curve.claim.coverage == "none"
    assert method.design.refused in curve.findings[0]
    assert np.isnan(method.weights(plan)).all()
    assert curve.precision_at(N).estimate == pytest.approx(np.mean(rank % 2), abs=0.01)


@pytest.mark.parametrize("name", ["fixed-size", "systematic", "blocks", "until", "quota", "convenience", "uncertainty"])
def test_a_draw_without_bounds_is_called_unknown(name):
    with pytest.raises(InputError, match="or unknown, for a draw that is none of these"):
        Adopted(drawn=name)


@pytest.mark.parametrize("drawn", ["sampford", "conditional-poisson", "pivotal"])
def test_a_draw_that_has_no_bounds_any_more_is_named_with_the_design_to_say(catalogue, tmp_path, capsys, drawn):
    (tmp_path / "sample.csv").write_text("rank,label\n3,1\n")
    assert run(["adopt", str(catalogue.lists / "list.parquet"), "--study", str(tmp_path / "study"), "--labels",
                str(tmp_path / "sample.csv"), "--drawn", f"{drawn}(probability=0.1)"]) == 2  # fmt: skip
    assert capsys.readouterr().err == (
        f"streameval: labels drawn as {drawn} have no bounds any more. "
        "Hint: streameval adopt RANKING --drawn unknown has estimates of them, without bounds\n"
    )
    assert not (tmp_path / "study").exists()


def test_a_study_of_a_draw_that_has_no_bounds_any_more_is_refused_in_a_line(study, capsys):
    folder = study("adopted")
    plan = streameval.Study(folder).plan()
    pivotal = replace(plan, parameters={**plan.parameters, "drawn": "pivotal"})
    atomic.write_all(plan_files(folder, pivotal, "plan"))
    assert run(["evaluate", str(folder)]) == 2
    said = capsys.readouterr().err
    assert said.startswith(
        "streameval: labels drawn as pivotal have no bounds any more. Hint: streameval adopt RANKING "
    )
    assert said.count("\n") == 1


def test_a_sample_with_stages_is_handed_out_before_it_grows(listed, tmp_path):
    folder, truth = listed
    labels = table(truth, uniform(3, 400)).drop_columns(["item"])
    streameval.adopt(str(folder), tmp_path / "s", labels, drawn="uniform(size=400)", stages="3:later")
    assert run(["select", str(tmp_path / "s"), "--export", str(tmp_path / "tasks.csv")]) == 0


def test_a_sample_grows_by_labels_of_ours_and_both_count(listed, tmp_path, capsys):
    folder, truth = listed
    study = tmp_path / "study"
    labels = table(truth, uniform(3, 400)).drop_columns(["item"])
    streameval.adopt(str(folder), study, labels, drawn="uniform(size=400)", stages="3:later")
    first = curve_so_far(study)
    assert run(["grow", str(study), "--budget", "250"]) == 0
    assert run(["select", str(study), "--export", str(tmp_path / "tasks.csv"), "--remaining"]) == 0
    tasks = pyarrow.csv.read_csv(tmp_path / "tasks.csv")
    assert 0 < tasks.num_rows <= 250
    plan = streameval.Study(study).plan()
    assert set(uniform(3, 400)) <= set(plan.ranks.tolist())
    truth_of = pa.table({"rank": plan.ranks, "label": truth[plan.ranks - 1]})
    second = judged(study, truth_of)
    assert inside(second.curve, truth)
    assert "after each of 3 stages" in second.curve.findings[0]
    widths = [np.diff(curve.envelope.at([300]), axis=0)[0][0] for curve in (first, second.curve)]
    assert widths[1] < widths[0]
    assert np.isfinite(second.label_table.column("weight").to_numpy()).all()


def test_both_samples_together_miss_no_more_than_they_may(listed):
    """Uniform samples and draws of ours, over seeds, at a confidence of .8 shared by three looks."""
    from binomial import binomial_tail

    n, misses, draws = 1_000, 0, examples(30, 80)
    truth = (np.arange(n) % 100 < 100 - 4 * np.arange(n) // 50).astype(np.int8)
    y = np.cumsum(truth)
    method = Adopted(0.8, stages=3)
    for seed in range(draws):
        rank = np.sort(np.random.default_rng(seed).choice(n, 100, replace=False) + 1)
        plan = method.enlarged(method.adopt(n, seed, rank, Strata(np.array([n]), np.array([100])), None), 3)
        low, high = method.curve(plan, Labels.of(plan, truth[plan.ranks - 1])).envelope.at(np.arange(1, n + 1))
        misses += bool(np.any((low > y) | (high < y)))
    assert binomial_tail(draws, misses, 0.2) > 1e-4


P, STRATA = {"drawn": "poisson(probability=p)"}, {"drawn": "strata"}


def poisson(words):
    return {"drawn": f"poisson({words})"}


def ranges(last, drawn):
    return {"drawn": DrawValue("strata", sizes=pa.table({"last_rank": last, "drawn": drawn}))}


BAD = [
    ("labels with p above 1", poisson("probability=p, least=0.01"), "not a probability in (0, 1]"),
    ("decimal commas", P, "has p '0,05', not a probability in (0, 1]. Hint: write it with a point, as 0.05"),
    ("p", poisson("probability=q, least=0.01"), "no column 'q'"),
    ("p", P, "smallest probability of any item is not said"),
    ("p", poisson("probability=p, least=0.9"), "below the least"),
    ("p", poisson("probability=p, least=0"), "outside (0, 1]"),
    ("p", {"drawn": "poisson"}, "need each item's probability"),
    ("plain", {"drawn": "uniform"}, "not said how many items were drawn"),
    ("plain", {"drawn": "uniform(size=9)"}, "10 items came, more than the 9"),
    ("plain", {"drawn": "uniform(size=11)"}, "10 items came, fewer than the 11"),
    ("plain", {"drawn": "uniform(probability=p)"}, "uniform has no parameter 'probability'"),
    ("plain", {"drawn": "uniformly"}, "drawn is 'uniformly'"),
    ("plain", STRATA, "how many were drawn of which ranks"),
    ("plain", ranges([5000, N], [10, 0]), "10 were drawn, and"),
    ("plain", ranges([900, N - 1], [5, 5]), "increase to 10,000"),
    ("plain", {"drawn": DrawValue("strata", sizes=pa.table({"last_rank": [N], "n": [5]}))}, "no column 'drawn'"),
    ("head", ranges([10, N], [10, 0]), "0 items cannot be drawn"),
    ("twice", {"drawn": "uniform(size=11)"}, "are about the same item"),
    ("outside", {"drawn": "uniform(size=11)"}, "outside 1..10,000"),
    ("keys", {"drawn": "uniform(size=10)", "on": "item"}, "1 of 10 rows match no item of the ranking"),
    ("plain", {**P, "stages": "2:later"}, "takes no labels of ours"),
    ("plain", {"drawn": "uniform(size=-1)"}, "size of drawn is -1, below 1"),
    ("plain", {"drawn": "uniform(size=ranges.csv)"}, "size is a whole number, and 'ranges.csv' is none (at column 14)"),
    ("plain", {"drawn": "strata(size=10)"}, "strata has no parameter 'size'. Hint: did you mean 'sizes'?"),
    ("plain", {"drawn": "uniform(size=10)", "stages": 3}, "there already. Hint: stages='3:later' adds"),
    ("plain", poisson("probability=0.1, least=0.1"), "leaves none smaller"),
    ("plain", poisson("chance=p"), "poisson has no parameter 'chance'"),
    ("plain", poisson("probability=a, probability=b"), "poisson has probability twice"),
    ("plain", {"drawn": "poisson(probability=p"}, "poisson(probability=p: a comma or ) is missing (at column 22)"),
    ("p", poisson("probability=p, least=x"), "least is a number or a table: x is neither"),
    ("plain", {**P, "probability": "p"}, "any more. Hint: it is drawn='poisson(probability=p)'"),
    ("plain", {"drawn": "uniform(size=10)", "sise": 2}, "adopt has no option 'sise'"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "given", "said"), BAD)
def test_mistakes_end_in_one_line(listed, tmp_path, kind, given, said):
    folder, truth = listed
    rank = np.arange(1, 11) if kind == "head" else uniform(1, 10)
    labels = table(truth, rank, p=np.linspace(0.1, 0.5, 10))
    if kind.startswith("labels"):
        labels = labels.set_column(3, "p", pa.array(np.linspace(0.5, 1.2, 10)))
    if kind == "decimal commas":
        labels = labels.set_column(3, "p", pa.array(["0,05"] * 10))
    if kind in ("twice", "outside"):
        more = labels.slice(0, 1) if kind == "twice" else labels.slice(0, 1).set_column(1, "rank", pa.array([N + 1]))
        labels = pa.concat_tables([labels, more])
    if kind == "keys":
        labels = labels.set_column(0, "item", pa.array(["no such", *labels.column("item").to_pylist()[1:]]))
    with pytest.raises(InputError) as refused:
        streameval.adopt(str(folder), tmp_path / "study", labels, **given)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "study").exists()


def test_half_a_sample_is_no_random_part_of_it(listed, tmp_path):
    """Nobody shuffled labels that came from elsewhere: there are no estimates while some are missing."""
    folder, truth = listed
    labels = table(truth, uniform()).drop_columns(["item"])
    holes = [None if i > 400 else x for i, x in enumerate(labels.column("label").to_pylist())]
    streameval.adopt(str(folder), tmp_path / "half", labels.set_column(1, "label", pa.array(holes)),
                     drawn="uniform(size=800)")  # fmt: skip
    assert judged(tmp_path / "half").curve.basis == "none"


def test_columns_that_are_no_probabilities_and_keys_that_are_scores(tmp_path):
    source = str(tmp_path / "list.parquet")
    pq.write_table(pa.table({"id": np.arange(100), "conf": np.linspace(1, 0, 100), "p": ["x"] * 100}), source)
    with pytest.raises(InputError, match="column 'p' of the ranking holds what is no probability"):
        streameval.adopt(source, tmp_path / "a", pa.table({"id": [3], "label": [1], "p": [0.1]}), on="id",
                         drawn="poisson(probability=p)")  # fmt: skip
    options = streameval.RankingOptions(score="conf")
    labels = pa.table({"conf": np.linspace(1, 0, 100)[[3, 50]], "label": [1, 0]})
    with pytest.raises(InputError, match=r"conf '0\.9[0-9]*' is a float that is no exact whole number, in 2 rows"):
        streameval.adopt(source, tmp_path / "b", labels, on="conf", drawn="uniform(size=2)", options=options)


def test_a_key_that_several_items_have_and_ranges_cut_from_the_sample_are_refused(tmp_path):
    source = str(tmp_path / "list.parquet")
    pq.write_table(pa.table({"name": [f"n{r // 2}" for r in range(N)]}), source)
    with pytest.raises(InputError, match="belongs to several items"):
        streameval.adopt(source, tmp_path / "a", pa.table({"name": ["n7"], "label": [1]}),
                         drawn="uniform(size=1)", on="name")  # fmt: skip
    rank = uniform(8, 90)
    ends = [int(rank[29]), int(rank[59]), N]
    with pytest.raises(InputError, match="cut from the sample"):
        streameval.adopt(source, tmp_path / "b", pa.table({"rank": rank, "label": rank % 2}),
                         **ranges(ends, [30, 30, 30]))  # fmt: skip


def test_what_a_sample_is_worth_is_said_beside_our_plan(capsys):
    assert run(["cost", "--items", "10_000_000", "--drawn", "uniform(size=10007)", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["adopted"]
    assert found["begins"] == 9_994
    widths = [one["half_width"] for one in found["half_widths"]]
    assert widths[0] == pytest.approx(0.033, abs=0.004)
    assert widths == sorted(widths)
    assert run(["cost", "--items", "100", "--drawn", "uniform(size=101)"]) == 2


def test_where_a_sample_is_thin_the_curve_says_so(listed):
    _, truth = listed
    method = Adopted()

    def curve_of(rank, truth):
        plan = method.adopt(N, 1, rank, Strata(np.array([N]), np.array([rank.size])), None)
        return method.curve(plan, Labels.of(plan, truth[rank - 1]))

    rank = uniform(2, 100)
    curve = curve_of(rank, truth)
    begins = curve.diagnostics["begins"]
    assert 100 < begins < 2_000
    assert any(f"Before rank {begins:,} the bounds say no more than the labels" in one for one in curve.findings)
    before = rank[rank < begins]
    low, high = curve.envelope.at([begins - 1])
    positives = int(truth[before - 1].sum())
    assert (low[0], high[0]) == (positives, begins - 1 - before.size + positives)
    curve = curve_of(np.flatnonzero(truth)[:100] + 1, truth)
    assert curve.claim.coverage == "none"  # they crowd at the top of the list
    assert inside(curve, truth)  # what crosses is not shown
    ones = np.ones(N, np.int8)
    for said, all_alike in (("positive", ones), ("negative", 1 - ones)):
        assert any(one.startswith(f"Every label is {said}") for one in curve_of(rank, all_alike).findings)


def adopted_in(source, study, labels, size, **given):
    """The curve of labels that are adopted as a uniform sample, or as it is given."""
    labels = labels.drop_columns(["item"]) if "item" in labels.column_names else labels
    streameval.adopt(str(source), study, labels, **{"drawn": f"uniform(size={size})", **given})
    return curve_so_far(study)


def test_probabilities_of_another_draw_are_noticed(listed, tmp_path):
    folder, truth = listed
    rank = uniform(4, 500)
    for p, coverage in ((0.05, "simultaneous"), (0.2, "none")):
        curve = adopted_in(folder, tmp_path / str(p), table(truth, rank), None, drawn=f"poisson(probability={p})")
        assert curve.claim.coverage == coverage
        said = "The probabilities of all items sum to 2,000.0, and 500 items were drawn"
        finding = f"These bounds promise nothing. {said}: no draw as stated looks like that."
        assert (curve.findings[0] == finding) == (coverage == "none")
    labels = table(truth, rank, p=np.full(500, 0.2))
    curve = adopted_in(folder, tmp_path / "column", labels, None, drawn="poisson(probability=p, least=0.2)")
    assert "The inverse probabilities sum to 2,500, where the list has 10,000 items" in curve.findings[0]


def listed_probabilities(path, probability):
    pq.write_table(pa.table({"item": [f"item {r}" for r in range(1, N + 1)], "p": probability}), path)
    return str(path)


def test_probabilities_divided_by_their_maximum_are_noticed_where_all_are_known(listed, tmp_path):
    """The inverse probabilities say nothing of it, for the smallest make them vary so much."""
    _, truth = listed
    rank, rng = np.arange(1, N + 1), np.random.default_rng(8)
    right = 600 / (rank + 800)
    for name, said, coverage in (("right", right, "simultaneous"), ("scaled", right / right.max(), "none")):
        source = listed_probabilities(tmp_path / f"{name}.parquet", said)
        for draw in range(examples(1, 2)):
            taken = rank[rng.random(N) < right]
            labels = table(truth, taken, p=said[taken - 1])
            curve = adopted_in(source, tmp_path / f"{name}-{draw}", labels, None, drawn="poisson(probability=p)")
            assert curve.claim.coverage == coverage
            about = f"The probabilities of all items sum to {said.sum():,.1f}, and {taken.size:,} items were drawn"
            assert (about in curve.findings[0]) == (coverage == "none")


def test_honest_strata_of_few_items_are_adopted(listed, tmp_path):
    """Two ranges of ten items, nine of each: both ends are drawn in 81 % of draws."""
    folder, truth = listed
    rng, last, drawn = np.random.default_rng(0), [10, 20, N], [9, 9, 50]
    method = Adopted(drawn="strata")
    for _ in range(40):
        rank = np.concatenate([np.sort(rng.choice(w, k, replace=False)) + s + 1
                               for w, k, s in ((10, 9, 0), (10, 9, 10), (N - 20, 50, 20))])  # fmt: skip
        plan = method.adopt(N, 1, rank, Strata(np.array(last), np.array(drawn)), None)
        assert method.curve(plan, Labels.of(plan, truth[rank - 1])).claim.coverage == "simultaneous"
    assert {10, 20} <= {*rank.tolist()}
    labels = table(truth, rank).drop_columns(["item"])
    streameval.adopt(str(folder), tmp_path / "study", labels, **ranges(last, drawn))
    assert curve_so_far(tmp_path / "study").claim.coverage == "simultaneous"


def samples(frame):
    """Samples of a real list as tools draw them, with what the guide says of each."""
    import duckdb

    n = len(frame)
    uniform_draw = {"drawn": "uniform"}
    yield "numpy", frame.iloc[np.random.default_rng(1).choice(n, 1500, replace=False)], uniform_draw
    yield "pandas", frame.sample(1500, random_state=1), uniform_draw
    yield (
        "duckdb rows",
        duckdb.sql("SELECT * FROM frame USING SAMPLE reservoir(1500 ROWS) REPEATABLE (7)").df(),
        uniform_draw,
    )
    yield "train_test_split", train_test_split(frame, test_size=1500, random_state=1)[1], uniform_draw
    yield "KFold", frame.iloc[next(iter(KFold(20, shuffle=True, random_state=1).split(frame)))[1]], uniform_draw
    bernoulli = duckdb.sql("SELECT * FROM frame USING SAMPLE 4% (bernoulli, 11)").df()
    yield "bernoulli", bernoulli, {"drawn": "poisson", "probability": 0.04}
    yield (
        "every 25th",
        frame.iloc[7::25],
        {"drawn": "uniform", "against": "keep their distance, as where every k-th is taken"},
    )
    yield "one file", frame.iloc[3000:4500], {"drawn": "uniform", "against": "All 1,500 are ranks 3,001 to 4,500"}
    blocks = np.random.default_rng(3).choice(n // 50, 30, replace=False)
    rows = (blocks[:, None] * 50 + np.arange(50)).ravel()
    yield "blocks of rows", frame.iloc[rows], {"drawn": "uniform", "against": "side by side"}


def test_samples_of_everyday_tools_are_what_the_guide_says(real, tmp_path):
    """By rank, as the method sees them; one of them by key, through the verb."""
    frame = pq.read_table(real("ppdb_human")).to_pandas()[["item_id", "label"]]
    truth, n = frame["label"].to_numpy(), len(frame)
    y, rank_of = np.cumsum(truth), dict(zip(frame["item_id"], range(1, n + 1), strict=True))
    for name, sample, said in samples(frame):
        rank = np.sort([rank_of[one] for one in sample["item_id"]])
        if said["drawn"] == "uniform":
            method, ranges, weights = Adopted(), Strata(np.array([n]), np.array([rank.size])), None
        else:
            method, p = Adopted(drawn="poisson"), said["probability"]
            ranges, weights = Floor(np.array([n]), np.array([p])), np.full(rank.size, p)
        plan = method.adopt(n, 1, rank, ranges, weights)
        curve = method.curve(plan, Labels.of(plan, truth[rank - 1]))
        if "against" in said:
            assert curve.claim.coverage == "none", name
            assert said["against"] in curve.findings[0]
            continue
        assert curve.claim.coverage == "simultaneous", name
        low, high = curve.envelope.at(np.arange(1, n + 1))
        assert np.all((low <= y) & (y <= high)), name
        if name == "pandas":
            streameval.adopt(pa.table({"item_id": frame["item_id"]}), tmp_path / name,
                             pa.Table.from_pandas(sample, preserve_index=False), on="item_id",
                             drawn=f"uniform(size={rank.size})")  # fmt: skip
            assert streameval.Study(tmp_path / name).plan().ranks.tolist() == rank.tolist()


@pytest.mark.parametrize("drawn", ["unknown", "uniform"])
def test_labels_of_the_top_alone_estimate_nothing_below_it(listed, tmp_path, drawn):
    """As if a person had labelled from the top until the budget was spent, whatever they call it."""
    folder, truth = listed
    rank = np.arange(1, 1001)

    def estimated(rank, drawn):
        given, study = table(truth, rank), tmp_path / f"{drawn} {rank[-1]}"
        value = f"{drawn}(size={rank.size})" if drawn == "uniform" else drawn
        streameval.adopt(str(folder), study, given, drawn=value)
        return judged(study).curve.estimated

    top = estimated(rank, drawn)
    assert top.at(1000) == truth[:1000].sum()
    assert np.isnan(top.at(N))
    spread = estimated(rank * 10 - 3, "unknown")
    assert spread.at(N) == pytest.approx(N * truth[rank * 10 - 4].mean(), rel=0.02)
