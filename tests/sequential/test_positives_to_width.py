"""The number of positives to a width: bounds that hold whatever the pilot found, from one design and never from two."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from binomial import binomial_tail
from list_shapes import LISTS
from suite_cases import cases, examples, slow

from streameval.errors import InputError
from streameval.kernels.block_evidence import evidence
from streameval.questions import Question
from streameval.sequential import KnownItems, QuestionSetting, read_design
from streameval.sequential.positives import PositivesToWidth
from streameval.sequential.sides import Course


def plan(asked, n_items, *, known=None, confidence="0.95"):
    assert PositivesToWidth.takes(Question.of(asked))
    return PositivesToWidth.plan(
        [Question.of(asked)], QuestionSetting(n_items, {}, known or KnownItems.nothing(), confidence)
    )


def labelled(drawn, truth):
    return truth(drawn.table["rank"].to_numpy()).astype(np.int8)


def run(design, truth, seed=2, size=None, rounds=math.inf):
    drawn = design.start()
    while drawn.rounds < rounds:
        more = design.next(drawn, labelled(drawn, truth), size, seed)
        if more is drawn:
            break
        drawn = more
    return drawn


def of_list(list_):
    return lambda rank: list_[rank - 1]


def random_like(rate):
    return lambda rank: (rank * 2654435761 % 1_000_003) / 1_000_003 < rate(rank)


SLOW = random_like(lambda rank: 0.9 / (1 + rank / 1e5))
STEEP = random_like(lambda rank: 0.95 / (1 + (rank / 3e4) ** 2))
N_LONG = 10**6


def spread(truth, n_items=N_LONG, many=200):
    """Labels all over a list: what they tell of its positives is sure enough for a sample of fixed size."""
    rank = np.linspace(1, n_items, many).astype(int)
    return KnownItems(rank, truth(rank).astype(np.int8))


@pytest.mark.parametrize(
    ("truth", "known", "chosen", "most"),
    [(SLOW, spread(SLOW), "fixed", 600), (STEEP, None, "blocks", 3_500)],
    ids=["slow", "steep"],
)
def test_the_cheaper_design_is_taken_and_is_as_narrow_as_asked(truth, known, chosen, most):
    design = plan("positives within 20%", N_LONG, known=known)
    drawn = run(design, truth)
    labels = labelled(drawn, truth)
    answer = design.answer(drawn, labels)
    (line,) = answer.lines
    assert drawn.state["chosen"] == chosen
    assert answer.outcome == "pass"
    assert line.lower <= truth(np.arange(1, N_LONG + 1)).sum() <= line.upper
    assert (line.upper - line.lower) / 2 <= 0.2 * line.estimate
    assert (line.labels, line.positives) == (drawn.table.num_rows, labels.sum())
    assert line.labels < most
    assert answer.more.median == 0
    assert drawn.state["forecasts"]["floor"] < min(drawn.state["forecasts"][name] for name in ("fixed", "blocks"))


def test_the_first_round_is_a_pilot_that_is_evidence_in_neither_design():
    for truth in (SLOW, STEEP):
        design = plan("positives within 20%", N_LONG)
        pilot = run(design, truth, rounds=1)
        assert 100 < pilot.table.num_rows < 250
        assert not pilot.table["draw"].to_numpy().any()
        (line,) = design.answer(pilot, labelled(pilot, truth)).lines
        assert np.isnan([line.lower, line.upper]).all()
        assert line.labels == pilot.table.num_rows
        drawn = run(design, truth, rounds=3)
        labels, first = labelled(drawn, truth), drawn.table["draw"].to_numpy() == 0
        assert np.isin(pilot.table["rank"].to_numpy(), drawn.table["rank"].to_numpy()[first]).all()
        other = np.where(first, 0, labels).astype(np.int8)  # the pilot turns out otherwise after all
        one, two = (design.answer(drawn, each).lines[0] for each in (labels, other))
        found = int(labels[first].sum())
        assert (one.lower - found, one.upper - found) == (two.lower, two.upper)


def test_the_design_is_chosen_once():
    design = plan("positives within 20%", N_LONG)
    drawn = run(design, STEEP, rounds=2)
    first = drawn.table["draw"].to_numpy() == 0
    labels = np.where(first, 1, labelled(drawn, STEEP)).astype(np.int8)  # now the other would be cheaper
    later = design.next(drawn, labels, None, 1)
    for name in ("chosen", "forecasts"):
        assert later.state[name] == drawn.state[name]
    assert later.state["rounds"][:-1] == drawn.state["rounds"]
    design = plan("positives within 20%", N_LONG, known=spread(SLOW))
    slow = run(design, SLOW, rounds=1, size=50)
    sample = slow.table.num_rows + slow.ahead.num_rows
    none = np.zeros(slow.table.num_rows, np.int8)
    later = design.next(slow, none, 70, 1)
    assert later.state == slow.state
    assert later.table.num_rows + later.ahead.num_rows == sample
    assert later.table.num_rows == slow.table.num_rows + 70


def test_a_fixed_sample_is_drawn_at_once_and_missing_labels_count_both_ways():
    design = plan("positives within 20%", N_LONG, known=spread(SLOW))
    drawn = run(design, SLOW, rounds=1)
    labels = labelled(drawn, SLOW)
    whole = design.answer(drawn, labels).lines[0]
    some = labels.copy()
    some[5::3] = -1
    part = design.answer(drawn, some)
    assert part.outcome == "open"
    assert (part.more.median, part.more.most) == ((some < 0).sum(), None)
    for value in (0, 1):
        line = design.answer(drawn, np.where(some < 0, value, some).astype(np.int8)).lines[0]
        assert part.lines[0].lower <= line.lower
        assert line.upper <= part.lines[0].upper
    assert part.lines[0].lower <= whole.lower <= whole.upper <= part.lines[0].upper
    rank = drawn.table["rank"].to_numpy()[drawn.table["draw"].to_numpy() > 0]
    assert np.unique(rank).size == rank.size
    assert abs(rank.mean() / N_LONG - 0.5) < 5 * math.sqrt(1 / 12 / rank.size)


def test_a_sample_whose_bounds_are_wider_than_asked_for_grows_until_they_are_not():
    design = Forced.of_design(plan("positives within 12%", N_LONG), "fixed")
    first = run(design, SLOW, rounds=2)
    labels = labelled(first, SLOW)
    before = design.answer(first, labels)
    assert (first.state["looks"], (labels >= 0).all()) == (1, True)
    assert before.outcome == "open"
    assert before.lines[0].upper - before.lines[0].lower > 0.24 * before.lines[0].estimate
    drawn, draws = run(design, SLOW), []
    answer = design.answer(drawn, labelled(drawn, SLOW))
    for round_ in range(2, drawn.rounds + 1):
        draws.append((drawn.table["round"].to_numpy() == round_).sum())
    assert draws == [400, 400, 800, 1_600][: drawn.state["looks"]]
    assert len(draws) > 2
    assert np.unique(drawn.table["rank"].to_numpy()).size == drawn.table.num_rows
    assert answer.outcome == "pass"
    assert answer.lines[0].upper - answer.lines[0].lower <= 0.24 * answer.lines[0].estimate
    assert before.lines[0].lower <= answer.lines[0].lower < answer.lines[0].upper <= before.lines[0].upper
    assert 0 < sum(draws[1:]) <= before.more.nine_in_ten


def test_a_sample_that_was_planned_before_samples_could_grow_is_open_and_says_so():
    design = Forced.of_design(plan("positives within 12%", N_LONG), "fixed")
    drawn = run(design, SLOW, rounds=2)
    labels, old = labelled(drawn, SLOW), replace(drawn, state={**drawn.state})
    del old.state["looks"]
    answer, (line,) = design.answer(old, labels), design.answer(drawn, labels).lines
    assert (answer.outcome, answer.more.median) == ("open", None)
    assert design.next(old, labels, None, 1) is old
    assert design.exhausted(old, labels).startswith("Its sample is whole")
    assert line.lower < answer.lines[0].lower < answer.lines[0].upper < line.upper  # at the whole doubt


def test_rare_positives_at_depth_are_refused_with_the_least_that_any_method_takes():
    design = plan("positives within 20%", 2 * 10**8)
    drawn = run(design, STEEP, rounds=1)
    labels = labelled(drawn, STEEP)
    assert design.answer(drawn, labels).more.median is None
    with pytest.raises(InputError, match=r"forecast to take \d+,\d{3} labels, and \d\d,\d{3} at least with any method"):
        design.next(drawn, labels, None, 1)
    on = design.next(drawn, labels, 100, 1)
    assert on.table.num_rows == drawn.table.num_rows + 100
    positives = 0.95 * 3e4 * math.pi / 2
    floor = math.log(40) * 2e8 / (0.2 * positives)
    assert 0.3 * floor < on.state["forecasts"]["floor"] < 2.5 * floor


def test_labels_there_are_take_the_place_of_a_pilot():
    known = spread(SLOW)
    design = plan("positives within 20%", N_LONG, known=known)
    ((_, expected),) = design.expected()
    drawn = run(design, SLOW, rounds=1)
    assert drawn.state["chosen"] == "fixed"
    assert drawn.table.num_rows == expected.median
    assert not np.isin(drawn.table["rank"].to_numpy(), known.rank).any()
    assert plan("positives within 20%", N_LONG).expected()[0][1].median is None


def test_a_design_is_read_from_what_it_gave():
    design = plan("positives within 500", 20_000)
    again = read_design(json.loads(json.dumps(design.facts())), KnownItems.nothing())
    truth = of_list(LISTS["falling"](20_000))
    one, other = (run(each, truth, rounds=4) for each in (design, again))
    assert one.table.equals(other.table)
    assert one.ahead.equals(other.ahead)
    assert json.loads(json.dumps(one.state)) == other.state


def test_all_of_a_short_list_is_asked_and_then_counted():
    truth = of_list(LISTS["falling"](60))
    for chosen in ("fixed", "blocks"):
        design = Forced.of_design(plan("positives within 0.1%", 60), chosen)
        drawn = run(design, truth)
        line = design.answer(drawn, labelled(drawn, truth)).lines[0]
        assert line.lower == line.estimate == line.upper == truth(np.arange(1, 61)).sum()


class Forced(PositivesToWidth):
    """One of the two designs, whatever is forecast."""

    chosen = "blocks"

    @staticmethod
    def of_design(design, chosen):
        forced = Forced(design.question, design.n_items, design.known, design.confidence)
        object.__setattr__(forced, "chosen", chosen)
        return forced

    def _forecasts(self, known):
        free = self.n_items - known.rank.size
        size = min(400, free) if self.n_items > 400 else free
        return {"fixed": size if self.chosen == "fixed" else free + 1, "blocks": free, "floor": 1}


def refused(list_, runs, confidences):
    """Of some runs with blocks, how many ever refuse the truth on either side, by confidence."""
    design = Forced.of_design(plan("positives within 20%", list_.size, confidence="0.95"), "blocks")
    best = [most_evidence(design, list_, seed) for seed in range(runs)]
    return [int((np.array(best) >= -math.log((1 - one) / 2)).sum()) for one in confidences]


def most_evidence(design, list_, seed):
    """Against the true number of positives, on either side, whenever one looks."""
    drawn = run(design, of_list(list_), seed, examples(120, 60), rounds=examples(4, 8))
    labels = labelled(drawn, of_list(list_))
    course, known = Course.from_table(drawn.table, labels), design._known(drawn, labels)
    left = design._left(known)
    rest = int(list_.sum() - (known.label == 1).sum())
    paths = [
        evidence(course.factors(side, left, drawn.state["rounds"], at), beta)
        for at, (side, beta) in enumerate(zip(design._sides, (rest, int(left.sum()) - rest), strict=True))
    ]
    assert course.row.size == drawn.table.num_rows - (drawn.table["draw"].to_numpy() == 0).sum()
    return max(path.max() for path in paths)


@pytest.mark.parametrize("kind", cases(LISTS, "falling", "ten at the end"))
def test_blocks_seldom_refuse_the_truth_whatever_the_list_and_whenever_one_looks(kind):
    runs = examples(15, 30)
    for count, confidence in zip(refused(LISTS[kind](1_000), runs, (0.95, 0.5)), (0.95, 0.5), strict=True):
        assert binomial_tail(runs, count, 1 - confidence) > 1e-4


def test_stakes_are_such_that_the_truth_can_be_refused():
    assert refused(LISTS["alternating"](1_000), 20, (0.5,))[0] > 2  # else counts of refusals would show nothing


@pytest.mark.slow
@pytest.mark.parametrize("kind", LISTS)
def test_blocks_seldom_refuse_the_truth_in_a_thousand_runs(kind):
    counts = refused(LISTS[kind](1_000), 1_000, (0.95, 0.5))
    print(kind, *counts)
    for count, confidence in zip(counts, (0.95, 0.5), strict=True):
        assert binomial_tail(1_000, count, 1 - confidence) > 1e-4


@pytest.mark.parametrize(
    ("kind", "confidence"),
    [
        *(("falling", 0.5), ("ten at the end", 0.95)),
        *slow(
            *(
                (kind, one)
                for kind in LISTS
                for one in (0.95, 0.5)
                if (kind, one) not in (("falling", 0.5), ("ten at the end", 0.95))
            )
        ),
    ],
)
def test_bounds_of_the_design_that_a_pilot_chose_hold(kind, confidence):
    list_, runs = LISTS[kind](1_000), examples(15, 60)
    design = plan("positives within 25%", list_.size, confidence=str(confidence))
    missed = 0
    for seed in range(runs):
        drawn = run(design, of_list(list_), seed, 10**6)
        line = design.answer(drawn, labelled(drawn, of_list(list_))).lines[0]
        missed += not line.lower <= list_.sum() <= line.upper
    assert binomial_tail(runs, missed, 1 - confidence) > 1e-4
