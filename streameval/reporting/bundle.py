"""The scripts that draw charts in a page, made once for each version of the library and kept on disk."""

from __future__ import annotations

import os
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path

from streameval.process.cache_files import CacheFiles


def bundle() -> str:
    """Vega, Vega-Lite and its embedder as one script: to put it together takes longer than to evaluate a study."""
    of_package = os.path.join(os.path.dirname(__file__), "__pycache__")
    of_user = os.path.join(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "streameval")
    places = [CacheFiles(folder, "vega", version("vl-convert-python")) for folder in (of_package, of_user)]
    for place in places:
        if isinstance(cached := place.load("bundle"), str):
            return cached
    import vl_convert

    # the library's stub asks for an argument that it does not need
    script = str(vl_convert.javascript_bundle()).replace("</script", "<\\/script")  # type: ignore[call-arg, unused-ignore]
    for place in places:
        with suppress(OSError):
            place.save("bundle", script)
            break
    return script
