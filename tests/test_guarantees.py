"""Every sentence of the page of guarantees is followed by the test that would fail; those tests exist."""

import ast
import re
from importlib import resources
from pathlib import Path

PAGE = (resources.files("streameval") / "guide" / "guarantees.md").read_text(encoding="utf-8")
PROMISED, NOT_PROMISED = PAGE.split("## What is not promised")
NAMED = re.compile(r"<sub>(\w+)</sub>")


def test_every_promise_names_tests_that_exist():
    tests = {
        node.name
        for path in Path(__file__).parent.glob("test_*.py")
        for node in ast.parse(path.read_text()).body
        if isinstance(node, ast.FunctionDef)
    }
    promises = [line for line in PROMISED.splitlines() if line.startswith("- ")]
    assert len(promises) > 30
    assert [line for line in promises if not re.search(r"[.] (<sub>\w+</sub> ?)+$", line)] == []
    assert set(NAMED.findall(PAGE)) - tests == set()


def test_no_promise_names_a_test_that_is_left_out_by_itself():
    marked = set()
    for path in Path(__file__).parent.glob("test_*.py"):
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.FunctionDef) and "mark.slow" in "".join(map(ast.unparse, node.decorator_list)):
                marked.add(node.name)
    assert not marked & set(NAMED.findall(PAGE))


def test_what_is_not_promised_is_said_too():
    assert NOT_PROMISED.count("\n- ") >= 5
    assert not NAMED.findall(NOT_PROMISED)
