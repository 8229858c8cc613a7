"""What cannot be asked is one line: what, where, and what to do."""

import re

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from refusals import refused

import streameval
from streameval.cli import run
from streameval.errors import StudyError
from streameval.study import Study

PLAN = ["plan", "list.parquet", "--study", "q", "--score", "score"]
GATE = "precision@1000 >= 0.6"


@pytest.mark.parametrize(("given", "said"), [
    (["precision@30000 >= 0.9"], "rank 30,000 is outside 1..4,000"),
    (["precision@0 >= 0.9"], "rank 0 is below 1"),
    (["precision@100 >= 0"], "is true of every list"),
    (["precision@100 >= 1.2"], "is false of every list"),
    (["precision@100 >= 0.9 zone 0.95"], "a zone is below 0.9, and this one is 0.95"),
    (["precision@100 >= 0.9 zone x"], "'x' is not a number (at column 27)"),
    (["precision@100 >= 0.9 expect 1.5"], "expect is 1.5, outside [0, 1] (at column 29)"),
    (["precision@100 >= 0.9", "--confidence", "1"], "--confidence is 1.0, outside (0, 1)"),
    (["precision@100 >= 0.9 round 0"], "a round of 0 tasks (at column 28)"),
    (["precision@100 >= 0.9", "--budget", "0"], "--budget is 0"),
    (["precision@100 >= 0.9", "--by", "id"], "a study of a question does not go with --by"),
    (["precision@100 >= 0.9", "--method", "paula"], "a study of a question does not go with --method"),
    (["precision@100 >= 0.9", "--stages", "3"], "with --stages. Hint: leave it out: it is for a study of a curve"),
    (["positives within 0.1"], "Hint: a part of their number is a percentage: positives within 10%"),
    (["precision@100 within 5"], "is true of every list: a precision is between 0 and 1"),
    (["recall@100 within 0.05"], 'positives within 10%"); of recall a condition: "recall@100 >= 0.8"'),
    (["average_precision within 0.05"], 'average_precision within 0.05: no study can be planned for this'),
    (["precision@100 within 0.1 zone 0.05"], "a width has no zone"),
    (["positives within 10% expect 0.5"], "a width has no zone, and no precision is expected of a whole list"),
    (["precision@100 >= 0.9", "--stages", "adaptive"], "a study of a question does not go with --stages"),
    (["precision@100 >= 0.9", "--alpha", "0.1"], "a study of a question does not go with --alpha"),
    (["precision@100 >= 0.9", "--dry-run"], "--for does not go with --dry-run"),
    (["precision@score:2 >= 0.9"], "no item has score 2 or a better one"),
    (["precision@recall:0.5 >= 0.9"], "a question about @recall:0.5 would depend on its own answer"),
    (["gain@100 within 2%"], "Hint: it compares two rankings: name the other one with --against"),
    (["precision@100"], "precision@100: no study can be planned for this"),
    (["average_precision >= 0.5"], "average_precision >= 0.5: no study can be planned for this"),
    (["precison@100 >= 0.9"], "precison@100 >= 0.9: no study can be planned for this"),
    (["precision@100 >="], "a number is missing (at column 17)"),
    (["precision@100 >= 0.9", "positives within 10%"], "are answered by different draws"),
    ([], "--for"),
])  # fmt: skip
def test_a_question_that_cannot_be_asked_is_one_line(home, capsys, given, said):
    assert said in refused(capsys, *PLAN, "--for", *given)
    assert not (home / "q" / "plan.json").exists()


def test_a_rank_outside_the_list_comes_with_a_hint(home, capsys):
    assert "Hint: ask at a rank of the list" in refused(capsys, *PLAN, "--for", "precision@30000 >= 0.9")


def test_a_score_is_no_rank_without_a_list(home, capsys):
    assert "which rank score:0.5 is depends on the list" in refused(
        capsys, "cost", "--items", "1000", "--for", "precision@score:0.5 >= 0.5")  # fmt: skip


def test_a_threshold_that_falls_between_two_counts_is_rounded_up(home, people, labelled):
    streameval.plan("list.parquet", "q", score="score", questions="precision@7 >= 0.5", seed=3)
    found, rounds = labelled("q")
    truth = pq.read_table("list.parquet").sort_by([("score", "descending")]).column("right").to_numpy()[:7].sum()
    assert (found.summary["outcome"], rounds) == ("pass" if truth >= 4 else "fail", 1)
    row = found.tables["answers"].to_pylist()[0]
    assert row["lower"] == row["upper"] == pytest.approx(truth / 7)  # few items are all asked, and counted


def test_another_question_in_the_same_folder_is_refused_once_it_is_begun(home, people):
    streameval.plan("list.parquet", "q", score="score", questions=GATE, seed=3)
    streameval.plan("list.parquet", "q", score="score", questions="precision@1000 >= 0.7", seed=3)  # nothing was made
    streameval.select("q")
    with pytest.raises(StudyError, match=r"holds a different plan: questions precision@1000 >= 0.7 then"):
        streameval.plan("list.parquet", "q", score="score", questions=GATE, seed=3)


def test_a_ranking_that_has_changed_is_refused(home, people):
    streameval.plan("list.parquet", "q", score="score", questions=f"{GATE} round 20", seed=3)
    streameval.evaluate("q", labels=people(streameval.select("q").table))
    table = pq.read_table("list.parquet")
    pq.write_table(table.slice(0, table.num_rows - 1), "list.parquet")
    with pytest.raises(StudyError, match="the files have changed since"):
        streameval.select("q")


def test_answers_to_items_that_were_not_asked_for_are_reported_and_not_used(begun, people):
    tasks = streameval.select(begun("gate")).table
    others = np.setdiff1d(np.arange(1, 4_001), Study("q").plan().ranks)[:30]
    whole = pa.concat_tables([people(tasks), pa.table({"rank": others, "label": pa.array([0] * 30, pa.int8())})])
    found = streameval.evaluate("q", labels=whole)
    assert found.tables["answers"].column("labels").to_pylist() == [50]
    assert found.summary["account"]["unplanned"] == 30


NO_ANSWERS = [
    (["show", "q", "recall@100"], "this study asks about precision@1000 >= 0.65; recall@100 needs labels of its own"),
    (["check", "q", "precision@100 >= 0.5"], "precision@100 needs labels of its own"),
    (["cut", "q", "precision:0.9"], "and a cut at precision:0.9 is another question"),
    (["grow", "q", "--budget", "10"], "q is a study of a question, which grow does not read"),
    (["monitor", "2026-11-22=q", "precision@1000 >= 0.6"], "`streameval check` says the answer of its day"),
    (["evaluate", "q", "--label-error", "0.1"], "a study of a question does not go with --label-error"),
    (["evaluate", "q", "--misses", "3"], "a study of a question does not go with --misses"),
    (["report", "q", "--examples"], "is a study of a question, which is drawn alone and without examples"),
]  # fmt: skip


def test_what_a_question_does_not_answer_is_one_line(begun, capsys):
    begun("gate open")
    for verb, said in NO_ANSWERS:
        told = refused(capsys, *verb)
        assert said in told
        assert "Hint: " in told
        assert "STUDY" not in told


def test_what_is_weaker_than_what_was_proven_is_proven_too(begun):
    begun("easy decided")
    assert run(["check", "q"]) == 0
    assert run(["check", "q", "precision@1000 >= 0.45"]) == 0
    assert run(["check", "q", "precision@25% >= 0.45"]) == 0
    assert run(["check", "q", "precision@1000 >= 0.99"]) in (4, 5)


def test_cost_says_in_a_sentence_what_has_no_number(capsys):
    assert run(["cost", "--items", "1e6", "--for", "cut precision 0.9"]) == 0
    first, _ = capsys.readouterr().out.splitlines()
    assert first.startswith("About 125 labels tell where the cut may be; ")


@pytest.mark.parametrize(("expect", "said"), [("0.7", "takes about"), ("0.4", "takes up to about")])
def test_a_curve_is_said_to_take_so_many_at_most_where_the_answer_is_no(home, capsys, expect, said):
    assert run([*PLAN, "--for", f"{GATE} expect {expect}"]) == 0
    whole = re.compile(
        r"A curve of the whole list (.*) [\d,]+ labels for bounds as narrow at that rank, if precision there is (.*)\."
    )
    assert whole.findall(capsys.readouterr().out) == [(said, expect)]
