"""The map, `streameval/README.md`, against the code: imports go down it, never in a circle; every library has a home.

Imports inside functions and under TYPE_CHECKING count like all others.
"""

import ast
import re
import subprocess
import sys
from functools import cache

import pytest
from places import HOME, TESTS
from suite_cases import LONG

from streameval.cli.hints import VERBS

ROOT = HOME / "streameval"
FILES = sorted(ROOT.rglob("*.py"))
MODULES = {".".join(("streameval", *p.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__"): p
           for p in FILES}  # fmt: skip

# What is not as it should be yet. Both lists may only shrink.
CIRCLES: set[tuple[str, ...]] = set()
UPWARD: set[tuple[str, ...]] = set()


def rooms():
    """Rooms from the top of the map to the bottom, and the libraries that are at home in each."""
    rows = re.findall(r"^\| `([a-z_.]+)/?` \|.*\| *([a-z_, ]*) *\|$", (ROOT / "README.md").read_text(), re.MULTILINE)
    return {room.removesuffix(".py"): {one.strip() for one in homes.split(",")} - {""} for room, homes in rows}


ROOMS = rooms()
FLOOR = {room: -at for at, room in enumerate(ROOMS)}
HOMES = {library for homes in ROOMS.values() for library in homes}


IMPORT = re.compile(r"^ *(?:from (\S+) )?import (\([^)]*\)|[^\n]+)", re.MULTILINE)


@cache
def imports(path):
    """Modules, each as far as its name leads to a file where it is one of ours."""
    found = []
    for module, names in IMPORT.findall(path.read_text()):
        for name in re.sub(r"#.*", "", names).strip("()").replace("\n", " ").split(","):
            inner = ".".join(filter(None, [module, name.split(" as ")[0].strip()]))
            if name.strip():
                found.append(inner if not module or inner in MODULES else module)
    return found


@cache
def graph():
    """Made by whoever asks first: every process of the suite imports this file, one runs its tests."""
    return {name: {other for other in imports(path) if other in MODULES} - {name} for name, path in MODULES.items()}


def room_of(module):
    return module.split(".")[1] if "." in module else "__init__"


def short(*modules):
    return tuple(sorted(module.removeprefix("streameval.") for module in modules))


def reachable(module):
    seen, waiting = set(), [module]
    while waiting:
        for other in graph()[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen


def test_every_room_is_on_the_map():
    assert set(ROOMS) == {room_of(module) for module in MODULES}


def test_no_file_is_in_a_circle_of_imports():
    reach = {module: reachable(module) for module in MODULES}
    circles = {short(*(other for other in reach[module] if module in reach[other])) for module in MODULES}
    assert circles - {()} == CIRCLES


def test_imports_go_down_the_map():
    upward = {(a, b) for a, others in graph().items() for b in others if FLOOR[room_of(b)] > FLOOR[room_of(a)]}
    upward = {(a.removeprefix("streameval."), b.removeprefix("streameval.")) for a, b in upward if b != "streameval"}
    assert upward == UPWARD


def test_libraries_stay_at_home():
    strangers = {
        (str(file), name)
        for path in FILES
        for file in [path.relative_to(ROOT)]
        for name in {one.split(".")[0] for one in imports(path)} & HOMES - ROOMS[file.with_suffix("").parts[0]]
    }
    assert strangers == set()


@pytest.mark.parametrize("room", sorted(path.parent.name for path in ROOT.glob("*/__init__.py")))
def test_the_map_of_a_room_names_files_that_are_there(room):
    there = {part for module in MODULES for part in module.split(".")}
    text = ast.get_docstring(ast.parse((ROOT / room / "__init__.py").read_text()))
    assert set(re.findall(r"`([a-z_]+)`", text)) - there == set()


NAMES = re.compile(r"^ *class (\w+)|^(_?[A-Z][A-Za-z]*[a-z][A-Za-z]*) = ", re.MULTILINE)


def test_the_name_of_a_class_or_type_means_one_thing():
    """An underscore does not make it another name."""
    places = {}
    for path in FILES:
        for name in {(of_class or of_type).lstrip("_") for of_class, of_type in NAMES.findall(path.read_text())}:
            places.setdefault(name, []).append(str(path.relative_to(ROOT)))
    assert len(places) > 300
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


def test_files_stay_small():
    assert [path for path in FILES if len(path.read_text().splitlines()) > 500] == []  # a whole subject


def test_help_imports_nothing_heavy_and_that_of_a_verb_no_more():
    """What its flags are made of is declared beside the code that needs these libraries."""
    verbs = sorted(VERBS)
    shown = verbs if LONG else ["plan", "exact"]  # to write the pages of all takes a second; all read what is on them
    code = f"""
import sys
from streameval.cli import app
for verb in ["", *{verbs}]:
    if verb in ["", *{shown}]:
        app([*verb.split(), "--help"], result_action="return_value")
    else:
        app[verb].assemble_argument_collection()
    print("loaded:", verb, {{'numpy', 'pyarrow', 'numba', 'polars', 'duckdb'}} & set(sys.modules))
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "plan" in verbs
    assert "How many labels, and how" in out
    loaded = [line for line in out.splitlines() if line.startswith("loaded:")]
    assert loaded == [f"loaded: {verb} set()" for verb in ["", *verbs]]


def test_no_verb_imports_another():
    lent = {(a, b) for a, others in graph().items() for b in others if {room_of(a), room_of(b)} == {"verbs"}}
    assert lent == set()


KINDS = {path.parent.name for path in ROOT.glob("kinds/*/__init__.py")}
RESULTS = {
    "Result", "StudyResult", "Evaluation", "CurveResult", "ListResult", "SliceResult", "SliceOfCurve", "PairedResult",
    "QuestionResult", "RankingMeans", "RankingsEvaluation", "RankingsSample",
}  # fmt: skip


def without_types(tree):
    """Nodes of a module but for what only a type checker reads: a signature may name what a kind returns."""
    for node in ast.iter_child_nodes(tree):
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"):
            yield node
            yield from without_types(node)


def kinds_named(node):
    """Kinds that an import statement names."""
    if not isinstance(node, ast.Import | ast.ImportFrom):
        return set()
    named = [f"{getattr(node, 'module', None) or ''}.{alias.name}".strip(".").split(".") for alias in node.names]
    return {parts[2] for parts in named if parts[:2] == ["streameval", "kinds"] and len(parts) > 2} & KINDS


def classes_tested(node):
    """Names of classes that a call of isinstance or issubclass, a type that is compared, or a pattern asks for."""
    if isinstance(node, ast.Call) and ast.unparse(node.func) in ("isinstance", "issubclass"):
        asked = node.args[1:]
    elif isinstance(node, ast.Compare) and "type(" in ast.unparse(node):
        asked = [node]
    else:
        asked = [node.cls] if isinstance(node, ast.MatchClass) else []
    return {getattr(inner, "id", getattr(inner, "attr", "")) for one in asked for inner in ast.walk(one)}


def test_only_kinds_know_which_kinds_there_are():
    """No other room imports a kind by name, or tests the class of a result: it asks the kind, or the result."""
    spelt = re.compile("|".join(["streameval.kinds", *RESULTS]))  # only there can either be
    trees = {name.removeprefix("streameval."): [*without_types(ast.parse(path.read_text()))]
             for name, path in MODULES.items()
             if room_of(name) != "kinds" and spelt.search(path.read_text())}  # fmt: skip
    imported = {(name, kind) for name, nodes in trees.items() for node in nodes for kind in kinds_named(node)}
    assert imported == set()
    tested = {(name, one) for name, nodes in trees.items() for node in nodes for one in classes_tested(node) & RESULTS}
    assert tested == set()


@pytest.mark.parametrize(("code", "kinds", "classes"), [
    ("from streameval.kinds.curve import KIND", {"curve"}, set()),
    ("from streameval.kinds import question", {"question"}, set()),
    ("def run():\n    import streameval.kinds.paired.plan", {"paired"}, set()),
    ("from streameval.kinds.planning import Drawn", set(), set()),
    ("if TYPE_CHECKING:\n    from streameval.kinds.curve.comparison import Comparison", set(), set()),
    ("isinstance(found, Evaluation | int)", set(), {"Evaluation"}),
    ("issubclass(kind, (int, results.Result))", set(), {"Result"}),
    ("type(found) is RankingsSample", set(), {"RankingsSample"}),
    ("match found:\n    case SliceResult():\n        pass", set(), {"SliceResult"}),
    ("isinstance(found, int)", set(), set()),
])  # fmt: skip
def test_whoever_asks_for_a_kind_or_a_class_is_seen(code, kinds, classes):
    nodes = [*without_types(ast.parse(code))]
    assert set().union(*map(kinds_named, nodes)) == kinds
    assert set().union(*map(classes_tested, nodes)) & RESULTS == classes


def test_the_classes_of_results_are_those_that_are_looked_for():
    heads = re.compile(r"^class (\w+)\(([^)]*)\)", re.MULTILINE)
    written = [row for path in FILES for row in heads.findall(path.read_text())]
    classes = {name: {*re.split(r"\W+", bases)} for name, bases in written}
    of_results = {"Result"}
    while more := {name for name, bases in classes.items() if bases & of_results} - of_results:
        of_results |= more
    assert of_results | {"SliceResult", "SliceOfCurve"} == RESULTS


def test_every_file_of_verbs_has_a_function_that_users_call():
    import streameval

    homes = {home.removeprefix("verbs.") for home in streameval._HOMES.values() if home.startswith("verbs.")}
    assert {path.stem for path in (ROOT / "verbs").glob("*.py")} - homes == {"__init__"}


def test_the_test_of_a_room_is_found_without_search():
    """Tests lie in the folder of the room they try; `journeys` cross rooms, and `house` is about the repository."""
    beside = {"journeys", "house", "attack", "recorded", "__pycache__"}
    assert {path.name for path in TESTS.iterdir() if path.is_dir()} - beside <= {*ROOMS}
    assert not [path.name for path in TESTS.glob("test_*.py")]
    kinds = {path.stem for path in (ROOT / "kinds").iterdir() if not path.stem.startswith("_")}
    assert {path.name for path in (TESTS / "kinds").iterdir() if path.is_dir()} - beside <= kinds
