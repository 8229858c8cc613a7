"""Every sentence of the guide's pages is followed by the test that would fail; those tests exist."""

import re
from importlib import resources

from places import TESTS

GUIDE = resources.files("streameval") / "guide"
PROMISED, NOT_PROMISED = (GUIDE / "guarantees.md").read_text(encoding="utf-8").split("## What is not promised")
CLAIMED = (GUIDE / "claims.md").read_text(encoding="utf-8")
NAMED = re.compile(r"<sub>(\w+)</sub>")


DEFINED = re.compile(r"((?:^[@ )\]].*\n)*)^def (test_\w+)\(", re.MULTILINE)  # what decorates it, and its name


def defined():
    """Tests by name, and what decorates each."""
    return [(name, decorators) for path in TESTS.rglob("test_*.py")
            for decorators, name in DEFINED.findall(path.read_text(encoding="utf-8"))]  # fmt: skip


def test_every_promise_names_tests_that_exist():
    promises = [line for line in (PROMISED + CLAIMED).splitlines() if line.startswith("- ")]
    assert len(promises) > 60
    assert [line for line in promises if not re.search(r"[.`…;:a-z)] (<sub>\w+</sub> ?)+$", line)] == []
    assert set(NAMED.findall(PROMISED + CLAIMED)) - {name for name, _ in defined()} == set()


def test_no_promise_names_a_test_that_is_left_out_by_itself():
    marked = {name for name, decorators in defined() if re.search(r"^@pytest.mark.slow$", decorators, re.MULTILINE)}
    assert marked
    assert not marked & set(NAMED.findall(PROMISED + CLAIMED))


def test_what_is_not_promised_is_said_too():
    assert NOT_PROMISED.count("\n- ") >= 5
    assert not NAMED.findall(NOT_PROMISED)
