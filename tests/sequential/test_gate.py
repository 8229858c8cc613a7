"""Gates: what they ask, what they prove, and what changes nothing."""

import itertools
import json
import math

import numpy as np
import pyarrow as pa
import pytest
from binomial import binomial_tail
from gates import answered, known, labelled, planned
from suite_cases import LONG, cases, examples, slow

from streameval.errors import InputError
from streameval.questions import Question
from streameval.sequential import PATH, DrawnItems, KnownItems, QuestionSetting, designs, read_design
from streameval.sequential.closed import plan_levels
from streameval.sequential.condition import ConditionTest
from streameval.sequential.evidence import EProcess
from streameval.sequential.gate import Gate


def likely(n_items, precision, seed=0):
    return (np.random.default_rng(seed).random(n_items) < precision).astype(np.int8)


def small(items, most, fewest, delta, zone=False):
    """A condition on so few items that every order can be tried: a pass rejects `most`, a fail `fewest`."""
    passing, failing = EProcess.plan(items, most), EProcess.plan(items, items - fewest)
    levels, end = ((math.log(1 / delta),) * 2, None) if not zone else plan_levels(passing, failing, (delta, delta))
    needed = most + 1, fewest
    return ConditionTest("", items, 1, needed, (0, 0, 0), passing, failing, levels, (delta, delta), 0.9, end)


def sequences(items, wins):
    for places in itertools.combinations(range(items), wins):
        yield np.isin(np.arange(items), places).astype(np.int8)


# what is promised


EVERY, SOME = list(itertools.product([3, 4, 5, 6], [0.5, 0.4, 0.3, 0.2])), [(3, 0.5), (5, 0.5), (6, 0.2)]


@pytest.mark.parametrize(("items", "delta"), [*SOME, *slow(*(one for one in EVERY if one not in SOME))])
def test_every_list_is_answered_wrongly_with_the_claimed_probability_at_most(items, delta):
    """All orders, labels shown one by one: any moment at which it is wrong counts."""
    for fewest in range(1, items + 1):
        one = small(items, fewest - 1, fewest, delta)
        for truth in range(items + 1):
            wrong = "pass" if truth < fewest else "fail"
            found = [
                wrong in {one.read(labels[:n]).outcome for n in range(items + 1)} for labels in sequences(items, truth)
            ]
            assert np.mean(found) <= delta


def with_known(at_plan, rest, threshold, delta):
    """A condition on two known items and `rest` more, so few that every order can be tried."""
    wins, losses, skipped = (at_plan.count(value) for value in (1, 0, -1))
    most, fewest = threshold - 1 - wins, threshold - wins - skipped
    sides = EProcess.plan(rest, most), EProcess.plan(rest, rest - fewest)
    levels = (math.log(1 / delta),) * 2
    return ConditionTest("", 2 + rest, 1, (threshold,) * 2, (wins, losses, skipped), *sides, levels, (delta,) * 2, 0.9)


def readings_of(at_plan, true):
    """The labels of two known items in turn: as planned, and any that are true, with none where one is missing."""
    rank = np.array([1, 2])
    for now in itertools.product(*((value, -1) for value in true)):
        yield KnownItems(rank, np.array(now, np.int8), planned=np.array(at_plan, np.int8))


@pytest.mark.parametrize(("rest", "delta"), [(4, 0.4), *slow((5, 0.4), (4, 0.3), (5, 0.25))])
def test_whatever_becomes_of_known_labels_a_condition_is_answered_wrongly_with_the_claimed_probability(rest, delta):
    """Of every list, order and threshold, and whatever was known: any reading that is wrong counts.

    A reading is wrong only if each answer that counts in it is true: answers are missing, false ones are forgotten or
    put right, one after another.
    """
    frozen = 0
    items = itertools.product((1, 0, -1) if LONG else (1, 0), (1, 0))  # as planned, and what is true
    for threshold, pair in itertools.product(
        range(1, 3 + rest), list(itertools.combinations_with_replacement(items, 2))
    ):
        at_plan, true = zip(*pair, strict=True)
        planned_ = with_known(at_plan, rest, threshold, delta)
        tests = [planned_.with_labels_now(one) for one in readings_of(at_plan, true)]
        for wins in range(rest + 1):
            wrong = "pass" if wins + sum(true) < threshold else "fail"
            every = list(sequences(rest, wins))
            found = [wrong in {one.read(order).outcome for one in tests} for order in every]
            assert np.mean(found) <= delta
            frozen += np.mean([wrong == planned_.read(order).outcome for order in every]) > delta
    assert frozen  # as planned it is wrong more often, where what was known is not true


def test_a_condition_of_an_earlier_version_that_counts_what_a_curve_said_is_read_by_its_own_levels():
    """And without that, once a label of the curve is withdrawn: the test against what was planned starts anew."""
    facts = with_known((1, 1), 60, 50, 0.05).facts()
    then = ConditionTest.from_facts(json.loads(json.dumps({**facts, "levels": [0.5, 4.0], "earlier": [6.0, 0.0]})))
    now = ConditionTest.from_facts(json.loads(json.dumps(facts)))
    labels = np.ones(60, np.int8)
    stops = [int(np.argmax(then.read(labels).passing >= level)) for level in (0.5, math.log(20))]
    assert stops == [then.read(labels).stopped, now.read(labels).stopped]
    assert stops[0] < stops[1]
    torn = KnownItems(np.array([1, 2]), np.array([1, -1], np.int8), planned=np.array([1, 1], np.int8))
    both = [one.with_labels_now(torn) for one in (then, now)]
    assert [one.besides for one in both] == [(range(47, 49), range(12, 13)), (range(48, 49), range(13, 13))]
    assert both[0].read(labels).stopped == both[1].read(labels).stopped > stops[1]


@pytest.mark.parametrize("zone", cases([False, True], False))
def test_missing_labels_hide_an_answer_and_make_none(zone):
    """Whichever are missing, of every order of every list of seven items."""
    one = small(7, 2, 5 if zone else 3, 0.4, zone)
    seen = set()
    for truth in range(8):
        for labels in sequences(7, truth):
            whole = one.read(labels)
            reached = {"open", whole.outcome}
            if not zone:  # one that comes later, too, is proven
                reached |= {"pass"} if (whole.passing >= one.levels[0]).any() else set()
                reached |= {"fail"} if (whole.failing >= one.levels[1]).any() else set()
            for missing in list(itertools.product([False, True], repeat=7))[:: 1 if LONG else 7]:
                outcome = one.read(np.where(missing, -1, labels).astype(np.int8)).outcome
                assert outcome in reached
                seen.add((outcome, whole.outcome))
    assert {("pass", "pass"), ("fail", "fail"), ("open", "pass"), ("open", "fail")} <= seen


@pytest.mark.parametrize("first", [0, 1])
def test_a_missing_label_of_a_zone_may_hide_that_the_other_side_came_first(first):
    """With it both ends are passed, one after the other; without it neither is known to have been the first."""
    one = planned("precision@1e6 >= .9", zone="0.05").tests[0]
    bounds, n = one.rule(one.cap), np.arange(one.cap + 1)
    start = int(np.argmax(bounds.up <= n if first else bounds.down >= 0))  # labels that decide alone, all of them so
    labels = np.concatenate([np.full(start, first), np.full(one.cap - start - 1, 1 - first)]).astype(np.int8)
    ends = {1: np.cumsum(labels) >= bounds.up[1:-1], 0: np.cumsum(labels) <= bounds.down[1:-1]}
    assert 0 < np.argmax(ends[first]) < np.argmax(ends[1 - first])
    assert one.read(labels).outcome == ("pass" if first else "fail")
    labels[0] = -1
    assert one.read(labels).outcome == "open"


def test_a_zone_of_few_items_keeps_both_errors_in_every_order():
    one = small(7, 2, 5, 0.4, zone=True)
    for truth in range(8):
        outcomes = [one.read(labels).outcome for labels in sequences(7, truth)]
        assert "open" not in outcomes
        assert truth > 2 or outcomes.count("pass") <= 0.4 * len(outcomes)
        assert truth < 5 or outcomes.count("fail") <= 0.4 * len(outcomes)


def adversarial(threshold, n=400):
    """Lists that are as near to the threshold as a list can be, or far from it in one place."""
    rng = np.random.default_rng(3)
    short = math.ceil(threshold * n) - 1
    ones = (np.arange(n) < short).astype(np.int8)
    below = np.diff([math.ceil(threshold * r) - 1 if r else 0 for r in range(n + 1)])
    yield "one short", rng.permutation(ones)
    yield "ones first", ones
    yield "alternating", (np.arange(n) % 2).astype(np.int8)
    yield "blocks", (np.arange(n) // 40 % 2 == 0).astype(np.int8)
    yield "zeros first", ones[::-1]
    yield "independent", (rng.random(n) < threshold - 0.01).astype(np.int8)
    yield "every prefix one short", below.astype(np.int8)
    yield "falling", (rng.random(n) < np.linspace(1, 2 * threshold - 1, n)).astype(np.int8)


def wrong(gate, truth, seed):
    """Whether the outcome is wrong at any moment, and any line: an outcome stands once it is reached."""
    drawn = gate.next(gate.start(), np.empty(0, np.int8), 400, seed)
    ranks = drawn.table.sort_by("order").column("rank").to_numpy()
    said = [one.read(truth[ranks[ranks <= one.rank] - 1]).outcome for one in gate.tests]
    met = [truth[: one.rank].sum() >= one.needed[0] for one in gate.tests]
    lines = [one == ("fail" if holds else "pass") for one, holds in zip(said, met, strict=True)]
    whole = "fail" if "fail" in said else "pass" if {*said} == {"pass"} else "open"
    return [whole == ("fail" if all(met) else "pass"), *lines]


def refused(threshold, confidence, draws):
    gate = planned(f"precision@60, 200, 400 >= {threshold}", n_items=400, confidence=confidence)
    for name, truth in adversarial(threshold):
        found = np.sum([wrong(gate, truth, seed) for seed in range(draws)], axis=0)
        delta = 1 - float(confidence)
        for count in found:
            assert binomial_tail(draws, int(count), delta) > 1e-4, (name, found)


def test_adversarial_lists_are_answered_wrongly_as_seldom_as_claimed():
    refused(0.9, "0.5", 30)


@pytest.mark.slow
@pytest.mark.parametrize("confidence", ["0.95", "0.5"])
@pytest.mark.parametrize("threshold", [0.9, 0.5])
def test_adversarial_lists_in_a_thousand_draws(threshold, confidence):
    refused(threshold, confidence, 1_000)


# what is asked


@pytest.mark.parametrize(
    ("asked", "counted", "needed"),
    [
        ("precision@100 >= .29", 1, 29),  # 28.999... in binary
        ("precision@1000001 >= .9", 1, 900_001),
        ("precision@100 > .29", 1, 30),
        ("precision@100 > 0", 1, 1),
        ("precision@100 >= 1", 1, 100),
        ("precision@100 <= .29", 0, 71),
        ("precision@100 < .29", 0, 72),
        ("precision@7 < .29", 0, 5),
        ("precision@100 <= 28.5%", 0, 72),
    ],
)
def test_thresholds_are_exact(asked, counted, needed):
    one = planned(asked).tests[0]
    assert (one.counted, one.needed) == (counted, (needed, needed))
    assert (one.passing.most, one.items - one.failing.most) == (needed - 1, needed)


def test_a_zone_is_on_the_lenient_side():
    assert planned("precision@1000 >= .9", zone="0.05").tests[0].needed == (850, 900)
    assert planned("precision@1000 <= .1", zone="0.05").tests[0].needed == (850, 900)


@pytest.mark.parametrize(
    ("asked", "more", "said"),
    [
        ("precision@2e7 >= .9", {}, r"rank 20,000,000 is outside 1\.\.10,000,000"),
        ("precision@1000 >= 0", {}, "is true of every list"),
        ("precision@1000 <= 1", {}, "is true of every list"),
        ("precision@1000 > 1", {}, "is false of every list"),
        ("precision@1000 >= 1.01", {}, "is false of every list"),
        ("precision@1000 >= .9", {"zone": "0.9"}, "a zone is below 0.9"),
        ("precision@1000 >= .9", {"zone": "-0.1"}, "a zone is below 0.9"),
        ("precision@1000 >= .9", {"zone": "0.0001"}, "no precision lies inside"),
        ("precision@1e6 >= .9", {"zone": "0.001"}, "so narrow a zone"),
        ("precision@1000 >= .9", {"expect": "1.2"}, r"outside 0\.\.1"),
        ("precision@1000 >= .9", {"confidence": "1"}, r"confidence 1 is outside"),
    ],
)
def test_what_cannot_be_asked_is_refused(asked, more, said):
    with pytest.raises(InputError, match=said):
        planned(asked, **more)


def test_it_takes_conditions_on_precision():
    assert designs()["gate"] is Gate
    taken = ["precision@1000 >= .9", "precision@1e4, 1e6 < .5", "precision@score:0.7 > .9"]
    others = ["recall@1000 >= .9", "precision@1000", "precision@1000 within .03", "average_precision >= .9"]
    assert [Gate.takes(Question.of(one)) for one in taken + others] == [True] * 3 + [False] * 4


def test_the_first_round_has_fifty_and_later_ones_fifty_to_two_hundred():
    gate, truth = planned("precision@1e6 >= .9"), likely(10**6, 0.93)
    drawn, answer = answered(gate, truth)
    sizes = np.bincount(drawn.table.column("round").to_numpy())[1:]
    assert sizes[0] == 50
    assert len(sizes) > 3
    assert np.all((sizes[1:] >= 50) & (sizes[1:] <= 200))
    assert answer.outcome == "pass"
    assert sizes[:-1].sum() < answer.lines[0].labels <= sizes.sum()
    assert gate.next(drawn, labelled(drawn, truth), None, 0) is drawn


def test_a_size_is_kept_unless_fewer_are_left():
    gate, truth = planned("precision@300 >= .9"), likely(300, 0.9)
    drawn = gate.start()
    for size in (7, 90, 1, 150):
        drawn = gate.next(drawn, np.full(drawn.table.num_rows, -1, np.int8), size, 0)
    drawn = gate.next(drawn, np.full(drawn.table.num_rows, -1, np.int8), 100, 0)
    assert np.bincount(drawn.table.column("round").to_numpy())[1:].tolist() == [7, 90, 1, 150, 52]
    assert sorted(drawn.table.column("rank").to_pylist()) == list(range(1, 301))
    assert gate.next(drawn, np.full(300, -1, np.int8), None, 0) is drawn
    assert gate.answer(drawn, labelled(drawn, truth)).outcome == ("pass" if truth.sum() >= 270 else "fail")


def test_a_zone_never_asks_beyond_its_end():
    gate = planned("precision@1e6 >= .9", zone="0.05")
    drawn, answer = answered(gate, likely(10**6, 0.875))
    assert drawn.table.num_rows <= 584
    assert answer.outcome != "open"
    drawn, answer = answered(gate, np.full(10**6, -1))  # nobody answers
    assert drawn.table.num_rows == 584
    assert (answer.outcome, answer.more.most) == ("open", None)  # the end decides if all before it are answered


def test_few_items_are_all_asked_and_the_answer_is_exact():
    for zone in (None, "0.1"):
        gate = planned("precision@40 >= .9", zone=zone)
        for positives, outcome in ((36, "pass"), (31, "fail")):
            drawn, answer = answered(gate, (np.arange(40) < positives).astype(np.int8))
            line = answer.lines[0]
            assert (drawn.table.num_rows, drawn.rounds, answer.outcome) == (40, 1, outcome)
            assert line.lower == line.estimate == line.upper == positives / 40
            assert (line.labels, line.positives, line.claim) == (40, positives, 0)
        assert gate.expected()[0][1].most == 40


@pytest.mark.parametrize("asked", ["precision@1e6 >= .9", "precision@1e3, 1e4, 1e6 >= .9"])
def test_splitting_a_round_asks_for_the_same(asked):
    gate = planned(asked)
    drawn = gate.next(gate.start(), np.empty(0, np.int8), 90, 5)
    ahead = pa.concat_tables([drawn.table.drop_columns("round"), drawn.ahead]).sort_by("rank")
    start = DrawnItems(gate.start().table, ahead, drawn.state)
    whole = gate.next(start, np.empty(0, np.int8), 90, 1)
    first = gate.next(start, np.empty(0, np.int8), 33, 1)
    both = gate.next(first, np.full(33, -1, np.int8), 57, 1)
    assert both.table.column("rank") == whole.table.column("rank") == drawn.table.column("rank")


def test_what_lies_beyond_the_rank_changes_nothing():
    short, long = (planned("precision@1000 >= .9", n_items=n) for n in (1_000, 10**9))
    assert short.tests == long.tests
    one, other = (gate.next(gate.start(), np.empty(0, np.int8), 80, 1) for gate in (short, long))
    assert one.table == other.table


def test_when_answers_come_changes_nothing():
    """Late, in any order: what counts is which items have labels."""
    gate, truth = planned("precision@1e4 >= .9"), likely(10**4, 0.95)
    drawn, answer = answered(gate, truth)
    labels, rng = np.full(drawn.table.num_rows, -1, np.int8), np.random.default_rng(0)
    for rows in np.array_split(rng.permutation(labels.size), 20):
        assert gate.answer(drawn, labels).outcome == "open"
        labels[rows] = labelled(drawn, truth)[rows]
    assert gate.answer(drawn, labels) == answer


def test_only_an_unbroken_beginning_of_the_order_counts():
    gate, truth = planned("precision@1e6 >= .9"), likely(10**6, 1)
    drawn = gate.next(gate.start(), np.empty(0, np.int8), 60, 0)
    assert gate.answer(drawn, labelled(drawn, truth)).outcome == "pass"
    row = int(np.argsort(drawn.table.column("order").to_numpy())[20])  # as if it were still ahead
    others = drawn.table.take([i for i in range(60) if i != row])
    broken = DrawnItems(
        others, pa.concat_tables([drawn.ahead, drawn.table.slice(row, 1).drop_columns("round")]), drawn.state
    )
    assert gate.answer(broken, labelled(broken, truth)).lines[0].labels == 20
    assert gate.next(broken, labelled(broken, truth), 1, 0).table.column("rank") == drawn.table.column("rank")


# what is known already


def test_known_items_are_taken_out_and_counted():
    gate = planned("precision@1000 >= .9", known=known([1, 5, 9, 2000], [1, 1, 0, 1]))
    one = gate.tests[0]
    assert (one.known, one.items, one.passing.most, one.items - one.failing.most) == ((2, 1, 0), 997, 897, 898)
    drawn, answer = answered(gate, np.ones(1000), size=997)
    assert not {1, 5, 9} & set(drawn.table.column("rank").to_pylist())
    assert (answer.lines[0].lower, answer.lines[0].upper) == (0.999, 0.999)


def test_a_skipped_item_is_the_worst_case_of_each_side():
    one = planned("precision@1000 >= .9", known=known([1, 5, 9], [1, 0, -1])).tests[0]
    assert (one.passing.most, one.items - one.failing.most) == (898, 898)
    one = planned("precision@1000 <= .1", known=known([1, 5, 9], [1, 0, -1])).tests[0]
    assert (one.known, one.passing.most, one.items - one.failing.most) == ((1, 1, 1), 898, 898)


@pytest.mark.parametrize(("label", "outcome"), [(1, "pass"), (0, "fail"), (-1, "open")])
def test_what_is_known_may_answer_alone(label, outcome):
    gate = planned("precision@100 >= .5", known=known(range(1, 71), [label] * 70))
    answer = gate.answer(gate.start(), np.empty(0, np.int8))
    assert answer.outcome == outcome
    assert (gate.next(gate.start(), np.empty(0, np.int8), None, 0).table.num_rows == 0) == (outcome != "open")
    gate = planned("precision@70 >= .5", known=known(range(1, 71), [label] * 70))
    assert gate.next(start := gate.start(), np.empty(0, np.int8), None, 0) is start
    assert gate.answer(start, np.empty(0, np.int8)).outcome == outcome


# several conditions


def test_nested_conditions_share_an_order():
    gate = planned("precision@1e3, 1e4, 1e6 >= .9")
    drawn = gate.next(gate.start(), np.empty(0, np.int8), None, 0)
    assert 50 < drawn.table.num_rows <= 150
    answer = gate.answer(drawn, np.ones(drawn.table.num_rows, np.int8))
    assert [line.labels for line in answer.lines] == [36, 37, 37]
    assert answer.outcome == "pass"


def test_a_condition_that_is_answered_asks_no_more():
    truth = np.concatenate([np.ones(1000), likely(10**6, 0.92)]).astype(np.int8)
    gate = planned("precision@1e3, 1e6 >= .9")
    drawn = gate.next(gate.start(), np.empty(0, np.int8), None, 0)
    assert gate.answer(drawn, labelled(drawn, truth)).lines[0].outcome == "pass"
    later = gate.next(drawn, labelled(drawn, truth), None, 0)
    new = later.table.filter(pa.compute.equal(later.table.column("round"), 2)).column("rank").to_numpy()
    assert new.size >= 50
    assert np.median(new) > 1e5


def test_all_stop_when_one_fails():
    truth = np.concatenate([np.zeros(1000), likely(10**6, 0.92)]).astype(np.int8)
    gate = planned("precision@1e3, 1e6 >= .9")
    drawn, answer = answered(gate, truth)
    assert [line.outcome for line in answer.lines] == ["fail", "open"]
    assert (answer.outcome, drawn.rounds) == ("fail", 1)
    assert (answer.more.median, answer.more.nine_in_ten, answer.more.most) == (0, 0, 0)


def test_a_fail_of_one_of_several_asks_for_more_evidence():
    one, three = planned("precision@1e6 >= .9"), planned("precision@1e4, 1e5, 1e6 >= .9")
    assert three.tests[0].levels == pytest.approx((math.log(20), math.log(60)))
    assert one.tests[0].levels == pytest.approx((math.log(20), math.log(20)))
    end = planned("precision@1e5, 1e6 >= .9", zone="0.05").tests[0]
    assert end.rule(end.cap).of_wins(end.items - end.failing.most).failed.sum() <= 0.025
    assert end.rule(end.cap).of_wins(end.passing.most).passed.sum() <= 0.05


def test_a_condition_and_its_contrary_at_one_rank():
    gate = planned("precision@1000 >= .5", "precision@1000 <= .9")
    assert answered(gate, likely(1000, 0.7))[1].outcome == "pass"
    assert answered(gate, likely(1000, 0.98))[1].outcome == "fail"


# what is said


def test_lines_say_what_is_proven():
    gate, truth = planned("precision@1e6 >= .9"), likely(10**6, 0.95)
    drawn = gate.next(gate.start(), np.empty(0, np.int8), 50, 0)
    labels = labelled(drawn, truth)
    labels[:5] = -1
    line = gate.answer(drawn, labels).lines[0]
    positives = int((labels == 1).sum())
    assert (line.outcome, line.labels, line.positives, line.claim) == ("open", 45, positives, 0)
    assert line.estimate == pytest.approx(positives / 45)
    assert np.isnan([line.lower, line.upper]).all()  # what is possible is .00004 to .999998, and no claim
    line = answered(gate, truth)[1].lines[0]
    assert (line.outcome, line.lower, line.claim) == ("pass", 0.9, pytest.approx(0.05))
    assert np.isnan(line.upper)
    line = answered(gate, likely(10**6, 0.8))[1].lines[0]
    assert (line.outcome, line.upper) == ("fail", 0.899999)
    line = answered(planned("precision@1e6 <= .3"), likely(10**6, 0.2))[1].lines[0]
    assert (line.outcome, line.upper, round(line.estimate, 1)) == ("pass", 0.3, 0.2)
    assert line.positives < line.labels / 2
    line = answered(planned("precision@1e6 < .3"), likely(10**6, 0.5))[1].lines[0]
    assert (line.outcome, line.lower) == ("fail", 0.3)


def test_the_path_shows_both_sides_of_every_condition():
    gate = planned("precision@1e3, 1e6 >= .9")
    _, answer = answered(gate, likely(10**6, 0.97))
    assert answer.path.schema == PATH
    for line, one in zip(answer.lines, gate.tests, strict=True):
        for side, level in zip(("pass", "fail"), one.levels, strict=True):
            path = answer.path.filter(
                (pa.compute.field("question") == line.question) & (pa.compute.field("side") == side)
            ).to_pydict()
            assert path["labels"] == list(range(len(path["labels"])))
            assert path["evidence"][0] == pytest.approx(0)
            assert set(path["needed"]) == {level}
            reached = np.array(path["evidence"]) >= level
            assert np.argmax(reached) == line.labels if side == "pass" else not reached.any()


def test_an_answer_that_is_changed_may_withdraw_a_pass():
    gate, truth = planned("precision@1e6 >= .9"), likely(10**6, 1)
    drawn, answer = answered(gate, truth)
    labels = labelled(drawn, truth)
    assert answer.outcome == "pass"
    labels[::2] = 0
    assert gate.answer(drawn, labels).outcome != "pass"


def test_what_is_planned_can_be_written_and_read():
    for zone in (None, "0.05"):
        gate = planned("precision@1e3 >= .9", "precision@1e6 < .5", zone=zone, known=known([3, 4], [1, -1]))
        again = read_design(json.loads(json.dumps(gate.facts())), gate.known)
        assert again.tests == gate.tests
        drawn = gate.next(gate.start(), np.empty(0, np.int8), None, 0)
        read = DrawnItems(drawn.table, drawn.ahead, json.loads(json.dumps(drawn.state)))
        labels = np.ones(drawn.table.num_rows, np.int8)
        assert again.next(read, labels, 70, 1).table == gate.next(drawn, labels, 70, 1).table


@pytest.mark.parametrize(("rank", "half", "nine", "least"), [
    (10**4, 190, 420, 10**4), *slow((10**6, 191, 450, None)),
])  # fmt: skip
def test_expected_labels_are_those_of_the_recursion(rank, half, nine, least):
    (first, planned_for), (second, threshold) = planned(f"precision@{rank} >= .9").expected()
    assert (first, planned_for.median, planned_for.nine_in_ten, planned_for.most) == ("if it is 0.95", half, nine, None)
    assert (second, threshold.median, threshold.nine_in_ten, threshold.most) == ("if it is 0.9", least, least, None)


def test_expected_labels_are_told_of_each_case():
    (first, planned_for), (second, worst) = planned("precision@1e6 >= .9", zone="0.05", expect="0.97").expected()
    assert (first, planned_for.most, second, worst.nine_in_ten) == ("if it is 0.97", 584, "if it is 0.875", 584)
    (first, below), (_, threshold) = planned("precision@1e6 <= .2").expected()
    assert (first, below.median, below.nine_in_ten, threshold.median) == ("if it is 0.1", 93, 208, None)
    (first, several), _ = planned("precision@2e3 >= .9", "precision@1e4 >= .8").expected()
    assert first == "if each is halfway from its threshold to the best"
    assert 184 < several.median < 184 + 87


def test_forecasts_come_true():
    """Half of the time it takes the median or fewer; nine times in ten, at most the other."""
    gate, within = planned("precision@1e4 >= .7", zone="0.1"), []
    for seed in range(examples(120, 150)):
        precision = np.random.default_rng(seed).beta(0.5, 0.5)
        truth = likely(10**4, precision, seed)
        drawn = gate.next(gate.start(), np.empty(0, np.int8), 20, seed)
        answer = gate.answer(drawn, labelled(drawn, truth))
        if answer.outcome == "open":
            labels = answered(gate, truth, seed)[1].lines[0].labels - 20
            within.append((labels <= answer.more.median, labels <= answer.more.nine_in_ten))
    half, nine = np.sum(within, axis=0)
    assert len(within) > 30
    assert 1e-3 < binomial_tail(len(within), int(half), 0.5) < 1 - 1e-4
    assert binomial_tail(len(within), len(within) - int(nine), 0.1) > 1e-3


@pytest.mark.parametrize("asked", ["precision@60, 80, 100 >= .9", "precision@40, 45 >= .9", "precision@1e3, 1e6 >= .9"])
def test_what_it_takes_at_most_is_never_exceeded(asked):
    gate = planned(asked, zone="0.1")
    most = gate.expected()[0][1].most
    for seed in range(5):
        drawn, _ = answered(gate, np.full(10**6, -1), seed)
        assert drawn.table.num_rows <= most
    drawn = first = gate.next(gate.start(), np.empty(0, np.int8), 20, 0)
    truth, left = likely(10**6, 0.85), gate.answer(first, labelled(first, likely(10**6, 0.85))).more.most

    def labels():
        return np.where(drawn.table.column("round").to_numpy() == 1, labelled(drawn, truth), -1).astype(np.int8)

    while (more := gate.next(drawn, labels(), None, 0)) is not drawn:
        drawn = more
    assert drawn.table.num_rows - 20 <= left < most


def test_missing_labels_of_the_last_round_are_still_to_come():
    gate, truth = planned("precision@1e6 >= .9", zone="0.05"), likely(10**6, 0.9)
    drawn = gate.next(gate.start(), np.empty(0, np.int8), 50, 0)
    drawn = gate.next(drawn, labelled(drawn, truth), 50, 0)
    labels = np.where(drawn.table.column("round").to_numpy() == 2, -1, labelled(drawn, truth)).astype(np.int8)
    assert gate.answer(drawn, labels).more.most == 584 - 50
    assert gate.answer(drawn, labelled(drawn, truth)).more.most == 584 - 100


def test_setting_is_read_as_it_is_written():
    """A rank belongs to a cutoff as it prints."""
    question = Question.of("precision@score:0.70 >= .9")
    gate = Gate.plan([question], QuestionSetting(100, {"score:0.7": 80}, known([], []), "0.95"))
    assert (gate.tests[0].rank, gate.tests[0].question) == (80, "precision@score:0.7 >= 0.9")
