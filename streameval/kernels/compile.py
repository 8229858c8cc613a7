"""What numba makes of kernels: in parts where this numba can, else as it does by itself."""

from __future__ import annotations

from typing import Any

import numba

try:
    from streameval.kernels.compile_parts import cache_folder, compiled, made_ahead, part
except (ImportError, AttributeError):  # this numba has other interfaces than those that it promises to nobody
    from streameval.kernels.compile_whole import cache_folder, compiled, made_ahead, part

__all__ = ["ahead", "cache_folder", "compiled", "part", "switched_off"]


def switched_off() -> bool:
    """Whether NUMBA_DISABLE_JIT has kernels run as plain Python."""
    return bool(numba.config.DISABLE_JIT)


def ahead(made: Any, signature: str) -> bool:
    """Compile one signature of what `compiled` returned; returns False where it was there already, or numba is off."""
    if switched_off():
        return False
    wanted = eval(signature, {**vars(numba.types), "bool": numba.types.boolean})  # as numba itself reads signatures
    return made_ahead(made, wanted)
