"""Errors about a command that the parser refuses, in one line: what is wrong, and the command as it should be."""

from __future__ import annotations

import re
import shlex
from itertools import takewhile
from pathlib import Path

from cyclopts import (
    CycloptsError,
    MissingArgumentError,
    RepeatArgumentError,
    UnknownCommandError,
    UnknownOptionError,
    UnusedCliTokensError,
)

from streameval.cli.defaults import key_of, with_place
from streameval.cli.hints import VERBS, FlagsOf, unknown
from streameval.errors import did_you_mean
from streameval.text.options import flag
from streameval.text.retired import RETIRED


def usage(flags_of: FlagsOf, arguments: list[str], error: CycloptsError) -> str:
    """Say what is wrong with a command, or with the defaults of its options."""
    verb, key = arguments[0], key_of(error)
    if key is None:
        return _of_words(flags_of, arguments, error)
    if isinstance(error, UnknownOptionError):
        if (option := flag(key)) in flags_of(verb):  # as Python calls it
            return with_place(verb, key, f"{verb} has no option {key}. Hint: here it is '{option.removeprefix('--')}'")
        return with_place(verb, key, unknown(flags_of, verb, option))
    return with_place(verb, key, " ".join(str(error).split()))


def _of_words(flags_of: FlagsOf, arguments: list[str], error: CycloptsError) -> str:
    """Say what is wrong with what was typed."""
    verb = arguments[0]
    if isinstance(error, UnknownOptionError) and verb in VERBS:
        option, _, value = (error.token.keyword or error.token.value).partition("=")
        if option in RETIRED.get(verb, {}) and (whole := _as_typed_now(arguments)):
            return f"{verb} has no option {option} any more. Hint: {whole}"
        return unknown(flags_of, verb, option, value or _typed_after(arguments, option))
    if isinstance(error, UnusedCliTokensError):
        extras = error.unused_tokens or []
        extra = " ".join(extras)
        if "--labels" in flags_of(verb):
            return f"nothing takes '{extra}'. Hint: labels are given by name: --labels {shlex.join(extras)}"
        return f"nothing takes '{extra}'. Hint: options go by name; `streameval {verb} --help` lists them"
    if isinstance(error, MissingArgumentError) and error.argument is not None:
        if error.keyword is not None:
            return f"{verb} {error.keyword} has no value. Hint: {_with_value(arguments, error.keyword)}"
        return f"{verb} needs {error.argument.name}. Hint: {_whole_command(arguments, error)}"
    if isinstance(error, RepeatArgumentError):
        return f"{verb} takes {error.token.keyword} once. Hint: `streameval {verb} --help` says what it takes"
    if isinstance(error, UnknownCommandError):
        return f"there is no command '{verb}'. Hint: {did_you_mean(verb, VERBS)}"
    return " ".join(str(error).split())


def _as_typed_now(arguments: list[str]) -> str:
    from streameval.cli.rewritten import whole_command  # which loads the methods

    return whole_command(arguments)


def _typed_after(arguments: list[str], option: str) -> str:
    """Give the value that was typed for an option that no verb takes, and a word that stands for it otherwise."""
    typed = [word.partition("=")[2] for word in arguments if word.startswith(f"{option}=")]
    after = arguments[arguments.index(option) + 1 :][:1] if option in arguments else []
    return next((word for word in [*typed, *after] if not word.startswith("-")), "VALUE")


def _whole_command(arguments: list[str], error: MissingArgumentError) -> str:
    """The command with what it lacks; an example of it where nothing but the verb was typed."""
    name = error.argument.name if error.argument is not None else ""
    verb, *typed = arguments
    examples = [line.strip() for line in (error.target.__doc__ or "").splitlines() if "Example: " in line]
    if not typed and examples:
        return examples[0].removeprefix("Example: ")
    before = len([*takewhile(lambda word: not word.startswith("-"), typed)])
    if name == "--study" and before > 1 and _is_new_folder(typed[before - 1]):
        return shlex.join(["streameval", verb, *typed[: before - 1], name, typed[before - 1], *typed[before:]])
    if name.startswith("--") and "--" in typed:
        return _before_words(verb, typed, name)
    if name.startswith("--"):
        return f"{shlex.join(['streameval', verb, *typed])} {name} {_stand_in(name)}"
    return " ".join([shlex.join(["streameval", verb, *typed[:before]]), name, shlex.join(typed[before:])]).strip()


def _before_words(verb: str, typed: list[str], name: str) -> str:
    """Give the command with an option before `--`, behind which all are words."""
    at = typed.index("--")
    options, words = typed[:at], typed[at:]
    value = _stand_in(name)
    if name in words:
        place = words.index(name)
        value = next(iter(words[place + 1 :]), value)
        words = words[:place] + words[place + 2 :]
    return shlex.join(["streameval", verb, *options, name, value, *words])


def _is_new_folder(word: str) -> bool:
    """Tell whether a word is nothing that can be read: no path that is there, no address and no pattern."""
    return not (Path(word).exists() or re.search(r"[:*?\[]", word))


def _with_value(arguments: list[str], option: str) -> str:
    """The command with a value behind an option that was typed without one."""
    at = len(arguments) - 1 - arguments[::-1].index(option) if option in arguments else len(arguments)
    before, after = arguments[:at], arguments[at + 1 :]
    value = after.pop(0) if after and re.match("-[^-]", after[0]) else _stand_in(option)
    return f"{shlex.join(['streameval', *before])} {option}={value} {shlex.join(after)}".strip()


def _stand_in(option: str) -> str:
    return option.strip("-").replace("-", "_").upper()
