"""Every verb is a function and a command of one name, which take the same options by the same names."""

import inspect
import pkgutil
import sys

import pytest
from places import HOME

import streameval
from streameval.cli import app
from streameval.cli.hints import VERBS

sys.path.insert(0, str(HOME / "scripts"))
from reference import keywords

# how a command prints and runs, and how a function is told; the engine is one object there
OF_COMMANDS = {"json", "log", "quiet", "dry_run", "overwrite"}
OF_FUNCTIONS = {"progress", "existing", "options", "ranking"}
NO_FUNCTION = {
    "demo": "prints a journey of the other verbs",
    "guide": "prints pages",
}
NO_COMMAND = {
    "extrapolate_study": "`extrapolate STUDY`",
    "open_ranking": "a noun",
    "register": "for a connection of one's own",
    "scan_ranking": "a lazy frame of Polars",
}
FILE = "a file of what the function returns"
ONLY_COMMAND = {
    "sql": {"with": "files", "out": FILE, "macros": FILE},
}
COUNTED = "a list that is only counted needs no order"
ONLY_FUNCTION = {
    "exact": {"nan": "every item needs a score", "rows": "they are not printed"},
    "cost": dict.fromkeys(["key", "nan", "memory", "threads", "verify", "against_score", "engine"], COUNTED),
    "label": {"served": "addresses are printed"},
    "monitor": {"measure": "the last argument"},
    "sql": {"files": "--with"},
    "extrapolate": dict.fromkeys(["precision", "recall", "prevalence", "target"], "measures"),
}


def functions():
    """Names of the package's functions that are verbs."""
    for name in streameval.__all__:
        value = getattr(streameval, name)
        if inspect.isfunction(value) and value.__module__.startswith("streameval.verbs."):
            yield name


def test_verbs_are_functions_and_commands_of_one_name():
    assert {*functions(), *NO_FUNCTION} == {*VERBS, *NO_COMMAND} - {"open_ranking", "scan_ranking"}


def test_no_module_hides_a_function_of_its_name():
    modules = {one.name for one in pkgutil.iter_modules(streameval.__path__)}
    assert not modules & set(streameval.__all__)  # importing streameval.judge would put it in the place of judge


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb not in NO_FUNCTION])
def test_options_have_one_name_in_python_and_on_the_command_line(verb):
    function = getattr(streameval, verb)
    typed = {one.name.lstrip("-").lower().replace("-", "_") for one in app[verb].assemble_argument_collection()}
    typed = {"questions" if name == "for" else name for name in typed}  # `for` cannot be a keyword of Python
    signature = inspect.signature(function).parameters.values()
    named = {one.name for one in signature if one.kind is not one.VAR_KEYWORD} | set(keywords(function))
    assert typed - named - OF_COMMANDS - {"*", "ranking"} == {*ONLY_COMMAND.get(verb, ())}
    assert named - typed - OF_FUNCTIONS == {*ONLY_FUNCTION.get(verb, ())}
