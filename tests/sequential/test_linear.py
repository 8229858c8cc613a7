"""Conditions that are linear in the labels: never wrong more often than they say, whatever the list is."""

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from binomial import binomial_tail
from list_shapes import LISTS
from suite_cases import LONG, cases, examples

from streameval.errors import InputError
from streameval.kernels.block_evidence import evidence, factors, least_refused
from streameval.questions import Question
from streameval.sequential import KnownItems, QuestionSetting, read_design
from streameval.sequential.blocks import RankBlocks, draw
from streameval.sequential.claims import FORMS, claim_of
from streameval.sequential.linear import Linear
from streameval.sequential.sides import ClaimSide

ROUNDING = 4e-16
MISSING = {
    "none": lambda block, bad, before: False,
    "of some places": lambda block, bad, before: (len(before) + block) % 3 == 1,
    "of bad items, as labels say": lambda block, bad, before: bad == 1 and sum(before) % 2 == 0,
    "of good items, as labels say": lambda block, bad, before: bad == 0 and sum(before) % 2 == 1,
}


CERTAIN = (
    1 << 200
)  # chances are whole numbers over it, and evidence over 2¹⁰⁰: sums lose nothing that a float would show


@cache
def stakes_after(seen, blocks):
    """Some rates, q and stakes that are a function of what was seen: (block, bad) of each draw."""
    rng = np.random.default_rng([7, *[1 + 2 * block + bad for block, bad in seen]])
    return rng.dirichlet(np.ones(blocks)), rng.uniform(0.01, 1, blocks), rng.choice([0.0, 0.05, 0.3, 1.0, 4.0], 2)


@cache
def paths(items, bad):
    """Every course of draws, as ((block, bad), …), with its probability over `CERTAIN`, and the stakes of each draw."""

    def grow(seen, left, left_bad, stakes, chance):
        if not any(left):
            yield seen, chance, stakes
            return
        rates, share, eta = stakes_after(seen, len(items))
        open_ = sum(Fraction(rate) for rate, n in zip(rates, left, strict=True) if n)
        for block, n in enumerate(left):
            for is_bad, count in ((1, left_bad[block]), (0, n - left_bad[block])):
                if n and count:
                    fewer = [one - (at == block) for at, one in enumerate(left)]
                    fewer_bad = [one - is_bad * (at == block) for at, one in enumerate(left_bad)]
                    part = chance * Fraction(rates[block]) / open_ * Fraction(int(count), int(n))
                    yield from grow((*seen, (block, is_bad)), fewer, fewer_bad, [*stakes, (rates, share, eta)], part)

    found = grow((), items, bad, [], Fraction(1))
    return [(course, int(chance * CERTAIN), stakes) for course, chance, stakes in found]


def seen_as(course, missing):
    """Draws with 1 in the place of a missing label, as the stakes' maker sees them too."""
    out = []
    for block, bad in course:
        out.append((block, 1 if missing(block, bad, [one for _, one in out]) else bad))
    return out


def factors_of(course, stakes, mass, items):
    """What evidence is made of, by the kernels of the package."""
    block, bad = (np.array([one[at] for one in course], np.int64) for at in (0, 1))
    rates, share, eta = (np.array([one[at] for one in stakes]) for at in range(3))
    return factors((block, bad, np.arange(block.size)), (np.array(mass), np.array(items), rates, share, eta))


def expected(mass, items, bad, betas, missing):
    """Expected evidence after each draw less 1, by beta: exact but for the rounding of the kernels."""
    total = {beta: [0] * (sum(items) + 1) for beta in betas}
    for course, chance, stakes in paths(tuple(items), tuple(bad)) if betas else ():
        made_of = factors_of(seen_as(course, missing), stakes, mass, items)
        for beta, before in total.items():
            evidence_ = np.ldexp(np.exp(evidence(made_of, beta)), 100).tolist()
            total[beta] = [one + chance * int(value) for one, value in zip(before, evidence_, strict=True)]
    return {beta: np.array([float(Fraction(one, CERTAIN << 100) - 1) for one in sums]) for beta, sums in total.items()}


CASES = [
    ((1, 1), (3, 3)),
    ((1, 1, 1), (1, 2, 2)),
    ((3, 2), (2, 4)),
    ((1, 4), (4, 1)),
    ((7, 2, 1), (1, 2, 2)),
    ((2,), (5,)),
]


@pytest.mark.parametrize("missing", MISSING)
def test_the_expectation_of_evidence_for_a_false_claim_is_at_most_one(missing):
    cases = 0
    for mass, items in CASES[not LONG :]:
        for bad in itertools.product(*(range(n + 1) for n in items)):
            total = sum(a * n for a, n in zip(mass, bad, strict=True))
            betas = {total, max(1, total - 1), max(1, total // 2)} if total else ()
            for beta, means in expected(mass, items, bad, betas, MISSING[missing]).items():
                assert means.max() <= ROUNDING, (mass, items, bad, beta)
                if beta == total and missing == "none":
                    np.testing.assert_allclose(means, 0, rtol=0, atol=1e-15)
                cases += 1
    assert cases > 150


@pytest.mark.parametrize("question", ["recall@3 >= 0.6", "f1@2 > 0.5", "accuracy@3 <= 0.5", "specificity@2 < 0.7"])
def test_evidence_for_a_false_side_of_a_signed_claim_is_expected_to_stay_at_one(question):
    n_items = 6
    design = plan(question, n_items)
    blocks = RankBlocks.ending_at([2, 3, 6])
    rank = design.ranks[0]
    checked = {}
    for labels in itertools.product((0, 1), repeat=n_items):
        truth = holds(question, np.array(labels), rank)
        for claim, true in ((design.claims[0], truth), (design.claims[0].opposite(), not truth)):
            side = ClaimSide.plan(claim.of_blocks(blocks.last, rank), claim.least, blocks, KnownItems.nothing(), 3.0)
            where = blocks.find(np.arange(1, n_items + 1))
            bad = np.bincount(where, side.bad(where, np.array(labels, np.int8)), minlength=3).astype(int)
            found = int((side.mass * bad).sum())
            assert true == (found < side.beta)  # the claim is false exactly if there is that much bad mass
            case = (*side.mass, *bad, side.beta)
            if not true and case not in checked and side.beta > 0:
                given = (side.mass.tolist(), blocks.items.tolist(), bad.tolist())
                checked[case] = expected(*given, {side.beta}, MISSING["none"])[side.beta]
                assert checked[case].max() <= ROUNDING
                if found == side.beta:
                    np.testing.assert_allclose(checked[case], 0, rtol=0, atol=1e-15)
    assert len(checked) > 8


def holds(question, labels, rank):
    """The condition, in fractions."""
    asked = Question.of(question)
    found, positives, n_items = (Fraction(int(n)) for n in (labels[:rank].sum(), labels.sum(), labels.size))
    negatives = n_items - positives
    above = {
        "precision": (found, rank),
        "recall": (found, positives),
        "f1": (2 * found, rank + positives),
        "e_measure": (rank + positives - 2 * found, rank + positives),
        "accuracy": (2 * found + n_items - rank - positives, n_items),
        "specificity": (negatives - (rank - found), negatives),
        "false_positive_rate": (rank - found, negatives),
        "positives": (positives, 1),
    }[asked.metric]
    difference = above[0] - Fraction(asked.demand.value) * above[1]  # 0 where it is undefined
    return {">=": difference >= 0, ">": difference > 0, "<=": difference <= 0, "<": difference < 0}[
        asked.demand.operator
    ]


@pytest.mark.parametrize("operator", [">=", ">", "<=", "<"])
@pytest.mark.parametrize("metric", FORMS)
def test_a_claim_in_whole_numbers_says_what_the_condition_says(metric, operator):
    for value, rank in itertools.product(("0", "0.25", "0.5", "0.6", "1"), (1, 3, 5)):
        asked = f"positives {operator} {5 * float(value):g}"
        if metric != "positives":
            asked = f"{metric}@{rank} {operator} {value}"
        claim = claim_of(Question.of(asked), rank, 5)
        for labels in itertools.product((0, 1), repeat=5):
            before, behind = sum(labels[:rank]), sum(labels[rank:])
            total = claim.head * before + claim.tail * behind
            assert (total >= claim.least) == holds(asked, np.array(labels), rank)
            assert (claim.opposite().head * before + claim.opposite().tail * behind >= claim.opposite().least) != (
                total >= claim.least
            )


def test_the_kernel_agrees_with_the_formula():
    rng = np.random.default_rng(5)
    for _ in range(40):
        count = int(rng.integers(1, 5))
        mass, items = rng.integers(1, 6, count), rng.integers(1, 8, count)
        blocks = rng.permutation(np.repeat(np.arange(count), items))[: rng.integers(0, 12)]
        bad = rng.integers(0, 2, blocks.size)
        rounds = np.sort(rng.integers(0, 3, blocks.size))
        rates, share, eta = (
            rng.dirichlet(np.ones(count), 3),
            rng.uniform(0.01, 1, (3, count)),
            rng.uniform(0, 1, (3, 2)),
        )
        beta = int(rng.integers(1, (mass * items).sum() + 1))
        made_of = factors((blocks, bad, rounds), (mass, items, rates, share, eta))
        twin = by_the_formula(blocks, bad, rounds, mass, items, rates, share, eta, beta)
        np.testing.assert_allclose(evidence(made_of, beta), twin, rtol=1e-9, atol=1e-9)


def by_the_formula(blocks, bad, rounds, mass, items, rates, share, eta, beta):
    """As it is written in the docstring, with the denominator that cancels."""
    left, seen, product, path = items.astype(float).copy(), 0, np.ones(eta.shape[1]), [0.0]
    for block, is_bad, r in zip(blocks, bad, rounds, strict=True):
        rho = max(0, beta - seen)
        if rho > (mass * left).sum():
            return path[:-1] + [math.inf] * (len(blocks) + 2 - len(path))
        f = rates[r] * (left > 0)
        f = f / f.sum()
        open_ = left > 0
        for j, stake in enumerate(eta[r]):
            y = stake * mass[open_] * left[open_] / f[open_]
            e = (1 + y + np.sqrt((1 - y) ** 2 + 4 * share[r][open_] * y)) / 2
            own = np.flatnonzero(np.flatnonzero(open_) == block)[0]
            product[j] *= (e[own] - y[own] * is_bad) / ((f[open_] * e).sum() - stake * rho)
        left[block] -= 1
        seen += mass[block] * is_bad
        path.append(math.log(product.mean()))
    proven = max(0, beta - seen) > (mass * left).sum()
    return [*path[:-1], math.inf] if proven else path


def test_one_bad_item_proves_nothing_by_the_sign_of_a_denominator():
    for q in (0.0, 1e-300, 1e-9, 1.0):
        one = np.array([1])
        stakes = one, one, np.ones((1, 1)), np.full((1, 1), q), np.ones((1, 1))
        made_of = factors((np.array([0]), np.array([1]), np.array([0])), stakes)
        assert evidence(made_of, 1).max() <= 1e-12
        assert least_refused(made_of, 3.0) == 2


def test_what_is_not_refused_is_an_interval_that_rises_with_the_mass_tried():
    rng = np.random.default_rng(6)
    block, bad = rng.integers(0, 2, 30), rng.integers(0, 2, 30)
    stakes = np.array([1, 2]), np.array([40, 40]), np.full((1, 2), 0.5), np.full((1, 2), 0.5), np.full((1, 2), 0.02)
    made_of = factors((block, bad, np.zeros(30, np.int64)), stakes)
    best = [evidence(made_of, beta).max() for beta in range(122)]
    assert all(after >= before - 1e-12 for before, after in itertools.pairwise(best))
    assert least_refused(made_of, 1.5) == np.flatnonzero(np.array(best) >= 1.5)[0]


def test_draws_take_blocks_at_their_rates_and_items_uniformly():
    blocks, rng = RankBlocks.ending_at([3, 9, 10]), np.random.default_rng(1)
    taken, runs = np.array([2, 4, 5]), examples(2_000, 6_000)
    first, second = np.zeros(11), np.zeros(11)
    for _ in range(runs):
        rank, block = draw(blocks, taken, np.array([0.5, 0.3, 0.2]), 2, rng)
        assert (blocks.find(rank) == block).all()
        first[rank[0]] += 1
        second[rank[1]] += 1
    wanted = np.array([0, 0.25, 0, 0.25, 0, 0, 0.075, 0.075, 0.075, 0.075, 0.2])
    np.testing.assert_allclose(first / runs, wanted, atol=4 * math.sqrt(0.25 / runs))
    # item 10 is alone in its block: it is second unless it was first, at its rate
    assert abs(second[10] / runs - 0.8 * 0.2) < 4 * math.sqrt(0.16 / runs)
    rank, block = draw(blocks, taken, np.array([0.5, 0.3, 0.2]), 100, rng)
    assert sorted(rank) == [1, 3, 6, 7, 8, 9, 10]


def plan(asked, n_items, *, known=None, confidence="0.95"):
    questions = [Question.of(one) for one in ([asked] if isinstance(asked, str) else asked)]
    ranks = {str(one): one.rank_in(n_items) for question in questions for one in question.cutoffs}
    assert all(Linear.takes(one) for one in questions)
    return Linear.plan(questions, QuestionSetting(n_items, ranks, known or KnownItems.nothing(), confidence))


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


def falling(n_items, seed=0):
    rank = np.arange(n_items)
    return np.random.default_rng(seed).random(n_items) < 0.95 / (1 + (rank / (0.03 * n_items)) ** 2)


@pytest.mark.parametrize(
    ("asked", "outcome"),
    [
        ("recall@100000 >= 0.65", "pass"),
        ("recall@100000 >= 0.95", "fail"),
        ("recall@100000 < 0.95", "pass"),
        ("f1@30000 > 0.4", "pass"),
        ("e_measure@30000 <= 0.6", "pass"),
        ("false_positive_rate@30000 < 0.03", "pass"),
        ("positives >= 30000", "pass"),
        ("positives >= 90000", "fail"),
    ],
)
def test_a_condition_is_decided_by_few_labels(asked, outcome):
    truth = falling(10**6)
    design = plan(asked, 10**6)
    drawn = run(design, truth, most=6_000)
    answer = design.answer(drawn, labelled(drawn, truth))
    (line,) = answer.lines
    assert (answer.outcome, line.outcome) == (outcome, outcome)
    assert holds(asked, truth, design.ranks[0]) == (outcome == "pass")
    assert line.labels <= drawn.table.num_rows < 6_000
    bound, value = float(Question.of(asked).demand.value), line.estimate
    above = (Question.of(asked).demand.operator[0] == ">") == (outcome == "pass")
    assert (line.lower, math.isnan(line.upper)) == (bound, True) if above else (line.upper == bound)
    assert value > bound if above else value < bound
    assert answer.more.median == 0
    reached = [row for row in answer.path.to_pylist() if row["side"] == outcome and row["evidence"] >= row["needed"]]
    assert reached
    assert min(row["labels"] for row in reached) == line.labels


def test_a_round_has_no_more_labels_than_are_said_to_decide_nine_times_in_ten():
    truth, sizes = (np.arange(20_000) < 10_000).astype(np.int8), []
    for seed in range(4):
        design = plan("f1@5000 >= 0.3", 20_000)
        drawn = design.next(design.start(), np.empty(0, np.int8), None, seed)
        while (answer := design.answer(drawn, labelled(drawn, truth))).outcome == "open" and drawn.table.num_rows < 400:
            more = design.next(drawn, labelled(drawn, truth), None, seed)
            sizes.append((more.table.num_rows - drawn.table.num_rows, answer.more.nine_in_ten or math.inf))
            drawn = design.next(drawn, labelled(drawn, truth), 10, seed)
    assert all(0 < size <= said for size, said in sizes)
    assert min(size for size, _ in sizes) < 50


def test_all_of_a_short_list_is_asked_and_then_the_answer_is_exact():
    rng = np.random.default_rng(2)
    for _ in range(30):
        truth = rng.random(40) < rng.random()
        asked = f"recall@{rng.integers(1, 40)} {rng.choice(['>=', '<'])} {rng.integers(1, 100) / 100}"
        design = plan(asked, 40, confidence="0.9999999999999999")
        drawn = run(design, truth)
        assert (design.answer(drawn, labelled(drawn, truth)).outcome == "pass") == holds(asked, truth, design.ranks[0])


def test_a_missing_label_and_an_item_without_one_are_the_worst_of_both_sides():
    truth = falling(20_000)
    design = plan("recall@3000 >= 0.5", 20_000)
    drawn = run(design, truth, size=60, most=300)
    labels = labelled(drawn, truth)
    missing = labels.copy()
    missing[::7] = -1
    rank = drawn.table["rank"].to_numpy()
    for side, good_before in (("pass", 1), ("fail", 0)):
        worst = np.where(missing >= 0, missing, np.where(rank <= 3_000, 1 - good_before, good_before)).astype(np.int8)
        one, other = path(design, drawn, missing, side), path(design, drawn, worst, side)
        both = min(len(one), len(other))  # to where the first of them is decided
        assert both > 50
        assert one[:both] == other[:both]


def path(design, drawn, labels, side):
    table = design.answer(drawn, labels).path.to_pylist()
    return [row["evidence"] for row in table if row["side"] == side]


def test_evidence_never_falls_when_a_label_turns_out_to_be_good_nor_do_stakes_change():
    truth = falling(20_000)
    design = plan("recall@3000 >= 0.5", 20_000)
    drawn = run(design, truth, size=40, most=200)
    labels, rng = labelled(drawn, truth), np.random.default_rng(3)
    good = (drawn.table["rank"].to_numpy() <= 3_000).astype(np.int8)
    for _ in range(20):
        some = np.where(rng.random(labels.size) < 0.3, -1, labels).astype(np.int8)
        better = np.where(rng.random(labels.size) < 0.2, good, some).astype(np.int8)
        before, after = (np.array(path(design, drawn, one, "pass")) for one in (some, better))
        assert (after >= before - 1e-9).all()
        later = design.next(drawn, better, 40, 1)
        assert later.state["rounds"][:-1] == drawn.state["rounds"]


def test_bad_items_that_are_known_are_taken_off_what_has_to_be_found():
    blocks, known = RankBlocks.ending_at([2, 5]), np.array([1, 4])
    rest, where = np.array([2, 3, 5]), blocks.find(np.arange(1, 6))
    for labels in itertools.product((0, 1), repeat=5):
        array = np.array(labels, np.int8)
        claim = claim_of(Question.of("recall@2 >= 0.6"), 2, 5)
        side = ClaimSide.plan(
            claim.of_blocks(blocks.last, 2), claim.least, blocks, KnownItems(known, array[known - 1]), 3.0
        )
        bad = side.bad(where, array) * side.mass[where]
        assert holds("recall@2 >= 0.6", array, 2) == (bad[rest - 1].sum() < side.beta)


def test_known_items_are_counted_and_neither_drawn_nor_evidence():
    truth = falling(5_000)
    rank = np.arange(1, 401)
    known = KnownItems(rank, truth[:400].astype(np.int8))
    design = plan("recall@1000 >= 0.5", 5_000, known=known)
    drawn = run(design, truth, most=200)
    assert not np.isin(drawn.table["rank"].to_numpy(), rank).any()
    assert path(design, design.start(), np.empty(0, np.int8), "pass") == [0.0]
    skipped = plan("recall@1000 >= 0.5", 5_000, known=KnownItems(rank, np.full(400, -1, np.int8)))
    for one, other in zip(design._sides[0], skipped._sides[0], strict=True):
        assert other.beta <= one.beta  # a skipped item is bad: less is left to be found
    whole = KnownItems(np.arange(1, 5_001), truth.astype(np.int8))
    done = plan("recall@1000 >= 0.5", 5_000, known=whole)
    assert done.answer(done.start(), np.empty(0, np.int8)).outcome == "pass"
    assert done.next(done.start(), np.empty(0, np.int8), None, 1).table.num_rows == 0


@pytest.mark.parametrize("asked", cases(["recall@60 >= 0.5", "f1@60 > 0.4", "positives < 90"], "recall@60 >= 0.5"))
def test_evidence_never_rises_when_known_labels_are_withdrawn(asked):
    truth = falling(200)
    rank = np.arange(1, 200, 3)
    design = plan(asked, 200, known=KnownItems(rank, truth[rank - 1].astype(np.int8)))
    drawn = run(design, truth, size=20, most=60)
    labels, rng = labelled(drawn, truth), np.random.default_rng(3)
    for part in (0.1, 0.5, 1):
        now = np.where(rng.random(rank.size) < part, -1, design.setting.known.label).astype(np.int8)
        known = replace(design.setting.known, label=now, planned=design.setting.known.label)
        less = read_design(design.facts(), known)
        for side in ("pass", "fail"):
            whole, left = path(design, drawn, labels, side), path(less, drawn, labels, side)
            both = min(len(whole), len(left))
            assert all(a <= b + 1e-12 for a, b in zip(left[:both], whole[:both], strict=True))


def test_several_conditions_all_have_to_hold():
    truth = falling(10**6)
    design = plan(["recall@100000 >= 0.6", "f1@30000 >= 0.4", "precision@10000 >= 0.7"], 10**6)
    drawn = run(design, truth, most=6_000)
    answer = design.answer(drawn, labelled(drawn, truth))
    assert [line.outcome for line in answer.lines] == ["pass"] * 3
    assert answer.outcome == "pass"
    fails = plan(["recall@100000 >= 0.6", "positives >= 200000"], 10**6)
    drawn = run(fails, truth, most=6_000)
    answer = fails.answer(drawn, labelled(drawn, truth))
    assert answer.outcome == answer.lines[1].outcome == "fail"
    needed = {(row["question"], row["side"]): row["needed"] for row in answer.path.to_pylist()}
    assert {round(value, 9) for (_, side), value in needed.items() if side == "pass"} == {round(math.log(20), 9)}
    assert {round(value, 9) for (_, side), value in needed.items() if side == "fail"} == {round(math.log(40), 9)}


def test_a_design_is_read_from_what_it_gave_and_draws_the_same():
    truth = falling(50_000)
    known = KnownItems(np.array([3, 900]), np.array([1, -1], np.int8))
    design = plan(["recall@1% >= 0.2", "positives < 9000"], 50_000, known=known)
    again = read_design(json.loads(json.dumps(design.facts())), known)
    assert again.facts() == design.facts()
    one, other = (run(each, truth, most=300) for each in (design, again))
    assert one.table.equals(other.table)
    assert json.loads(json.dumps(one.state)) == other.state
    labels = labelled(one, truth)
    assert design.answer(one, labels).path.equals(again.answer(other, labels).path)


def test_a_plan_from_before_judges_is_read():
    design = plan("recall@100 >= 0.2", 5_000)
    before = {**design.facts(), "misses": 0, "blocks": [row[:3] for row in design.facts()["blocks"]]}
    del before["prior"]
    assert read_design(before, KnownItems.nothing()).facts() == design.facts()


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        ("recall@10 >= 1.2", "between 0 and 1"),
        ("f1@10 < -1", "between 0 and 1"),
        ("recall@10 >= 0.1234567890123456", "so many digits"),
    ],
)
def test_numbers_that_cannot_be_are_refused(asked, why):
    with pytest.raises(InputError, match=why):
        plan(asked, 10**9)


def false_sides(truth, rank, runs, confidences):
    """Of some runs, how many ever reach the false side of a condition that is only just false, by confidence."""
    recall = Fraction(int(truth[:rank].sum()), max(1, int(truth.sum())))
    value = f"{min(1.0, float(recall) + 1e-6):.6f}"
    design = plan(f"recall@{rank} >= {value}", truth.size, confidence="0.999999")
    wrong = "fail" if holds(f"recall@{rank} >= {value}", truth, rank) else "pass"
    best = [
        max(path(design, one, labelled(one, truth), wrong))
        for one in (run(design, truth, seed, examples(100, 50), 400) for seed in range(runs))
    ]
    return [int((np.array(best) >= -math.log1p(-confidence)).sum()) for confidence in confidences]


@pytest.mark.parametrize("kind", cases(LISTS, "falling", "ten at the end"))
def test_a_false_side_is_seldom_reached_whatever_the_list_and_whenever_one_looks(kind):
    runs = examples(20, 40)
    for count, delta in zip(false_sides(LISTS[kind](1_000), 300, runs, (0.95, 0.5)), (0.05, 0.5), strict=True):
        assert binomial_tail(runs, count, delta) > 1e-4


@pytest.mark.slow
@pytest.mark.parametrize("kind", LISTS)
def test_a_false_side_is_seldom_reached_in_a_thousand_runs(kind):
    runs = 1_000
    for count, delta in zip(false_sides(LISTS[kind](1_000), 300, runs, (0.95, 0.5)), (0.05, 0.5), strict=True):
        assert binomial_tail(runs, count, delta) > 1e-4


def test_a_recall_that_is_near_its_threshold_is_said_at_once_to_take_long_or_all():
    ranks, n_items = np.arange(1, 320_001), 320_000
    truth = (np.random.default_rng(3).random(n_items) < 0.95 / (1 + (ranks / 25_000) ** 2)).astype(np.int8)
    assert 0.785 < truth[:61_000].sum() / truth.sum() < 0.8
    setting = QuestionSetting(n_items, {"61000": 61_000}, KnownItems.nothing(), "0.95")
    design = Linear.plan([Question.of("recall@61000 >= 0.79")], setting)
    most = []
    for seed in range(9):
        drawn = design.next(design.start(), np.empty(0, np.int8), None, seed)
        more = design.answer(drawn, truth[drawn.table["rank"].to_numpy() - 1]).more
        most.append(more.nine_in_ten or n_items)
    assert np.median(most) > 20_000  # 9,000 by blocks that are taken apart: their tail seems to hold many positives
