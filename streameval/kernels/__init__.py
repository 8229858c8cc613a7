"""Numba kernels: arrays in, arrays out; no strings, no paths, no library but numpy (and Arrow in `system_math`).

Every kernel has a naive twin in `tests/` that it must agree with.
"""
