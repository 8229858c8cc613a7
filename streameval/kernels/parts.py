"""Kernels within kernels: numba optimises each, and makes machine code of it, once for itself and again for each caller.

Here a part stays as it was lowered until it is in what Python calls, where all is optimised together.
"""

from __future__ import annotations

from typing import Any

from numba.core.compiler import CompilerBase, DefaultPassBuilder


class _Lowered(CompilerBase):  # type: ignore[misc]
    """Numba's own passes, up to machine code."""

    def define_pipelines(self) -> list[Any]:
        """See `CompilerBase`."""
        self.state.flags.no_compile = True
        return [DefaultPassBuilder.define_nopython_pipeline(self.state)]


def only_within(part: Any) -> None:
    """Make a dispatcher's signatures parts of others."""
    part._compiler.pipeline_class = _Lowered

    def add(found: Any) -> None:
        found = found._replace(entry_point=object())  # by which callers name it
        library = found.library

        def finalize() -> None:
            for other in library._linking_libraries:
                library._final_module.link_in(other._get_module_for_linking(), preserve=True)
            library._finalized = True

        library.finalize = finalize
        found.target_context.insert_user_function(found.entry_point, found.fndesc, [library])
        part.overloads[tuple(found.signature.args)] = found

    part.add_overload = add
