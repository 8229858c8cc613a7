"""Kernels compiled one by one, by what numba promises to all; its own cache keeps them.

It takes half as long again, nobody is told that a kernel is compiled, and numba's cache looks at one source file only:
the way where `compile_parts` has lost an interface to a newer numba.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba

from streameval.process.interrupts import held
from streameval.typing import KernelOptions


def compiled(
    function: Callable[..., Any],
    linked: Callable[..., Any],
    options: KernelOptions,
    loaded: Callable[[], None],
) -> Callable[..., Any]:
    """Compile `linked`; the others are for those who can say where it was found."""
    promised = {name: value for name, value in options.items() if not name.startswith("_")}
    try:
        return numba.njit(nogil=True, cache=True, **promised)(linked)  # type: ignore[no-any-return]
    except RuntimeError:  # there is no folder that can be written to
        return numba.njit(nogil=True, **promised)(linked)  # type: ignore[no-any-return]


def part(linked: Callable[..., Any], options: KernelOptions) -> Any:
    """Make a kernel that others call."""
    return compiled(linked, linked, options, lambda: None)


def made_ahead(made: Any, wanted: Any) -> bool:
    """Compile one of numba's signatures of what `compiled` returned; returns False where it was there already."""
    with held():
        made.compile(wanted)
    return not made.stats.cache_hits


def cache_folder(function: Callable[..., Any]) -> str | None:
    """Where machine code of a kernel's function is kept; None where no folder can be written to."""
    return getattr(getattr(compiled(function, function, {}, lambda: None), "stats", None), "cache_path", None)
