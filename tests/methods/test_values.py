"""Methods as values: what is written is read, with every parameter, and what is no value is refused in one line."""

from typing import get_args, get_origin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streameval.cli import run
from streameval.errors import InputError
from streameval.judges.options import JudgeValue
from streameval.methods import available, create, list_parameters, method_of
from streameval.methods.adopted.designs import DrawValue
from streameval.methods.values import MethodValue, method_value, method_values, parameters_of
from streameval.options import alternatives, types_of

FLOATS = st.floats(0, 1, allow_nan=False)
BY_NAME = {
    "epsilon": st.decimals(0, 1, allow_nan=False, places=4).map(str),
    "stages": st.one_of(st.integers(1, 64).map(str), st.just("adaptive"), st.integers(2, 64).map("{}:later".format)),
}


def values_of(method, name):
    """Values of a parameter of a method, of its type."""
    if name in BY_NAME:
        return BY_NAME[name]
    (kind,) = alternatives(types_of(list_parameters()[method])[name])
    words = get_args(kind) if get_origin(kind) is not None else ()
    return st.sampled_from(words) if words else {int: st.integers(0, 2**62), float: FLOATS}[kind]


@st.composite
def method_texts(draw):
    """The name of a method, and some of its parameters."""
    name = draw(st.sampled_from(sorted(list_parameters())))
    names = draw(st.lists(st.sampled_from([one.name for one in parameters_of(name)]), unique=True))
    return MethodValue(name, {key: draw(values_of(name, key)) for key in names})


@given(st.lists(method_texts(), min_size=1, unique_by=str), st.sampled_from(["", " ", "  "]))
def test_what_is_written_is_read(values, blank):
    written = ",".join(map(str, values))
    assert method_values(written) == values
    assert method_values(written.replace("=", f"{blank}={blank}").replace("(", f"{blank}({blank}")) == values
    assert method_values(list(map(str, values))) == values


@pytest.mark.parametrize("name", sorted(list_parameters()))
def test_a_plan_is_made_again_by_the_value_of_its_method(name):
    """As plan.json keeps the parameters of plans, whatever printed them."""
    for parameters in ({}, *available()[name].variants, {"budget": 9_000}):
        plan = create(name, parameters).plan(20_000, 3)
        value = MethodValue.of(plan.method, plan.parameters)
        again = method_value(str(value.without_shared)).create(value.shared).plan(20_000, 3)
        assert again.plan_id == plan.plan_id, str(value)
        assert method_of(again) == method_of(plan)


@pytest.mark.parametrize(("text", "says"), [
    ("paulla", "there is no method 'paulla'. Hint: did you mean 'paula'?"),
    ("paula(windw=100)", "paula has no parameter 'windw'. Hint: did you mean 'window'?"),
    ("paula(interval=hoeffding)", "paula has no parameter 'interval'. Hint: it is one of uniform"),
    ("paula(window=2.5)", "paula(window=2.5): window is a whole number, and '2.5' is none (at column 14)."),
    ("loguniform(alpha=x)", "loguniform(alpha=x): alpha is a number, and 'x' is none (at column 18)."),
    ("paula(window=1,000)", "'000' is not written as KEY=VALUE (at column 16)."),
    ("paula(window=100", "paula(window=100: a comma or ) is missing (at column 17)."),
    ("paula(window)", "paula(window): 'window' is not written as KEY=VALUE (at column 7)."),
    ("paula(window=)", "paula(window=): the value of window is missing (at column 14)."),
    ("paula()", "paula(): a value is missing (at column 7)."),
    ("paula(window=1) uniform", "'u' stands where a comma or the end is expected (at column 17)."),
    ("paula(window=1, window=2)", "paula has window twice. Hint: leave out one of them"),
    ("paula,uniform", "'paula,uniform' names 2 methods. Hint: a plan is made by one"),
    ("paula(tail=ajar)", "tail is 'ajar'"),
    ("loguniform(stages=x)", "--stages is 'x'. Hint: it takes 3, 3:later or adaptive"),
    ("", "a name is missing"),
])  # fmt: skip
def test_what_is_no_value_is_refused_in_one_line(text, says):
    with pytest.raises(InputError) as refused:
        method_value(text).create({})
    assert says in refused.value.line
    assert "\n" not in refused.value.line


def test_whole_numbers_are_read_as_everywhere():
    for text in ("paula(window=2e3)", "paula(window=2_000)", " paula ( window = 2000 ) "):
        assert method_value(text) == MethodValue("paula", {"window": 2_000})


def test_a_parameter_is_given_once(capsys):
    assert run(["cost", "--items", "1e6", "--method", "paula, loguniform(alpha=0.1)", "--alpha", "0.2"]) == 2
    said = "streameval: loguniform(alpha=0.1) and --alpha both give alpha. Hint: leave out one of them\n"
    assert capsys.readouterr().err == said
    assert run(["cost", "--items", "1e6", "--method", "paula", "--stages", "3"]) == 2
    assert capsys.readouterr().err == "streameval: none of paula has a parameter --stages\n"


def test_the_guide_lists_the_parameters_of_a_method(capsys):
    for name in list_parameters():
        assert run(["guide", name]) == 0
        page = capsys.readouterr().out
        assert page.startswith(f"# {name}\n")
        assert [f"| {one.name} | " in page for one in parameters_of(name)] == [True] * len(parameters_of(name))


@given(
    st.text("ab(1).,= ", max_size=6),
    st.lists(st.floats(0.001, 0.999), min_size=1, max_size=6, unique=True).map(sorted),
    st.none() | st.integers(0, 2**62),
    st.none() | FLOATS,
)
def test_a_judge_that_is_written_is_read(column, thresholds, sample, accuracy):
    for edges in (tuple(thresholds), (0.5,)):
        judge = JudgeValue(column, edges, sample, accuracy)
        assert JudgeValue.parse(str(judge)) == judge


@given(
    st.sampled_from(["p", "0.02", "meta.p"]),
    st.sampled_from([None, "0.01", "least (1).parquet"]),
    st.none() | st.integers(0, 2**62),
)
def test_a_draw_that_is_written_is_read(probability, least, size):
    sizes = least if least != "0.01" else None
    for value in (DrawValue("uniform", size=size), DrawValue("unknown", size=size), DrawValue("strata", sizes=sizes),
                  DrawValue("poisson", probability, least, size)):  # fmt: skip
        assert DrawValue.parse(str(value)) == value
    kept = {"drawn": "poisson", "probability": probability, "least_probability": least}  # as earlier versions kept it
    assert DrawValue.of(kept) == DrawValue("poisson", probability, least)
    assert DrawValue.of({"drawn": "uniform", "sample_size": "9"}) == DrawValue("uniform", size=9)
    assert DrawValue.of({"drawn": "strata", "sample_size": "/a (1).csv"}) == DrawValue("strata", sizes="/a (1).csv")
