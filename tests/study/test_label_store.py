"""What people labelled is kept: stored once, whole, in order, and forgotten only when asked to."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from contextlib import closing, nullcontext, suppress
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import N_ITEMS, account_of, judged, small_study, taken_in, told_of
from refusals import refused
from suite_cases import cases

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError
from streameval.labelling.options import NamedWords
from streameval.labelling.rules import refuse_grades, vote_rule
from streameval.reporting.label_lines import given_again
from streameval.stores import atomic
from streameval.study import Study
from streameval.study.answer_journal import PageAnswer


def write(path, *rows, head="se_study,se_task,label"):
    path.write_text("\n".join([head, *rows]) + "\n")
    return path


def test_a_corrected_task_file_replaces_nothing_silently_and_adds_only_what_is_new(tmp_path):
    study = small_study(tmp_path)
    plan = Study(study).plan()
    one, two, three = (f"{plan.plan_id},{number}" for number in Study(study).selection(plan)["se_task"].to_pylist()[:3])
    first = write(tmp_path / "a.csv", f"{one},1", f"{two},0", f"{three},")
    for _ in range(2):
        found = account_of(study, first)
        assert (found["labelled"], found["votes"]) == (2, 2)
    longer = write(tmp_path / "b.csv", f"{one},1", f"{two},0", f"{three},1")
    found = account_of(study, longer)
    assert (found["votes"], found["again"], found["doubled"], found["contradictory"]) == (3, 2, 0, 0)
    corrected = write(tmp_path / "c.csv", f"{one},0", f"{two},0", f"{three},1")
    assert account_of(study, corrected)["contradictory"] == 3
    assert account_of(study, vote="latest")["labelled"] == 3
    stored = [pq.read_table(path) for path in (study / "votes").glob("*.parquet")]
    assert sum(table.num_rows for table in stored) == 9


def test_an_earlier_state_of_a_plain_table_is_pointed_out(tmp_path, capsys):
    study = small_study(tmp_path)
    table = write(tmp_path / "t.csv", "1,1", "2,0", head="rank,label")
    assert run(["labels", str(study)]) == 0
    assert "No labels yet." in capsys.readouterr().out
    (first,) = (one["id"] for one in taken_in(study, table).given)
    write(table, "1,0", "2,0", head="rank,label")
    assert run(["evaluate", str(study), "--labels", str(table)]) == 0
    told = capsys.readouterr().out
    assert "t.csv was given before with other answers" in told
    assert f"--forget {first}`" in told
    assert run(["labels", str(study), "--forget", first]) == 0
    found = account_of(study)
    assert (found["votes"], found["positive"]) == (2, 0)


def test_labels_shows_progress_and_forgets_a_source(tmp_path, capsys):
    study = small_study(tmp_path)
    head = "id,label,annotator,source"
    people = write(
        tmp_path / "p.csv", "3,1,ann,person", "10,0,ann,person", "10,1,judge,llm", "17,1,judge,llm", head=head
    )
    taken_in(study, people, on="id")
    capsys.readouterr()
    assert run(["labels", str(study), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["account"]["labelled"], found["account"]["undecided"]) == (2, 1)
    assert found["agreement"]["annotators"]["ann"]["votes"] == 2
    assert sum(row["planned"] for row in found["strata"]) == N_ITEMS
    assert sum(row["labelled"] for row in found["strata"]) == 2
    assert found["sources"][0]["votes"] == 4
    assert found["half_width"]["alpha"] > 0
    assert run(["labels", str(study)]) == 0
    assert "ann" in capsys.readouterr().out
    assert run(["labels", str(study), "--forget", "llm"]) == 0
    assert "2 rows of llm" in capsys.readouterr().out
    assert account_of(study)["labelled"] == 2
    again = taken_in(study, people, on="id")
    assert (list(again.new.values()), again.tallied.labels.account["undecided"]) == ([True], 1)
    assert run(["labels", str(study), "--forget", "p.csv"]) == 0
    with pytest.raises(InputError, match="no labels yet"):
        taken_in(study)
    assert run(["labels", str(study), "--forget", "nobody"]) == 2
    assert "no source 'nobody'" in capsys.readouterr().err


def test_several_sources_are_forgotten_in_one_call_or_none(tmp_path, capsys):
    study = small_study(tmp_path)
    tables = [write(tmp_path / f"{one}.csv", f"{i},1", head="rank,label") for i, one in enumerate("abc", 1)]
    assert account_of(study, *tables)["votes"] == 3
    assert run(["labels", str(study), "--forget", "a.csv", "d.csv"]) == 2
    assert "no source 'd.csv'" in capsys.readouterr().err
    assert account_of(study)["votes"] == 3
    for rows, told in ((1, "1 row of"), (0, "a.csv is forgotten already")):  # again is harmless
        assert run(["labels", str(study), "--forget", "a.csv", "b.csv"]) == 0
        assert told in capsys.readouterr().out
        assert account_of(study)["votes"] == 1
        assert streameval.labels(study, forget=["a.csv", "b.csv", "a.csv"]) == {"a.csv": 0, "b.csv": 0}, rows
    assert run(["labels", str(study), "--forget", "c.csv", "--forget", "b.csv", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["forgotten"] == {"c.csv": 1, "b.csv": 0}


def test_a_damaged_file_of_votes_is_named_once(tmp_path):
    study = small_study(tmp_path)
    account_of(study, pa.table({"rank": [1, 2], "label": [1, 0]}))
    (votes,) = (study / "votes").glob("*.parquet")
    content = bytearray(votes.read_bytes())
    content[len(content) // 2] ^= 1
    votes.write_bytes(content)
    with pytest.raises(StudyError) as caught:
        account_of(study)
    assert str(caught.value).count("cannot be read (its bytes do not have its checksum") == 1
    assert str(caught.value).count("cannot be read") == 1


def test_votes_of_the_first_version_still_count(tmp_path):
    study = small_study(tmp_path)
    (study / "votes").mkdir()
    old = pa.table({"rank": [1, 2, 3], "label": pa.array([1, 0, None], pa.int8()), "row": [1, 2, 3]})
    pq.write_table(old, study / "votes" / "abc.parquet")
    found = account_of(study)
    assert (found["labelled"], found["positive"], found["blank"]) == (2, 1, 1)


def test_strict_stores_nothing_and_lists_everything(tmp_path, capsys):
    study = small_study(tmp_path)
    rows = ["1,1,ann", "2,perhaps,ann", "9999,1,ann", "4,1,ann", "4,0,ann", "5,skip,ann", "6,1,ann", "6,1,ann"]
    table = write(tmp_path / "t.csv", *rows, head="rank,label,annotator")
    assert run(["evaluate", str(study), "--labels", str(table), "--strict"]) == 2
    message = capsys.readouterr().err
    assert "58 missing, 1 undecided, 1 skipped, 1 doubled, 2 contradictory, 1 unreadable, 1 unknown" in message
    assert not (study / "votes").exists()
    issues = {(i["kind"], i["row"]): i for i in pq.read_table(study / "refused_issues.parquet").to_pylist() if i["row"]}
    assert issues["unreadable", 2]["line"] == 3
    assert issues["unreadable", 2]["value"] == "perhaps"
    assert issues["unknown", 3]["value"] == "9999"
    assert {kind for kind, _ in issues} == {"unreadable", "unknown", "contradictory", "skipped", "doubled"}
    whole = write(tmp_path / "w.csv", *(f"{r},1" for r in range(1, N_ITEMS + 1)), head="rank,label")
    assert run(["evaluate", str(study), "--labels", str(whole), "--strict"]) == 0
    assert account_of(study, whole, strict=True)["missing"] == 0


KILLED = """
import sys, streameval.verbs.evaluate as e, streameval.labelling.fates, streameval.kinds.curve.page, vl_convert
print("ready", flush=True)
sys.stdin.readline()
e.evaluate(sys.argv[1], labels=sys.argv[2:])
"""


@pytest.mark.slow
def test_a_kill_at_any_moment_loses_no_vote_and_mixes_no_results(tmp_path):
    study = small_study(tmp_path)
    first = write(tmp_path / "a.csv", *(f"{r},1,ann" for r in range(1, 21)), head="rank,label,annotator")
    streameval.evaluate(study, labels=first)
    chance, kept = random.Random(5), 20
    for i in range(int(os.environ.get("STREAMEVAL_KILLS", "3"))):
        rank = 21 + i % 40
        more = write(tmp_path / f"m{i}.csv", f"{rank},1,ann", head="rank,label,annotator")
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(study), str(more)], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)  # fmt: skip
        assert process.stdout.readline() == b"ready\n"
        process.stdin.write(b"\n")
        process.stdin.flush()
        time.sleep(chance.random() * 0.5)  # the moment is what is tested, not how long anything takes
        process.send_signal(signal.SIGKILL)
        process.communicate()
        stored = {r for one in Study(study).labels.sources() for r in one.table.column("rank").to_pylist()}
        assert len(stored) in (kept, kept + 1) or rank in stored
        assert set(range(1, 21)) <= stored
        kept = len(stored)
        with suppress(streameval.StudyError):  # refused as mixed: "run evaluate again"
            positive = Study(study).evaluation().label_table.column("label").to_pylist().count(1)
            assert positive <= kept
    assert account_of(study)["labelled"] == kept


def test_an_interruption_before_a_file_is_moved_loses_no_vote_and_mixes_no_results(tmp_path, monkeypatch):
    """What the test before does at any moment, at two: before votes are stored, and before the last result is."""
    study, head = small_study(tmp_path), "rank,label,annotator"
    streameval.evaluate(study, labels=write(tmp_path / "a.csv", *(f"{r},1,ann" for r in range(1, 21)), head=head))
    more, replace = write(tmp_path / "m.csv", "21,1,ann", head=head), atomic.os.replace

    def interrupted_before(stops):
        def move(source, target):
            if stops(Path(target)):
                raise KeyboardInterrupt
            replace(source, target)

        with monkeypatch.context() as patch:
            patch.setattr(atomic.os, "replace", move)
            with pytest.raises(KeyboardInterrupt):
                streameval.evaluate(study, labels=more)
        return sorted(r for one in Study(study).labels.sources() for r in one.table.column("rank").to_pylist())

    assert interrupted_before(lambda path: path.parent.name == "votes") == list(range(1, 21))
    assert Study(study).evaluation().label_table.column("label").to_pylist().count(1) == 20
    assert interrupted_before(lambda path: path.name == "evaluation.json") == list(range(1, 22))
    with pytest.raises(StudyError, match="evaluate again"):
        Study(study).evaluation()
    assert account_of(study)["labelled"] == 21


def test_an_answer_whose_moment_cannot_be_read_counts_without_one(tmp_path, capsys):
    study = small_study(tmp_path)
    rows = ["1,1,ann,31.1.26 half nine", "2,0,ann,2026-01-31T09:30:00Z", "3,skip,ann,soon", "4,1,ann,"]
    table = write(tmp_path / "t.csv", *rows, head="rank,label,annotator,time")
    assert run(["evaluate", str(study), "--labels", str(table)]) == 0
    shown = capsys.readouterr().out
    assert "2 untimed" in shown
    assert "write them in ISO 8601" in shown
    found = Study(study).evaluation()
    assert (found.summary["account"]["labelled"], found.summary["account"]["unreadable"]) == (3, 0)
    issues = {row["row"]: row["value"] for row in found.issues.to_pylist() if row["kind"] == "untimed"}
    assert issues == {1: "time 31.1.26 half nine", 3: "time soon"}


def test_grades_without_a_threshold_are_refused_before_anything_is_stored(tmp_path, capsys):
    study = small_study(tmp_path)
    table = write(tmp_path / "t.csv", "1,1,ann", "2,4,ann", "3,5,ann", head="rank,label,annotator")
    for rule, graded in (("majority", "mean"), ("any", "any"), ("latest", "latest"), ("mean", "mean")):
        said = refused(capsys, "evaluate", study, "--labels", table, "--vote", rule)
        assert f"t.csv row 2: label 4 is neither 0 nor 1, as in 2 rows of 3, and vote rule '{rule}' takes no" in said
        assert f"--vote '{graded}>=5'" in said  # of 1, 4 and 5
    assert not (study / "votes").exists()
    assert account_of(study, table, vote="mean>=3")["positive"] == 2
    share = write(tmp_path / "p.csv", "4,0.25,ann", head="rank,label,annotator")
    Study(study).labels.forget("t.csv")
    assert account_of(study, share, vote="mean")["labelled"] == 1


@pytest.mark.parametrize("rule", cases(["majority", "any", "all", "latest", "mean"], "mean"))
def test_a_typing_error_among_labels_is_one_unreadable_row(tmp_path, capsys, rule):
    study, head = small_study(tmp_path), "rank,label,annotator"
    files = [write(tmp_path / f"{name}.csv", *(f"{rank},{rank % 2},{name}" for rank in range(1, 31)), head=head)
             for name in ("ann", "bob", "cem")]  # fmt: skip
    write(files[1], *(f"{rank},{2 if rank == 7 else rank % 2},bob" for rank in range(1, 31)), head=head)
    assert run(["evaluate", str(study), "--labels", *map(str, files), "--vote", rule]) == 0
    assert "Unreadable: '2' at rank 7, bob.csv row 7, line 8.\n" in capsys.readouterr().out
    found = Study(study).evaluation()
    assert (found.summary["account"]["unreadable"], found.summary["account"]["labelled"]) == (1, 30)


@pytest.mark.parametrize(
    ("grades", "refused"),
    [
        ([2] * 2 + [0, 1] * 49, False),  # 2 %
        ([2] * 3 + [0, 1] * 48, True),
        ([2, 3] + [0, 1] * 1000, True),  # two values: a scale
        ([2], True),  # nothing says that labels are 0 and 1
        ([2, None, None], True),
        ([2, 1], False),
        ([-1] + [0, 1] * 20, False),
        ([0.5] + [0, 1] * 20, False),
    ],
)
def test_labels_are_grades_where_the_data_say_so(grades, refused):
    rows = pa.table({"value": pa.array(grades, pa.float64()), "given": [1] * len(grades), "row": range(len(grades))})
    other = pa.table({"value": [0.0, 1.0] * 500, "given": [2] * 1000, "row": range(1000)})  # another file's say nothing
    rows = pa.concat_tables([rows, other])
    rows = rows.append_column("origin", pa.array(["t.csv"] * rows.num_rows))
    refuse_grades(rows, vote_rule("majority>=1"), NamedWords())
    with pytest.raises(InputError, match="is neither 0 nor 1") if refused else nullcontext():
        refuse_grades(rows, vote_rule("majority"), NamedWords())


def test_words_are_mapped_and_what_was_taken_as_negative_is_shown(tmp_path, capsys):
    study = small_study(tmp_path)
    table = write(tmp_path / "t.csv", "1, Good ", "2,bad", "3,godo", "4,bad", "5,yes", "6,0", "7,", head="rank,label")
    assert run(["evaluate", str(study), "--labels", str(table)]) == 0
    shown = capsys.readouterr().out
    assert "Unreadable: ' Good ' at rank 1, t.csv row 1, line 2, and 3 more; --positive and --negative say" in shown
    assert run(["labels", str(study), "--forget", "t.csv"]) == 0
    capsys.readouterr()
    assert run(["evaluate", str(study), "--labels", str(table), "--positive", "good"]) == 0
    assert "Read as negative in t.csv: bad (2), godo (1).\n" in capsys.readouterr().out.replace(f"{tmp_path}/", "")
    found = Study(study).evaluation()
    assert found.labels.label[:7].tolist() == [1, 0, 0, 0, 1, 0, -1]
    (source,) = found.summary["sources"]
    assert (source["columns"]["positive"], source["read_as_negative"]) == ("good", {"bad": 2, "godo": 1})


def test_words_may_be_named_on_both_sides(tmp_path, capsys):
    study = small_study(tmp_path)
    words = write(
        tmp_path / "w.csv", "1,good,ann", "2,bad,ann", "3,godo,ann", "4,true,ann", head="rank,label,annotator"
    )
    numbers = write(tmp_path / "n.csv", "1,1,bob", "2,2,bob", "3,1.0,bob", head="rank,label,annotator")
    found = account_of(study, words, positive="good,fine", negative=["Bad"])
    assert (found["positive"], found["labelled"], found["unreadable"]) == (2, 3, 1)
    Study(study).labels.forget("w.csv")
    found = account_of(study, numbers, positive="1", negative="2")
    assert (found["positive"], found["labelled"]) == (2, 3)
    assert run(["evaluate", str(study), "--labels", str(numbers), "--positive", "2"]) == 2
    assert "it is not said which numbers are negative. Hint: such as --positive 2" in capsys.readouterr().err
    assert run(["evaluate", str(study), "--labels", str(words), "--positive", "a,b", "--negative", "B"]) == 2
    assert "'b' is named as positive and as negative" in capsys.readouterr().err


def test_a_table_of_words_that_nothing_maps_says_how_to(tmp_path, capsys):
    study = small_study(tmp_path)
    table = write(tmp_path / "t.csv", "1,good", "2,bad", head="rank,label")
    assert run(["evaluate", str(study), "--labels", str(table)]) == 2
    assert "say what words mean: --positive good or --negative good" in capsys.readouterr().err


def test_a_table_read_with_other_words_is_pointed_out(tmp_path, capsys):
    study = small_study(tmp_path)
    table = write(tmp_path / "t.csv", "1,good", "2,bad", "3,1", head="rank,label")
    other = write(tmp_path / "o.csv", "4,good", "5,bad", "6,1", head="rank,label")
    taken_in(study, table)
    taken_in(study, other, positive="good")
    assert run(["evaluate", str(study), "--labels", str(table), "--positive", "good"]) == 0
    assert "t.csv was read before with no --positive, and those votes stay" in capsys.readouterr().out
    told = told_of(study, judged(study, other))
    assert "o.csv was read before with --positive good, and those votes stay" in told


READINGS = [("yes,maybe", "yes"), ("yes", "yes,maybe"), (None, "yes", "yes,maybe"), ("yes", None)]


@pytest.mark.parametrize("words", READINGS)
def test_what_is_said_of_a_file_that_was_read_again_leaves_its_last_reading(tmp_path, words):
    study = small_study(tmp_path)
    rows = [f"{rank},{('yes', 'no', 'maybe')[rank % 3]}" for rank in range(1, N_ITEMS + 1)]
    table = write(tmp_path / "t.csv", *rows, head="rank,label")
    for word in words:
        taken = taken_in(study, table, **({"positive": word} if word else {}))
    said = " ".join(given_again(study, {**taken.doubts, "sources": taken.given}, taken.new))
    hints = re.findall(r"--forget ([0-9a-f ]+)`", said)
    assert len(hints) == len(words) - 1
    streameval.labels(study, forget=" ".join(hints).split())
    assert [one.identity for one in Study(study).labels.sources()] == [taken.given[0]["id"]]


def test_an_item_that_cannot_be_read_is_one_however_often_its_file_was_read(tmp_path):
    study = small_study(tmp_path)
    rows = [f"{rank},{'yes' if rank > 5 else 'maybe'},x" for rank in range(1, N_ITEMS + 1)]
    table = write(tmp_path / "t.csv", *rows, head="rank,label,annotator")
    judged(study, table)
    told = told_of(study, judged(study, table, annotator="annotator"))
    assert "Labels: 5 missing, 5 of them unreadable (all listed in issues.parquet)." in told
    assert "Unreadable: 'maybe' at rank 1, " in told
    assert ", and 4 more; --positive and --negative say what words mean." in told


def test_the_same_table_read_with_other_columns_is_pointed_out(tmp_path, capsys):
    study = small_study(tmp_path)
    table = write(tmp_path / "t.csv", "1,1,0,ann", "2,0,1,ann", head="rank,pred,gold,annotator")
    (first,) = (one["id"] for one in taken_in(study, table, label="pred").given)
    assert run(["evaluate", str(study), "--labels", str(table), "--label", "gold"]) == 0
    said = capsys.readouterr().out
    assert "t.csv was read before with --label pred, and those votes stay" in said
    assert f"--forget {first}`" in said
    assert "given before with other answers" not in said
    assert run(["labels", str(study), "--forget", first]) == 0
    assert account_of(study)["votes"] == 2


def test_a_file_that_only_has_more_answers_is_not_pointed_out(tmp_path):
    study, table, shown = small_study(tmp_path), tmp_path / "t.csv", []
    for labels in (",1,", "0,1,", "0,1,1", "0,0,1", "0,0,", "0,0,1"):
        write(table, *(f"{rank},{label}" for rank, label in enumerate(labels.split(","), 1)), head="rank,label")
        taken = taken_in(study, table)
        told = given_again(study, {**taken.doubts, "sources": taken.given}, taken.new)
        shown.append(any("t.csv was given before with other answers" in line for line in told))
    assert shown == [False, False, False, True, True, False]


def test_a_name_that_several_folders_have_is_not_forgotten_by_it(tmp_path, capsys):
    study = small_study(tmp_path)
    for i, folder in enumerate(("anna", "bob"), 1):
        (tmp_path / folder).mkdir()
        table = write(tmp_path / folder / "t.csv", f"{i},1,{folder}", head="rank,label,annotator")
        found = taken_in(study, table).given
    assert run(["labels", str(study), "--forget", "t.csv"]) == 2
    said = capsys.readouterr().err
    assert "several sources are called 't.csv'" in said
    assert found[0]["id"] in said
    assert account_of(study)["votes"] == 2
    anna = str(tmp_path / "anna" / "t.csv")
    assert Study(study).labels.forget(anna) == {anna: 1}
    assert Study(study).labels.forget("t.csv") == {"t.csv": 1}


def test_answers_of_the_page_are_not_forgotten_while_it_is_served(catalogue, tmp_path, capsys):
    """The server went on with them: nobody was asked again, and its pages counted them."""
    study = catalogue.copy("curve-half-labelled", tmp_path / "s")
    plan = Study(study).plan()
    answer = PageAnswer("1", plan.plan_id, 1, int(plan.ranks[0]), "1", "ann", datetime(2026, 11, 28, tzinfo=UTC))
    with closing(Study(study).labels.journal()) as journal:
        journal.add([answer])
        said = refused(capsys, "labels", study, "--forget", "page", status=3)
        assert "page.jsonl: another command adds answers to it" in said
    assert run(["labels", str(study), "--forget", "page"]) == 0


@pytest.mark.parametrize("name", ["grown-evaluated", "cut-third-round"])
def test_an_evaluation_reads_every_file_of_votes_once(catalogue, tmp_path, monkeypatch, name):
    study, opened = catalogue.copy(name, tmp_path / "s"), []
    files = sorted((study / "votes").glob("*.parquet"))
    open_file = os.open
    monkeypatch.setattr(os, "open", lambda path, *how: opened.append(path) or open_file(path, *how))
    streameval.evaluate(study)
    assert len(files) > 1
    assert sorted(path for path in opened if path in files) == files


def test_what_was_stored_is_what_is_read_then(tmp_path):
    """Of a source that is new, given again, partly forgotten, and wholly."""
    study = Study(small_study(tmp_path))
    table = write(tmp_path / "t.csv", "1,1,a,x", "2,0,b,y", head="rank,label,annotator,source")
    for forgotten in ((), (), ("x",), ("t.csv",)):
        study.labels.forget(*forgotten) if forgotten else None
        votes = taken_in(study.folder, table).votes
        read = study.labels.read()
        assert (votes.state, votes.forgotten) == (read.state, {}) == (study.labels.state(), read.forgotten)
        assert [one.table for one in votes.sources] == [one.table for one in read.sources]
        assert [one.facts["given"] for one in votes.sources] == [1] == [one.facts["given"] for one in read.sources]
