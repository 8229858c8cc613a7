"""Where to cut: false ranks are claimed no more often than promised, whatever the list and what is asked for."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from suite_cases import cases, examples, slow

from streameval.errors import InputError
from streameval.questions import Question
from streameval.sequential import KnownItems, QuestionSetting, density, read_design
from streameval.sequential.cut import DeepestCut
from streameval.sequential.fixed_sequence import FixedSequence
from streameval.sequential.hash_order import Levels
from streameval.sequential.pool import DrawnOrder
from streameval.sequential.start import SHARES, Start

SHORT = 400


def plan(n_items, precision="0.9", *, known=None, confidence="0.95"):
    setting = QuestionSetting(n_items, {}, known or KnownItems.nothing(), confidence)
    return DeepestCut.plan([Question.of(f"cut precision {precision}")], setting)


def rounds(design, truth, seed=1, size=None, most=10**9):
    """All rounds one after another, each with its labels."""
    drawn = design.start()
    while drawn.table.num_rows < most:
        more = design.next(drawn, labels_of(drawn, truth), size, seed)
        if more is drawn:
            return
        drawn = more
        yield drawn, labels_of(drawn, truth)


def labels_of(drawn, truth):
    return truth(drawn.table["rank"].to_numpy()).astype(np.int8)


def noise(rank):
    """A fixed number in [0, 1) for each rank."""
    mixed = rank.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(11)).astype(float) / 2**53


def whole_pool(ranks, order, label, known=()):
    """Everything that is not known has its place, and was asked for."""
    last = np.array(ranks)
    free = np.setdiff1d(np.arange(1, last[-1] + 1), np.array(known, int))
    by = np.argsort(order[free - 1])
    inside, levels = free[by], Levels(last, np.ones(last.size))
    return DrawnOrder(inside, order[inside - 1], np.ones(inside.size, int), label[inside - 1], levels)


def false_claims(sequence, pool, label):
    """Whether a rank is ever claimed that has not the precision."""
    claimed = sequence.ranks[: sequence.proven(pool)]
    return any(label[:k].sum() < Fraction(sequence.precision) * int(k) for k in claimed)


@pytest.mark.parametrize(("known", "precision"), [((2,), "0.7"), *slow(((), "0.5"), ((), "0.7"), ((2,), "0.5"))])
def test_over_all_orders_of_every_short_list_no_false_rank_is_claimed_too_often(precision, known):
    n_items, ranks = 5, np.array([2, 3, 4, 5])
    free = np.setdiff1d(np.arange(n_items), np.array(known, int) - 1)  # what is known has no place in the order
    orders = np.zeros((math.factorial(free.size), n_items))
    orders[:, free] = list(itertools.permutations(np.arange(1, free.size + 1) / 10))
    for bits in itertools.product((0, 1), repeat=n_items):
        label = np.array(bits, np.int8)
        if all(label[:k].sum() >= float(precision) * k for k in ranks):
            continue
        before = KnownItems(np.array(known, np.int64), label[[k - 1 for k in known]])
        for claim in (0.3, 0.6):
            sequence = FixedSequence(ranks, before, precision, claim)
            wrong = sum(false_claims(sequence, whole_pool(ranks, order, label, known), label) for order in orders)
            assert wrong <= claim * len(orders) + 1e-9


def adversarial(kind, target, rng):
    """Eight lists whose precision is just short of t somewhere, or far from it."""
    short = int(np.ceil(target * SHORT)) - 1
    rank = np.arange(1, SHORT + 1)
    if kind == "one short, at random":
        return rng.permutation(rank <= short)
    if kind == "every prefix one short":
        return np.diff(np.maximum(0, np.ceil(target * rank) - 1), prepend=0) > 0
    return {
        "ones then zeros": rank <= short,
        "alternating": rank % 2 == 0,
        "blocks of 40": (rank // 40) % 2 == 0,
        "zeros then ones": rank > SHORT - short,
        "independent": rng.random(SHORT) < target - 0.01,
        "falling": rng.random(SHORT) < np.linspace(1, 2 * target - 1, SHORT),
    }[kind]


KINDS = ["one short, at random", "every prefix one short", "ones then zeros", "alternating", "blocks of 40",
         "zeros then ones", "independent", "falling"]  # fmt: skip


def false_cuts(kind, target, confidence, runs):
    """How often a false rank is claimed of 400 items whose every label is looked at, from a start chosen by looking."""
    wrong = 0
    for seed in range(runs):
        rng = np.random.default_rng([7, seed])
        label = adversarial(kind, target, rng).astype(np.int8)
        ranks = np.flatnonzero(rng.random(SHORT) < 0.1) + 1
        share = np.cumsum(label[ranks - 1]) / np.arange(1, ranks.size + 1)
        first = int(ranks[np.flatnonzero(share >= share.max())[-1]])
        sequence = FixedSequence(
            np.arange(first, SHORT + 1, 3), KnownItems(ranks, label[ranks - 1]), str(target), 1 - confidence
        )
        wrong += false_claims(sequence, whole_pool(sequence.ranks, rng.random(SHORT), label, ranks), label)
    return wrong


def allowed(claim, runs):
    return runs * claim + 3 * np.sqrt(runs * claim * (1 - claim))


@pytest.mark.parametrize("kind", cases(KINDS, "one short, at random", "every prefix one short"))
def test_false_cuts_of_adversarial_lists(kind):
    for target, confidence in itertools.product((0.9, 0.5), (0.95, 0.5)):
        runs = examples(15, 25)
        assert false_cuts(kind, target, confidence, runs) <= allowed(1 - confidence, runs)


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("target", [0.9, 0.5])
@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_false_cuts_of_adversarial_lists_in_a_thousand_draws(kind, target, confidence):
    assert false_cuts(kind, target, confidence, 1000) <= allowed(1 - confidence, 1000)


def luckiest(sequence, pool):
    """A mutation: the ranks in the order of their evidence."""
    return np.argmax([sequence.path(at, pool).max() for at in range(sequence.ranks.size)])


def test_a_sequence_chosen_by_the_labels_that_count_claims_too_much():
    """Which is what claiming the luckiest rank does, or one order for a second sequence, or a pilot that counts."""
    wrong, runs = 0, examples(30, 60)
    for seed in range(runs):
        rng = np.random.default_rng([8, seed])
        label = adversarial("every prefix one short", 0.9, rng).astype(np.int8)
        sequence = FixedSequence(np.arange(20, SHORT + 1, 20), KnownItems.nothing(), "0.9", 0.5)
        pool = whole_pool(sequence.ranks, rng.random(SHORT), label)
        at = luckiest(sequence, pool)
        wrong += sequence.path(at, pool).max() >= sequence.needed
    assert wrong > allowed(0.5, runs)


def hidden_orders(design, truth, seed):
    """Where items lie in the order, as far as it was ever drawn."""
    *_, (last, _) = rounds(design, truth, seed)
    start = Start.from_state(last.state)
    pool = start.pool(last, labels_of(last, truth))
    return dict(zip(pool.rank.tolist(), pool.order.tolist(), strict=True)), start


def is_beginning(design, truth, seed):
    """Whether what counts for each rank was a beginning of its permutation, in every round."""
    places, final = hidden_orders(design, truth, seed)
    for drawn, labels in rounds(design, truth, seed):
        start = Start.from_state(drawn.state)
        if start is None or start.number != final.number:
            continue
        pool = start.pool(drawn, labels)
        for k in start.ranks[::5]:
            used = pool.asked(int(k))
            last = pool.order[used].max(initial=0.0)
            inside = {rank for rank, place in places.items() if rank <= k and place <= last}
            if inside != set(pool.rank[used].tolist()):
                return False
    return True


def falling(rank):
    return noise(rank) < 0.98 / (1 + rank / 1000)


def test_what_counts_for_a_rank_is_a_beginning_of_its_permutation():
    assert is_beginning(plan(3000, "0.8"), falling, 3)


def test_a_density_that_rises_with_rank_breaks_it(monkeypatch):
    monkeypatch.setattr(density, "nonincreasing", lambda level: np.sort(level))
    assert not is_beginning(plan(3000, "0.8"), falling, 3)


def test_no_place_is_drawn_twice_and_levels_never_rise():
    for drawn, _ in rounds(plan(50_000, "0.8"), falling, 4, most=1500):
        ranks = np.append(drawn.table["rank"].to_numpy(), drawn.ahead["rank"].to_numpy())
        assert np.unique(ranks).size == ranks.size
        assert (np.diff(drawn.table["rank"].to_numpy()) > 0).all()
        if "ranks" in drawn.state:
            assert (np.diff(drawn.state["density"]) <= 1e-15).all()
            assert (np.diff(drawn.state["levels"]) <= 1e-15).all()


@pytest.mark.parametrize("confidence", [0.95, 0.5])
def test_a_whole_plan_makes_no_more_false_claims_than_promised(confidence):
    """Of a list whose precision is just short of t from 330 items on, looked at until every item has a label."""
    label = np.concatenate([np.ones(300, bool), np.arange(700) % 10 < 7])
    label[:300:16] = False
    precise, wrong, runs = np.cumsum(label) / np.arange(1, 1001), 0, examples(6, 12)
    for seed in range(runs):
        design = plan(1000, "0.93", confidence=str(confidence))
        for drawn, labels in rounds(design, lambda ranks: label[ranks - 1], seed):
            front = int(design.answer(drawn, labels).lines[0].lower)
            if front and precise[front - 1] < 0.93:
                wrong += 1
                break
    assert wrong <= allowed(1 - confidence, runs)


def test_the_front_of_a_list_that_falls():
    design = plan(10**6, "0.8")
    *_, (drawn, labels) = rounds(design, lambda rank: noise(rank) < 0.98 / (1 + rank / 10_000), 2, most=1500)
    answer = design.answer(drawn, labels)
    (line,) = answer.lines
    ranks = np.arange(1, 60_000)
    true = ranks[np.cumsum(noise(ranks) < 0.98 / (1 + ranks / 10_000)) >= 0.8 * ranks].max()
    assert 0.3 * true < line.lower <= true
    assert line.lower <= line.estimate <= 10**6
    assert np.isnan(line.upper)  # what lies deeper is not claimed
    assert line.outcome == answer.outcome == "open"
    assert answer.reach.labels == line.labels
    assert line.lower <= answer.reach.rank < 2 * true
    assert answer.path["needed"][0].as_py() == pytest.approx(-np.log(0.05 * SHARES[0]))
    assert max(answer.path["evidence"].to_pylist()) >= answer.path["needed"][0].as_py()


def test_the_pilot_and_earlier_draws_are_known_and_never_evidence():
    """The pilot is all positive, and nothing else is: the first sequence is given up, and another begun."""
    pilots = set()

    def truth(ranks):
        return np.isin(ranks, list(pilots))

    design, numbers, before, waiting = plan(10**6), [], set(), set()
    drawn = design.start()
    for _ in range(12):
        drawn = design.next(drawn, labels_of(drawn, truth), None, 5)
        pilots = pilots or set(drawn.table["rank"].to_pylist())
        if (start := Start.from_state(drawn.state)) is None:
            continue
        labels = labels_of(drawn, truth)
        sequence, pool = design._sequence(start, drawn, labels), start.pool(drawn, labels)
        assert sequence.claim == pytest.approx(0.05 * SHARES[start.number])
        assert not set(sequence.known.rank.tolist()) & set(pool.rank.tolist())
        if start.number not in numbers:
            numbers.append(start.number)
            assert before <= set(sequence.known.rank.tolist())
            assert not waiting & set(pool.order.tolist())  # what was not asked for has a place in a new order
        before, waiting = set(drawn.table["rank"].to_pylist()), set(drawn.ahead["order"].to_pylist())
    assert numbers[:2] == [0, 1]
    assert sum(SHARES) < 1


def pilot_and_proof(seed=6):
    """A cut of which something is proven, and which of its items its pilot asked for."""
    design = plan(600, "0.8")
    *_, (drawn, labels) = rounds(design, lambda rank: noise(rank) < 0.9, seed, most=160)
    start = Start.from_state(drawn.state)
    return design, drawn, labels, start, drawn.table["round"].to_numpy() < start.first_round


def ranks_proven(design, drawn, labels):
    start = Start.from_state(drawn.state)
    return design._sequence(start, drawn, labels).proven(start.pool(drawn, labels))


def test_what_comes_late_of_the_pilot_proves_nothing():
    """What was negative or missing when the draw began, and is positive now."""
    design, drawn, labels, start, pilots = pilot_and_proof()
    later = np.where(pilots, 1, labels).astype(np.int8)
    assert later.sum() > labels.sum()
    assert ranks_proven(design, drawn, later) == ranks_proven(design, drawn, labels) > 0
    assert (design._sequence(start, drawn, later).known.label == labels[pilots]).all()


@pytest.mark.parametrize("value", [-1, 0])
def test_what_is_withdrawn_of_the_pilot_is_negative_and_counts_again_once_it_is_given_again(value):
    design, drawn, labels, start, pilots = pilot_and_proof()
    fronts = []
    for part in (0, 0.5, 1):
        gone = pilots & (noise(drawn.table["rank"].to_numpy() + 10**7) < part)
        now = np.where(gone, value, labels).astype(np.int8)
        sequence = design._sequence(start, drawn, now)
        negative = KnownItems(sequence.known.rank, np.where(gone, 0, labels)[pilots])
        assert (sequence.most == replace(sequence, known=negative, withdrawn=negative.rank[:0]).most).all()
        fronts.append(ranks_proven(design, drawn, now))
    assert fronts == sorted(fronts, reverse=True)


def test_a_cut_of_a_pilot_that_was_answered_yes_throughout_falls_with_these_answers():
    """Of 60 items 43 are positive; the pilot's answers are forgotten, and then put right."""
    label = np.random.default_rng(1).permutation(60) < 43
    true = int(max(np.arange(1, 61)[np.cumsum(label) >= 0.8 * np.arange(1, 61)], default=0))
    design = plan(60, "0.8")
    drawn = design.next(design.start(), np.empty(0, np.int8), None, 1)
    pilots = drawn.table["rank"].to_numpy()
    given = dict.fromkeys(pilots.tolist(), 1)
    while (more := design.next(drawn, np.array([*given.values()], np.int8), None, 1)) is not drawn:
        drawn = more
        given = {rank: given.get(rank, int(label[rank - 1])) for rank in drawn.table["rank"].to_pylist()}
    labels = np.array([*given.values()], np.int8)
    assert design.answer(drawn, labels).lines[0].lower == 60
    first = np.isin(drawn.table["rank"].to_numpy(), pilots)
    right = np.where(first, label[drawn.table["rank"].to_numpy() - 1], labels)
    for now in (np.where(first, -1, labels), right):
        assert design.answer(drawn, now.astype(np.int8)).lines[0].lower <= true


@pytest.mark.parametrize("precision", cases(["0.5", "0.7"], "0.7"))
def test_withdrawing_known_positives_in_any_order_makes_no_more_false_claims_than_promised(precision):
    """Over all lists of 5 items, all orders, and all that can be left of two known positives, true and false ones.

    A claim is held to be false only while every answer that counts is true; whoever looks at all of these readings, and
    takes the luckiest, is wrong no more often.
    """
    n_items, ranks, known = 5, np.array([2, 3, 4, 5]), np.array([1, 2])
    orders = np.zeros((math.factorial(3), n_items))
    orders[:, 2:] = list(itertools.permutations(np.arange(1, 4) / 10))
    seen = 0
    for bits in itertools.product((0, 1), repeat=n_items):
        label = np.array(bits, np.int8)
        at_first = KnownItems(known, np.ones(2, np.int8))
        false = known[label[known - 1] == 0]
        readings = [np.union1d(false, more).astype(np.int64)
                    for size in range(3) for more in itertools.combinations(known, size)]  # fmt: skip
        for claim in (0.3, 0.6):
            sequences = [FixedSequence(ranks, at_first, precision, claim, one) for one in readings]
            pools = [whole_pool(ranks, order, label, known) for order in orders]
            wrong = sum(any(false_claims(one, pool, label) for one in sequences) for pool in pools)
            assert wrong <= claim * len(orders) + 1e-9
            frozen = FixedSequence(ranks, at_first, precision, claim)
            seen += sum(false_claims(frozen, pool, label) for pool in pools) > claim * len(orders)
    assert seen  # counted as it was at first, it claims more


def test_a_missing_label_is_a_negative_and_an_answer_only_helps():
    design = plan(10**6, "0.8")
    drawn, labels = list(rounds(design, lambda rank: noise(rank) < 0.95, 7, most=900))[-1]
    rng = np.random.default_rng(1)
    fronts = {}
    for value in (-1, 0, 1):
        some = np.where(np.random.default_rng(2).random(labels.size) < 0.1, value, labels).astype(np.int8)
        start = Start.from_state(drawn.state)
        fronts[value] = design._sequence(start, drawn, some).proven(start.pool(drawn, some))
    assert fronts[-1] == fronts[0] <= fronts[1]
    half = np.where(rng.random(labels.size) < 0.5, labels, -1).astype(np.int8)
    assert design.answer(drawn, half).lines[0].lower <= design.answer(drawn, labels).lines[0].lower


def test_a_list_that_has_the_precision_throughout_is_proven_whole():
    design = plan(5000)
    *_, (drawn, labels) = rounds(design, lambda ranks: ranks > 0)
    answer = design.answer(drawn, labels)
    assert answer.outcome == "pass"
    assert answer.lines[0].lower == 5000
    assert answer.more.median == 0
    assert drawn.table.num_rows < 600


@pytest.mark.parametrize("n_items", [1, 5, 40, 299, 350])
@pytest.mark.parametrize("rate", [0, 0.5, 1])
def test_short_lists_end_with_every_item_known_or_the_whole_list_proven(n_items, rate):
    design = plan(n_items, "0.6")
    *_, (drawn, labels) = rounds(design, lambda ranks: noise(ranks) < rate)
    label = noise(np.arange(1, n_items + 1)) < rate
    true = max([k for k in range(1, n_items + 1) if label[:k].sum() >= Fraction("0.6") * k], default=0)
    answer = design.answer(drawn, labels)
    assert answer.lines[0].lower <= true
    if drawn.table.num_rows == n_items:
        assert answer.outcome == "pass"
        assert answer.lines[0].lower == true


@pytest.mark.parametrize("torn", [0.1, 0.35, 0.6])
def test_a_forecast_counts_on_no_more_labels_than_the_list_has_left(torn):
    """Answers to a part of the items tie, so that the cut stays short of what the others alone would prove."""
    design = plan(60, "0.7")
    for drawn, labels in rounds(design, lambda ranks: ranks > 0):
        tied = np.where(noise(drawn.table["rank"].to_numpy() + 5) < torn, -2, labels).astype(np.int8)
        reach = design.answer(drawn, tied).reach
        assert reach is None or reach.labels <= 60 - drawn.table.num_rows
    assert drawn.table.num_rows == 60


def test_where_every_first_item_has_a_label_the_front_is_a_fact():
    known = KnownItems(np.arange(1, 121), (np.arange(1, 121) <= 99).astype(np.int8))
    design = plan(10**6, "0.9", known=known)
    answer = design.answer(design.start(), np.empty(0, np.int8))
    assert answer.lines[0].lower == 110


def test_what_was_planned_reads_back():
    design = plan(10**6, "0.85")
    assert read_design(design.facts(), design.known) == design
    assert design.facts()["question"] == "cut precision 0.85"


def test_it_takes_cuts_and_nothing_else():
    assert DeepestCut.takes(Question.of("cut precision .9"))
    assert not DeepestCut.takes(Question.of("rank@precision:.9"))
    setting = QuestionSetting(100, {}, KnownItems.nothing(), "0.95", zone="0.02")
    with pytest.raises(InputError, match="has no zone"):
        DeepestCut.plan([Question.of("cut precision .9")], setting)
    with pytest.raises(InputError, match="asks where to cut once"):
        DeepestCut.plan([Question.of("cut precision .9"), Question.of("cut precision .8")], setting)


def test_a_precision_that_no_rank_is_likely_to_have_is_refused_after_the_pilot_unless_a_size_is_given():
    design = plan(10**6, "0.99")
    drawn = design.next(design.start(), np.empty(0, np.int8), None, 1)
    labels = labels_of(drawn, lambda rank: noise(rank) < 0.05)
    guess = rf"no rank is likely to have it, and the best so far is about 0\.[0-2]\d, of .* from {labels.size} labels"
    with pytest.raises(InputError, match=guess + ".*round 100 behind the question, it goes on"):
        design.next(drawn, labels, None, 1)
    assert design.next(drawn, labels, 70, 1).table.num_rows == drawn.table.num_rows + 70
    design.next(drawn, labels_of(drawn, lambda rank: noise(rank) < 1 / (1 + rank / 1e4)), None, 1)


def test_a_precision_that_a_list_has_in_its_middle_is_not_refused_for_a_guess():
    """As a real list has it: nothing above, .77 at a rank that few labels of a pilot are near."""
    asked, design = 0, plan(225_057, "0.75")
    for seed in range(12):
        drawn = design.next(design.start(), np.empty(0, np.int8), None, seed)
        labels = labels_of(drawn, lambda rank: (rank > 5_000) & (noise(rank) < np.where(rank < 45_000, 0.9, 0.02)))
        asked += design.next(drawn, labels, None, seed).table.num_rows > labels.size
    assert asked == 12


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rate", "true", "wanted"),
    [
        (lambda rank, n: 0.98 / (1 + 100 * rank / n), 0.001807, {1000: 0.51, 2000: 0.68}),
        (lambda rank, n: np.where(rank < n / 100, 0.97, 0.3), 0.01 * (0.97 - 0.3) / (0.9 - 0.3), {2000: 0.965}),
    ],
)
def test_how_deep_it_cuts(rate, true, wanted):
    n_items = 10**7
    found = {labels: [] for labels in wanted}
    for seed in range(15):
        shift = seed * 10**8
        for drawn, labels in rounds(
            plan(n_items), lambda rank, shift=shift: noise(rank + shift) < rate(rank, n_items), seed, most=2000
        ):
            for most in wanted:
                if drawn.table.num_rows <= most + 100:
                    last = plan(n_items).answer(drawn, labels).lines[0].lower / (true * n_items)
                    found[most] = [*found[most][:seed], last]
    for most, share in wanted.items():
        assert np.median(found[most]) == pytest.approx(share, abs=0.17)
