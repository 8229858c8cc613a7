"""What the parser refuses is one line of ours: what is wrong, and the command as it is to be."""

import inspect
from pathlib import Path

import pytest

from streameval.cli import app, run
from streameval.cli.hints import VERBS
from streameval.options import alternatives

REQUIRED = [
    (verb, one.name)
    for verb in VERBS
    for one in inspect.signature(app[verb].default_command).parameters.values()
    if one.default is inspect.Parameter.empty and one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD)
]


@pytest.mark.parametrize("verb", dict.fromkeys(verb for verb, _ in REQUIRED))
def test_a_command_without_anything_is_told_what_it_needs_and_a_whole_command(verb, capsys):
    assert run([verb]) == 2
    said = capsys.readouterr().err
    assert said.startswith(f"streameval: {verb} needs ")
    assert f". Hint: streameval {verb} " in said


@pytest.mark.parametrize(("command", "said"), [
    (["plan", "x.csv"], "plan needs --study. Hint: streameval plan x.csv --study STUDY"),
    (["plan", "x.csv", "s1", "--budget", "9"], "needs --study. Hint: streameval plan x.csv --study s1 --budget 9"),
    (["plan", "x.csv", "tests"], "needs --study. Hint: streameval plan x.csv tests --study STUDY"),
    (["plan", "x.csv", "y*.csv"], "needs --study. Hint: streameval plan x.csv 'y*.csv' --study STUDY"),
    (["adopt", "my list.csv"], "adopt needs --study. Hint: streameval adopt 'my list.csv' --study STUDY"),
    (["simulate", "x.csv", "--score", "s"], "needs --label. Hint: streameval simulate x.csv --score s --label LABEL"),
    (["select", "--export", "t.csv"], "select needs STUDY. Hint: streameval select STUDY --export t.csv"),
    (["compare", "a"], "compare needs B. Hint: streameval compare a B"),
    (["plan", "x.csv", "--study"], "plan --study has no value. Hint: streameval plan x.csv --study=STUDY"),
    (["plan", "x", "--seed", "--study", "s"], "plan --seed has no value. Hint: streameval plan x --seed=SEED"),
    (["plan", "x", "--study", "s", "--study", "t"], "plan takes --study once. Hint: `streameval plan --help`"),
    (["plan", "--", "x.csv", "--study", "s"], "needs --study. Hint: streameval plan --study s -- x.csv"),
    (["plan", "--seed", "3", "--", "x.csv"], "needs --study. Hint: streameval plan --seed 3 --study STUDY -- x.csv"),
    (["evaluate", "s", "a b.csv", "c.csv"], "nothing takes 'a b.csv c.csv'. Hint: labels are given by name: "
                                            "--labels 'a b.csv' c.csv"),
    (["exact"], "no ranking was given. Hint: name its files, their folder or a glob, such as ranking/"),
    (["monitor"], 'no study is given. Hint: streameval monitor STUDY "precision@10000 >= 0.9" --out history.parquet'),
    (["report"], "no study is given. Hint: streameval report STUDY"),
    (["compare", "a", "b", "--overwrite"],
     "--overwrite replaces a file, and none is named. Hint: name it with --out or --plot"),
    (["report", "a", "--overwrite"], "and none is named. Hint: name it with --out or --plot"),
    (["simulate", "x", "--label", "y", "--overwrite"], "and none is named. Hint: name it with --plot"),
    (["sql", "a", "select 1", "--overwrite"], "and none is named. Hint: name it with --out"),
    (["cost", "--items", "100", "--for", "precision@10 >= 0.9", "--drawn", "uniform(size=50)"],
     "--drawn is about a curve, and --for is not. Hint: ask for the cost of each by itself"),
    (["cost", "--items", "100", "--against", "80%", "--drawn", "uniform(size=50)"], "and --against is not"),
    (["evaluate", "s", "--labels"], "evaluate --labels has no value. Hint: streameval evaluate s --labels=LABELS"),
    (["plan", "x", "--for", "--study", "s"], "plan --for has no value. Hint: streameval plan x --for=FOR --study s"),
    (["labels", "s", "--forget"], "labels --forget has no value. Hint: streameval labels s --forget=FORGET"),
    (["evalute", "s"], "there is no command 'evalute'. Hint: did you mean 'evaluate'?"),
])  # fmt: skip
def test_what_is_typed_is_in_the_command_that_the_hint_gives(command, said, capsys):
    assert run(command) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize("verb", VERBS)
def test_an_option_that_is_typed_without_its_value_is_refused(verb, capsys):
    names = [one.names[0] for one in app[verb].assemble_argument_collection()
             if bool not in alternatives(one.hint) and one.names and one.names[0].startswith("--")]  # fmt: skip
    for name in names:
        assert run([verb, "a", name]) == 2
        assert f"{verb} {name} has no value. Hint: streameval {verb} a {name}=" in capsys.readouterr().err


def test_a_command_has_nothing_of_the_one_before_though_flags_are_made_once():
    """An option that is typed once stays away from the next command; what is required is asked for again."""
    read = {"exit_on_error": False, "print_error": False}
    plan = app.parse_args(["plan", "x", "--study", "q", "--budget", "3"], **read)[1].arguments
    again = app.parse_args(["plan", "x", "--study", "r"], **read)[1].arguments
    assert (plan["study"], again["study"]) == (Path("q"), Path("r"))
    assert plan["budget"] == 3
    assert "budget" not in again
    assert run(["plan", "x"]) == 2
    first, second = (app["plan"].assemble_argument_collection() for _ in range(2))
    assert all(
        one.field_info is other.field_info and one is not other for one, other in zip(first, second, strict=True)
    )
