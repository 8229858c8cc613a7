"""Numba kernels: arrays in, arrays out; no strings, no paths, no library but numpy.

Each has one source. Where there is little to do it runs as Python (`jit`), else compiled (`compile`), and what is
compiled is kept on disk (`cache`). What numpy does as well is a function in numpy. Naive twins are in `tests/`.
"""
