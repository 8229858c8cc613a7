"""What numba makes of kernels: in parts where this numba can, else as it does by itself."""

try:
    from streameval.kernels.compile_parts import ahead, cache_folder, compiled, part
except (ImportError, AttributeError):  # this numba has other interfaces than those that it promises to nobody
    from streameval.kernels.compile_whole import ahead, cache_folder, compiled, part

__all__ = ["ahead", "cache_folder", "compiled", "part"]
