"""Slices: ranks within them are found whatever the order, their bounds hold together, and so do those of the whole."""

import errno
import json
import re
import shutil
import tracemalloc
from dataclasses import replace
from pathlib import Path
from threading import get_ident

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_tables import judged
from scipy.stats import binom
from suite_cases import cases, examples, slow

import streameval
from streameval.cli import run
from streameval.errors import InputError, OutsideError, StudyError
from streameval.kernels.slicing import count_between, find_in_order
from streameval.methods import available, create
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.rows.row_groups import RowGroup
from streameval.slices.column import MOST_SLICES, read_slices
from streameval.slices.locate_slices import locate_slices
from streameval.slices.plan import draw_by_slices
from streameval.slices.pool import budgets, list_cutoffs, seed_of, slice_confidence, slice_plans
from streameval.study import Study
from streameval.study.judging import curve_of, slice_curves
from streameval.types import Labels
from streameval.verbs.sql import connect

SMALL = {
    "paula": {"epsilon": 0.2, "window": 10},
    "loguniform": {"alpha": 0.3},
    "uniform": {"alpha": 0.3},
    "stratified": {"epsilon": 0.3, "alpha": 0.5},
}
NAMES = np.array(["de", "fr", None, "at's", "<b>"], dtype=object)


def listed(rng, n, decimals=2):
    """A list whose slices differ in size and precision; scores tie."""
    code = rng.choice(5, n, p=[0.5, 0.3, 0.1, 0.07, 0.03])
    score = np.round(rng.random(n), decimals).astype(np.float32)
    truth = (rng.random(n) < score * np.array([1.0, 0.8, 0.6, 0.4, 0.2])[code]).astype(np.int8)
    country = pa.array(NAMES[code].tolist())
    return pa.table({"id": np.arange(n), "country": country, "conf": score, "truth": truth})


@pytest.fixture(scope="module")
def sliced(tmp_path_factory):
    """A list in three files, stored in no order."""
    folder, table = tmp_path_factory.mktemp("sliced"), listed(np.random.default_rng(3), 3_000)
    for i in range(3):
        pq.write_table(table.slice(i * 1_000, 1_000), folder / f"part-{i}.parquet", row_group_size=450)
    return folder, table


# --- kernels ---


@settings(max_examples=examples(40, 100))
@given(st.lists(st.integers(0, 3), min_size=1, max_size=60), st.data())
def test_kernels_of_stored_order_agree_with_a_plain_count(codes, data):
    codes = np.array(codes, np.uint8)
    sizes = np.bincount(codes, minlength=4)
    wanted = [np.array(sorted(data.draw(st.sets(st.integers(1, max(1, int(k))), max_size=int(k)))), np.int64)
              for k in sizes]  # fmt: skip
    cutoffs = np.array(sorted(data.draw(st.sets(st.integers(1, codes.size))) | {codes.size}), np.int64)
    cut = data.draw(st.integers(0, codes.size))
    ends = np.cumsum([one.size for one in wanted]).astype(np.int64)
    at, seen = np.concatenate([[0], ends[:-1]]).astype(np.int64), np.zeros(4, np.int64)
    flat, counts = np.concatenate(wanted).astype(np.int64), np.zeros((cutoffs.size, 4), np.int64)
    found = np.zeros(flat.size, np.int64)
    for first, own in ((0, codes[:cut]), (cut, codes[cut:])):
        find_in_order(own, first, seen, flat, at, ends, found)
        if own.size:
            count_between(own, first, cutoffs, counts)
    places = [np.flatnonzero(codes == code) + 1 for code in range(4)]
    assert found.tolist() == [int(places[code][k - 1]) for code in range(4) for k in wanted[code]]
    naive = [[int(np.sum(locate_slices <= cutoff)) for locate_slices in places] for cutoff in cutoffs]
    assert np.cumsum(counts, axis=0).tolist() == naive


# --- ranks within slices ---


def check_places(source, options, column, tmp_path, table=None):
    opened = open_ranking(source, options)
    slices = read_slices(opened, column, tmp_path)
    rng = np.random.default_rng(1)
    wanted = [np.unique(np.append(rng.integers(1, k + 1, 10), (1, k))).astype(np.int64) for k in slices.n_items]
    ends = (1, opened.n_items)  # ends of the list are ends of slices too: what is found twice is one mark
    cutoffs = np.unique(np.append(rng.integers(1, opened.n_items + 1, 15), ends)).astype(np.int64)
    placed = locate_slices(opened, slices, wanted, cutoffs)
    whole = opened.fetch(np.arange(1, opened.n_items + 1), [column]).table.column(column).to_pylist()
    names = np.array(["(none)" if one is None else str(one) for one in whole])
    assert sorted(slices.names) == sorted(set(names))
    for code, name in enumerate(slices.names):
        ranks = np.flatnonzero(names == name) + 1
        assert slices.n_items[code] == ranks.size
        assert np.array_equal(placed.rank[code], ranks[wanted[code] - 1])
        assert np.array_equal(placed.inside[:, code], np.searchsorted(ranks, cutoffs, side="right"))


@pytest.mark.parametrize(
    "options",
    [
        RankingOptions(),
        RankingOptions(score="conf"),
        RankingOptions(score="conf", ascending=True, threads=1),
        RankingOptions(score="conf", key=("id",), memory=0.06),
        RankingOptions(score="id"),
    ],
    ids=["stored", "scored", "ascending", "key", "integers"],
)
def test_ranks_of_slices_are_those_of_a_full_sort(sliced, options, tmp_path_factory):
    check_places(str(sliced[0]), options, "country", tmp_path_factory.mktemp("codes"))


def test_slices_are_read_by_as_many_threads_as_were_asked_for(sliced, tmp_path, monkeypatch):
    readers, plain = set(), RowGroup.read

    def read(self, columns):
        readers.add(get_ident())
        return plain(self, columns)

    monkeypatch.setattr(RowGroup, "read", read)
    opened = open_ranking(str(sliced[0]), RankingOptions(threads=1))
    read_slices(opened, "country", tmp_path)
    assert (len(opened.rows.units()) > 1, len(readers)) == (True, 1)


def test_ranks_of_slices_of_a_table_in_memory_are_those_of_a_full_sort(sliced, tmp_path):
    check_places(sliced[1], RankingOptions(score="conf"), "country", tmp_path)


def test_counting_takes_no_room_for_every_slice_at_every_mark(tmp_path):
    n, rng = 40_000, np.random.default_rng(2)
    table = pa.table({"conf": rng.random(n), "by": rng.integers(0, 20, n)})
    ranking = open_ranking(table, RankingOptions(score="conf", memory=0.05))
    slices = read_slices(ranking, "by", tmp_path)
    wanted = [np.arange(1, k + 1) for k in slices.n_items]
    tracemalloc.start()
    placed = locate_slices(ranking, slices, wanted, np.array([n]))
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(np.sort(np.concatenate(placed.rank)), np.arange(1, n + 1))
    assert most < 14e6, most  # a number for each slice at each item is 6.4 MB, and two of them are added up


@pytest.mark.parametrize("kind", [pa.int16(), pa.bool_(), pa.date32(), pa.dictionary(pa.int8(), pa.string())])
def test_slices_of_other_types(kind, tmp_path):
    values = pa.array([None if i % 7 == 0 else i % 2 for i in range(500)], pa.int32())
    column = values.cast(pa.string()).cast(kind) if pa.types.is_dictionary(kind) else values.cast(kind)
    if kind == pa.bool_():
        column = column.cast(pa.string()).cast(pa.bool_())
    pq.write_table(pa.table({"id": np.arange(500), "by": column}), tmp_path / "list.parquet", row_group_size=90)
    slices = read_slices(open_ranking(str(tmp_path / "list.parquet")), "by", tmp_path)
    assert slices.n_items.tolist() == sorted(np.unique([0 if i % 7 == 0 else 1 + i % 2 for i in range(500)],
                                                       return_counts=True)[1].tolist(), reverse=True)  # fmt: skip
    assert "(none)" in slices.names


def test_a_dictionary_may_name_more_than_its_rows_do(tmp_path):
    names = pa.array([*(f"v{i}" for i in range(500)), None])
    codes = pa.array([499, 7, None, 500, 7, 7], pa.int32())
    table = pa.table({"by": pa.DictionaryArray.from_arrays(codes, names)})
    slices = read_slices(open_ranking(table), "by", tmp_path)
    assert dict(zip(slices.names, slices.n_items.tolist(), strict=True)) == {"v7": 3, "(none)": 2, "v499": 1}
    assert [slices.names[code] for code in slices.codes] == ["v499", "v7", "(none)", "(none)", "v7", "v7"]


def test_a_narrow_dictionary_has_room_for_items_without_a_value(tmp_path):
    codes = pa.array([*range(128), None], pa.int8())
    table = pa.table({"by": pa.DictionaryArray.from_arrays(codes, pa.array([f"v{i}" for i in range(128)]))})
    slices = read_slices(open_ranking(table), "by", tmp_path)
    assert len(slices.names) == 129
    assert slices.names[slices.codes[128]] == "(none)"


def test_a_partition_key_is_a_slice(tmp_path):
    for country in ("de", "fr"):
        folder = tmp_path / "lake" / f"country={country}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"id": np.arange(300), "conf": np.linspace(0, 1, 300)}), folder / "part.parquet")
    check_places(str(tmp_path / "lake"), RankingOptions(), "country", tmp_path)
    check_places(str(tmp_path / "lake"), RankingOptions(score="conf"), "country", tmp_path)


@settings(max_examples=examples(6, 25))
@given(st.integers(0, 2**32), st.sampled_from([np.float32, np.float64, np.int64, np.uint64]), st.booleans())
def test_ranks_of_slices_whatever_the_scores(tmp_path_factory, seed, kind, descending):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 400))
    table = pa.table({"conf": rng.integers(0, 1 + rng.integers(1, 300), n).astype(kind),
                      "by": rng.integers(0, 4, n)})  # fmt: skip
    if kind is np.uint64 and descending and 0 in table.column("conf").to_pylist():
        table = table.set_column(0, "conf", pa.array(table.column("conf").to_numpy() + np.uint64(1)))
    check_places(table, RankingOptions(score="conf", ascending=not descending), "by", tmp_path_factory.mktemp("codes"))


# --- plans and bounds ---


def test_shares():
    assert slice_confidence(0.95, 1) == pytest.approx(0.95)
    assert 10 * (1 - slice_confidence(0.9, 10)) == pytest.approx(0.1)
    assert seed_of(0, "de") != seed_of(0, "fr") != seed_of(1, "fr")


@given(st.lists(st.integers(1, 1_000), min_size=1, max_size=12), st.integers(0, 5_000))
def test_budgets_are_shared_out(sizes, more):
    budget = len(sizes) + more
    given_ = budgets(budget, sizes)
    assert sum(given_) <= budget
    assert all(1 <= own <= size for own, size in zip(given_, sizes, strict=True))
    assert sum(given_) > budget - len(sizes) or given_ == sizes


@given(st.integers(1, 10**13))
def test_cutoffs_of_the_list_reach_its_end(n):
    found = list_cutoffs(n)
    assert found[0] == 1
    assert found[-1] == n
    assert np.all(np.diff(found) > 0)


@pytest.mark.parametrize("method", sorted(available()))
def test_each_slice_is_bounded_as_a_list_of_its_own(method):
    table = listed(np.random.default_rng(5), 4_000)
    ranking = open_ranking(table)
    own = create(method, SMALL.get(method, {}))
    plan = draw_by_slices(ranking, "country", own, 1)
    assert plan.table.column("rank").to_numpy().tolist() == sorted(set(plan.ranks.tolist()))
    truth, names = table.column("truth").to_numpy(), names_of(table)
    labels = Labels.of(plan, truth[plan.ranks - 1])
    curves = slice_curves(plan, labels)
    for part in slice_plans(plan):
        within = truth[names == part.name]
        confidence = getattr(own, "confidence", None)
        alone = own if confidence is None else replace(own, confidence=slice_confidence(confidence, len(curves)))
        planned = alone.plan(within.size, seed_of(1, part.name))
        assert part.plan.ranks.tolist() == planned.ranks.tolist()
        expected = alone.curve(planned, Labels.of(planned, within[planned.ranks - 1]))
        assert curves[part.name].envelope.lower.tolist() == expected.envelope.lower.tolist()
        assert curves[part.name].envelope.upper.tolist() == expected.envelope.upper.tolist()
        assert curves[part.name].claim == expected.claim


def names_of(table):
    return np.array(["(none)" if one is None else one for one in table.column("country").to_pylist()])


@pytest.mark.parametrize("method", sorted(available()))
def test_slices_that_are_labelled_whole_make_the_whole_exact(method):
    table = listed(np.random.default_rng(6), 300)
    whole = {"budget": 300} if method in ("loguniform", "uniform") else {}
    plan = draw_by_slices(open_ranking(table), "country", create(method, whole), 0)
    if plan.table.num_rows < 300:
        pytest.skip(f"{method} leaves ranks out of so small a list")
    truth = table.column("truth").to_numpy()
    curve = curve_of(plan, Labels.of(plan, truth))
    lower, upper = curve.envelope.at(np.arange(1, 301))
    assert lower.tolist() == upper.tolist() == np.cumsum(truth).tolist()
    assert curve.claim.coverage == "exact"


@pytest.mark.parametrize("method", cases(["loguniform", "uniform", "stratified"], "loguniform"))
def test_slices_and_the_whole_hold_together(method):
    """All slices at all ranks, and the whole list, with one probability: seeded draws, a binomial test."""
    runs, confidence = examples(20, 70), 0.8
    table = listed(np.random.default_rng(8), 1_000)
    ranking, truth, names = open_ranking(table), table.column("truth").to_numpy(), names_of(table)
    own = create(method, {**SMALL[method], "confidence": confidence})
    missed = 0
    for seed in range(runs):
        plan = draw_by_slices(ranking, "country", own, seed)
        labels = Labels.of(plan, truth[plan.ranks - 1])
        curves = {**slice_curves(plan, labels), None: curve_of(plan, labels)}
        missed += not all(inside(curve, truth if name is None else truth[names == name])
                          for name, curve in curves.items())  # fmt: skip
    assert binom.sf(missed - 1, runs, 1 - confidence) > 0.01, missed


def test_a_confidence_that_nobody_gave_is_shared_too():
    table = listed(np.random.default_rng(5), 5_000)
    drawn = draw_by_slices(
        open_ranking(table), "country", create("paula", {**SMALL["paula"], "assume": "independent"}), 0
    )
    labels = Labels.of(drawn, np.zeros(drawn.ranks.size))
    for rate in (0.0, 0.01):
        bounded = [c.claim for c in slice_curves(drawn, labels, rate).values() if c.claim.coverage == "conditional"]
        assert [one.confidence for one in bounded] == [pytest.approx(0.99)] * 5
        assert curve_of(drawn, labels, rate).claim.confidence == 0.95


def inside(curve, truth):
    lower, upper = curve.envelope.at(np.arange(1, truth.size + 1))
    yields = np.cumsum(truth)
    return bool(np.all(lower <= yields) and np.all(yields <= upper))


def test_missing_labels_and_wrong_labels_widen_slices_and_the_whole():
    table = listed(np.random.default_rng(9), 3_000)
    plan = draw_by_slices(open_ranking(table), "country", create("loguniform", {"alpha": 0.3}), 0)
    label = table.column("truth").to_numpy()[plan.ranks - 1]
    few = np.where(np.arange(label.size) % 5 == 0, -1, label).astype(np.int8)
    known, less, doubted = (curve_of(plan, Labels.of(plan, one), rate).envelope.at(np.arange(1, 3_001))
                            for one, rate in ((label, 0.0), (few, 0.0), (label, 0.02)))  # fmt: skip
    for wider in (less, doubted):
        assert np.all(wider[0] <= known[0])
        assert np.all(wider[1] >= known[1])


# --- the journey ---


@pytest.fixture(scope="module")
def study(sliced, tmp_path_factory):
    """A study by slices, which tests leave as it is; those that change one take `copied`."""
    home, (_, table) = tmp_path_factory.mktemp("study"), sliced
    made = home / "st"
    pq.write_table(table, home / "list.parquet")
    streameval.plan(str(home / "list.parquet"), made, method="loguniform", by="country", alpha=0.3,
                    options=RankingOptions(score="conf"), seed=0)  # fmt: skip
    selection = streameval.select(made).table
    labels = pa.table({"rank": selection.column("rank"), "label": selection.column("truth")})
    return made, table, streameval.evaluate(made, labels=labels)


@pytest.fixture
def copied(study, tmp_path):
    return shutil.copytree(study[0], tmp_path / "study")


def test_results_are_read_back_as_they_were_written(study):
    folder, _table, found = study
    again = Study(folder).evaluation()
    assert [one.facts() for one in again.slices] == [one.facts() for one in found.slices]
    for one, other in zip(again.slices, found.slices, strict=True):
        assert one.metrics.equals(other.metrics.replace_schema_metadata(None))
        assert one.curve.precision_at(5) == other.curve.precision_at(5)
        assert one.curve.threshold_at(5) == other.curve.threshold_at(5)
    assert sum(one.planned for one in found.slices) == Study(folder).plan().table.num_rows
    assert sum(one.positive for one in found.slices) == int(np.sum(found.label_table.column("label").to_numpy() == 1))


def test_truth_and_thresholds_of_every_slice(study):
    folder, _table, found = study
    plan = Study(folder).plan()
    opened = open_ranking(plan.location["source"], RankingOptions.from_plan(plan))
    whole = opened.fetch(np.arange(1, 3_001), ["country", "truth"]).table
    names, truth, score = names_of(whole), whole.column("truth").to_numpy(), whole.column("score").to_numpy()
    for one in found.slices:
        own = names == one.name
        assert inside(one.curve, truth[own])
        shown = one.curve_table
        assert shown.column("score").to_numpy().tolist() == score[own][shown.column("rank").to_numpy() - 1].tolist()
    assert inside(found.curve, truth)


def test_the_same_plan_again_changes_nothing(study, copied):
    folder, ranking = copied, str(study[0].with_name("list.parquet"))
    before = Study(folder).plan().plan_id
    again = {"method": "loguniform", "by": "country", "alpha": 0.3, "options": RankingOptions(score="conf")}
    assert streameval.plan(ranking, folder, **again, seed=0).plan_id == before
    for by in ("truth", None):
        with pytest.raises(StudyError, match=f"different plan: by country then, {by or 'none'} now"):
            streameval.plan(ranking, folder, **{**again, "by": by}, seed=0)


def test_sql_says_of_slices_what_python_says(study):
    folder, _, found = study
    at_rank = ("precision_at", "recall_at", "yield_at", "f_measure", "threshold_at")
    at_target = ("rank_at_precision", "rank_at_recall")
    with connect(folder) as session:
        for macros, values in ((at_rank, lambda one: (7, one.curve.n_items)), (at_target, lambda one: ("0.3", "1"))):
            asked = [(one, value) for one in found.slices for value in values(one)]
            given_ = ", ".join(f"({at}, $q${one.name}$q$, {value})" for at, (one, value) in enumerate(asked))
            columns = ", ".join(f"slice_{name}(s, k{', 2' * (name == 'f_measure')}) AS {name}" for name in macros)
            rows = session.ask(f"SELECT i, {columns} FROM (VALUES {given_}) AS t(i, s, k)").to_pylist()
            assert len(rows) == len(asked)
            for row in rows:
                one, value = asked[row["i"]]
                for name in macros:
                    expected = getattr(one.curve, name)(value, *([2] if name == "f_measure" else []))
                    bounds = tuple(None if bound != bound else bound for bound in expected)
                    assert tuple((row[name] or {"": None, " ": None, "  ": None}).values()) == bounds, (row, name)
        name, curve = found.slices[0].name, found.slices[0].curve
        (typed,) = session.ask(f"SELECT slice_precision_at('{name}', 7) AS found").column("found").to_pylist()
        assert tuple(typed.values()) == curve.precision_at(7)
        every = session.ask("SELECT slice, slice_precision_at(slice, n_items).lower AS lower FROM slices").to_pylist()
        assert every == [{"slice": one.name, "lower": one.curve.precision_at(one.curve.n_items).lower}
                         for one in found.slices]  # fmt: skip
        for asked, said in (("'nowhere', 1", "no slice is called nowhere"), (f"'{found.slices[0].name}', 0", "k is 0")):
            for query in (f"SELECT slice_precision_at({asked})", f"FROM slice_precision_at({asked})"):
                with pytest.raises(streameval.InputError, match=f"^{said}"):
                    session.ask(query)
        assert session.ask("SELECT slice_precision_at(NULL, 1) AS found").to_pylist() == [{"found": None}]
        counted = session.ask("SELECT slice_rank FROM slice_counts WHERE rank = 3000 AND NOT is_item ORDER BY 1 DESC")
        assert counted.column(0).to_pylist() == [one.curve.n_items for one in found.slices]


def test_the_command_line_says_it_too(study, copied, capsys):
    folder, (_, _, found) = copied, study
    assert run(["show", str(folder), "precision@7", "--slice", "at's", "--json"]) == 0
    (row,) = json.loads(capsys.readouterr().out)["measures"]
    (one,) = (one for one in found.slices if one.name == "at's")
    assert (row["lower"], row["estimate"], row["upper"]) == tuple(one.curve.precision_at(7))
    assert run(["show", str(folder), "precision@7", "--slice", "at's"]) == 0
    said = capsys.readouterr().out
    assert "with 99 % confidence" in said
    assert said.endswith(" The bounds of all 5 slices hold together with 95 %.\n")
    assert run(["show", str(folder), "--slice", "att", "precision@7"]) == 2
    assert "there is no slice 'att'" in capsys.readouterr().err
    assert run(["evaluate", str(folder)]) == 0
    shown = capsys.readouterr().out
    assert "slice by country" in shown
    assert f"{found.slices[0].curve.n_items:,}" in shown
    assert run(["labels", str(folder)]) == 0
    assert "All 5 slices are complete." in capsys.readouterr().out


def test_the_report_shows_every_slice_and_no_markup_of_theirs(study):
    folder, _, found = study
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "Slices by country" in page
    for at in range(len(found.slices)):
        assert f"id='chart-slice-{at}'" in page
    assert "&lt;b&gt;" in page
    assert "<b>" not in page.split("</script>")[-1]
    assert "Local precision" not in page  # labels of small slices are more than their share
    assert len(page) < 2_000_000


def test_slices_are_published_compared_and_cut(copied):
    folder = copied
    done = streameval.publish(folder, folder.parent / "there")
    names = {one["name"] for one in done.manifest["files"]}
    assert {"slice_counts.parquet", "slice_curve.parquet", "slice_envelope.parquet", "slice_metrics.parquet"} <= names
    assert streameval.compare(folder, folder.parent / "there").a.curve.claim.confidence == pytest.approx(0.975)
    assert run(["cut", str(folder), "100", "--out", str(folder.parent / "cut.parquet")]) == 0
    assert pq.read_table(folder.parent / "cut.parquet").num_rows == 100


def test_a_mixed_set_of_results_is_refused(copied):
    folder = copied
    table = pq.read_table(folder / "slice_metrics.parquet")
    pq.write_table(table.replace_schema_metadata(None), folder / "slice_metrics.parquet")
    with pytest.raises(StudyError, match="of another evaluation"):
        Study(folder).evaluation()


def test_counts_that_were_changed_are_refused(copied):
    folder = copied
    table = pq.read_table(folder / "slice_counts.parquet")
    pq.write_table(table.slice(1).replace_schema_metadata(None), folder / "slice_counts.parquet")
    with pytest.raises(StudyError, match="one of them was changed"):
        Study(folder).plan()
    (folder / "slice_counts.parquet").unlink()
    with pytest.raises(StudyError, match=r"slice_counts.* is missing from this study"):
        Study(folder).plan()


def test_a_rehearsal_counts_slices_and_writes_nothing(sliced, tmp_path, capsys):
    assert (
        run(
            [
                "plan",
                str(sliced[0]),
                "--study",
                str(tmp_path / "st"),
                "--by",
                "country",
                "--seed",
                "0",
                "--dry-run",
                "--json",
            ]
        )
        == 0
    )
    assert json.loads(capsys.readouterr().out)["dry_run"]
    assert not (tmp_path / "st").exists()
    assert (
        run(["plan", str(sliced[0]), "--study", str(tmp_path / "st"), "--by", "country", "--seed", "0", "--json"]) == 0
    )
    wrote = json.loads((tmp_path / "st" / "manifests" / "plan.json").read_text(encoding="utf-8"))["written"]
    assert {Path(one["path"]).name for one in wrote} == {"slice_counts.parquet", "plan.parquet", "plan.json"}


@pytest.mark.slow
def test_a_real_list_by_forecast(real, tmp_path):
    path = real("fivethirtyeight_all")
    plan = streameval.plan(str(path), tmp_path / "st", method="loguniform", by="forecast", budget=5_000, seed=0)
    assert len(plan.notes["slices"]) == 25
    assert 0.8 * 5_000 < plan.table.num_rows <= 5_000 + 5 * 5_000**0.5  # a budget is the mean of a random number
    truth = pq.read_table(path, columns=["label", "forecast"])
    label, names = truth.column("label").to_numpy(), np.array(truth.column("forecast").to_pylist())
    streameval.select(tmp_path / "st", columns=[])
    found = streameval.evaluate(tmp_path / "st", labels=pa.table({"rank": plan.ranks, "label": label[plan.ranks - 1]}))
    assert all(inside(one.curve, label[names == one.name]) for one in found.slices)
    assert inside(found.curve, label)


@pytest.mark.parametrize(
    ("by", "where"),
    [("country", "country <> 'fr'"), ("src", None), *slow(("country", None), ("src", "country <> 'fr'"))],
)
def test_slices_of_a_delta_table(by, where, tmp_path):
    deltalake = pytest.importorskip("deltalake", reason="pip install 'streameval[delta]'")
    rng = np.random.default_rng(0)
    table = pa.table({"country": np.array(["de", "fr", "a b"])[rng.integers(0, 3, 600)],
                      "src": np.array(["x", "y"])[rng.integers(0, 2, 600)], "conf": rng.permutation(600) / 600,
                      "truth": rng.integers(0, 2, 600).astype(np.int8)})  # fmt: skip
    deltalake.write_deltalake(str(tmp_path / "table"), table, partition_by=["country"])
    options = RankingOptions(score="conf", where=where)
    streameval.plan(
        f"delta:{tmp_path}/table", tmp_path / "st", method="loguniform", by=by, alpha=0.3, options=options, seed=0
    )
    selection = streameval.select(tmp_path / "st").table
    labels = pa.table({"rank": selection.column("rank"), "label": selection.column("truth")})
    kept = table.sort_by([("conf", "descending")]).to_pandas()
    kept = kept if where is None else kept[kept.country != "fr"]
    found = judged(tmp_path / "st", labels).slices
    assert {one.name: one.curve.n_items for one in found} == kept[by].value_counts().to_dict()
    assert all(inside(one.curve, kept[kept[by] == one.name].truth.to_numpy()) for one in found)


# --- bad input ---


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (["--by", "contry"], "no column 'contry'.*did you mean 'country'"),
        (["--by", "conf"], "column 'conf' is float.*slices are named by strings"),
        (["--by", "id"], f"more than {MOST_SLICES} values"),
        (["--by", "country", "--stages", "3:later"], "--stages 3:later does not go with slices"),
        (["--by", "country", "--method", "loguniform", "--budget", "4"], "4 labels for 5 slices"),
        (["--by", "country", "--method", "paula", "--budget", "60"], "slice '.*: a budget of 12 labels is below"),
        (["--by", "country", "--on", "id", "--method", "loguniform"], "slices do not go with draws by key"),
    ],
)
def test_what_slices_refuse(sliced, tmp_path, capsys, flags, said):
    assert run(["plan", str(sliced[0]), "--study", str(tmp_path / "st"), *flags, "--seed", "0"]) == 2
    line = capsys.readouterr().err.strip()
    assert "\n" not in line
    assert re.search(said, line), line
    assert not (tmp_path / "st").exists()


def test_scores_that_slices_refuse(tmp_path):
    table = listed(np.random.default_rng(0), 200)
    conf = table.column("conf").to_numpy().copy()
    conf[3] = np.nan
    holed = table.set_column(2, "conf", pa.array(conf))
    for nan in ("refuse", "last"):
        with pytest.raises(InputError, match="1 item has no conf"):
            streameval.plan(holed, tmp_path / "st", by="country", options=RankingOptions(score="conf", nan=nan), seed=0)
    edge = pa.table({"conf": np.array([0, 1, 2, 3] * 20, np.uint64), "by": np.arange(80) % 3})
    with pytest.raises(InputError, match="reach the end of their integer type"):
        streameval.plan(edge, tmp_path / "st", by="by", method="uniform", options=RankingOptions(score="conf"), seed=0)


def test_slices_are_not_enlarged(copied, capsys):
    assert run(["grow", str(copied), "--budget", "100"]) == 2
    assert "a plan by slices cannot grow" in capsys.readouterr().err


def test_long_and_empty_names_fit_a_page_and_a_terminal(tmp_path, capsys):
    table = pa.table({"by": ["x" * 300, "", "b"] * 50, "label": [1, 0, 1] * 50})
    pq.write_table(table, tmp_path / "list.parquet")
    st = tmp_path / "st"
    assert run(["plan", str(tmp_path / "list.parquet"), "--study", str(st), "--by", "by", "--seed", "1"]) == 0
    assert "(empty) 4" in capsys.readouterr().out
    plan = Study(st).plan()
    labels = pa.table({"rank": plan.ranks, "label": table.column("label").take(pa.array(plan.ranks - 1))})
    pq.write_table(labels, tmp_path / "labels.parquet")
    assert run(["labels", str(st)]) == 0
    assert run(["evaluate", str(st), "--labels", str(tmp_path / "labels.parquet")]) == 0
    shown = capsys.readouterr().out + (st / "report.html").read_text(encoding="utf-8")
    assert "x" * 47 + "…" in shown
    assert "x" * 49 not in shown


def test_a_value_that_reads_like_none_is_told_from_no_value(tmp_path):
    table = pa.table({"by": pa.array(["(none)", None, "de"] * 30)})
    with pytest.raises(InputError, match="items without a value, and others of the value"):
        streameval.plan(table, tmp_path / "st", by="by", seed=0)
    alone = pa.table({"by": pa.array(["(none)", "de"] * 30)})
    assert {one["name"] for one in streameval.plan(alone, tmp_path / "st", by="by", seed=0).notes["slices"]} == {
        "(none)",
        "de",
    }


def test_a_full_disk_is_outside_trouble_and_no_signal(tmp_path, monkeypatch):
    def full(handle, offset, size):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("streameval.process.system.os.posix_fallocate", full)
    with pytest.raises(OutsideError, match="space"):
        streameval.plan(listed(np.random.default_rng(0), 100), tmp_path / "st", by="country", seed=0)


def test_misses_belong_to_no_slice(copied):
    with pytest.raises(InputError, match="belong to no slice"):
        streameval.evaluate(copied, misses=3)
