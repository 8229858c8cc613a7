"""The command line: parse, call, print."""

from __future__ import annotations

import os
import sys
import time
import traceback
from contextlib import suppress
from functools import cache
from itertools import pairwise, takewhile
from typing import Any

from cyclopts import App, CycloptsError, Group

from streameval import __version__
from streameval.cli.commands import register
from streameval.cli.defaults import FILE, Defaults, remark
from streameval.cli.hints import VERBS, of_verb
from streameval.cli.log import LOG, Level
from streameval.cli.output import of_all
from streameval.cli.panels import Flowing, named_in
from streameval.cli.usage import usage
from streameval.cli.verb import VERSION_FLAGS
from streameval.errors import (
    EXIT_DEFECT,
    EXIT_DONE,
    EXIT_FAILS,
    EXIT_INCONCLUSIVE,
    EXIT_INPUT,
    EXIT_INTERRUPTED,
    InputError,
    StreamevalError,
    outside_trouble,
    unusable_path,
)
from streameval.process.compiling import EACH_TIME, announce
from streameval.process.interrupts import heard
from streameval.text import printable
from streameval.text.credentials import without_secrets

_INTERRUPTED = "interrupted; what was complete is kept, nothing half-written was left behind"

app = App(
    name="streameval",
    help="Evaluate rankings too large to label: plan, select, label, evaluate.",
    version=__version__,
    version_flags=VERSION_FLAGS,
    group_commands=Group("Options", sort_key=(9,)),
    config=[Defaults(FILE), LOG.understood],
    help_format="plaintext",
    help_formatter=Flowing(),
    suppress_keyboard_interrupt=False,
)
register(app)
app.command(
    "streameval.cli.completion:install",
    name="--install-completion",
    help="Install completion for the shell that runs this.",
)


@cache
def flags_of(verb: str) -> set[str]:
    """Options of a verb, as they are typed; those of all verbs take a tenth of a second, and many errors look there."""
    return {name for argument in app[verb].assemble_argument_collection() for name in argument.names}


def run(arguments: list[str]) -> int:
    """Run a command and return its exit status; an error is one line on stderr (a JSON line under `--log json`)."""
    began = time.monotonic()
    named_in(arguments)
    LOG.begin(arguments)
    announce(None if arguments[:1] == ["compile"] else _notice)  # what was asked for needs no notice
    try:
        _refuse_empty(arguments)
        outcome = _run_command(arguments)
        sys.stdout.flush()
    except CycloptsError as error:
        return _fail(arguments, "usage", usage(flags_of, arguments, error), EXIT_INPUT)
    except KeyboardInterrupt:
        return _fail(arguments, "interrupted", _INTERRUPTED, EXIT_INTERRUPTED)
    except BrokenPipeError:
        return _no_reader()
    except SystemExit as left:  # Rich's way where nobody reads on
        return _no_reader() if isinstance(left.__context__, BrokenPipeError) else int(left.code or 0)
    except Exception as error:
        if heard:  # libraries turn an interruption into errors of their own
            return _fail(arguments, "interrupted", _INTERRUPTED, EXIT_INTERRUPTED)
        trouble = error if isinstance(error, StreamevalError) else outside_trouble(error)
        if trouble is None and isinstance(error, OSError):
            trouble = unusable_path(error)
        if trouble is not None:
            return _fail(arguments, type(trouble).__name__, _with_owners(arguments, trouble), trouble.exit_status)
        trace = without_secrets("".join(traceback.format_exception(error)), arguments)
        print("" if LOG.as_json else trace, file=sys.stderr, end="")
        message = f"{type(error).__name__}: {error} (please report this)"
        return _fail(arguments, "defect", message, EXIT_DEFECT, traceback=trace)
    status = outcome if isinstance(outcome, int) else EXIT_DONE
    level: Level = "warning" if status in (EXIT_FAILS, EXIT_INCONCLUSIVE) else "info"
    LOG.write("done", level, verb=next(iter(arguments), None), seconds=_since(began), exit_status=status)
    return status


def _run_command(arguments: list[str]) -> Any:
    """Run the command; help is given at once, where the app would first read every flag of the verb once more."""
    words = [*takewhile(lambda word: word != "--", arguments)]
    if not words or words[0] in app.help_flags:
        app.help_epilogue = of_all()
    if words and words[0] in VERBS and {*app.help_flags} & {*words}:
        _read_no_source()
        return app.help_print(words[:1])
    return app(arguments, exit_on_error=False, print_error=False, result_action="return_value")


def _read_no_source() -> None:
    """Let help of flags be that of their fields: to look for more, the source of every class would be parsed."""
    with suppress(ImportError):
        from docstring_parser import parser

        vars(parser)["add_attribute_docstrings"] = lambda of, docstring: None


def _since(began: float) -> float:
    return round(time.monotonic() - began, 3)


def _notice(what: str, kernel: str) -> None:
    """Say why a command takes long, while it does."""
    message = what.format(kernel=kernel)
    LOG.write("notice", "warning" if what == EACH_TIME else "info", message=message, kernel=kernel)
    if not (LOG.as_json or LOG.quiet):
        print(f"streameval: {message}", file=sys.stderr, flush=True)


def _no_reader() -> int:
    """After the reader of the output has closed it, as `head` does: write the rest to nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return EXIT_DONE


def _refuse_empty(arguments: list[str]) -> None:
    """Refuse an empty argument, usually a shell variable that was not set: as a path it would be the current folder."""
    for before, argument in pairwise(["", *arguments]):
        unset = argument.startswith("--") and argument.endswith("=")
        if not argument or unset:
            option = argument[:-1] if unset else before
            name = option if option.startswith("--") else "an argument"
            raise InputError(f"{name} is empty", "is a shell variable not set?")


def _with_owners(arguments: list[str], error: StreamevalError) -> str:
    """Say what an error says, with the verbs whose options its hint names."""
    hint = of_verb(flags_of, arguments[0], error.hint) if error.hint and arguments else error.hint
    return StreamevalError(error.what, hint).line


def _fail(arguments: list[str], kind: str, message: str, status: int, **facts: str) -> int:
    message = without_secrets(message, arguments)
    message += remark(message) if status == EXIT_INPUT else ""
    verb = next(iter(arguments), None)
    LOG.write("error", "error", kind=kind, message=message, verb=verb, exit_status=status, **facts)
    if not LOG.as_json:
        print(printable(f"streameval: {message}"), file=sys.stderr)
    return status
