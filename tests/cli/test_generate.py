"""Commands are what verbs declare: their parameters, their options and their manual."""

import inspect

import pytest

import streameval
from streameval.cli import app
from streameval.cli.declared import read_declaration, verbs


@pytest.mark.parametrize("verb", sorted(set(verbs()) - {"sql"}))
def test_a_command_has_every_parameter_that_the_manual_tells_of_and_no_other(verb):
    arguments = app[verb].assemble_argument_collection()
    flags = {one.field_info.name for one in arguments if one.field_info.name != "output"}
    of_all = {"json", "log", "quiet", "dry_run", "engine"}
    told = set(read_declaration(verb).helps) & set(
        inspect.signature(inspect.unwrap(getattr(streameval, verb))).parameters
    )
    options = {name for name, *_ in read_declaration(verb).options()}
    assert told <= flags
    assert flags - of_all - told - options == set()


@pytest.mark.parametrize("verb", sorted(set(verbs()) - {"sql"}))
def test_what_only_python_has_is_not_in_help(verb):
    shown = " ".join(one.parameter.help or "" for one in app[verb].assemble_argument_collection())
    assert "In Python" not in shown
    assert "In Python" not in read_declaration(verb).about


def test_options_in_backticks_are_shown_as_they_are_typed():
    assert (
        read_declaration("select").help_of("no_parameter", "with `image_root` and `other`")
        == "with --image-root and `other`"
    )


def test_the_manual_of_a_verb_is_read_without_its_libraries():
    manual = inspect.getdoc(streameval.cut)
    assert read_declaration("cut").manual == manual
    assert "Example: streameval cut" in read_declaration("cut").about
