"""The examples of the guide and of docstrings show what happens."""

import doctest
import importlib

import pytest
from guide_pages import PAGES
from places import HOME

SOURCES = {path: path.read_text(encoding="utf-8") for path in sorted((HOME / "streameval").rglob("*.py"))}
MODULES = [".".join(path.relative_to(HOME).with_suffix("").parts).removesuffix(".__init__")
           for path, text in SOURCES.items() if ">>> " in text]  # fmt: skip
GENERATED = {"functions.md"}  # what it shows are docstrings


def run(tests):
    """Run examples; how many there were. What is not as it is shown fails, with what was found."""
    said, runner = [], doctest.DocTestRunner(verbose=False)
    for test in tests:
        runner.run(test, out=said.append)
    assert not said, "".join(said)
    return runner.tries


@pytest.mark.parametrize("name", MODULES)
def test_docstrings_show_what_happens(name):
    module = importlib.import_module(name)
    assert run(doctest.DocTestFinder().find(module, name)) > 0


@pytest.mark.parametrize("name", [name for name, text in PAGES.items() if ">>> " in text and name not in GENERATED])
def test_pages_show_what_happens(name):
    assert run([doctest.DocTestParser().get_doctest(PAGES[name], {"__name__": "__main__"}, name, name, 0)]) > 0
