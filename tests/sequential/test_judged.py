"""A judge's classes as blocks: fewer labels where it is right, and never a wrong answer more often."""

import itertools
import json
import math
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from binomial import binomial_tail
from judged_lists import PRIOR, planned, said_of
from list_shapes import LISTS
from suite_cases import cases, examples, slow

from streameval.kernels.block_evidence import evidence, factors
from streameval.sequential import KnownItems, read_design
from streameval.sequential.blocks import draw_in_order
from streameval.sequential.judged import shift_odds


def labelled(drawn, truth):
    return truth[drawn.table["rank"].to_numpy() - 1].astype(np.int8)


def run(design, truth, seed=1, size=None, most=math.inf):
    drawn = design.start()
    while drawn.table.num_rows < most:
        more = design.next(drawn, labelled(drawn, truth), size, seed)
        if more is drawn:
            break
        drawn = more
    return drawn


def of_precision(precision, n_items=20_000):
    truth = np.zeros(n_items, np.int8)
    truth[np.random.default_rng(3).permutation(n_items)[: round(precision * n_items)]] = 1
    return truth


def labels_used(asked, truth, right, runs=6):
    """Mean number of labels until a condition is decided, and what became of it."""
    said, lines = said_of(truth, right), []
    for seed in range(runs):
        design = planned(asked, said, seed=seed)
        drawn = run(design, truth, seed)
        lines.append(design.answer(drawn, labelled(drawn, truth)).lines[0])
    return np.mean([line.labels for line in lines]), {line.outcome for line in lines}


@pytest.mark.parametrize(("precision", "outcome", "right", "most"), [
    (0.95, "pass", 0.95, 165), (0.95, "pass", 0.05, 165), (0.95, "pass", 0.99, 125), (0.85, "fail", 0.95, 120),
    (0.85, "fail", 0.99, 90), (0.95, "pass", 0.5, 450),
])  # fmt: skip
def test_a_judge_that_is_right_or_always_wrong_saves_labels(precision, outcome, right, most):
    labels, outcomes = labels_used("precision@20000 >= 0.9", of_precision(precision), right)
    assert outcomes == {outcome}  # a gate without a judge takes 225 and 341 on average
    assert labels <= most


def test_recall_takes_fewer_labels_with_a_judge_too():
    rank = np.arange(20_000)
    truth = (np.random.default_rng(0).random(rank.size) < 0.95 / (1 + (rank / 600) ** 2)).astype(np.int8)
    good, outcomes = labels_used("recall@2000 >= 0.6", truth, 0.99, runs=3)
    without, same = labels_used("recall@2000 >= 0.6", truth, 0.5, runs=3)
    assert outcomes == same == {"pass"}
    assert good < 0.7 * without


def expected(items, bad, beta, shut, stakes_of):
    """Expected evidence over every course of draws; from `shut` draws on, nothing of the first block is drawn."""
    total = []

    def grow(course, left, left_bad, stakes, chance):
        rates, share, eta = stakes_of(course)
        rates = np.where([len(course) >= shut and block == 0 for block in range(len(items))], 0.0, rates)
        open_ = sum(Fraction(rate) for rate, n in zip(rates, left, strict=True) if n)
        if not open_:
            total.append((chance, course, stakes))
            return
        for block, n in enumerate(left):
            for is_bad, count in ((1, left_bad[block]), (0, n - left_bad[block])):
                if n and count and rates[block]:
                    fewer = [one - (at == block) for at, one in enumerate(left)]
                    fewer_bad = [one - is_bad * (at == block) for at, one in enumerate(left_bad)]
                    part = chance * Fraction(rates[block]) / open_ * Fraction(int(count), int(n))
                    grow((*course, (block, is_bad)), fewer, fewer_bad, [*stakes, (rates, share, eta)], part)

    grow((), items, bad, [], Fraction(1))
    return sum(chance * Fraction(math.exp(_last(course, stakes, items, beta))) for chance, course, stakes in total)


def _last(course, stakes, items, beta):
    block, bad = (np.array([one[at] for one in course], np.int64) for at in (0, 1))
    made_of = factors((block, bad, np.arange(block.size)),
                      (np.ones(len(items), np.int64), np.array(items), *(np.array([one[at] for one in stakes])
                                                                         for at in range(3))))  # fmt: skip
    return evidence(made_of, beta)[-1]


def some_stakes(course):
    rng = np.random.default_rng([9, *[1 + 2 * block + bad for block, bad in course]])
    return rng.dirichlet(np.ones(2)), rng.uniform(0.01, 1, 2), rng.choice([0.0, 0.05, 0.3, 1.0], 2)


@pytest.mark.parametrize("shut", cases([1, 2, 3], 1, 2))
def test_evidence_stays_at_one_where_a_class_is_no_longer_drawn(shut):
    tried = 0
    for items in ((3, 3), (4, 2), (2, 4)):
        for bad in itertools.product(*(range(n + 1) for n in items)):
            if sum(bad):
                assert expected(items, bad, sum(bad), shut, some_stakes) <= 1 + Fraction(4e-16), (items, bad)
                tried += 1
    assert tried > 35


def test_items_come_in_the_order_of_their_block_at_its_rate():
    left, rates, runs = np.array([4, 9, 1]), np.array([0.5, 0.3, 0.2]), examples(700, 6_000)
    rng, first = np.random.default_rng(1), np.zeros(15)
    for _ in range(runs):
        ranks = [rng.permutation(np.arange(1, 5)), rng.permutation(np.arange(5, 14))[:6], np.array([14])]
        reserve = pa.table({"rank": np.concatenate(ranks), "block": np.repeat([0, 1, 2], [4, 6, 1]),
                            "draw": np.concatenate([np.arange(1, len(one) + 1) for one in ranks])})  # fmt: skip
        drawn, rest = draw_in_order(left, reserve, rates, 3, rng)
        assert drawn.num_rows == 3
        assert sorted([*drawn["rank"].to_pylist(), *rest["rank"].to_pylist()]) == sorted(reserve["rank"].to_pylist())
        for block in range(3):
            taken = [row["draw"] for row in drawn.to_pylist() if row["block"] == block]
            assert taken == list(range(1, len(taken) + 1))
        first[drawn["rank"][0].as_py()] += 1
    wanted = np.array([0, *[0.125] * 4, *[0.3 / 9] * 9, 0.2])
    np.testing.assert_allclose(first / runs, wanted, atol=4 * math.sqrt(0.25 / runs))


def test_a_round_ends_with_the_last_item_that_is_there_of_a_block_that_has_more():
    reserve = pa.table({"rank": [7, 1, 2, 3], "block": [0, 1, 1, 1], "draw": [1, 1, 2, 3]})
    rng, ends = np.random.default_rng(2), set()
    for _ in range(200):
        drawn, _ = draw_in_order(np.array([5, 3]), reserve, np.array([0.3, 0.7]), 4, rng)
        blocks = drawn["block"].to_pylist()
        assert blocks[-1] == 0  # nothing is drawn after it with its rate still among the rates
        assert 0 not in blocks[:-1]
        ends.add(len(blocks))
    assert ends == {1, 2, 3, 4}
    whole, _ = draw_in_order(np.array([1, 3]), reserve, np.array([0.3, 0.7]), 4, rng)
    assert whole.num_rows == 4  # a block that has no more is simply empty


def test_what_is_not_there_is_never_drawn_and_counts_as_bad():
    truth = of_precision(0.95)
    design = planned("precision@20000 >= 0.9", said_of(truth, 0.7), each=15)
    drawn = run(design, truth)
    assert drawn.table.num_rows == 30
    assert drawn.ahead.num_rows == 0
    answer = design.answer(drawn, labelled(drawn, truth))
    assert answer.outcome == "open"
    assert design.next(drawn, labelled(drawn, truth), None, 1) is drawn


@pytest.mark.parametrize(
    ("kind", "each"),
    [
        *(("falling", 30), ("ten at the end", 20_000)),
        *slow(
            *(
                (kind, each)
                for kind in LISTS
                for each in (20_000, 30)
                if (kind, each) not in (("falling", 30), ("ten at the end", 20_000))
            )
        ),
    ],
)
def test_a_false_side_is_seldom_reached_whatever_a_judge_says(kind, each):
    truth, rank, runs = LISTS[kind](1_000).astype(np.int8), 600, examples(20, 40)
    found = int(truth[:rank].sum())
    value, wrong = (f"{(found + 0.5) / rank:.6f}", "pass") if found < rank else ("1", "fail")
    best = []
    for seed in range(runs):
        said = said_of(truth, (0.9, 0.1, 0.5)[seed % 3], seed)
        design = planned(f"precision@{rank} >= {value}", said, seed=seed, each=each, confidence="0.999999")
        drawn = run(design, truth, seed, examples(100, 50), 300)
        path = design.answer(drawn, labelled(drawn, truth)).path.to_pylist()
        best.append(max(row["evidence"] for row in path if row["side"] == wrong))
    for delta in (0.05, 0.5):
        assert binomial_tail(runs, int((np.array(best) >= -math.log(delta)).sum()), delta) > 1e-4


def test_known_items_are_of_their_class_and_not_drawn():
    truth = of_precision(0.95)
    rank = np.arange(1, 301)
    said = said_of(truth, 0.9)
    design = planned("precision@20000 >= 0.9", said, known=KnownItems(rank, truth[:300]))
    drawn = run(design, truth, most=100)
    assert not np.isin(drawn.table["rank"].to_numpy(), rank).any()
    counted = design._tally(design.start(), np.empty(0, np.int8))
    for c in range(PRIOR.size):
        assert counted.labels.reshape(-1, PRIOR.size)[:, c].sum() == (said[:300] == c).sum()


def test_a_design_with_a_judge_is_read_from_what_it_gave_and_goes_on_the_same():
    truth = of_precision(0.93)
    said = said_of(truth, 0.8)
    design = planned("precision@15000 >= 0.9", said)
    reserve = design.setting.judge(design.blocks.last[:: PRIOR.size]).reserve
    again = read_design(json.loads(json.dumps(design.facts())), design.setting.known)
    drawn = run(design, truth, most=150)
    ahead = again.rest_of_reserve(reserve, drawn.table["rank"].to_numpy())
    assert sorted(ahead.to_pylist(), key=str) == sorted(drawn.ahead.to_pylist(), key=str)
    one, other = (each.next(from_, labelled(from_, truth), 40, 1).table for each, from_ in (
        (design, drawn), (again, type(drawn)(drawn.table, ahead, json.loads(json.dumps(drawn.state))))))  # fmt: skip
    assert one.equals(other)


def test_classes_predict_the_precision_that_is_expected():
    items = np.array([4_000, 15_000, 1_000])
    for precision in (0.05, 0.5, 0.97):
        rates = shift_odds(PRIOR, items, precision)
        assert (items @ rates) / items.sum() == pytest.approx(precision, abs=1e-9)
        assert rates[0] < rates[2] < rates[1]
    assert (shift_odds(PRIOR, items, None) == PRIOR).all()
