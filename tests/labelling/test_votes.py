"""From stored rows to labels: the identity of a vote, the rules, and an account without gaps."""

import datetime
from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from label_tables import stored
from suite_cases import examples

from streameval.errors import InputError
from streameval.labelling.fates import fold
from streameval.labelling.rules import vote_rule
from streameval.labelling.tally import tally
from streameval.types import Plan

PLAN = Plan("x", {}, 9, 0, pa.table({"rank": np.arange(1, 10), "stratum": np.zeros(9, np.int32)}))


def moment(minute):
    return None if minute is None else datetime.datetime(2026, 1, 1, 0, minute, tzinfo=datetime.UTC)


def labels(rows, rule="majority", **more):
    found = tally(PLAN, stored(rows), vote_rule(rule), **more)
    return dict(zip(found.labels.rank.tolist(), found.labels.label.tolist(), strict=True)), found


def fates(rows, *rule, **more):
    return fold(stored(rows), vote_rule(*(rule or ("majority",))), **more).column("fate").to_pylist()


def test_a_task_file_given_again_corrected_and_longer_doubles_nothing():
    first = [{"rank": 1, "value": 1, "ours": True}, {"rank": 2, "value": 0, "ours": True}]
    longer = [{**row, "given": 2} for row in first] + [{"rank": 3, "value": 1, "ours": True, "given": 2}]
    assert fates(first + longer) == ["vote", "vote", "again", "again", "vote"]
    corrected = [{"rank": 1, "value": 0, "ours": True, "given": 2}, {"rank": 2, "value": 0, "ours": True, "given": 2}]
    assert fates(first + corrected) == ["contradictory", "vote", "contradictory", "again"]
    found, tallied = labels(first + corrected)
    assert (found[1], found[2], tallied.labels.account["contradictory"]) == (-1, 0, 2)
    assert fates(first + corrected, "latest") == ["superseded", "again", "vote", "vote"]


def test_nobodys_answers_in_two_sources_may_be_two_persons_whatever_their_times():
    anna = [{"rank": 1, "value": v, "ours": True, "time": moment(t)} for v, t in ((0, 1), (1, 2))]
    bob = [{"rank": 1, "value": 0, "ours": True, "given": 2, "time": moment(9)}]
    assert fates(anna) == ["superseded", "vote"]
    assert fates(anna + bob) == ["superseded", "contradictory", "contradictory"]
    assert fates(anna + bob, "latest") == ["superseded", "superseded", "vote"]
    assert fates(anna + [{**row, "value": 1} for row in bob]) == ["superseded", "vote", "again"]
    assert fates(anna + [{**row, "value": None} for row in bob]) == ["superseded", "vote", "skipped"]
    assert labels(anna + bob)[1].labels.account["superseded"] == 1


def test_the_same_annotators_later_answer_wins_where_there_is_a_time():
    rows = [{"rank": 1, "annotator": "a", "value": v, "time": moment(t)} for v, t in ((1, 5), (0, 9), (1, 2))]
    assert fates(rows) == ["superseded", "vote", "superseded"]
    assert fates([*rows, {"rank": 1, "annotator": "a", "time": moment(10)}]) == ["superseded"] * 3 + ["skipped"]
    assert fates([*rows, {"rank": 1, "annotator": "a", "value": 1, "time": moment(9)}])[1:] == [
        "contradictory", "superseded", "contradictory"]  # fmt: skip
    assert fates([*rows, {"rank": 1, "annotator": "a", "value": 1}]) == ["contradictory"] * 4


def test_rows_that_name_nobody_are_votes_of_their_own():
    found, tallied = labels([{"rank": 1, "value": v} for v in (1, 1, 0)] + [{"rank": 2, "value": v} for v in (1, 1)])
    assert (found[1], found[2], tallied.labels.account["votes"]) == (1, 1, 5)
    assert (tallied.labels.account["contradictory"], tallied.labels.account["doubled"]) == (3, 1)


def test_a_blank_or_a_skip_takes_no_answer_back():
    rows = [{"rank": 1, "annotator": "a", "value": 1}, {"rank": 1, "annotator": "a", "state": "blank"},
            {"rank": 1, "annotator": "a", "state": "skip"}]  # fmt: skip
    assert fates(rows) == ["vote", "blank", "skipped"]


@pytest.mark.parametrize(
    ("rule", "votes", "label"),
    [
        ("majority", (1, 1, 0), 1), ("majority", (1, 0), -1), ("majority", (), -1), ("majority>=3", (1, 3, 5), 1),
        ("any", (0, 0, 1), 1), ("any", (0,), 0), ("all", (1, 1), 1), ("all", (1, 0), 0), ("all>=2", (2, 3), 1),
        ("mean>=3", (1, 5, 3), 1), ("mean>=3", (3, 2), 0), ("mean", (1, 0), 1), ("mean>=.2", (0.1, 0.2, 0.3), 1),
        ("latest", (0, 0, 1), 1), ("latest>=2", (9, 1), 0),
    ],
)  # fmt: skip
def test_rules(rule, votes, label):
    rows = [{"rank": 1, "annotator": f"a{i}", "value": v} for i, v in enumerate(votes)]
    assert labels(rows, rule)[0][1] == label


def test_grades_without_a_threshold_are_unreadable_and_bad_rules_are_named():
    found, tallied = labels([{"rank": 1, "annotator": "a", "value": 4}, {"rank": 2, "annotator": "a", "value": 1}])
    assert (found[1], found[2], tallied.labels.account["unreadable"]) == (-1, 1, 1)
    for bad in ("medium", "mean>=x", "majority>=", ">=3", "mean>=1.2.3"):
        with pytest.raises(InputError):
            vote_rule(bad)
    with pytest.raises(InputError, match="Hint: majority, mean, any, all, latest; each takes >=X"):
        vote_rule("meen")


def test_sources_of_higher_precedence_answer_alone():
    rows = [{"rank": 1, "annotator": "m", "value": 0, "origin": "llm"}] * 3
    rows = [{**row, "annotator": f"m{i}"} for i, row in enumerate(rows)]
    rows += [{"rank": 1, "annotator": "p", "value": 1, "origin": "person"},
             {"rank": 2, "annotator": "m0", "value": 0, "origin": "llm"}]  # fmt: skip
    found, tallied = labels(rows, "majority", prefer=("person", "llm"))
    assert (found[1], found[2], tallied.labels.account["outranked"]) == (1, 0, 3)
    assert labels(rows)[0][1] == 0


def test_a_source_is_preferred_whatever_its_name_and_whoever_answers_once():
    rows = [{"rank": 1, "value": 1, "origin": "a"}, {"rank": 1, "value": 0, "origin": "it's \"b\""},
            {"rank": 2, "value": 1, "origin": "a"}, {"rank": 3, "state": "skip", "origin": "a"}]  # fmt: skip
    assert fates(rows, prefer=['it\'s "b"']) == ["outranked", "vote", "vote", "skipped"]
    assert fates(rows[1:], prefer=['it\'s "b"']) == ["vote", "vote", "skipped"]


def test_repeats_and_controls_are_no_votes():
    extra = pa.table({"se_task": [10, 11], "rank": pa.array([1, None], pa.int64()), "kind": ["repeat", "control"],
                      "expected": pa.array([None, 1.0], pa.float64())})  # fmt: skip
    rows = [{"rank": 1, "annotator": "a", "value": 1, "task": 1, "ours": True},
            {"rank": 1, "annotator": "a", "value": 0, "task": 10, "ours": True},
            {"annotator": "a", "value": 1, "task": 11, "ours": True}]  # fmt: skip
    assert fates(rows, extra=extra) == ["vote", "repeat", "control"]


ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "rank": st.integers(1, 3),
            "annotator": st.sampled_from([None, "a", "b"]),
            "value": st.sampled_from([None, 0, 1, 1]),
            "time": st.sampled_from([None, 1, 2]),
            "ours": st.booleans(),
            "given": st.integers(1, 3),
            "source": st.sampled_from([None, None, "llm"]),
        }
    ),
    max_size=12,
)


def naive(rows, rule):
    """The identity of a vote in plain Python, one annotator and item at a time."""
    votes = {}
    for rank in {row["rank"] for row in rows}:
        said, mine = {}, [row for row in rows if row["rank"] == rank]
        for i, row in enumerate(mine):
            who = row["annotator"] or ("" if row["ours"] else ("row", i))
            said.setdefault((who, row["source"]), []).append((i, row))
        counted = []
        for (who, _), one in said.items():
            groups = {}
            for i, row in one:
                groups.setdefault(row["given"] if who == "" and rule != "latest" else None, []).append((i, row))
            current, mixed = [], False
            for group in groups.values():
                timed = all(row["time"] is not None for _, row in group)
                last = max(row["time"] for _, row in group) if timed else None
                now = [(i, row) for i, row in group if row["time"] == last or not timed]
                mixed |= timed and {row["value"] is None for _, row in now} == {True, False}
                current += now
            if mixed and rule != "latest":
                continue
            answers = sorted([(i, row) for i, row in current if row["value"] is not None], key=lambda pair: pair[0])
            values = {row["value"] for _, row in answers}
            if len(values) == 1 or (values and rule == "latest"):
                counted.append(answers[-1])
        if rule == "latest" and counted:
            if all(row["time"] is not None for _, row in counted):
                last = max(row["time"] for _, row in counted)
                counted = [(i, row) for i, row in counted if row["time"] == last]
            else:
                counted = [max(counted, key=lambda pair: pair[0])]
        votes[rank] = sorted(row["value"] for _, row in counted)
    return votes


@settings(max_examples=examples(15, 60))
@given(ROWS, st.sampled_from(["majority", "latest"]))
def test_the_fold_is_its_naive_twin_and_every_row_has_one_fate(rows, rule):
    rows = sorted(rows, key=lambda row: row["given"])
    table = stored([{**row, "time": moment(row["time"])} for row in rows])
    found = fold(table, vote_rule(rule))
    assert found.num_rows == len(rows)
    assert found.column("id").to_pylist() == list(range(len(rows)))
    assert found.column("fate").null_count == 0
    counted = [(r, v) for r, v, f in zip(*(found.column(n).to_pylist() for n in ("rank", "value", "fate")), strict=True)
               if f == "vote"]  # fmt: skip
    expected = [(rank, value) for rank, values in naive(rows, rule).items() for value in values]
    if rule == "latest":  # of several votes of one person that are all the latest, either may stand for the item
        assert {rank for rank, _ in counted} == {rank for rank, _ in expected}
    assert Counter(counted) == Counter(expected)


@settings(max_examples=examples(3, 12))
@given(ROWS)
def test_a_table_given_twice_changes_no_label(rows):
    named = [{**row, "annotator": row["annotator"] or "c", "time": moment(row["time"])} for row in rows]
    again = [{**row, "given": row["given"] + 3} for row in named]
    for rule in ("majority", "all"):
        once, twice = (tally(PLAN, stored(r), vote_rule(rule)).labels for r in (named, named + again))
        assert once.label.tolist() == twice.label.tolist()
        assert once.votes.tolist() == twice.votes.tolist()
