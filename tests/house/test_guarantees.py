"""Every sentence of the guide's pages is followed by the test that would fail; those tests exist."""

import ast
import re
from importlib import resources

from places import TESTS

GUIDE = resources.files("streameval") / "guide"
PROMISED, NOT_PROMISED = (GUIDE / "guarantees.md").read_text(encoding="utf-8").split("## What is not promised")
CLAIMED = (GUIDE / "claims.md").read_text(encoding="utf-8")
NAMED = re.compile(r"<sub>(\w+)</sub>")


def test_every_promise_names_tests_that_exist():
    tests = {
        node.name
        for path in TESTS.rglob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    promises = [line for line in (PROMISED + CLAIMED).splitlines() if line.startswith("- ")]
    assert len(promises) > 60
    assert [line for line in promises if not re.search(r"[.`…;:a-z)] (<sub>\w+</sub> ?)+$", line)] == []
    assert set(NAMED.findall(PROMISED + CLAIMED)) - tests == set()


def test_no_promise_names_a_test_that_is_left_out_by_itself():
    marked = set()
    for path in TESTS.rglob("test_*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and "mark.slow" in "".join(map(ast.unparse, node.decorator_list)):
                marked.add(node.name)
    assert not marked & set(NAMED.findall(PROMISED + CLAIMED))


def test_what_is_not_promised_is_said_too():
    assert NOT_PROMISED.count("\n- ") >= 5
    assert not NAMED.findall(NOT_PROMISED)
