"""Words of the code that say little to a reader: counts by room, which may only fall."""

import ast
import re
from functools import cache

from places import HOME

PACKAGE = HOME / "streameval"
VAGUE = {
    "asked", "told", "said", "found", "one", "known", "own", "beside", "made", "posed", "given", "taken",
}  # fmt: skip
RELATIVE = re.compile(r"(What|Which|Whether|How|Where|Those|That|The same)\b")
MOST = {  # by room: functions that bind a name of the list, and docstrings that begin with a relative
    "cli": (4, 0),
    "kinds": (3, 0),
    "metrics": (5, 0),
    "notebook": (1, 0),
    "questions": (2, 0),
    "reporting": (1, 0),
    "verbs": (6, 0),
}


@cache
def counted():
    found = {}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
        functions, docstrings = found.get(room, (0, 0))
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef):
                functions += bool(bound_in(node) & VAGUE)
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                docstrings += bool(RELATIVE.match(ast.get_docstring(node) or ""))
        found[room] = functions, docstrings
    return found


def bound_in(function):
    """Names of parameters, and of all that is assigned in a function."""
    stored = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    given = function.args
    return stored | {one.arg for one in [*given.args, *given.kwonlyargs, *given.posonlyargs]}


def test_no_room_gets_more_names_that_say_little():
    over = {room: counts[0] for room, counts in counted().items() if counts[0] > MOST.get(room, (0, 0))[0]}
    assert over == {}


def test_no_room_gets_more_docstrings_that_begin_with_a_relative():
    over = {room: counts[1] for room, counts in counted().items() if counts[1] > MOST.get(room, (0, 0))[1]}
    assert over == {}
