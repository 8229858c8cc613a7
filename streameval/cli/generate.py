"""Commands made of verbs: words become arguments, and what the verb returns is printed, logged and recorded.

The file of a verb has, beside the function of its name, `printed(result, **arguments)`, which gives what is said of
the result; perhaps `before(**arguments)`, whose answer `printed` takes as `before`: what has to be known of a study
before it is changed; and perhaps `rehearsal(**arguments)`, which is called instead where --dry-run is typed. A verb
is given only options that differ from their defaults.
"""

from __future__ import annotations

import inspect
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args, get_origin

from cyclopts import Group
from cyclopts import Parameter as Flag

from streameval.cli.declared import REQUIRED, Declared, Parameter, read_declaration
from streameval.cli.options import SeveralNames, Switch, flag_type
from streameval.cli.output import Output, progress
from streameval.cli.panels import of_verb, panel_of
from streameval.options import alternatives
from streameval.text.options import SWITCHES, flag

if TYPE_CHECKING:
    from streameval.printed import Printed

_STEPS = {"plan": "rows", "select": "reading pages", "label": "reading pages", "exact": "items", "judge": "asking",
          "simulate": "methods", "scan": "scanning", "compile": "compiling", "cut": "writing items"}  # fmt: skip
_HOLDS = ("evaluate",)  # verbs whose record has to be of the results that they leave
_OURS = ("progress", "engine", "served")  # parameters that the command line fills by options of its own
_UNPRINTED = {"rows": "left out"}  # what no command prints is not held in memory
_ENGINE = "local (threads), spark (a session here), or spark:sc://HOST:15002 (a Spark Connect or Sail server)."
_DRY_RUN = "Say what would be read and written, and write nothing."
_SEVERAL = Annotated[list[str] | None, Flag(consume_multiple=1, negative_iterable="")]


def command_of(name: str) -> Callable[..., int | None]:
    """Make the command of a verb."""
    verb = read_declaration(name)
    signature = inspect.Signature([*_parameters(verb)])
    usual = {
        name: parameter.default
        for name, parameter in signature.parameters.items()
        if parameter.kind is parameter.KEYWORD_ONLY
    }

    def run(*positional: Any, **named: Any) -> int | None:
        words = signature.bind(*positional, **named).arguments
        output, rehearsed = words.pop("output", Output()), words.pop("dry_run", False)
        changed = {key: SWITCHES[key] if value is True and key in SWITCHES else value for key, value in words.items()
                   if key not in usual or value != usual[key]}  # fmt: skip
        return _call_verb(verb, changed, output, rehearsed)

    run.__name__ = name
    run.__doc__ = verb.about
    vars(run)["__signature__"] = signature
    run.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()}
    return run


def _call_verb(verb: Declared, words: dict[str, Any], output: Output, rehearsed: bool) -> int | None:
    """Call the verb, and say what came of it."""
    module = import_module(f"streameval.verbs.{verb.name}")
    function = module.rehearsal if rehearsed else getattr(module, verb.name)
    takes = {parameter.name for parameter in verb.parameters}
    began = time.monotonic()
    with _hold_study(verb.name, words):
        with progress(_STEPS.get(verb.name, verb.name), output) if "progress" in takes else nullcontext() as bar:
            before = {"before": module.before(**words)} if hasattr(module, "before") and not rehearsed else {}
            ours = {"progress": bar, "served": lambda where: output.meanwhile("served", where.printed), **_UNPRINTED}
            ours = {name: value for name, value in ours.items() if name in takes}
            result = function(*_positional(verb, words), **_named_words(verb, words), **ours)
        seconds = round(time.monotonic() - began, 3)
        arguments = _unsaid(verb) | words | before
        printed: Printed = result.printed if rehearsed else module.printed(result, **arguments)
        _log(verb.name, printed, seconds, output)
    output.print(printed)
    return printed.status


def _unsaid(verb: Declared) -> dict[str, Any]:
    """Give what a verb takes where nothing is typed, by name."""
    words = {parameter.name: () for parameter in verb.parameters if parameter.position in ("all", "rest")}
    return words | {
        parameter.name: parameter.default for parameter in verb.parameters if parameter.default is not REQUIRED
    }


def _hold_study(name: str, words: Mapping[str, Any]) -> AbstractContextManager[Any]:
    """Keep others from changing the study until its record is written."""
    if name not in _HOLDS:
        return nullcontext()
    from streameval.study import Study

    return Study(words["study"]).changing()


def _log(name: str, printed: Printed, seconds: float, output: Output) -> None:
    for event in printed.events:
        output.outcome(event.name, event.expected, **event.facts)
    if printed.stage is not None:
        output.event(name, **{"seconds": seconds, "rows": None, "bytes": None, **printed.stage})
    if printed.record is not None:
        from streameval.study.manifest import save

        kept = printed.record
        output.event("manifest", verb=name, **save(kept.folder, name, kept.read, kept.written))


def _positional(verb: Declared, words: Mapping[str, Any]) -> Iterator[Any]:
    """Give the words that stand without a name, as the verb takes them."""
    for parameter in verb.parameters:
        if parameter.position == "one" and parameter.name in words:
            yield words[parameter.name]
        elif parameter.position == "all" and (parameter.name in words or parameter.default is REQUIRED):
            yield list(words.get(parameter.name, ()))
        elif parameter.position == "rest":
            yield from words.get(parameter.name, ())


def _named_words(verb: Declared, words: Mapping[str, Any]) -> dict[str, Any]:
    where = {parameter.name: parameter.position for parameter in verb.parameters}
    return {name: value for name, value in words.items() if where.get(name) is None}


def _parameters(verb: Declared) -> Iterator[inspect.Parameter]:
    """Give the parameters of the command: words first, then options, then those of all commands."""
    ours = [parameter for parameter in verb.parameters if parameter.name not in _OURS and parameter.name in verb.helps]
    places = {"one": inspect.Parameter.POSITIONAL_ONLY, "all": inspect.Parameter.VAR_POSITIONAL,
              "rest": inspect.Parameter.VAR_POSITIONAL}  # fmt: skip
    words = [parameter for parameter in ours if parameter.position is not None]
    alone = [parameter.position for parameter in words] == ["one"]
    for parameter in words:
        kind = places[parameter.position or "one"]
        hint = _word(parameter, False) if parameter.position == "one" else _item(parameter.hint)
        yield _parameter(
            parameter.name, kind, hint, parameter.default if parameter.position == "one" else REQUIRED, verb
        )
    for parameter in ours:
        if parameter.position is None:
            yield _parameter(
                parameter.name, inspect.Parameter.KEYWORD_ONLY, _word(parameter, alone), parameter.default, verb
            )
    yield from _options(verb)
    if any(parameter.name == "engine" for parameter in verb.parameters):
        yield _flag("engine", str, "local", _ENGINE, None)
    if verb.rehearses:
        yield _flag("dry_run", Switch, False, _DRY_RUN, None)
    yield inspect.Parameter("output", inspect.Parameter.KEYWORD_ONLY, annotation=Output, default=Output())


def _options(verb: Declared) -> Iterator[inspect.Parameter]:
    for name, kind, hint, default, help in verb.options():
        typed = _SEVERAL if name == "questions" else flag_type(hint)
        yield _flag(name, typed, default if default != () else None, help, panel_of(kind, name, verb.name))


def _parameter(name: str, kind: Any, hint: Any, default: Any, verb: Declared) -> inspect.Parameter:
    usual = inspect.Parameter.empty if default is REQUIRED else None if default == () else default
    if name in SWITCHES:
        hint, usual = Switch, False
    help = verb.help_of(name)
    if "METHODS" in help:
        from streameval.methods import list_parameters as methods

        *others, last = methods()
        help = help.replace("METHODS", f"{', '.join(others)} or {last}")
    typed = Annotated[hint, Flag(help=help, **_flag_groups(of_verb(verb.name, name)), **_flag_names(name))]
    return inspect.Parameter(name, kind, annotation=typed, default=usual)


def _flag(name: str, hint: Any, default: Any, help: str, panel: Group | None) -> inspect.Parameter:
    shown = {"show_default": ",".join} if isinstance(default, tuple) else {}
    typed = Annotated[hint, Flag(help=help, **_flag_groups(panel), **shown, **_flag_names(name))]
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=typed, default=default)


def _flag_groups(panel: Group | None) -> dict[str, Group]:
    """Panel of a flag, where it is not that of the verb."""
    return {} if panel is None else {"group": panel}


def _flag_names(name: str) -> dict[str, str]:
    """Name of a flag, where it is not that of its option."""
    return {} if flag(name) == f"--{name.replace('_', '-')}" else {"name": flag(name)}


def _item(hint: Any) -> Any:
    """Type of one of several words."""
    return Path if "PathLike" in str(hint) else str


def _word(parameter: Parameter, alone: bool) -> Any:
    """Type of what is typed for a parameter; several words where nothing else could be meant by the second."""
    kinds = alternatives(parameter.hint)
    optional = type(None) in get_args(parameter.hint) or parameter.default in (None, ())
    if any(get_origin(kind) is os.PathLike or kind is os.PathLike for kind in kinds):
        typed: Any = Path
    elif Any in kinds and any("Sequence" in str(kind) for kind in kinds):
        return _SEVERAL if alone else Annotated[list[str] | None, Flag(negative_iterable="")]
    elif tuple[str, ...] in kinds:  # between commas, or typed again
        return SeveralNames
    elif any("Sequence" in str(kind) or "Iterable" in str(kind) for kind in kinds) and str not in kinds:
        typed = SeveralNames
    else:
        typed = str if str in kinds or Any in kinds else flag_type(parameter.hint)
    return typed | None if optional and typed in (Path, str) else typed
