"""Widths at a few ranks: bounds that hold whatever the pilot says, of sizes fixed before their labels."""

from dataclasses import replace

import numpy as np
import pytest
from suite_cases import cases, examples

from streameval.kernels.hypergeometric import intervals
from streameval.questions import Question
from streameval.sequential import KnownItems, QuestionSetting, read_design
from streameval.sequential.points import PrecisionPoints, first_of
from streameval.sequential.rounds import next_round, places_of


def plan(asked, n_items, *, known=None, confidence="0.95", expect=None):
    questions = [Question.of(one) for one in ([asked] if isinstance(asked, str) else asked)]
    ranks = {str(one): one.rank_in(n_items) for question in questions for one in question.cutoffs}
    return PrecisionPoints.plan(
        questions, QuestionSetting(n_items, ranks, known or KnownItems.nothing(), confidence, expect=expect)
    )


def labelled(drawn, truth):
    return truth(drawn.table["rank"].to_numpy()).astype(np.int8)


def run(design, truth, seed=1, size=None):
    drawn = design.start()
    while True:
        more = design.next(drawn, labelled(drawn, truth), size, seed)
        if more is drawn:
            return drawn
        drawn = more


def falling(rank):
    return (rank * 2654435761 % 1000) / 1000 < 0.95 / (1 + rank / 300_000)


@pytest.mark.parametrize(
    ("precision", "half", "labels"),
    [
        (0.5, 0.0406, (605, 2_488, 4_109)),
        (0.9, 0.0731, (78, 305, 561)),
        (0.9, 0.03, (417, 1_694, 2_872)),
        (0.5, 0.02, (2_449, 10_022, 14_621)),
        (0.9, 0.02, (914, 3_731, 5_951)),
    ],
)
def test_sizes_at_four_fifths_of_the_doubt_are_those_of_the_published_table(precision, half, labels):
    for points, wanted in zip((1, 3, 5), labels, strict=True):
        asked = f"precision@{', '.join(str(10**j) for j in range(8 - points, 8))} within {half}"
        known = KnownItems(np.arange(10**7 - 99, 10**7 + 1), np.ones(100, np.int8))  # so no pilot is counted
        forecasts = dict(plan(asked, 10**7, known=known, confidence="0.9375", expect=str(precision)).expected())
        assert forecasts[f"if it is {precision}"].median == wanted


@pytest.mark.parametrize("confidence", ["0.95", "0.5"])
@pytest.mark.parametrize(
    "kind", cases(["falling", "alternating", "zeros then ones", "all", "none"], "falling", "zeros then ones")
)
def test_all_bounds_hold_together_whatever_the_list(kind, confidence):
    n_items, runs = 400, examples(20, 40)
    rank = np.arange(n_items)
    truth = {
        "falling": np.random.default_rng(3).random(n_items) < np.linspace(1, 0, n_items),
        "alternating": rank % 2 == 0,
        "zeros then ones": rank >= 200,
        "all": rank >= 0,
        "none": rank < 0,
    }[kind]
    design = plan("precision@20,80,400 within .15", n_items, confidence=confidence)
    wrong = 0
    for seed in range(runs):
        drawn = run(design, lambda ranks: truth[ranks - 1], seed)
        lines = design.answer(drawn, labelled(drawn, lambda ranks: truth[ranks - 1])).lines
        wrong += any(
            not one.lower - 1e-12 <= truth[:k].mean() <= one.upper + 1e-12
            for one, k in zip(lines, (20, 80, 400), strict=True)
        )
    d = 1 - float(confidence)
    assert wrong <= runs * d + 3 * np.sqrt(runs * d * (1 - d))


def test_bounds_are_as_narrow_as_asked_and_what_is_asked_for_is_about_what_was_expected():
    design = plan("precision@1e4,1e5,1e6 within .05", 10**7)
    drawn = run(design, falling)
    answer = design.answer(drawn, labelled(drawn, falling))
    assert answer.outcome == "pass"
    assert all((one.upper - one.lower) / 2 < 0.055 for one in answer.lines)
    assert 0.3 < drawn.table.num_rows / design.expected()[0][1].median < 1.02
    assert answer.more.median == 0


def test_sizes_never_change_after_they_are_drawn_and_a_sample_is_asked_for_whatever_the_labels_say():
    design = plan("precision@1e4,1e6 within .1", 10**6)
    drawn = design.next(design.start(), np.empty(0, np.int8), None, 3)
    drawn = design.next(drawn, labelled(drawn, falling), 40, 3)
    sizes = drawn.state["sizes"]
    asked = []
    for answers in (falling, lambda ranks: ranks > 0, lambda ranks: ranks < 0):
        on = drawn
        while (more := design.next(on, labelled(on, answers), 40, 3)) is not on and more.state["looks"] == [1, 1]:
            on = more
            assert on.state["sizes"] == sizes
        asked.append(on.table["rank"].to_pylist())
    assert asked[0] == asked[1] == asked[2]


def evenly(rank):
    return rank * 2654435761 % 1000 < 500


def test_ranks_whose_bounds_are_wider_than_asked_for_are_asked_for_more_until_they_are_not():
    pilot = enough_known(10**6, evenly)
    known = KnownItems(pilot.rank, np.ones(pilot.rank.size, np.int8))  # nothing but positives, unlike the list
    design = plan("precision@1e4,1e6 within .05", 10**6, known=known)
    first = design.next(design.start(), np.empty(0, np.int8), None, 1)
    answer = design.answer(first, labelled(first, evenly))
    assert [line.outcome for line in answer.lines] == ["open", "open"]
    assert [line.upper - line.lower > 0.1 for line in answer.lines] == [True, True]
    drawn = run(design, evenly)
    last = design.answer(drawn, labelled(drawn, evenly))
    assert [line.outcome for line in last.lines] == ["pass", "pass"]
    assert [(line.upper - line.lower) / 2 <= 0.05 for line in last.lines] == [True, True]
    assert drawn.state["sizes"] == first.state["sizes"]
    assert min(drawn.state["looks"]) > 1
    assert answer.more.median * 0.5 < drawn.table.num_rows - first.table.num_rows <= answer.more.nine_in_ten * 1.1
    for before, after in zip(answer.lines, last.lines, strict=True):
        assert before.lower <= after.lower <= after.upper <= before.upper


def test_what_a_sample_grows_by_is_the_next_of_one_random_order():
    """Of 20 items at two ranks, each is among the items of a rank as often as any other, before and after."""
    design, n_items, runs = plan("precision@8,20 within .1", 20), 20, examples(300, 600)
    counts, state = np.zeros((2, 2, n_items)), {"sizes": [3, 4], "looks": [1, 1]}
    for seed in range(runs):
        rng, drawn = np.random.default_rng(seed), design.start()
        for look, sizes in enumerate(([3, 4], [6, 8])):
            drawn = design._drawn_to(sizes, drawn, KnownItems.nothing(), rng)
            drawn = next_round(replace(drawn, state={**state, "looks": [look + 1] * 2}), None)
            items = places_of(drawn.table)
            for at, (rank, size) in enumerate(zip((8, 20), sizes, strict=True)):
                counts[look, at, items.rank[first_of(items, rank, size)] - 1] += 1
    for look, sizes in enumerate(([3, 4], [6, 8])):
        for at, (rank, size) in enumerate(zip((8, 20), sizes, strict=True)):
            share = size / rank
            assert abs(counts[look, at, :rank] / runs - share).max() < 4 * np.sqrt(share * (1 - share) / runs)


def test_a_sample_that_was_planned_before_samples_could_grow_is_open_and_says_so():
    known = KnownItems(np.arange(10_000, 10**6 + 1, 10_000), np.ones(100, np.int8))
    design = plan("precision@1e4,1e6 within .05", 10**6, known=known)
    drawn = design.next(design.start(), np.empty(0, np.int8), None, 1)
    old = replace(drawn, state={"sizes": drawn.state["sizes"]})
    labels = labelled(old, evenly)
    new, answer = design.answer(drawn, labels), design.answer(old, labels)
    assert design.next(old, labels, None, 1) is old
    assert answer.outcome == "open"
    assert design.exhausted(old, labels).startswith("Its sample is whole")
    for one, other in zip(answer.lines, new.lines, strict=True):  # at the whole doubt
        assert other.lower < one.lower < one.upper < other.upper


def enough_known(n_items, truth):
    ranks = (n_items // 100 - 1) * np.arange(1, 101)
    return KnownItems(ranks, truth(ranks).astype(np.int8))


def test_one_round_or_many_ask_for_the_same_and_say_the_same():
    known = enough_known(10**6, falling)
    design = plan("precision@1e4,1e5,1e6 within .08", 10**6, known=known)
    whole, parts = run(design, falling, seed=4), run(design, falling, seed=4, size=37)
    assert whole.state["looks"] == parts.state["looks"] == [1, 1, 1]  # each round has random numbers of its own
    assert whole.table["rank"].to_pylist() == parts.table["rank"].to_pylist()
    assert (whole.rounds, parts.table["round"].to_pylist().count(1)) == (1, 37)
    assert design.answer(whole, labelled(whole, falling)).lines == design.answer(parts, labelled(parts, falling)).lines


def test_more_labels_give_bounds_within_those_before():
    design = plan("precision@1e3,1e6 within .1", 10**6, known=enough_known(10**6, falling))
    drawn = run(design, falling)
    labels, order = labelled(drawn, falling), np.random.default_rng(1).permutation(drawn.table.num_rows)
    before = None
    for share in (0.0, 0.3, 0.8, 1.0):
        some = np.full(labels.size, -1, np.int8)
        some[order[: int(share * labels.size)]] = labels[order[: int(share * labels.size)]]
        lines = design.answer(drawn, some).lines
        for old, new in zip(before or lines, lines, strict=True):
            assert old.lower <= new.lower <= new.upper <= old.upper
        assert [one.outcome for one in lines] == (["pass"] * 2 if share == 1 else ["open"] * 2)
        before = lines


def test_an_item_that_is_not_asked_for_yet_counts_as_one_without_a_label():
    design = plan("precision@1e3,1e5 within .1", 10**5, known=enough_known(10**5, falling))
    part = design.next(design.start(), np.empty(0, np.int8), 60, 3)
    whole = design.next(part, labelled(part, falling), None, 3)
    labels = np.where(whole.table["round"].to_numpy() == 1, labelled(whole, falling), -1).astype(np.int8)
    assert design.answer(part, labelled(part, falling)).lines == design.answer(whole, labels).lines
    assert design.answer(part, labelled(part, falling)).more.median == whole.table.num_rows - 60


def test_a_skipped_item_that_was_known_counts_both_ways():
    truth = enough_known(1000, falling)
    skipped = KnownItems(truth.rank, np.where(np.arange(100) < 10, -1, truth.label).astype(np.int8))
    design = plan("precision@1000 within .1", 1000, known=skipped)
    drawn = run(design, falling)
    (line,) = design.answer(drawn, labelled(drawn, falling)).lines
    assert line.upper - line.lower > 0.01
    free = np.setdiff1d(np.arange(1, 1001), truth.rank)
    assert not np.isin(drawn.table["rank"].to_numpy(), truth.rank).any()
    assert line.lower <= (falling(free).sum() + (skipped.label == 1).sum()) / 1000 <= line.upper


def test_a_size_chosen_by_its_labels_breaks_the_promise():
    """A mutation: of all samples up to the planned size, the bounds that lie highest."""
    wrong, runs, label = 0, 80, np.arange(400) % 2
    for seed in range(runs):
        order = np.random.default_rng(seed).permutation(label)
        n = np.arange(5, 100)
        lower, _ = intervals(order.cumsum()[n - 1], order.cumsum()[n - 1], n, np.full(n.size, 400), 0.5)
        wrong += lower.max() > 200
    assert wrong > runs * 0.25 + 3 * np.sqrt(runs * 0.25 * 0.75)


def test_a_relative_width_takes_more_where_the_precision_is_low():
    sizes = [
        dict(plan("precision@1e6 within 10%", 10**6, expect=one).expected())[f"if it is {one}"].median
        for one in ("0.9", "0.5", "0.1")
    ]
    assert sizes[0] < sizes[1] < sizes[2]


def test_what_was_planned_reads_back():
    design = plan(["precision@1% within 3%", "precision@1e5,1e6 within .02"], 10**6, expect="0.7")
    assert read_design(design.facts(), design.known) == design
    assert [one.rank for one in design.points] == [10_000, 100_000, 1_000_000]


def test_it_takes_widths_of_precision_at_ranks():
    for text, taken in (
        ("precision@1e4,1e6 within .03", True),
        ("precision@score:0.7 within 5%", True),
        ("precision@1e4 >= .5", False),
        ("precision within .1", False),
        ("precision@recall:.5 within .1", False),
        ("recall@10 within .1", False),
    ):
        assert PrecisionPoints.takes(Question.of(text)) is taken


def test_what_is_forecast_after_the_pilot_is_what_is_asked_for_whatever_the_seed():
    design = plan("precision@5000 within 0.05", 20_000)
    for seed in (1, 2):
        pilot = design.next(design.start(), np.empty(0, np.int8), None, seed)
        labels = labelled(pilot, falling)
        more = design.answer(pilot, labels).more.median
        assert design.next(pilot, labels, None, seed).table.num_rows == pilot.table.num_rows + more
