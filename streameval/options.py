"""Options: fields of dataclasses that carry their help, so that callers in Python and the command line share them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, fields
from types import UnionType
from typing import Any, Union, get_args, get_origin

from streameval.errors import InputError, did_you_mean


def option(default: Any, help: str, shown: str = "") -> Any:
    """Declare a field that is an option.

    Parameters
    ----------
    default
        Value where the option is not given.
    help : str
        One sentence, for people at a terminal too.
    shown : str
        What happens by default, where `default` does not say it because it is None.
    """
    return field(default=default, metadata={"help": help, "shown": shown})


def alternatives(hint: Any) -> tuple[Any, ...]:
    """Types that an option takes, without None.

    Examples
    --------
    >>> alternatives(int | None), alternatives(str)
    ((<class 'int'>,), (<class 'str'>,))
    """
    kinds = get_args(hint) if get_origin(hint) in (Union, UnionType) else (hint,)
    return tuple(kind for kind in kinds if kind is not type(None))


def split(kinds: Sequence[Any], given: Mapping[str, Any], verb: str) -> list[Any]:
    """Make each of some dataclasses from those of the options given that are its own.

    Raises
    ------
    InputError
        None of them has such an option.
    """
    names = [[one.name for one in fields(kind)] for kind in kinds]
    known = [name for own in names for name in own]
    for name in given:
        if name not in known:
            raise InputError(f"{verb} has no option '{name}'", did_you_mean(name, known))
    return [kind(**{key: given[key] for key in own if key in given}) for kind, own in zip(kinds, names, strict=True)]
