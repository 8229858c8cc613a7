"""Agreement against a kept library, and real votes against the label that was made of them."""

import math
import shutil

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st
from label_tables import judged, stored, taken_in, told_of
from suite_cases import cases, examples, slow

import streameval
from streameval.cli import run
from streameval.labelling.answers import agreement, krippendorff_alpha
from streameval.labelling.fates import fold
from streameval.labelling.rules import vote_rule
from streameval.study import Study


def library_alpha(item, value, level):
    library = pytest.importorskip("krippendorff", reason="alpha is compared with the package krippendorff")
    table = np.full((item.size, item.max() + 1), np.nan)
    for i, (unit, said) in enumerate(zip(item, value, strict=True)):
        table[i, unit] = said  # alpha does not care who said what
    return library.alpha(reliability_data=table, level_of_measurement=level)


@settings(max_examples=examples(40, 100))
@drawn(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), min_size=2, max_size=25), st.booleans())
def test_alpha_is_the_librarys(votes, binary):
    item = np.unique(np.array([i for i, _ in votes]), return_inverse=True)[1]
    value = np.array([v > 1 if binary else v for _, v in votes], dtype=np.float64)
    found = krippendorff_alpha(item, value)
    pairable = np.bincount(item)[item] > 1
    if np.unique(value[pairable]).size < 2:
        assert math.isnan(found)
        return
    assert found == pytest.approx(library_alpha(item, value, "nominal" if binary else "interval"), abs=1e-12)


@settings(max_examples=examples(10, 25))
@drawn(st.lists(st.tuples(st.integers(0, 3), st.sampled_from("abcd"), st.integers(0, 1)), min_size=1, max_size=20,
                unique_by=lambda vote: vote[:2]))  # fmt: skip
def test_percent_is_counted_over_pairs(votes):
    rows = [{"rank": i + 1, "annotator": a, "value": v} for i, a, v in votes]
    found = agreement(fold(stored(rows), vote_rule("majority")))
    pairs = [(one, other) for one in votes for other in votes if one[0] == other[0] and one[1] != other[1]]
    for name in {a for _, a, _ in votes}:
        own = [p for p in pairs if p[0][1] == name]
        equal = sum(p[0][2] == p[1][2] for p in own)
        assert found.annotators[name]["pairs"] == len(own)
        assert not own or found.annotators[name]["percent"] == pytest.approx(equal / len(own))
    if pairs:
        assert found.percent == pytest.approx(sum(a[2] == b[2] for a, b in pairs) / len(pairs))


def test_repeats_and_controls_are_counted_by_annotator():
    extra = pa.table({"se_task": [10, 11], "rank": pa.array([1, None], pa.int64()), "kind": ["repeat", "control"],
                      "expected": pa.array([None, 1.0], pa.float64())})  # fmt: skip
    rows = [{"rank": 1, "annotator": a, "value": 1, "task": 1, "ours": True} for a in "xy"]
    rows += [{"rank": 1, "annotator": a, "value": v, "task": 10, "ours": True} for a, v in (("x", 1), ("y", 0))]
    rows += [{"annotator": a, "value": v, "task": 11, "ours": True} for a, v in (("x", 0), ("y", 1))]
    found = agreement(fold(stored(rows), vote_rule("majority"), extra=extra), extra).annotators
    x, y = found["x"], found["y"]
    assert (x["repeats"], x["repeats_equal"], x["controls"], x["controls_right"]) == (1, 1, 1, 0)
    assert (y["repeats"], y["repeats_equal"], y["controls"], y["controls_right"]) == (1, 0, 1, 1)
    assert x["votes"] == 1


@pytest.mark.parametrize("items", cases([600, None], 600))
def test_the_five_votes_of_real_items_give_their_label_back(items, real, tmp_path):
    table = pq.read_table(real("ppdb_human")).slice(0, items)
    votes = [[float(v) for v in text.strip("[] ").replace(",", " ").split()] for text in
             table.column("judgments").to_pylist()]  # fmt: skip
    each = np.array([len(v) for v in votes])
    exploded = pa.table({
        "rank": np.repeat(np.arange(1, each.size + 1), each),
        "label": np.concatenate(votes),
        "annotator": [f"a{i}" for n in each for i in range(n)],
    })  # fmt: skip
    study = tmp_path / "study"
    streameval.plan(table, study, method=f"paula(epsilon=1.0, window={table.num_rows})", seed=0)
    found = judged(study, exploded, vote="mean>=3")
    assert found.label_table.column("label").to_pylist() == table.column("label").to_pylist()
    assert found.summary["account"]["votes"] == each.sum()
    assert found.curve.claim.coverage == "exact"
    item = np.repeat(np.arange(each.size), each)
    some = item < 100  # the library's table has a cell for every vote and item
    value = np.concatenate(votes).astype(np.float64)
    assert krippendorff_alpha(item[some], value[some]) == pytest.approx(
        library_alpha(item[some], value[some], "interval"), abs=1e-12
    )


N_TASKS, SHARED = 300, 60


@pytest.fixture(scope="module")
def selected(tmp_path_factory):
    """A study of 300 items, all of them selected."""
    home = tmp_path_factory.mktemp("people")
    pq.write_table(pa.table({"text": [f"t{i}" for i in range(N_TASKS)]}), home / "list.parquet")
    streameval.plan(str(home / "list.parquet"), home / "study", budget=N_TASKS, seed=2)
    streameval.select(home / "study")
    return home / "study"


@pytest.fixture
def people(selected, tmp_path):
    """Three people who each answer every third task and all of the first 60, and err on some: rows by name."""
    plan = Study(shutil.copytree(selected, tmp_path / "study")).plan()
    task = np.array(Study(tmp_path / "study").selection(plan).column("se_task").to_pylist())
    rng = np.random.default_rng(4)
    answers = {}
    for i, name in enumerate(("ann", "ben", "cem")):
        own = task[(np.arange(N_TASKS) < SHARED) | (np.arange(N_TASKS) % 3 == i)]
        label = (own % 2) ^ (rng.random(own.size) < 0.08)
        answers[name] = pa.table({"se_study": [plan.plan_id] * own.size, "se_task": own, "label": label.astype(int)})
    return tmp_path, answers


def given(folder, tables, form, ending=""):
    """Write each table as a form of itself; the paths."""
    paths = []
    for name, table in tables.items():
        more = {"named": {"annotator": name}, "renamed": {"annotator": name.upper()}, "team": {"source": "team"}}
        for column, word in more.get(form, {}).items():
            table = table.append_column(column, pa.array([word] * table.num_rows))
        paths.append(folder / f"{name}{ending}.parquet")
        pq.write_table(table, paths[-1])
    return paths


def alpha_of(found):
    return found.summary["agreement"]["alpha"]


@pytest.mark.parametrize(
    ("first", "then", "dropped"),
    [("plain", "named", "plain"), ("named", "renamed", "named"),
     *slow(("named", "plain", "plain"), ("plain", "team", "plain"))],
)  # fmt: skip
def test_answers_given_twice_are_said_with_what_drops_them(people, capsys, first, then, dropped):
    """Agreement is that of the answers given once, after the command that the line names."""
    folder, answers = people
    answers = {name: answers[name] for name in ("ann", "ben")}
    study, alone = str(folder / "study"), str(folder / "alone")
    kept = then if dropped == first else first
    shutil.copytree(study, alone)
    right = judged(alone, given(folder, answers, kept))
    assert "count twice" not in told_of(alone, right)
    taken_in(study, *given(folder, answers, first, "1"))
    twice = judged(study, given(folder, answers, then, "2"))
    told = told_of(study, twice)
    files = {first: "1", then: "2"}
    one, other = (
        ", ".join(str(folder / f"{name}{files[form]}.parquet") for name in answers) for form in (dropped, kept)
    )
    count = sum(table.num_rows for table in answers.values())
    line = f"All {count:,} answers of {one} are in {other} too. If they are the same answers, they count twice"
    assert line in told
    if kept != "team":  # unnamed, what differs counts for nothing
        assert alpha_of(twice) > alpha_of(right) + 0.02
    assert run(["labels", study]) == 0
    assert line in capsys.readouterr().out
    forget = told.split("looks higher than it is: `streameval ")[1].split("`")[0]
    assert run(forget.split()) == 0
    left = judged(study)
    assert "count twice" not in told_of(study, left)
    assert alpha_of(left) == alpha_of(right)


def test_a_file_given_again_with_other_columns_is_told_apart_from_itself(people):
    folder, answers = people
    table = answers["ann"]
    for column in ("who", "person"):
        table = table.append_column(column, pa.array([column] * table.num_rows))
    pq.write_table(table, folder / "ann.parquet")
    for column in ("who", "person"):
        found = judged(folder / "study", folder / "ann.parquet", annotator=column)
    file = f"{folder / 'ann.parquet'} (--annotator"
    assert f"answers of {file} who) are in {file} person) too." in told_of(folder / "study", found)


def test_people_who_agree_are_not_taken_for_one(people):
    """A second annotator who checks some of the first one's items and agrees on all, and one of few items."""
    folder, answers = people
    table = answers["ann"]
    tables = {"ann": table, "ben": table.slice(0, 50), "cem": table.slice(0, 19)}
    told = told_of(folder / "study", judged(folder / "study", given(folder, tables, "named")))
    assert "100.0% of pairs" in told
    assert "count twice" not in told


@pytest.mark.parametrize("declared", ["by a column", "by --prefer"])
def test_a_checked_machine_is_not_taken_for_the_checker(people, declared):
    folder, answers = people
    tables = {"llm": answers["ann"], "person": answers["ann"].slice(0, 50)}
    if declared == "by a column":
        tables = {name: one.append_column("source", pa.array([name] * one.num_rows)) for name, one in tables.items()}
    prefer = ["person", "llm"] if declared == "by --prefer" else []
    found = judged(folder / "study", given(folder, tables, "plain"), prefer=prefer)
    assert not found.summary["given_twice"]


def test_people_without_names_are_told_how_to_get_their_majority(people):
    folder, answers = people
    study = str(folder / "study")
    found = judged(study, given(folder, answers, "plain"))
    told, account = told_of(study, found), found.summary["account"]
    said = {task: set() for table in answers.values() for task in table.column("se_task").to_pylist()}
    for table in answers.values():
        for task, label in zip(*(table.column(name).to_pylist() for name in ("se_task", "label")), strict=True):
            said[task].add(label)
    torn = sum(len(one) == 2 for one in said.values())
    assert (account["labelled"], account["contradictory"]) == (N_TASKS - torn, 3 * torn)
    assert (
        f"3 files share {SHARED} items and name no annotator, so they are read as one person's: {3 * torn} answers "
        "contradict each other and do not count. If several people answered, `streameval labels"
    ) in told
    forget = told.split("If several people answered, `streameval ")[1].split("`")[0]
    assert run(forget.split()) == 0
    found = judged(study, given(folder, answers, "plain"), annotator="file")
    told = told_of(study, found)
    assert "name no annotator" not in told
    assert "other columns" not in told
    assert found.summary["account"]["labelled"] == N_TASKS
    named = {name: one["votes"] for name, one in found.summary["agreement"]["annotators"].items()}
    assert named == {name: one.num_rows for name, one in answers.items()}
