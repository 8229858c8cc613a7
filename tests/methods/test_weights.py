"""Weights: averages over labels are those of the list, whatever method drew them."""

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from label_tables import judged
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.methods import available, create
from streameval.rankings import open_ranking
from streameval.rankings.draw_by_key import draw_by_key
from streameval.slices.plan import draw_by_slices
from streameval.study.weights import draw_weights
from streameval.verbs.sql import connect

N = 2_000
ROWS = np.arange(1, N + 1)
TRUTH = (np.random.default_rng(3).random(N) < np.linspace(1, 0.05, N)).astype(np.int8)
# values whose weighted sums are known: how many items, positives, the deep half, an odd pattern
VALUES = np.array([np.ones(N), TRUTH, ROWS > N // 2, TRUTH * (ROWS % 3 == 0)], dtype=np.float64)
TABLE = pa.table(
    {"id": [f"item {row}" for row in ROWS], "country": np.where(ROWS % 5 == 0, "fr", "de"), "label": TRUTH}
)


def by_key(seed):
    method = create("loguniform", {"budget": 250})
    return method.drawn(N, seed, draw_by_key(open_ranking(TABLE), method.rates(N), ("id",), seed))


def grown(seed):
    method = create("loguniform", {"budget": 150, "stages": 4, "growing": True})
    return method.enlarged(method.enlarged(method.plan(N, seed), 2), 4)


def plain(name, **parameters):
    return lambda seed: create(name, parameters).plan(N, seed)


def sliced(name, **parameters):
    return lambda seed: draw_by_slices(open_ranking(TABLE), "country", create(name, parameters), seed)


DRAWS = {
    "loguniform": (plain("loguniform", budget=250), N, 400),
    "loguniform, one look of several": (plain("loguniform", budget=250, stages="3:later"), N, 400),
    "loguniform, grown": (grown, N, 400),
    "loguniform, by key": (by_key, N, 100),
    "loguniform, slices": (sliced("loguniform", budget=250), N, 60),
    "uniform": (plain("uniform", budget=250), N, 400),
    "uniform, slices": (sliced("uniform", budget=250), N, 60),
    "stratified": (plain("stratified", alpha=0.5, epsilon="0.1", head=40, tail="closed"), N, 400),
    "stratified, open tail": (plain("stratified", alpha=0.9, epsilon="0.3", head=10), None, 400),
    "stratified, few slots": (plain("stratified", budget=40, epsilon="0.5", head=10, tail="closed"), N, 2_000),
}


@pytest.mark.parametrize("name", DRAWS)
def test_weighted_sums_are_those_of_the_list_in_the_mean_over_seeds(name):
    draw, reached, most = DRAWS[name]
    replicates = examples(most // 5, most)
    found, raw = [], []
    for seed in range(replicates):
        plan = draw(seed)
        reached = reached or N - plan.notes["unknown_tail"]
        found.append(VALUES[:, plan.ranks - 1] @ draw_weights(plan))
        raw.append(TRUTH[plan.ranks - 1].mean())
    expected = VALUES[:, :reached].sum(axis=1)
    error = np.std(found, axis=0, ddof=1) / np.sqrt(replicates)
    assert np.all(np.abs(np.mean(found, axis=0) - expected) <= 4 * error + 1e-6)
    if reached == N:  # the plain mean of the labels is another matter
        assert np.mean(raw) - TRUTH.mean() > 0.05


def test_weights_of_a_uniform_draw_add_up_to_the_list():
    assert draw_weights(DRAWS["uniform"][0](7)).sum() == pytest.approx(N)


def test_a_rank_that_several_slots_took_stands_for_as_many_items_as_any_other():
    plan = DRAWS["stratified"][0](1)
    slots = pc.list_value_length(plan.table.column("held_until")).to_numpy()
    beyond = plan.ranks > plan.notes["g_ell"]
    for stratum in np.unique(plan.table.column("stratum").to_numpy()[beyond & (slots > 1)]):
        here = plan.table.column("stratum").to_numpy() == stratum
        assert np.unique(draw_weights(plan)[here]).size == 1


def test_windows_have_no_weight_and_every_item_has_one():
    assert np.all(np.isnan(draw_weights(create("paula", {"epsilon": "0.1", "window": 20}).plan(N))))
    whole = create("paula", {"epsilon": "0.5", "window": N}).plan(N)
    assert draw_weights(whole).tolist() == [1.0] * N
    assert {name for name in available() if not hasattr(available()[name], "weights")} == {"paula"}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    pq.write_table(TABLE.append_column("weight", pa.array(ROWS * 0.5)), folder / "list.parquet")
    pq.write_table(pa.table({"rank": ROWS, "label": TRUTH}), folder / "truth.parquet")
    return folder


@pytest.fixture(scope="module")
def evaluated(files):
    """A study of 800 labels, its tasks exported."""
    study = files / "s"
    assert run(["plan", str(files / "list.parquet"), "--study", str(study), "--seed", "5", "--budget", "800"]) == 0
    assert run(["select", str(study), "--export", str(study / "tasks.csv")]) == 0
    assert run(["evaluate", str(study), "--labels", str(files / "truth.parquet")]) == 0
    return study


def asked(study, query):
    with connect(study) as session:
        return session.ask(query).to_pylist()


def test_sql_averages_are_about_the_list(evaluated):
    labels, selection = (pq.read_table(evaluated / f"{name}.parquet") for name in ("labels", "selection"))
    assert selection.column("draw_weight").equals(labels.column("draw_weight"))
    assert labels.column("weight").to_numpy().sum() == pytest.approx(N)
    assert selection.column("weight_item").to_pylist() == (0.5 * selection.column("rank").to_numpy()).tolist()
    header = (evaluated / "tasks.csv").read_text(encoding="utf-8-sig").splitlines()[0]
    assert "weight," not in header.replace("weight_item", "")
    (found,) = asked(evaluated, "SELECT weighted_mean(label, weight) AS m, avg(label) AS plainly FROM labels")
    assert found["plainly"] > TRUTH.mean() + 0.1
    assert found["m"]["estimate"] == pytest.approx(TRUTH.mean(), abs=0.04)
    assert found["m"]["known"] == 1.0
    mine = np.average(labels.column("label").to_numpy(), weights=labels.column("weight").to_numpy())
    assert found["m"]["estimate"] == pytest.approx(mine, rel=1e-12)
    query = """SELECT country, weighted_mean(labels.label = 1, labels.weight).estimate AS m
               FROM labels JOIN selection USING (rank) GROUP BY country ORDER BY country"""
    for row, country in zip(asked(evaluated, query), ("de", "fr"), strict=True):
        own = TRUTH[TABLE.column("country").to_numpy(zero_copy_only=False) == country].mean()
        assert (row["country"], row["m"]) == (country, pytest.approx(own, abs=0.08))


def test_missing_labels_are_left_out_and_said(evaluated):
    half = "CASE WHEN rank % 2 = 0 THEN label END"
    query = f"""SELECT weighted_mean({half}, weight) AS m, weighted_mean(NULL::INT, weight) AS nothing,
                sum(weight) FILTER (WHERE rank % 2 = 0) / sum(weight) AS share FROM labels"""
    (row,) = asked(evaluated, query)
    assert row["m"]["known"] == pytest.approx(row["share"])
    assert row["m"]["estimate"] == pytest.approx(TRUTH.mean(), abs=0.15)
    assert row["nothing"] == {"estimate": None, "known": None}


def test_what_has_no_weight_has_no_average(catalogue):
    study = catalogue.path("paula-evaluated")
    labels = pq.read_table(study / "labels.parquet")
    assert labels.column("draw_weight").null_count == labels.num_rows
    query = """SELECT weighted_mean(label, draw_weight).estimate AS none, weighted_mean(label, weight).estimate AS m,
               precision_at(3000).estimate AS p FROM labels"""
    (row,) = asked(study, query)  # windows stand for the stretches between them
    assert row["none"] is None
    assert row["m"] == pytest.approx(row["p"])


@pytest.mark.parametrize(("unseen", "nulls"), [("yes", False), ("no", True)])
def test_labels_that_the_model_has_seen_have_no_weight(files, tmp_path, unseen, nulls):
    known = pa.table({"id": TABLE.column("id"), "label": TRUTH}).slice(0, 50)
    streameval.plan(str(files / "list.parquet"), tmp_path / "r", seed=5, budget=300, reuse=known, on="id",
                    labels_unseen_by_model=unseen)  # fmt: skip
    labels = judged(tmp_path / "r", files / "truth.parquet").label_table
    assert labels.column("weight").null_count == (labels.num_rows if nulls else 0)
    assert labels.column("draw_weight").null_count == (labels.num_rows if nulls else 0)


def test_an_exact_list_has_an_empty_table_of_labels_with_weights(catalogue):
    (row,) = asked(catalogue.path("labelled-list"), "SELECT weighted_mean(label, weight) AS m FROM labels")
    assert row["m"] == {"estimate": None, "known": None}


def test_python_has_the_column(files, tmp_path):
    streameval.plan(str(files / "list.parquet"), tmp_path, seed=5, budget=300)
    chosen = streameval.select(tmp_path).table
    found = judged(tmp_path, files / "truth.parquet")
    assert found.label_table.column("draw_weight").equals(chosen.column("draw_weight"))
