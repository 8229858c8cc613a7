"""Hints of errors: an option that the running verb lacks is said to be another verb's."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from difflib import get_close_matches

from streameval.cli.commands import PANELS
from streameval.text.options import with_flags
from streameval.text.retired import now_spelt

_STUDY = {"--out": "the folder of the study is named by --study"}
_TWO_LISTS = "two lists are compared by streameval plan B --against A --key COL --study S"
MEANT = {
    "adopt": _STUDY,
    "compare": {"--score": _TWO_LISTS, "--key": _TWO_LISTS, "--label": _TWO_LISTS},
    "cut": {"--export": "--out FOLDER writes the items"},
    "evaluate": {"--relevant": "--vote 'mean>=2' says from which grade on an item is positive"},
    "plan": _STUDY,
    "select": {"--format": "the ending of the file says the format: --export tasks.label-studio.json"},
}
VERBS = [verb for panel in PANELS.values() for verb in panel]
FlagsOf = Callable[[str], Collection[str]]  # options of a verb, as they are typed
_FEW = 4
_NEAR = 0.75  # of the letters of two options: --labls and --labels, but neither --looks and --log
_ANY = "|".join(VERBS)
_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z0-9-]*")
_NAMED = re.compile(rf"streameval ({_ANY})\b|(?<![\w-])({_ANY})(?: [^\s-][^\s;:,.]*(?::[^\s;,]+)?){{0,2}} (?=--)")


def options_in(hint: str) -> Iterator[tuple[str, str | None]]:
    """Give each option that a hint names, with the verb that stands before it, if any.

    >>> [*options_in("give --key, or plan again with --seed 3")]
    [('--key', None), ('--seed', 'plan')]
    """
    named = [(match.start(), match[1] or match[2]) for match in _NAMED.finditer(hint)]
    for option in _OPTION.finditer(hint):
        yield option[0], next((verb for start, verb in reversed(named) if start < option.start()), None)


def unknown(flags_of: FlagsOf, verb: str, option: str, value: str = "VALUE") -> str:
    """Explain an unknown option: its new spelling, the verb that has it, or one spelt alike."""
    flags = sorted({name for name in flags_of(verb) if name.startswith("--")} | {"--help"})
    if now := now_spelt(verb, option, value):
        return f"{verb} has no option {option} any more. Hint: it is {with_flags(now)}"
    if option == "-":
        return f"{verb} reads no standard input. Hint: write it to a file, and name that"
    near = get_close_matches(option.strip("-"), [name.strip("-") for name in flags], n=1, cutoff=_NEAR)
    if whose := _whose(flags_of, option):
        hint = f"{option} is an option of {whose}"
    elif near:
        hint = f"did you mean --{near[0]}?"
    else:
        hint = f"`streameval {verb} --help` lists those that there are"
    if meant := MEANT.get(verb, {}).get(option):
        hint = f"{meant}; {hint}"
    return f"{verb} has no option {option}. Hint: {hint}"


def of_verb(flags_of: FlagsOf, verb: str, hint: str) -> str:
    """Add to a hint whose the options are that the running verb lacks, unless the hint says it."""
    if verb not in VERBS:
        return hint
    bare = dict.fromkeys(option for option, named in options_in(hint) if named is None)
    names = flags_of(verb) if bare else set()
    notes = [
        f"{option} is an option of {whose}"
        for option in bare
        if option not in names and (whose := _whose(flags_of, option))
    ]
    return f"{hint} ({'; '.join(notes)})" if notes else hint


def _whose(flags_of: FlagsOf, option: str) -> str:
    """The verbs that have an option: all where they are few, else the first of the journey and how many more."""
    verbs = [f"`{verb}`" for verb in VERBS if option in flags_of(verb)]
    if len(verbs) > _FEW:
        return f"{verbs[0]} and {len(verbs) - 1} other verbs"
    return " and ".join([", ".join(verbs[:-1]), verbs[-1]] if len(verbs) > 1 else verbs)
