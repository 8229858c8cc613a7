"""The language of questions: what is printed reads as the same, and what cannot be read is pointed at."""

import math
import re
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streameval.errors import InputError
from streameval.questions import Against, Condition, Question, Width, conditions, measures
from streameval.questions.asking import Asking
from streameval.questions.comparing import Comparing, questions_of
from streameval.questions.cutoffs import FORM, Cutoff
from streameval.questions.terms import Terms

decimals = st.decimals(0, 1, places=6).filter(bool)
cutoffs = st.one_of(
    st.builds(Cutoff, st.just("rank"), st.integers(1, 2**63 - 1)),
    st.builds(Cutoff, st.sampled_from(["share", "precision", "recall"]), decimals),
    st.builds(Cutoff, st.just("score"), st.sampled_from(["0.7", "-3", "2026-01-31", "1000000", "0", "high"])),
)
finite = st.floats(allow_nan=False, allow_infinity=False).map(lambda x: Decimal(repr(x)) or Decimal(0))
folders = st.from_regex(r"[A-Za-z0-9_./:@ -]{1,12}", fullmatch=True).filter(
    lambda text: text == text.strip() and not re.search(r"\s[-+]", text)
)
demands = st.one_of(
    st.none(),
    st.builds(Against, st.sampled_from([">=", ">", "<=", "<"]), folders, finite),
    st.builds(Condition, st.sampled_from([">=", ">", "<=", "<"]), finite),
    st.builds(Width, finite.map(abs).filter(bool), st.just("difference")),
    st.builds(Width, decimals, st.just("value")),
)
names = st.from_regex(r"[a-z][a-z0-9_]{0,9}(\.[0-9])?", fullmatch=True).filter(lambda name: name != "cut")
cuts = st.builds(lambda precision: Question("cut", (Cutoff("precision", precision),)), decimals)
shares = decimals.filter(lambda share: share < 1)
terms = st.builds(Terms, st.none() | shares, st.none() | st.decimals(0, 1, places=4), st.none() | st.integers(1, 10**9),
                  st.booleans())  # fmt: skip
bare = st.builds(Question, names, st.lists(cutoffs, max_size=3, unique=True).map(tuple), demands) | cuts
questions = st.builds(replace, bare, terms=terms)


@given(questions)
def test_what_is_printed_reads_as_the_same(question):
    assert Question.of(str(question)) == question
    assert str(Question.of(str(question))) == str(question)


@given(
    st.lists(st.sampled_from(["10", "1000", "1%", "1,000,000", "20,000,000"]), min_size=1, max_size=4, unique=True),
    shares, st.sampled_from(["one", "any", "both"]), shares,
)  # fmt: skip
def test_a_comparison_is_printed_as_the_questions_that_ask_for_it(ranks, within, look, precision):
    printed = map(str, questions_of(ranks, f"{within:f}", look, float(precision)))
    asked = Comparing(questions=[*printed])
    assert [str(cutoff) for cutoff in asked.cutoffs] == ranks
    assert (Decimal(asked.within), asked.look, asked.min_precision) == (within, look, float(precision))


@given(terms, st.lists(st.booleans(), min_size=3, max_size=3).filter(any))
def test_terms_are_those_of_all_questions_behind_whichever_they_stand(each, behind):
    asked = [f"precision@{10**place} >= 0.5{each if some else ''}" for place, some in enumerate(behind)]
    asking = Asking(asked)
    assert asking.terms == each
    assert [str(question) for question in asking.asked] == [text.split(" 0.5")[0] + " 0.5" for text in asked]


@pytest.mark.parametrize(("text", "said"), [
    ("precision@10 >= 0.9 zone", "a number is missing (at column 25)"),
    ("precision@10 >= 0.9 zone 2", "zone is 2, outside (0, 1) (at column 26)"),
    ("precision@10 >= 0.9 zone 0.02 zone 0.02", "zone stands twice (at column 31)"),
    ("precision@10 >= 0.9 round 2.5", "a round of 2.5 tasks (at column 27)"),
    ("precision@10 >= 0.9 expect 0.95 please", "here another term may stand (at column 33)"),
    ("precision@10 >= zone 0.02", "a number is missing (at column 16)"),
])  # fmt: skip
def test_a_term_that_cannot_be_read_is_pointed_at(text, said):
    with pytest.raises(InputError) as refused:
        Question.of(text)
    assert said in refused.value.what


@pytest.mark.parametrize("read", [measures, conditions])
def test_terms_are_refused_where_labels_are_there(read):
    with pytest.raises(InputError, match="zone says how labels are planned, and these labels are there"):
        [*read("precision@10 >= 0.9 zone 0.02" if read is conditions else "precision@10 zone 0.02")]


@given(st.text() | st.text("pr@ecision.,:%0159e><= within-_+", max_size=40))
def test_any_text_is_read_and_printed_the_same_or_refused_in_one_line(text):
    try:
        read = Question.of(text)
    except InputError as error:
        read = None
        said = str(error)
    assert "\n" not in said if read is None else Question.of(str(read)) == read


@pytest.mark.parametrize(
    ("text", "ranks"),
    [
        ("10000", [10_000]),
        ("10,000", [10_000]),
        ("1,000", [1_000]),
        ("1,000,000", [1_000_000]),
        ("1000,10000", [1_000, 10_000]),
        ("1000, 10,000", [1_000, 10_000]),
        ("10, 100", [10, 100]),
        ("10, 300", [10, 300]),
        ("10_300", [10_300]),
        ("10,030", [10_030]),
        ("1,613,706", [1_613_706]),
        ("1,10,100", [1, 10, 100]),
        ("1e4,1e6", [10_000, 1_000_000]),
        ("1_000", [1_000]),
        ("2.5e3", [2_500]),
    ],
)
def test_commas_separate_thousands_where_all_groups_are_of_three_digits(text, ranks):
    assert [one.value for one in Question.of(f"precision@{text}").cutoffs] == ranks


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("PRECISION @ 1E4  >=90%", "precision@10000 >= 0.9"),
        ("precision@1% < .5", "precision@1% < 0.5"),
        ("f1@score:.70", "f1@score:0.7"),
        ("f0.5@10", "f0.5@10"),
        ("recall@precision:95%", "recall@precision:0.95"),
        ("precision@1e4,1e6 within .03", "precision@10000, 1,000,000 within 0.03"),
        ("positives within 5%", "positives within 5%"),
        ("yield@1000000>=900,000", "yield@1,000,000 >= 900000"),
        ("score@10 >= -1e-3", "score@10 >= -0.001"),
        ("precision@score:2026-01-31", "precision@score:2026-01-31"),
        ("Cut  PRECISION .9", "cut precision 0.9"),
        ("cut precision 97.50%", "cut precision 0.975"),
        ("cut precision:0.9", "cut precision 0.9"),
        ("iprec@.10 >= .5", "precision@recall:0.1 >= 0.5"),
        ("IPrec@recall:10%", "precision@recall:0.1"),
        ("11pt_avg>.2", "eleven_point_precision > 0.2"),
        ("rbp@0.80 within .02", "rbp.8 within 0.02"),
    ],
)
def test_spellings_of_one_question_are_one_value(text, same):
    assert str(Question.of(text)) == same
    assert Question.of(text) == Question.of(same)


def test_a_width_is_a_difference_or_a_part_of_the_value():
    assert Question.of("precision@10 within .05").demand == Width(Decimal("0.05"), "difference")
    assert Question.of("precision@10 within 5%").demand == Width(Decimal("0.05"), "value")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("precision@10O0", f"{FORM} (at column 11)."),
        ("precision@10, 10O0", f"{FORM} (at column 15)."),
        ("precision@", f"{FORM} (at column 11)."),
        ("precision@s.7", f"{FORM} (at column 11)."),
        ("precision@threshold:.7", f"{FORM} (at column 11)."),
        ("precision@2.5", f"{FORM} (at column 11)."),
        ("precision@1.000", "1.000 is 1000 or 1 (at column 11). Hint: write 1000, or 1"),
        ("precision@4 >= 0,9", "'0,9' is not a number (at column 16). Hint: write 0.9"),
        ("precision@4 >= 0.9 zon 0.1", "Hint: did you mean 'zone'?"),
        ("precision@0.9", f"{FORM} (at column 11). Hint: say of what: precision:0.9, recall:0.9 or score:0.9"),
        ("precision@Top1000", f"{FORM} (at column 11). Hint: the first 1000 items are @1000"),
        ("recall@rank50", f"{FORM} (at column 8). Hint: the first 50 items are @50"),
        ("precision@1,000,10000", "its commas separate thousands or cutoffs: write 1000 for 1,000, and a space"),
        ("precision@10,300", "10,300 is one cutoff or two (at column 11). Hint: write 10_300 for one, 10, 300 for two"),
        ("precision@5, 10,300", "10,300 is one cutoff or two (at column 14). Hint: write 10_300"),
        ("recall@precision=0.9", f"{FORM} (at column 8). Hint: such as precision:0.9"),
        ("precision@0", "rank 0 is below 1, the rank of the best item (at column 11)."),
        ("recall@precison:0.9", "(at column 8). Hint: did you mean 'precision'?"),
        ("recall@precision:1.5", "precision is 1.5, outside (0, 1] (at column 8)."),
        ("recall@precision:1e-999999999", "not a number"),
        ("precision@recall:high", "recall is 'high', not a number"),
        ("precision@0%", "outside (0, 1]"),
        ("precision@4 >= .5, recall@9 > .2", "(at column 16). Hint: several are quoted one by one: "),
        ("precision@4 >= .5 and precision@9 > .2", "Hint: several are quoted one by one"),
        ("precision@4 >> .5", "'> .5' is not a number (at column 14)."),
        ("precision@4 >= 1e999", "'1e999' is not a number"),
        ("precision@4 >=", "a number is missing (at column 15)."),
        (
            "precision 4",
            "by @CUTOFF, by >=, >, <= or < and a number, or by within and a width (at col",
        ),
        ("precision@4 within 0", "a width is above 0"),
        ("cut", "here precision and a number are to stand (at column 4). Hint: cut precision NUMBER, such as"),
        ("cut recall .9", "here precision and a number are to stand (at column 5)."),
        ("cut@precision:.9", "here precision and a number are to stand (at column 4)."),
        ("cut precision", "precision is '', not a number (at column 14)."),
        ("cut precision >= .9", "precision is '>= .9', not a number (at column 15)."),
        ("cut precision .9 within 3%", "precision is '.9 within 3%', not a number (at column 15)."),
        ("cut precision 1.5", "precision is 1.5, outside (0, 1] (at column 15)."),
        ("iprec@2", "recall is 2, outside [0, 1] (at column 7)."),
        ("rbp@", "persistence is '', no decimal in (0, 1) of up to 6 places (at column 5). Hint: such as rbp@0.8: the"),
        ("rbp@.1234567", "persistence is '.1234567', no decimal"),
        ("cut precision 0", "precision is 0, outside (0, 1] (at column 15)."),
        (">= .5", "the name of a metric is missing (at column 1)."),
        ("", "the name of a metric is missing (at column 1)."),
    ],
)
def test_what_cannot_be_read_is_pointed_at(text, said):
    with pytest.raises(InputError) as refused:
        Question.of(text)
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


def test_verbs_take_measures_or_conditions_and_refuse_widths_and_cuts():
    assert [*map(str, measures("precision@10, 100"))] == ["precision@10", "precision@100"]
    assert [*map(str, conditions(["precision@10, 100 > .5", "map >= .3"]))] == [
        "precision@10 > 0.5", "precision@100 > 0.5", "map >= 0.3"]  # fmt: skip
    for read, text, said in (
        (measures, "map >= .3", "is a condition"),
        (conditions, "map", "(at column 4)"),
        (measures, "precision@10 within .1", "how wide bounds may be"),
        (conditions, "precision@10 within .1", "how wide bounds may be"),
        (measures, "cut precision .9", "no question about labels that are there. Hint: ask for rank@precision:0.9"),
        (
            conditions,
            "cut precision .9",
            "where to cut is no question about labels that are there. Hint: ask for rank@",
        ),
    ):
        with pytest.raises(InputError) as refused:
            list(read(text))
        assert said in str(refused.value)


def test_conditions_are_met_as_the_decimal_says():
    assert Question.of("precision@10 >= 75%").demand.met_by(0.75)
    assert not Question.of("precision@10 > 75%").demand.met_by(0.75)
    assert not Question.of("precision@10 < 75%").demand.met_by(math.nan)


@pytest.mark.parametrize(
    ("text", "n_items", "rank"), [("1%", 1_613_706, 16_137), ("1%", 10, 1), ("100%", 7, 7), ("5", 7, 5)]
)
def test_a_share_of_a_list_is_rounded_down_and_never_empty(text, n_items, rank):
    assert Cutoff.parse(text).rank_in(n_items) == rank
    assert Cutoff.parse("score:1").rank_in(n_items) is None
    with pytest.raises(InputError, match=r"rank 8 is outside 1\.\.7"):
        Cutoff.parse(8).rank_in(7)


def test_signs_numbers_and_cutoffs_are_told_as_they_are_to_be_written():
    assert str(Question.of("precision@1e3,1e3 within .05")) == "precision@1000 within 0.05"
    for sign, written in (("≥", ">="), ("≤", "<=")):
        for text in (f"precision@10 {sign} .9", f"precision@10{sign}.9"):
            with pytest.raises(InputError, match=f"{sign} is written {written}"):
                Question.of(text)
    with pytest.raises(InputError, match="'1e-400' is as good as 0"):
        Question.of("precision@1000 >= 1e-400")


def test_one_cutoff_may_have_its_thousands_apart_where_it_cannot_be_two():
    assert Cutoff.parse("10,300") == Cutoff.parse("10_300") == Cutoff("rank", 10_300)
