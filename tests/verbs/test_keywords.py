"""Keywords of functions: one that a function does not take is refused, and the error says which was meant, or whose.

So is a value of another type than is declared.
"""

import inspect
from pathlib import Path

import numpy as np
import pytest

import streameval
from streameval import RankingOptions
from streameval.errors import InputError
from streameval.options import keywords

VERBS = {one: made for one in streameval.__all__ if getattr(made := getattr(streameval, one), "option_kinds", ())}
GIVEN = {  # what each has to be given besides
    "plan": ("list", "study"), "grow": ("study",), "judge": ("study", "answers"), "adopt": ("list", "study", "labels"),
    "select": ("study",), "evaluate": ("study",), "exact": ("list",), "cost": (1_000,), "simulate": ("list",),
    "scan_ranking": ("list",), "label": ("study",),
}  # fmt: skip


def refused(verb, *given, **named):
    with pytest.raises(InputError) as error:
        VERBS[verb](*given, **named)
    return str(error.value)


def test_every_function_that_takes_options_is_tried():
    public = {name: getattr(streameval, name) for name in streameval.__all__}
    ours = {name: inspect.unwrap(made) for name, made in public.items() if inspect.isfunction(made)
            and made.__module__.startswith(("streameval.verbs.", "streameval.rankings.lazy_frame"))}  # fmt: skip
    loose = {name for name, made in ours.items() if "**" in str(inspect.signature(made))}
    assert loose == {*VERBS} == {*GIVEN}


@pytest.mark.parametrize("verb", GIVEN)
def test_a_signature_lists_every_keyword(verb):
    parameters = inspect.signature(VERBS[verb]).parameters
    assert set(parameters) <= set(keywords(VERBS[verb]))
    assert not [one for one in parameters.values() if one.kind is one.VAR_KEYWORD]
    assert verb != "plan" or {"score", "per", "against"} <= set(parameters)
    inspect.signature(VERBS[verb]).bind(*GIVEN[verb], **dict.fromkeys([*parameters][len(GIVEN[verb]) :]))


@pytest.mark.parametrize("verb", GIVEN)
def test_a_misspelt_keyword_is_guessed(verb):
    for name in keywords(VERBS[verb]):
        wrong = f"{name[:-1]}_{name[-1]}" if len(name) > 3 else ""
        if wrong and wrong not in keywords(VERBS[verb]):
            assert refused(verb, *GIVEN[verb], **{wrong: 1}).startswith(f"{verb} has no option '{wrong}'")
    if "score" in keywords(VERBS[verb]):
        assert refused(verb, *GIVEN[verb], scor="a") == f"{verb} has no option 'scor'. Hint: did you mean 'score'?"


def test_a_keyword_of_another_function_is_said_to_be_its():
    assert refused("exact", "list", label="good", budget=5).endswith("it is an option of cost, grow, plan, simulate")
    assert "it is an option of adopt, evaluate, exact" in refused("plan", "list", "study", labels="labels.csv")
    assert refused("plan", "list", "study", against_score="old") == (
        "a study of a curve does not go with against_score. Hint: leave it out: it is for a study of two rankings "
        "(against)"
    )


def test_what_describes_a_ranking_is_said_once(tmp_path):
    said = refused("plan", "list", tmp_path / "study", score="a", options=RankingOptions(score="b"))
    assert said == "score is 'a', and 'b' in options. Hint: say it once"
    for given in ({"key": "id"}, {"threads": 2}):
        with pytest.raises(InputError, match=f"{next(iter(given))} is .* in options"):
            streameval.cost("list", options=RankingOptions(key="other", threads=1), **given)
    cost = streameval.cost(1_000, options=RankingOptions(score="a", key="id"), score="a", key="id", threads=2)
    assert cost.n_items == 1_000


def test_every_function_looks_at_the_types_of_what_it_is_given():
    ours = {one for one in streameval.__all__ if inspect.isfunction(made := getattr(streameval, one))
            and not made.__module__.startswith("streameval.metrics")}  # fmt: skip
    assert {one for one in ours if not hasattr(getattr(streameval, one), "keywords")} == set()


@pytest.mark.parametrize(
    ("verb", "given", "named", "message"),
    [
        ("plan", ("list", "new"), {"seed": 7.5}, "seed is 7.5, not a whole number. Hint: its type is float"),
        ("plan", ("list", "new"), {"seed": "x"}, "seed is 'x', not a whole number. Hint: its type is str"),
        ("plan", ("list", "new"), {"seed": True}, "seed is True, not a whole number. Hint: its type is bool"),
        ("plan", ("list", "new"), {"score": ["score"]}, "score is ['score'], not text. Hint: its type is list"),
        ("plan", ("list", 5), {}, "study is 5, not text or a path. Hint: its type is int"),
        ("plan", ("list", "new"), {"budget": "x"}, "budget is 'x', not a whole number. Hint: its type is str"),
        ("plan", ("list", "new"), {"alpha": "x"}, "alpha is 'x', not a number. Hint: its type is str"),
        ("plan", ("list", "new"), {"stages": 2.5},
         "stages is 2.5, not a whole number or text. Hint: its type is float"),
        ("plan", ("list", "new"), {"window": 50},
         "plan has no option 'window' any more. Hint: it is method='paula(window=50)'"),
        ("exact", ("list",), {"epsilon": 0.1},
         "exact has no option 'epsilon' any more. Hint: it is method='paula(epsilon=0.1)'"),
        ("plan", ("list", "new"), {"nan": "lst"}, "nan is 'lst'. Hint: did you mean 'last'?"),
        ("plan", ("list", "new"), {"options": {}}, "options is {}, not RankingOptions. Hint: its type is dict"),
        ("plan", ("list", "new"), {"per": "q", "confidence": "x"},
         "confidence is 'x', not a number. Hint: its type is str"),
        ("check", ("study", 5), {}, "conditions is 5, not text, Question or several of these. Hint: its type is int"),
        ("show", ("study", 5), {}, "measures is 5, not text, Question or several of these. Hint: its type is int"),
        ("simulate", ("list",), {"label": "good", "replicates": "x"},
         "replicates is 'x', not a whole number. Hint: its type is str"),
        ("compare", ("a", "b"), {"confidence": "x"}, "confidence is 'x', not a number. Hint: its type is str"),
        ("report", (["study"],), {}, "studies is ['study'], not text or a path. Hint: its type is list"),
        ("monitor", ([5],), {}, "studies is [5], not text, a path or several of these. Hint: its type is list"),
        ("scan", ("study",), {"engine": 3}, "engine is 3, not Engine or text. Hint: its type is int"),
        ("select", ("study",), {"progress": 3}, "progress is 3, not a function. Hint: its type is int"),
        ("open_ranking", ("list", 5), {}, "options is 5, not RankingOptions. Hint: its type is int"),
    ],
)  # fmt: skip
def test_a_value_of_another_type_is_refused(verb, given, named, message):
    with pytest.raises(InputError) as error:
        getattr(streameval, verb)(*given, **named)
    assert str(error.value) == message


def test_numbers_of_numpy_and_paths_do_as_pythons_own_and_texts(catalogue, tmp_path):
    named = {"score": "score", "seed": np.int64(7), "budget": np.uint16(100), "stages": np.int8(2)}
    place = Path(catalogue.lists, "list.parquet")
    streameval.plan(place, str(tmp_path / "a"), **named)
    streameval.plan(str(place), tmp_path / "b", score="score", seed=7, budget=100, stages="2")
    assert (tmp_path / "a" / "plan.json").read_bytes() == (tmp_path / "b" / "plan.json").read_bytes()


def test_options_of_a_ranking_are_looked_at_where_they_are_made():
    with pytest.raises(InputError, match="threads is 'two', not a whole number"):
        RankingOptions(threads="two")


@pytest.mark.parametrize(("verb", "option"), [
    *(("plan", name) for name in ("zone", "expect", "round", "together", "at", "within", "look")),
    *(("cost", name) for name in ("zone", "expect", "round", "together", "at", "within", "look")),
])  # fmt: skip
def test_a_keyword_that_was_says_what_it_is_now(verb, option):
    said = refused(verb, *GIVEN[verb], **{option: 1})
    assert said.startswith(f"{verb} has no option '{option}' any more. Hint: it is ")
    assert "questions='" in said
