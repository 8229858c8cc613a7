"""A claim says whose answers it is about: the truth only of labels that nobody disputes, or with a label error."""

import json
import re
import shutil

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import judged, taken_in, told_of
from refusals import refused
from suite_cases import cases, slow

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.study import Study
from streameval.study.take_in import sources_of
from streameval.types import TRUTH

N = 60_000
FIRST_EXTRA = 25 * 10**8  # repeats and controls are numbered beyond the tasks of planned items
ABOUT = "what the annotators would say"


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A folder with a list and two plans of it, with many labels and with few, and the truth of all items."""
    folder, rng = tmp_path_factory.mktemp("planned"), np.random.default_rng(3)
    truth = (rng.random(N) < np.linspace(0.95, 0.4, N)).astype(np.int8)
    pq.write_table(pa.table({"id": np.arange(N)}), folder / "list.parquet")
    for name, alpha in (("long", 0.08), ("study", 0.15)):
        streameval.plan(str(folder / "list.parquet"), folder / name, method="loguniform", alpha=alpha, seed=1)
    streameval.select(folder / "study")
    return folder, truth


def copied(planned, name, place):
    """A study of those, its planned ranks, and the truth of all items."""
    folder, truth = planned
    study = shutil.copytree(folder / name, place / "study")
    return study, Study(study).plan().ranks, truth


@pytest.fixture
def study(planned, tmp_path):
    return copied(planned, "study", tmp_path)


@pytest.fixture
def long_study(planned, tmp_path):
    return copied(planned, "long", tmp_path)


def votes_of(rank, label, **columns):
    return pa.table({"rank": rank, "label": label, **{name: [one] * len(rank) for name, one in columns.items()}})


def claim_of(study, tables, **options):
    return judged(study, tables, **options).curve.claim


def meaning_of(study, tables, **options):
    """Whose answers labels are, and why they may not be the truth: all that a claim says, but for a way out."""
    return taken_in(study, *sources_of(tables), **options).tallied.labels


def of_a_machine(ranks, truth):
    """4,128 labels, of which 3,928 are a machine's that says yes too often, and which of them a person checked."""
    rng = np.random.default_rng(5)
    checked = rng.random(ranks.size) < 200 / ranks.size
    machine = np.where(truth[ranks - 1] == 1, 1, rng.random(ranks.size) < 0.3).astype(np.int8)
    table = pa.concat_tables([votes_of(ranks, machine, source="llm"),
                              votes_of(ranks[checked], truth[ranks - 1][checked], source="person")])  # fmt: skip
    wrong = int(np.sum(machine[checked] != truth[ranks - 1][checked]))
    often = f"{wrong} of {int(checked.sum())} answers of llm and a preferred source differ"
    return table, checked, often


def test_labels_by_a_machine_are_not_the_truth(long_study, tmp_path, capsys):
    """Each place that claims says so."""
    folder, ranks, truth = long_study
    table, checked, often = of_a_machine(ranks, truth)
    pq.write_table(table, tmp_path / "labels.parquet")
    evaluate = ["evaluate", str(folder), "--labels", str(tmp_path / "labels.parquet"), "--prefer", "person,llm"]
    assert run(evaluate) == 0
    told = capsys.readouterr().out
    low, _, high = Study(folder).evaluation().curve.precision_at(N)
    assert not low <= truth.mean() <= high  # what the annotators would say is not the truth here
    assert f"With probability 0.95, {ABOUT} lies inside the bounds" in told
    assert "the truth lies inside" not in told
    who = f"{int((~checked).sum()):,} from llm, {int(checked.sum())} from person"
    assert who in told
    assert often in told
    assert "--label-error 0." in told
    assert f"{ABOUT} lies inside the bounds" in told

    claim = json.loads((folder / "evaluation.json").read_text())["claim"]
    assert claim["about"] == ABOUT
    assert who in claim["why"]
    page = (folder / "report.html").read_text()
    assert page.count(who) >= 2
    assert "items, as the annotators would label them, is proven to be at least" in page
    with duckdb.connect(str(folder / "study.duckdb"), read_only=True) as database:
        comments = dict(database.sql("SELECT table_name, comment FROM duckdb_tables()").fetchall())
        assert database.sql("SELECT about, why FROM provenance").fetchall() == [(ABOUT, claim["why"])]
        bounds = "column_name LIKE '%lower' OR column_name LIKE '%upper'"
        columns = database.sql(f"SELECT table_name, comment FROM duckdb_columns() WHERE {bounds}").fetchall()
        macros = database.sql("SELECT comment FROM duckdb_functions() WHERE function_name = 'precision_at'").fetchall()
    for name in ("curve", "envelope", "metrics", "provenance"):
        assert who in comments[name]
    assert {name for name, _ in columns} >= {"curve", "envelope", "metrics", "provenance"}
    assert all(who in told and ABOUT in told for _, told in columns)
    assert all(who in told for (told,) in macros)
    for command in (["cut", str(folder), "precision:0.7"], ["show", str(folder), "precision@1000"]):
        assert run(command) == 0
        told = capsys.readouterr().out
        assert who in told
        assert f"The bounds on {ABOUT} hold" in told
        assert ("The annotators would call at least 73.8 % of them positive." in told) == (command[0] == "cut")

    assert "differ (most often on negatives)" in claim["why"]
    assert "--prefer person,llm" in page.split("Commands that make this again")[1]


def test_the_label_error_that_answers_suggest_makes_them_the_truth(long_study, capsys):
    folder, ranks, truth = long_study
    table, _, often = of_a_machine(ranks, truth)
    suggested = float(claim_of(folder, table, prefer=["person", "llm"]).why.split("--label-error ")[1])
    found = streameval.evaluate(folder, prefer=["person", "llm"], label_error=suggested)
    told = told_of(folder, found)
    low, _, high = found.curve.precision_at(N)
    assert low <= truth.mean() <= high
    assert found.curve.claim.about == TRUTH
    assert "the truth lies inside the bounds" in told
    assert "a claim about the truth only if every label is right" not in told
    assert often in told
    assert "suggests" not in told  # as much as the answers suggest was given
    half = found.summary["half_width"]
    assert half["all_items"] == pytest.approx((high - low) / (high + low))
    assert f"±{half['all_items']:.2%} of their precision. Widest bounds: ±{half['alpha']:.2%} of" in told
    assert "Half of it would take" not in told  # labels do not take away what the error adds
    assert run(["labels", str(folder)]) == 0
    assert f"±{half['all_items']:.2%} of their precision" in capsys.readouterr().out


def test_comparisons_say_it_of_the_side_that_it_is_true_of(catalogue, tmp_path, capsys):
    folder, other = catalogue.copy("stored-planned", tmp_path / "one"), catalogue.path("stored-evaluated")
    ranks, truth = Study(folder).plan().ranks, pq.read_table(catalogue.lists / "stored.parquet").column("right")
    halves = [votes_of(part, truth.to_numpy()[part - 1], source=name)
              for part, name in zip((ranks[::2], ranks[1::2]), "ab", strict=True)]  # fmt: skip
    streameval.evaluate(folder, labels=halves)
    assert run(["compare", str(folder), str(other)]) == 0
    told = capsys.readouterr().out
    assert told.count(ABOUT) == 1
    because = told.split("This is a claim about the truth only if every label is right. ")[1]
    assert because.startswith("Of the first, labels are")
    assert "of the second" not in because
    assert told.index("no difference to find") < told.index("a - b at least")  # the verdict stands above its table


def test_three_annotators_who_err_are_not_the_truth_and_suggest_how_often(study, capsys):
    folder, ranks, truth = study
    rng = np.random.default_rng(8)
    tables = []
    for name in ("ann", "ben", "cem"):
        wrong = rng.random(ranks.size) < 0.2
        tables.append(votes_of(ranks, np.where(wrong, 1 - truth[ranks - 1], truth[ranks - 1]), annotator=name))
    claim, labels = claim_of(folder, pa.concat_tables(tables)), meaning_of(folder, ())
    assert claim.about == labels.about
    assert claim.why.startswith(labels.why)
    assert claim.about == ABOUT
    assert "pairs of answers to one item differ" in claim.why
    assert 0.17 < float(claim.why.split("--label-error ")[1]) < 0.23


@pytest.mark.parametrize("voters", [1, 3])
def test_one_undisputed_source_is_the_truth(study, voters):
    folder, ranks, truth = study
    tables = [votes_of(ranks, truth[ranks - 1], annotator=f"a{i}", source="people") for i in range(voters)]
    found = judged(folder, pa.concat_tables(tables))
    assert (found.curve.claim.about, found.curve.claim.why) == (TRUTH, "")
    assert "the truth lies inside the bounds" in found.curve.findings[0]
    assert not any("claim is about" in one for one in found.curve.findings)


@pytest.mark.parametrize(("given", "says"), [(0.01, ", above the 0.01 given"), (0.48, "")])
def test_a_label_error_is_suggested_only_where_more_is_needed(study, tmp_path, given, says):
    folder, ranks, truth = study
    wrong = np.random.default_rng(8).random(ranks.size) < 0.1
    tables = [votes_of(ranks, truth[ranks - 1], annotator="ann"),
              votes_of(ranks, np.where(wrong, 1 - truth[ranks - 1], truth[ranks - 1]), annotator="ben")]  # fmt: skip
    pq.write_table(pa.concat_tables(tables), tmp_path / "p_two.parquet")
    told = told_of(folder, judged(folder, tmp_path / "p_two.parquet", label_error=given))
    assert f"Answers are {ranks.size:,} from ann, {ranks.size:,} from ben" in told  # not all "from p_two.parquet"
    assert ("which suggests --label-error" in told) == bool(says)
    assert says in told


def test_labels_without_a_quarrel_are_not_called_disputed(study):
    folder, ranks, truth = study
    halves = [
        votes_of(part, truth[part - 1], source=name) for part, name in zip((ranks[::2], ranks[1::2]), "ab", strict=True)
    ]
    found = judged(folder, halves, label_error=0.02)
    assert found.curve.claim.about == TRUTH
    assert any(one.startswith("Labels are ") and "no item was answered twice" in one for one in found.curve.findings)
    assert not any("disputed" in one for one in found.curve.findings)


def test_one_answer_that_differs_is_a_dispute(study):
    folder, ranks, truth = study
    again = votes_of(ranks[:1], 1 - truth[ranks[:1] - 1], annotator="ben")
    claim = claim_of(folder, pa.concat_tables([votes_of(ranks, truth[ranks - 1], annotator="ann"), again]))
    assert claim.about == ABOUT
    assert claim.why.endswith(
        "1 of 1 pairs of answers to one item differ, as often as where all err alike: no --label-error below 0.5 "
        "allows for that"
    )


def test_sources_that_share_no_item_leave_their_errors_unknown(study):
    folder, ranks, truth = study
    halves = [
        votes_of(part, truth[part - 1], source=name) for part, name in zip((ranks[::2], ranks[1::2]), "ab", strict=True)
    ]
    claim = meaning_of(folder, halves)
    assert claim.about == ABOUT
    assert claim.why.endswith("no item was answered twice, so nothing says how often they err")  # declared: no way out


def test_a_source_whose_labels_do_not_count_disputes_nothing(study):
    folder, ranks, truth = study
    person = votes_of(ranks, truth[ranks - 1], source="person")
    machine = votes_of(ranks, 1 - truth[ranks - 1], source="llm")
    assert meaning_of(folder, pa.concat_tables([person, machine]), prefer=["person", "llm"]).about == TRUTH


def test_a_full_list_is_exact_of_what_was_said(tmp_path):
    items = pa.table({"id": np.arange(50)})
    streameval.plan(items, tmp_path / "study", method="loguniform", budget=50, seed=0)
    votes = pa.concat_tables([votes_of(np.arange(1, 51), np.arange(50) % 2, annotator="ann"),
                              votes_of(np.arange(1, 11), np.zeros(10, int), annotator="ben")])  # fmt: skip
    told = told_of(tmp_path / "study", judged(tmp_path / "study", votes, vote="all"))
    assert f"the curve is exact of {ABOUT}" in told
    assert told.splitlines()[0].count(ABOUT) == 1
    assert "5 of 10 pairs of answers to one item differ" in told


def answers_of_two(study, tmp_path, form):
    """500 tasks answered by a person and by a machine that differs on 45, in one table or a file for each."""
    task = Study(study).selection(Study(study).plan()).column("se_task").to_pylist()[:500]
    head = {"se_study": [Study(study).plan().plan_id] * 500, "se_task": task}
    right = np.arange(500) % 2
    wrong = np.where(np.arange(500) < 45, 1 - right, right)
    tables = {name: pa.table({**head, "label": label}) for name, label in (("llm", wrong), ("person", right))}
    if form == "a file each":
        paths = [tmp_path / f"{name}.parquet" for name in tables]
        for path, table in zip(paths, tables.values(), strict=True):
            pq.write_table(table, path)
        return [str(path) for path in paths], right
    whole = [table.append_column("source", pa.array([name] * 500)) for name, table in tables.items()]
    if form == "one annotator name":
        whole = [table.append_column("annotator", pa.array(["1"] * 500)) for table in whole]
    pq.write_table(pa.concat_tables(whole), tmp_path / "both.parquet")
    return [str(tmp_path / "both.parquet")], right


@pytest.mark.parametrize("form", cases(["one table", "one annotator name", "a file each"], "one table", "a file each"))
def test_two_sources_are_never_one_person(study, tmp_path, capsys, form):
    folder = study[0]
    paths, right = answers_of_two(folder, tmp_path, form)
    found = judged(folder, paths)
    told = told_of(folder, found)
    assert "45 of 500" in told
    assert (
        f"which suggests --label-error {0.048 if form == 'a file each' else 0.09}" in told
    )  # of two, one may be right
    assert found.summary["account"]["labelled"] == 455  # what is disputed has no label
    found = judged(folder, paths, prefer=["person", "llm"])
    assert "500 of" in told_of(folder, found)
    assert (found.summary["account"]["labelled"], found.summary["account"]["outranked"]) == (500, 500)
    assert found.summary["account"]["positive"] == right.sum()
    told = refused(capsys, "evaluate", folder, "--labels", *paths, "--prefer", "persn,llm")
    assert "no label is of source 'persn'" in told
    assert ("llm.parquet, person.parquet" if form == "a file each" else "llm, person") in told


def test_a_misspelt_preference_stores_nothing(study, tmp_path):
    folder = study[0]
    paths, _ = answers_of_two(folder, tmp_path, "one table")
    assert run(["evaluate", str(folder), "--labels", *paths, "--prefer", "lm"]) == 2
    assert not Study(folder).labels.sources()


def test_the_last_answer_of_several_people_hides_no_dispute(study):
    """Under the rule "latest" one vote an item counts; that others said otherwise is no less a dispute."""
    folder, ranks, truth = study
    tables = [votes_of(ranks, truth[ranks - 1], annotator="ann"),
              votes_of(ranks[:40], 1 - truth[ranks[:40] - 1], annotator="ben")]  # fmt: skip
    claim = meaning_of(folder, pa.concat_tables(tables), vote="latest")
    assert claim.about == ABOUT
    assert "40 of 40 answers that others replaced differ" in claim.why
    assert f"answers are {ranks.size - 40:,} from ann, 40 from ben" in claim.why


def test_a_dispute_that_leaves_no_label_names_no_source(study):
    folder, ranks, _ = study
    tables = [votes_of(ranks[:9], [one] * 9, annotator="ann") for one in (0, 1)]
    assert meaning_of(folder, tables).why.startswith("there are no labels; 9 of 9 answers given again differ")


def test_answers_that_never_differ_are_counted(study):
    folder, ranks, truth = study
    tables = [votes_of(ranks[part], truth[ranks[part] - 1], source=name)
              for name, part in (("a", slice(0, 90)), ("b", slice(60, 150)))]  # fmt: skip
    claim = meaning_of(folder, tables)
    assert claim.about == ABOUT
    assert claim.why.endswith("no two of their answers differ, among 30 that could")


@pytest.mark.parametrize("by", ["repeats", "controls"])
def test_repeats_and_controls_dispute_a_lone_annotator(study, by, tmp_path):
    folder, ranks, truth = study
    pq.write_table(pa.table({"id": [-1, -2], "label": [1, 0]}), tmp_path / "known.parquet")
    extra = {"repeats": 4} if by == "repeats" else {"controls": str(tmp_path / "known.parquet")}
    streameval.select(folder, columns=["id"], export=tmp_path / "tasks.jsonl", **extra)
    tasks = [json.loads(line) for line in (tmp_path / "tasks.jsonl").read_text().splitlines()]
    known = {int(row["id"]): row for row in tasks if row["se_task"] < FIRST_EXTRA}
    assert len(tasks) == ranks.size + (4 if by == "repeats" else 2)
    for row in tasks:
        real = row["se_task"] < FIRST_EXTRA
        row["label"] = int(truth[row["id"]]) if real else 1 - (int(truth[row["id"]]) if row["id"] >= 0 else 1)
    (tmp_path / "done.jsonl").write_text("\n".join(json.dumps(row) for row in tasks))
    claim = meaning_of(folder, tmp_path / "done.jsonl")
    assert claim.about == ABOUT
    assert ("second answers" if by == "repeats" else "1 of 2 answers to control items") in claim.why
    assert known


def test_a_label_error_below_what_answers_suggest_is_no_claim_about_the_truth(study, capsys):
    folder, ranks, truth = study
    rng = np.random.default_rng(8)
    tables = [votes_of(ranks, np.where(rng.random(ranks.size) < 0.2, 1 - truth[ranks - 1], truth[ranks - 1]),
                       annotator=name) for name in ("ann", "ben", "cy")]  # fmt: skip
    claim = claim_of(folder, pa.concat_tables(tables), label_error=0.001)
    assert claim.about == ABOUT
    assert claim_of(folder, (), label_error=0.3).about == "the truth"


@pytest.mark.parametrize(
    ("first", "late", "about"),
    [(["anna", "ben"], ["ben"], TRUTH), (["anna", "ben"], ["ben", "cem"], ABOUT), (["anna", None], ["anna"], ABOUT),
     *slow((["anna"], ["ben", "anna"], TRUTH), (["anna"], [None], ABOUT), (["anna"], ["anna"], TRUTH),
           (["anna", "ben"], ["anna", "ben"], TRUTH), (["anna"], ["ben"], ABOUT))],
)  # fmt: skip
def test_files_whose_annotators_are_among_those_of_another_are_one_source(study, tmp_path, first, late, about):
    """Late rows of the same people, of some of them, or after more of them joined; 30 items are answered twice."""
    folder, ranks, truth = study
    for people, part, name in ((first, ranks[:-60], "first.parquet"), (late, ranks[-90:], "late.parquet")):
        each = [people[i % len(people)] for i in range(part.size)]
        table = votes_of(part, truth[part - 1]).append_column("annotator", pa.array(each, pa.string()))
        pq.write_table(table, tmp_path / name)
        claim = meaning_of(folder, tmp_path / name)
    assert claim.about == about
    assert ("if both files are from the same person or team, say so" in claim.why) == (about == ABOUT)


def test_files_that_one_annotator_filled_in_are_two_where_one_is_preferred(study):
    """Two tools may call their only annotator "1"; that one of them is preferred hides no dispute."""
    folder = study[0]
    right = task_file(folder, "right.parquet", slice(0, 300), annotator="1")
    wrong = task_file(folder, "wrong.parquet", slice(0, 500), annotator="1", label=1)
    claim = meaning_of(folder, [right, wrong], prefer=["right", "wrong"])
    assert claim.about == ABOUT
    assert "of 300 answers of wrong.parquet and a preferred source differ" in claim.why


def test_the_way_out_of_two_sources_is_a_way_out(study, tmp_path):
    """What the line says makes one source of two files, after what was given before is forgotten."""
    folder, ranks, truth = study
    names = [str(tmp_path / f"{one}.parquet") for one in ("first", "second", "first_again", "second_again")]
    for name, part in zip(names, (ranks[:300], ranks[300:]) * 2, strict=True):
        more = {"source": "team"} if "again" in name else {}
        pq.write_table(votes_of(part, truth[part - 1], **more), name)
    told = told_of(folder, judged(folder, names[:2]))
    assert "say so: the same word in a column `source` of both)." in told
    found = judged(folder, names[2:])  # nothing was forgotten yet: all counts twice
    assert found.curve.claim.about == ABOUT
    told = told_of(folder, found)
    forget = told.split("count twice, and agreement looks higher than it is: `streameval ")[1].split("`")[0]
    assert run(forget.split()) == 0
    told = told_of(folder, judged(folder))
    assert "the truth lies inside the bounds" in told
    assert "count twice" not in told


def task_file(study, name, part, **columns):
    """A file of this study's tasks, with answers to some of them."""
    plan = Study(study).plan()
    task = Study(study).selection(plan).column("se_task").to_pylist()[part]
    table = {"se_study": plan.plan_id, **columns}
    rows = {
        "se_task": task,
        "label": [one % 2 for one in task],
        **{key: [one] * len(task) for key, one in table.items()},
    }
    pq.write_table(pa.table(rows), study.parent / name)
    return study.parent / name


@pytest.mark.parametrize(
    ("second", "columns", "about"),
    [(slice(300, 500), {}, TRUTH), (slice(299, 500), {}, ABOUT), (slice(0, 500), {}, TRUTH),
     (slice(0, 500), {"label": 1}, ABOUT),
     *slow((slice(300, 500), {"source": "llm"}, ABOUT), (slice(300, 500), {"annotator": "ben"}, ABOUT))],
    ids=["other items", "a shared item", "a fuller copy", "a copy with other answers", "a source", "a name"],
)  # fmt: skip
def test_task_files_of_nobody_that_share_no_item_or_are_copies_are_one_source(study, second, columns, about):
    folder = study[0]
    meaning_of(folder, task_file(folder, "tasks1.parquet", slice(0, 300)))
    claim = meaning_of(folder, task_file(folder, "tasks2.parquet", second, **columns))
    assert claim.about == about
    assert (claim.why == "") == (about == TRUTH)
    if not columns and second.start == 300:  # whoever prefers one of them says that they are two
        assert meaning_of(folder, (), prefer=["tasks2", "tasks1"]).about == ABOUT


def test_a_table_of_strangers_is_no_part_of_the_task_files(study):
    folder, ranks, _ = study
    meaning_of(folder, task_file(folder, "tasks1.parquet", slice(0, 300)))
    assert meaning_of(folder, votes_of(ranks[300:500], np.ones(200, int))).about == ABOUT


CLAIMED = ("curve-half-labelled", "curve-evaluated", "curve-misses", "stratified-evaluated",
           "uniform-evaluated", "slices-evaluated", "judge-evaluated", "adopted-evaluated",
           "gate-decided", "gate-half-labelled", "cut-decided", "comparison-half-labelled",
           "comparison-evaluated", "drawn-rankings-evaluated")  # fmt: skip


@pytest.mark.parametrize("name", CLAIMED)
def test_every_claim_about_the_truth_says_once_that_labels_are_taken_to_be_right(catalogue, capsys, name):
    assert run(["show", str(catalogue.path(name))]) == 0
    told = capsys.readouterr().out
    assert len(re.findall("every label is (?:taken to be )?right", told, re.I)) == 1, told


def test_with_a_label_error_no_label_is_taken_to_be_right(study):
    folder, ranks, truth = study
    found = judged(folder, votes_of(ranks, truth[ranks - 1]), label_error=0.02)
    assert found.curve.claim.assumed == found.curve.claim.assumes
    assert "label is right" not in told_of(folder, found)


def test_of_answers_that_differ_the_claim_is_about_the_truth_on_the_condition_of_one_person(study):
    folder, ranks, truth = study
    tables = [votes_of(ranks, truth[ranks - 1], annotator="ann"),
              votes_of(ranks[:40], 1 - truth[ranks[:40] - 1], annotator="ben")]  # fmt: skip
    told = told_of(folder, judged(folder, pa.concat_tables(tables)))
    assert "This is a claim about the truth only if every label is right. Answers are" in told
    assert told.count("every label is right") == 1


def test_the_same_answers_in_one_file_and_in_two_suggest_an_error_each_and_say_of_whom(study, tmp_path):
    folder, ranks, truth = study
    right = truth[ranks - 1]
    ann = votes_of(ranks, right, annotator="ann")
    ben = votes_of(ranks, np.where(np.arange(ranks.size) < 40, 1 - right, right), annotator="ben")
    for table, name in ((ann, "ann"), (ben, "ben")):
        pq.write_table(table, tmp_path / f"{name}.parquet")
    files = [tmp_path / "ann.parquet", tmp_path / "ben.parquet"]
    two = meaning_of(shutil.copytree(folder, tmp_path / "two"), files)
    one = meaning_of(folder, pa.concat_tables([ann, ben]))
    differ = f"40 of {ranks.size:,} pairs of answers to one item differ, as often as where "
    assert two.why.endswith(f"{differ}one source errs and the others never do")
    assert one.why.endswith(f"{differ}all err alike")
    assert two.error_rate == pytest.approx(40 / ranks.size, abs=1e-3)
    assert 2 * one.error_rate * (1 - one.error_rate) == pytest.approx(40 / ranks.size, abs=2e-3)


def test_a_file_may_name_who_filled_it_in(study, tmp_path):
    """Also where two people gave the same answers; a column of that name goes before."""
    folder, ranks, truth = study
    answers = votes_of(ranks, truth[ranks - 1])
    for name in ("ann", "ben"):
        pq.write_table(answers, tmp_path / f"{name}.parquet")
    pq.write_table(answers.append_column("file", pa.array(["cem"] * ranks.size)), tmp_path / "both.parquet")
    files = [str(tmp_path / f"{name}.parquet") for name in ("ann", "ben", "both")]
    found = judged(folder, files, annotator="file")
    votes = {name: one["votes"] for name, one in found.summary["agreement"]["annotators"].items()}
    assert votes == dict.fromkeys(("ann", "ben", "cem"), ranks.size)
    assert "other columns" not in told_of(folder, found)
    again = judged(folder, files, annotator="file")
    assert again.summary["account"]["votes"] == 3 * ranks.size


def test_labels_that_are_in_no_file_name_nobody_by_it(study):
    folder, ranks, truth = study
    with pytest.raises(InputError, match="labels in memory: annotator file takes the name of a file, and this is none"):
        judged(folder, votes_of(ranks, truth[ranks - 1]), annotator="file")
