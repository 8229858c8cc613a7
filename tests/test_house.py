"""Imports only go down the floors, and every third-party library has one home."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1] / "streameval"
FLOORS = {
    0: ("errors", "types", "printable", "notebook", "interrupts", "compiling", "system", "credentials"),
    1: (
        "kernels",
        "grid",
        "envelope",
        "curve",
        "monotonicity",
        "atomic",
        "stores",
        "logdesign",
        "samplesize",
        "intervals",
        "sums",
        "totals",
        "labelerror",
        "bounds",
        "proven",
        "partitioned",
        "sliding",
        "dependence",
        "planfiles",
        "extrapolation",
        "slices",
        "scratch",
        "locks",
        "temporary",
        "checksum",
        "ownfiles",
    ),
    2: ("methods", "rankings", "labelling", "metrics", "exports", "arrays", "database", "provenance"),
    3: ("verbs", "study", "labelstore", "slicefiles", "resultfiles", "exactfiles", "replicates", "counting"),
    4: ("reporting",),
    5: ("cli", "demo", "__main__", "__init__"),
}
HOMES = {
    "polars": ("rankings",),
    "duckdb": ("labelling", "database"),
    "pyiceberg": ("rankings",),
    "deltalake": ("rankings",),
    "pyspark": ("rankings",),
    "numba": ("kernels",),
    "altair": ("reporting",),
    "vl_convert": ("reporting",),
    "cyclopts": ("cli",),
    "rich": ("cli",),
    "sklearn": ("demo",),
}
FLOOR_OF = {room: floor for floor, rooms in FLOORS.items() for room in rooms}
FILES = sorted(ROOT.rglob("*.py"))


def room_of(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


def imports(path):
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module
            if node.module == "streameval":
                yield from (f"streameval.{alias.name}" for alias in node.names if alias.name != "__version__")


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_go_down(path):
    room = room_of(path)
    for name in imports(path):
        top, *rest = name.split(".")
        if top == "streameval" and rest:
            other = rest[0]
            # evaluate writes the report among its results: the one stair that goes up
            stair = room == "verbs" and other == "reporting"
            same_floor = FLOOR_OF[other] == FLOOR_OF[room] and room != other and FLOOR_OF[room] == 2
            assert stair or FLOOR_OF[other] <= FLOOR_OF[room], f"{room} imports {other}, which is above it"
            assert not same_floor, f"{room} imports its sibling {other}"
        assert room in HOMES.get(top, (room,)), f"{top} has its home in {HOMES.get(top)}, not in {room}"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_files_stay_small(path):
    assert len(path.read_text().splitlines()) <= 320


def test_help_imports_nothing_heavy():
    code = "import sys, streameval.cli; print({'numba', 'pyarrow', 'polars', 'duckdb'} & set(sys.modules))"
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "set()"
