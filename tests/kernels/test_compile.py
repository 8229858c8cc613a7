"""`compile` makes all machine code beforehand: no verb asks for a kernel that it leaves out."""

import importlib
import os
import pkgutil
import subprocess
import sys
from pathlib import Path

import pytest
from suite_cases import slow

import streameval
from streameval import kernels
from streameval.cli import run
from streameval.errors import InputError, OutsideError
from streameval.kernels import ahead, jit
from streameval.kernels.ahead import list_signatures
from streameval.kernels.compile import ahead as compile_ahead

ROOT = Path(__file__).resolve().parents[2]
FEW = """
import sys
import numba.core.event as event
from streameval.kernels import ahead
from streameval.process.compiling import announce
announce(lambda what, kernel: print("compiling", kernel))
events = []
class Heard(event.Listener):
    def on_start(self, event):
        events.append(event)
    def on_end(self, event):
        pass
event.register("numba:compile", Heard())
wanted = [line for line in ahead.list_signatures() if line[0] in ("harmonic.precision_sum", "mixture.mixture_root")]
ahead.list_signatures = lambda: wanted
import streameval
made = streameval.compile()
announce(None)
print(made.kernels, made.compiled, made.folder, len(events) > 0)
from streameval.kernels.harmonic import precision_sum
precision_sum(1.0, 5.0, 2.0)
"""


@pytest.mark.parametrize(("commands", "least"), [("few", 20), *slow(("verbs", 60))])
def test_no_verb_asks_for_a_kernel_that_is_not_listed(commands, least, python):
    """Recorded in processes of their own: what is asked for, whether or not it is on the disk already."""
    cache = os.environ.get("NUMBA_CACHE_DIR")
    code = f"sys.path.insert(0, {str(ROOT / 'tests')!r})\nimport needed_signatures; needed_signatures.main()"
    done = python(code, arguments=[commands], **({"NUMBA_CACHE_DIR": cache} if cache else {}))
    assert done.status == 0, done.err[-2000:]
    needed = done.out.splitlines()
    assert len(needed) > least
    assert set(needed) <= {f"{kernel} {types}" for kernel, types in list_signatures()}


def test_nothing_is_said_to_be_compiled_where_numba_is_switched_off(monkeypatch):
    monkeypatch.setattr("numba.config.DISABLE_JIT", 1)
    with pytest.raises(InputError, match="while NUMBA_DISABLE_JIT is set"):
        streameval.compile()


def test_what_is_compiled_beforehand_is_not_compiled_again(tmp_path, python):
    first, again = (python(FEW, NUMBA_CACHE_DIR=tmp_path).out.split() for _ in range(2))
    number = first[-4]
    assert int(number) >= 2
    assert (first[:2], first[-3], first[-1]) == (["compiling", "harmonic.precision_sum"], number, "True")
    assert first[-2].startswith(str(tmp_path))
    assert again == [number, "0", first[-2], "False"]


def light():
    names = "harmonic.precision_sum", "mixture.mixture_root", "bins.keep_open"
    return [i for i, (name, _) in enumerate(list_signatures()) if name in names]


WORKS = """
import io
from streameval.kernels import ahead
for _ in range(2):
    sys.stdin = io.StringIO({numbers!r})
    ahead.work()
"""


def test_a_process_compiles_what_it_is_asked_for(tmp_path, python):
    done = python(WORKS.format(numbers="".join(f"{number}\n" for number in light())), NUMBA_CACHE_DIR=tmp_path)
    assert done.out.split() == ["1"] * 3 + ["0"] * 3, done.err
    assert len(list(tmp_path.rglob("*.kernel"))) == 3


# answers as one that compiles what is even, and notes what it was asked
ANSWERS = """
import os, sys
for line in sys.stdin:
    open(f"{folder}/{{os.getpid()}}-{{line.strip()}}", "x")
    print(1 - int(line) % 2, flush=True)
"""


def test_processes_share_what_is_compiled(monkeypatch, tmp_path):
    done, command = [], [sys.executable, "-c", ANSWERS.format(folder=tmp_path)]
    monkeypatch.setattr(
        ahead, "_start", lambda: subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    )
    ahead.compile_shared(range(7), 2, done.append)
    assert sorted(done) == [False] * 3 + [True] * 4
    assert sorted(int(path.name.partition("-")[2]) for path in tmp_path.iterdir()) == list(range(7))


@pytest.mark.slow
def test_processes_share_what_is_compiled_and_what_is_there(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    for compiled in (True, False):
        done = []
        ahead.compile_shared(light(), 2, done.append)
        assert done == [compiled] * 3
    assert len(list(tmp_path.rglob("*.kernel"))) == 3


def test_a_process_that_compiles_finds_what_is_there():
    done = []
    ahead.compile_one(light()[0])
    ahead.compile_shared(light()[:1], 1, done.append)
    assert done == [False]


def test_a_process_that_is_ended_while_it_compiles_is_an_error(monkeypatch):
    ended = [sys.executable, "-c", ""]
    monkeypatch.setattr(
        ahead, "_start",
        lambda: subprocess.Popen(ended, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True),
    )  # fmt: skip
    with pytest.raises(OutsideError, match="ended before it was done"):
        ahead.compile_shared([0, 1], 2, print)


def test_a_few_pieces_need_no_second_process(monkeypatch):
    monkeypatch.setattr(os, "cpu_count", lambda: 4)
    assert [ahead.processes_for(pieces) for pieces in (1, 15, 16, 130)] == [1, 1, 2, 4]


def test_every_kernel_is_listed_or_part_of_one_that_is():
    modules = [
        importlib.import_module(f"{kernels.__name__}.{module.name}")
        for module in pkgutil.iter_modules(kernels.__path__)
    ]
    every = {value for module in modules for value in vars(module).values() if isinstance(value, jit.Kernel)}
    reached, ahead_of = set(), [ahead.kernel_named(name) for name, _ in list_signatures()]
    while ahead_of:
        kernel = ahead_of.pop()
        if kernel not in reached:
            reached.add(kernel)
            ahead_of += kernel._calls().values()
    assert sorted(kernel.__name__ for kernel in every - reached) == []


def test_nothing_is_listed_twice():
    assert len(set(list_signatures())) == len(list_signatures())


@pytest.mark.parametrize("name", sorted({name for name, _ in list_signatures()}))
def test_every_kernel_compiles_in_each_signature_that_is_listed(name):
    """What is on the disk was compiled from these sources."""
    for types in (types for kernel, types in list_signatures() if kernel == name):
        compile_ahead(ahead.kernel_named(name).compiled(), types)


def test_the_command_says_how_many_and_where(monkeypatch, capsys):
    monkeypatch.setattr(ahead, "list_signatures", lambda: (("mixture.mixture_root", "x"),))
    monkeypatch.setattr(ahead, "compile_listed", lambda progress: 1)
    assert run(["compile"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1 of 1 pieces compiled; they are in ")


def test_with_nowhere_to_keep_machine_code_it_says_what_to_set(monkeypatch, capsys):
    monkeypatch.setattr(ahead, "folder", lambda: None)
    assert run(["compile"]) == 3
    assert "NUMBA_CACHE_DIR" in capsys.readouterr().err
