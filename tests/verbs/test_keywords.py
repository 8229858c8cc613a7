"""Keywords of functions: one that a function does not take is refused, and the error says which was meant, or whose."""

import inspect

import pytest

import streameval
from streameval import RankingOptions
from streameval.errors import InputError
from streameval.options import keywords

VERBS = {one: made for one in streameval.__all__ if hasattr(made := getattr(streameval, one), "keywords")}
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
    loose = {one for one in streameval.__all__ if inspect.isfunction(made := getattr(streameval, one))
             and made.__module__.startswith(("streameval.verbs.", "streameval.rankings.lazy_frame"))
             and any(own.kind is own.VAR_KEYWORD for own in inspect.signature(made).parameters.values())}  # fmt: skip
    assert loose == {*VERBS} == {*GIVEN}


@pytest.mark.parametrize("verb", GIVEN)
def test_a_misspelt_keyword_is_guessed(verb):
    for name in keywords(VERBS[verb]):
        wrong = f"{name[:-1]}_{name[-1]}" if len(name) > 3 else ""
        if wrong and wrong not in keywords(VERBS[verb]):
            assert refused(verb, *GIVEN[verb], **{wrong: 1}).startswith(f"{verb} has no option '{wrong}'")
    if "score" in keywords(VERBS[verb]):
        assert refused(verb, *GIVEN[verb], scor="a") == f"{verb} has no option 'scor'. Hint: did you mean 'score'?"


def test_a_keyword_of_another_function_is_said_to_be_its():
    assert refused("exact", "list", label="good", budget=5).endswith("it is an option of cost, plan, simulate")
    assert "it is an option of adopt, evaluate, exact" in refused("plan", "list", "study", labels="labels.csv")
    assert refused("plan", "list", "study", at=[1, 5]) == (
        "a study of a curve does not go with at. Hint: leave it out: it is for a study of drawn rankings (per) or "
        "a study of two rankings (against)"
    )


def test_what_describes_a_ranking_is_said_once(tmp_path):
    said = refused("plan", "list", tmp_path / "study", score="a", options=RankingOptions(score="b"))
    assert said == "score is 'a', and 'b' in options. Hint: say it once"
    for given in ({"key": "id"}, {"threads": 2}):
        with pytest.raises(InputError, match=f"{next(iter(given))} is .* in options"):
            streameval.cost("list", options=RankingOptions(key="other", threads=1), **given)
    cost = streameval.cost(1_000, options=RankingOptions(score="a", key="id"), score="a", key="id", threads=2)
    assert cost.n_items == 1_000
