"""Names for arrays of one type, and for what decorators of kernels take."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

Int64Array = npt.NDArray[np.int64]
FloatArray = npt.NDArray[np.float64]
UInt8Array = npt.NDArray[np.uint8]
UInt64Array = npt.NDArray[np.uint64]
BoolArray = npt.NDArray[np.bool_]
UInt16Array = npt.NDArray[np.uint16]
UInt32Array = npt.NDArray[np.uint32]
Int32Array = npt.NDArray[np.int32]
Int8Array = npt.NDArray[np.int8]
AnyArray = npt.NDArray[Any]
KernelOptions = Mapping[str, str | bool]  # of `numba.njit`
