"""Exponentials and logarithms of whole arrays, to the last bit those that compiled code and Python's `math` give.

These are of the system's library. numpy has some of its own; Arrow calls the library, number by number.
"""

from __future__ import annotations

import numpy as np

from streameval.typing import FloatArray


def exp(values: FloatArray) -> FloatArray:
    """e to the power of each, inf where that is too large."""
    return _called("exp", values)


def expm1(values: FloatArray) -> FloatArray:
    """e to the power of each, less 1."""
    return _called("expm1", values)


def log(values: FloatArray) -> FloatArray:
    """Natural logarithm of each: −inf of 0, NaN of what is negative."""
    return _called("ln", values)


def log1p(values: FloatArray) -> FloatArray:
    """Natural logarithm of 1 plus each: −inf of −1, NaN of what is less."""
    return _called("log1p", values)


def _called(name: str, values: FloatArray) -> FloatArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    found = pc.call_function(name, [pa.array(values.ravel())])
    return np.asarray(found).reshape(values.shape)
