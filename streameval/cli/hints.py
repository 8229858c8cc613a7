"""Hints of errors: an option that the running verb lacks is said to be another verb's."""

from __future__ import annotations

import re
from collections.abc import Iterator

from cyclopts import App

from streameval.cli.commands import PANELS

RETIRED = {
    "--adopted": "--sample-size N",
    "--csv": "--out FILE.csv, or --out - to print it",
    "--cutoffs": "--at 1,5",
    "--day": "2026-11-22=STUDY",
    "--draw-by": "--on COL",
    "--export-judge": "--export FILE: until the judge has answered, it is for the judge",
    "--incomplete": "--allow incomplete",
    "--item": "--key COL",
    "--parquet": "--out FILE.parquet",
    "--publish": "a verb: streameval publish STUDY PLACE",
    "--spark-remote": "--engine spark:sc://HOST:15002",
    "--strata": "--sample-size TABLE",
    "--summary": "--out FILE",
    "--top": "--drawn strata --sample-size TABLE",
}  # options that stood in the guides, and what says the same now
VERBS = [verb for panel in PANELS.values() for verb in panel]
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


def flags(app: App, verb: str) -> set[str]:
    """Options of a verb, as they are typed."""
    return {name for one in app[verb].assemble_argument_collection() for name in one.names}


def of_verb(app: App, verb: str, hint: str) -> str:
    """Add to a hint whose the options are that the running verb lacks, unless the hint says it."""
    if verb not in VERBS:
        return hint
    bare = dict.fromkeys(option for option, named in options_in(hint) if named is None)
    names = flags(app, verb) if bare else set()
    notes = [
        f"{option} is an option of {whose}" for option in bare if option not in names and (whose := _whose(app, option))
    ]
    return f"{hint} ({'; '.join(notes)})" if notes else hint


def _whose(app: App, option: str) -> str:
    """The first verb of the journey that has an option; what describes a list, `adopt` may have been told as well."""
    first = next((verb for verb in VERBS if option in flags(app, verb)), None)
    also = first == "plan" and option in flags(app, "adopt")
    return f"`{first}`{' and `adopt`' if also else ''}" if first else ""
