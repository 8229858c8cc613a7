"""Systems that lack what Linux has, and notebooks that lack what Jupyter usually brings."""

import ast
import os
import re
import subprocess
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from suite_cases import slow

import streameval
from streameval.cli import run
from streameval.process import system
from streameval.stores.local import LOCAL

ROOT = Path(streameval.__file__).parent
BOUND = {
    "pread", "preadv", "posix_fadvise", "posix_fallocate", "fork", "geteuid", "getuid", "mkfifo", "sched_getaffinity",
    "setitimer", "SIGALRM", "SIGKILL", "SIGHUP", "pthread_kill", "pthread_sigmask", "statvfs", "uname", "getloadavg",
}  # fmt: skip
MODULES = {"fcntl", "resource", "termios", "pwd", "grp", "tty", "msvcrt"}


def test_what_systems_differ_in_is_asked_for_in_one_file():
    found, words = set(), re.compile("|".join(BOUND | MODULES))
    texts = {path: path.read_text() for path in ROOT.rglob("*.py")}
    for path, text in texts.items():
        for node in ast.walk(ast.parse(text)) if words.search(text) else ():
            named = {node.attr} & BOUND if isinstance(node, ast.Attribute) else set()
            if isinstance(node, ast.Import):
                named = {alias.name for alias in node.names} & MODULES
            found |= {path.relative_to(ROOT).as_posix() for _ in named}
    assert found == {"process/system.py", "stores/locks.py"}


@pytest.fixture
def bare(monkeypatch):
    """A system without positioned reads, hints and reserved room."""
    for name in ("pread", "preadv", "posix_fadvise", "posix_fallocate"):
        monkeypatch.delattr(os, name)


@pytest.mark.parametrize("size", [1 << 14, 1 << 15])  # of a file that is read at once, and of one in parts
def test_files_are_read_the_same_without_positioned_reads(bare, size, tmp_path):
    path = tmp_path / "bytes"
    raw = bytes(range(256)) * (size // 256)
    path.write_bytes(raw)
    with LOCAL.open(str(path)) as file:
        asked = [(9000, 300), (5, 10), (16_380, 4)]
        file.advise(np.array(asked))
        assert [bytes(one) for one in file.read(asked)] == [raw[at : at + size] for at, size in asked]
        found, places = file.gather(np.array(asked))
        wanted = [found[at : at + size].tobytes() for at, (_, size) in zip(places, asked, strict=True)]
        assert wanted == [raw[at : at + size] for at, size in asked]
        found, places = file.gather(np.array([(size - 384, 500)]))
        assert found[places[0] :].tobytes() == raw[size - 384 :]  # it ends before


def test_the_journey_runs_on_a_system_without_them(bare, catalogue, tmp_path):
    study, source = str(tmp_path / "study"), str(catalogue.lists / "list.parquet")
    small = ["--method", "paula(epsilon=0.1, window=20)", "--seed", "7"]
    assert run(["plan", source, "--study", study, "--score", "score", *small]) == 0
    assert run(["select", study]) == 0
    assert run(["exact", source, "--label", "right"]) == 0


def test_folders_are_not_synced_where_they_cannot_be_opened(monkeypatch, tmp_path):
    def refuse(path, flags):
        raise PermissionError(13, "Permission denied", path)

    monkeypatch.setattr(system, "os", types.SimpleNamespace(name="nt", O_RDWR=os.O_RDWR, open=refuse))
    system.sync(str(tmp_path))


# DuckDB takes a process for a notebook that has no main file, and whose IPython runs for a kernel
KERNEL = """
import sys, types
sys.modules["ipywidgets"] = None
IPython = types.ModuleType("IPython")
IPython.version_info = (9, 0, 0)
IPython.get_ipython = lambda: types.SimpleNamespace(config={"IPKernelApp": {}})
sys.modules["IPython"] = IPython
import duckdb
try:
    duckdb.connect().execute("SET enable_progress_bar = false")
except duckdb.Error:
    print("refused")
from streameval.process.probes import refuse_probes
refuse_probes()  # of libraries that take long to import, as a command does
from streameval.labelling import duckdb_session
with duckdb_session.open_session() as one, duckdb_session.tables_of_ours() as other:
    print(one.sql("SELECT 1").fetchall(), other.sql("SELECT 2").fetchall())
"""
EVALUATED = """
import streameval
found = streameval.evaluate(STUDY, labels=LABELS)
print(found.curve.at([10]).num_rows, streameval.sql(STUDY, "SELECT 3 AS x").to_pylist())
"""


@pytest.mark.parametrize(("more", "said"), [("", ""), *slow((EVALUATED, "1 [{'x': 3}]\n"))])
def test_a_notebook_kernel_without_widgets_opens_databases(more, said, study, tmp_path):
    labels = tmp_path / "labels.csv"
    labels.write_text("rank,label\n1,1\n")
    named = {"STUDY": str(study("stored-planned") if more else ""), "LABELS": str(labels)}
    code = "".join(f"{name} = {value!r}\n" for name, value in named.items()) + KERNEL + more
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "refused\n[(1,)] [(2,)]\n" + said), done.stderr
