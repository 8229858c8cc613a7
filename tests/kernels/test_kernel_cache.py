"""Compiled kernels on disk: interrupted while loaded, damaged, written by many at once, with nowhere to be."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from suite_cases import examples, slow

import streameval
from streameval import cli
from streameval.kernels.cache import CacheFiles
from streameval.process.compiling import EACH_TIME, ONCE, compiling

# LLVM calls numba back for the machine code of a cached kernel: a signal there is the worst moment there is
INTERRUPTED = """
import signal, sys
import numba.core.codegen as codegen

hook = codegen.CPUCodeLibrary._object_getbuffer_hook
def interrupted(cls, module):
    signal.raise_signal(signal.SIGINT)
    return hook(module)
if sys.argv[1:] == ["interrupt"]:
    from numba.core.registry import cpu_target
    compiler = cpu_target.target_context.codegen()
    called = codegen.JITCodeLibrary._object_compiled_hook, lambda module: interrupted(codegen.JITCodeLibrary, module)
    compiler._engine.set_object_cache(*called)
import numpy as np
from streameval.kernels.draw import mix64
try:
    print(mix64(np.uint64(7)))
except KeyboardInterrupt:
    print("interrupted")
"""


def kernels(cache):
    return sorted(cache.rglob("*.kernel"))


@pytest.fixture
def filled(python, tmp_path):
    """A folder with a compiled kernel, and what it answers."""
    done = python(INTERRUPTED, NUMBA_CACHE_DIR=tmp_path / "cache")
    assert done.status == 0, done.err
    return tmp_path / "cache", done.out


def damaged(raw, damage):
    if damage == "bit":
        return raw[: len(raw) // 2] + bytes([raw[len(raw) // 2] ^ 1]) + raw[len(raw) // 2 + 1 :]
    return {"empty": b"", "truncated": raw[: len(raw) // 2], "zeros": bytes(len(raw))}.get(damage, b"\x80\x04garbage")


@pytest.mark.parametrize("damage", ["empty", "truncated", "zeros", "bit", "foreign"])
def test_a_damaged_kernel_is_none_at_all(tmp_path, damage):
    files = CacheFiles([str(tmp_path)], "f", "source")
    files.save("int64", b"machine code" * 1_000)
    (path,) = tmp_path.iterdir()
    whole = path.read_bytes()
    path.write_bytes(damaged(whole, damage))
    assert files.load("int64") is None
    files.save("int64", b"machine code" * 1_000)
    assert path.read_bytes() == whole


def test_a_kernel_on_the_disk_is_loaded_whole_though_interrupted_and_compiled_anew_where_damaged(filled, python):
    cache, answer = filled
    whole = {path: path.read_bytes() for path in kernels(cache)}
    done = python(INTERRUPTED, arguments=["interrupt"], NUMBA_CACHE_DIR=cache)
    assert (done.status, done.out, done.err) == (0, "interrupted\n", "")
    for path, raw in whole.items():
        path.write_bytes(damaged(raw, "bit"))
    done = python(INTERRUPTED, NUMBA_CACHE_DIR=cache)
    assert (done.status, done.out, done.err) == (0, answer, "")
    assert any(path.read_bytes() != damaged(raw, "bit") for path, raw in whole.items())


def test_two_signatures_compiled_at_once_do_not_take_each_others_place(tmp_path):
    # both processes found an empty folder before either wrote
    one, other = (CacheFiles([str(tmp_path)], "f", "source") for _ in range(2))
    assert one.load("int64") is other.load("float64") is None
    one.save("int64", "code for int64")
    other.save("float64", "code for float64")
    assert (other.load("int64"), one.load("float64")) == ("code for int64", "code for float64")
    assert CacheFiles([str(tmp_path)], "f", "newer source").load("int64") is None


def test_a_full_disk_keeps_no_kernel_and_fails_nothing(tmp_path, monkeypatch):
    files = CacheFiles([str(tmp_path)], "f", "source")
    monkeypatch.setattr(os, "replace", lambda *paths: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    with pytest.raises(OSError, match="No space"):
        files.save("int64", "code")
    assert list(tmp_path.iterdir()) == []


def test_many_processes_start_at_once_on_an_empty_cache(tmp_path, python):
    code = INTERRUPTED + "print(mix64(np.int64(7)))"
    said = {(one.out, one.err, one.status) for one in python(*[code] * examples(2, 5), NUMBA_CACHE_DIR=tmp_path)}
    assert len(said) == 1
    assert next(iter(said))[1:] == ("", 0)
    assert not list(tmp_path.rglob(".*.part"))
    assert not list(tmp_path.rglob("*.nb?"))


# the third kind of folder, numba's own for a user, is under the home folder
ANNOUNCED = """
from streameval.process.compiling import announce
announce(lambda what, kernel: print(what.format(kernel=kernel)))
from streameval.kernels.draw import mix64
import numpy as np
mix64(np.uint64(7))
mix64(np.int64(7))
"""


# the package, from another folder
ELSEWHERE_INSTALLED = """
for name in [name for name in sys.modules if name.partition(".")[0] == "streameval"]:
    del sys.modules[name]
sys.path.insert(0, {folder!r})
sys.dont_write_bytecode = True
os.environ.pop("XDG_CACHE_HOME", None)
import streameval
assert streameval.__file__.startswith({folder!r})
"""


@pytest.fixture
def installed(tmp_path, python):
    """Have the package where its folder for compiled files cannot be made, even by root, and run it from there."""
    own, copy = Path(streameval.__file__).parent, tmp_path / "streameval"
    for room in ("kernels", "process", "text"):
        shutil.copytree(own / room, copy / room, ignore=shutil.ignore_patterns("__pycache__"))
    for file in ("__init__.py", "errors.py", "typing.py"):
        shutil.copyfile(own / file, copy / file)
    (copy / "kernels" / "__pycache__").write_text("no folder")
    code = ELSEWHERE_INSTALLED.format(folder=str(tmp_path)) + ANNOUNCED

    def run(home):
        done = python(code, HOME=home)
        assert done.status == 0, done.err
        return done.out

    return run


def test_a_read_only_installation_keeps_kernels_in_the_users_cache_folder_or_says_what_to_set(installed, tmp_path):
    home, no_folder = tmp_path / "home", tmp_path / "file"
    home.mkdir()
    no_folder.write_text("no folder")
    assert installed(home) == ONCE.format(kernel="draw.mix64") + "\n"
    assert kernels(home)
    assert installed(home) == ""
    assert installed(no_folder) == EACH_TIME.format(kernel="draw.mix64") + "\n"
    assert "NUMBA_CACHE_DIR" in EACH_TIME


@pytest.mark.skipif(not shutil.which("unshare"), reason="makes a folder read-only for root, too")
def test_a_read_only_image_runs_what_was_compiled_when_it_was_made(tmp_path, python):
    """A file system that nobody can write to, and a user without a home."""
    cache, home = tmp_path / "cache", "/nonexistent"
    assert python(ANNOUNCED, NUMBA_CACHE_DIR=cache).out == ONCE.format(kernel="draw.mix64") + "\n"
    frozen = 'mount --bind "{0}" "{0}" && mount -o remount,ro,bind "{0}" && exec "{1}" -c' + " '{2}'"
    script = frozen.format(cache, sys.executable, ANNOUNCED)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache), "HOME": home}
    command = ["unshare", "--map-root-user", "--mount", "sh", "-c", script]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if "mount" in done.stderr or "unshare" in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr.strip()}")
    assert (done.stdout, done.stderr, done.returncode) == ("", "", 0)


def test_what_one_folder_lacks_is_found_in_another_and_kept_where_that_is_possible(tmp_path):
    for name in ("image", "own"):
        CacheFiles([str(tmp_path / name)], "f", "source").save(name, f"of {name}")
    (tmp_path / "taken").write_text("no folder")
    files = CacheFiles([str(tmp_path / name) for name in ("taken", "own", "image")], "f", "source")
    assert [files.load(name) for name in ("image", "own", "new")] == ["of image", "of own", None]
    files.save("new", "of new")
    assert files.load("new") == CacheFiles([str(tmp_path / "own")], "f", "source").load("new") == "of new"
    nowhere = CacheFiles([str(tmp_path / "taken")], "f", "source")
    nowhere.save("new", "of nobody")
    assert (nowhere.folder, nowhere.load("new")) == (None, None)


def test_who_runs_an_image_may_read_what_was_compiled_by_who_made_it(tmp_path):
    before = os.umask(0o022)
    try:
        CacheFiles([str(tmp_path)], "f", "source").save("int64", "code")
    finally:
        os.umask(before)
    (kept,) = tmp_path.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o644


# llvmlite is asked which processor this is, and what it can do
ELSEWHERE = """
import llvmlite.binding as llvm
llvm.get_host_cpu_name = lambda: "nehalem"
llvm.get_host_cpu_features = lambda: llvm.FeatureMap({"sse4.2": True, "avx2": False})
"""


@pytest.mark.parametrize(
    ("processor", "compiled"),
    [({}, True), *slow(({"NUMBA_CPU_NAME": "generic"}, False), ({"NUMBA_CPU_NAME": "nehalem"}, True),
                       ({"NUMBA_CPU_NAME": "nehalem", "NUMBA_CPU_FEATURES": ""}, False))],
)  # fmt: skip
def test_machine_code_is_of_one_processor_unless_it_is_made_for_many(processor, compiled, tmp_path, python):
    def printed(code):
        if not processor:
            return python(code, NUMBA_CACHE_DIR=tmp_path).out
        settings = {**os.environ, **processor, "NUMBA_CACHE_DIR": str(tmp_path)}  # which numba reads at its start
        command = [sys.executable, "-c", code]
        return subprocess.run(command, env=settings, capture_output=True, text=True, check=True).stdout

    assert printed(ANNOUNCED) == ONCE.format(kernel="draw.mix64") + "\n"
    assert bool(printed(ELSEWHERE + ANNOUNCED)) == compiled


@pytest.mark.parametrize(
    ("arguments", "what", "said"),
    [
        (["cost"], ONCE, f"streameval: {ONCE.format(kernel='draw.mix64')}\n"),
        (["cost", "--quiet"], ONCE, ""),
        (["cost"], EACH_TIME, f"streameval: {EACH_TIME.format(kernel='draw.mix64')}\n"),
        (["cost", "--quiet"], EACH_TIME, ""),
    ],
)
def test_the_command_says_why_it_takes_long(arguments, what, said, monkeypatch, capsys):
    twice = [("draw.mix64",), ("band.pmf_table",)]
    monkeypatch.setattr(cli, "_run_command", lambda given: [compiling(what, *kernel) for kernel in twice])
    assert cli.run(arguments) == 0
    assert capsys.readouterr().err == said


def test_a_log_says_why_a_command_takes_long(monkeypatch, capsys):
    monkeypatch.setattr(cli, "_run_command", lambda given: compiling(ONCE, "draw.mix64"))
    assert cli.run(["cost", "--log", "json"]) == 0
    notice, done = map(json.loads, capsys.readouterr().err.splitlines())
    assert (notice["event"], notice["level"], notice["kernel"]) == ("notice", "info", "draw.mix64")
    assert notice["message"] == ONCE.format(kernel="draw.mix64")
    assert done["event"] == "done"


def test_kernels_can_be_run_as_plain_python(python):
    code = (
        "from streameval.kernels.harmonic import harmonic_difference as one\n"
        "print(one(10.0, 5.0), type(one.compiled()))"
    )
    done = python(code, NUMBA_DISABLE_JIT=1)
    number, kind = done.out.split(maxsplit=1)
    assert np.isfinite(float(number))
    assert kind == "<class 'function'>\n"


@pytest.mark.slow  # in the suite, test_without_compiler sees that no compiler is loaded for such a list
@pytest.mark.parametrize("score", ["", ", score='score'"])
def test_a_short_list_compiles_nothing_and_no_part_by_itself(score, tmp_path):
    pq.write_table(
        pa.table({"good": [1, 0] * 5_000, "score": sorted([1.0, 2.0, 3.0, 4.0] * 2_500)[::-1]}), tmp_path / "list"
    )
    code = f"import streameval; streameval.exact({str(tmp_path / 'list')!r}, label='good'{score})"
    settings = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    subprocess.run([sys.executable, "-c", code], env=settings, check=True)
    assert [path.name for path in kernels(tmp_path / "cache")] == []


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="files have no owners")
def test_machine_code_that_others_could_have_written_is_not_loaded(tmp_path):
    files = CacheFiles([str(tmp_path)], "f", "source")
    before = os.umask(0o002)
    try:
        files.save("int64", "code")
    finally:
        os.umask(before)
    assert files.load("int64") == "code"
    path = tmp_path / files.name("int64")
    path.chmod(0o664)
    assert files.load("int64") is None
    path.chmod(0o644)
    assert files.load("int64") == "code"
    if os.geteuid() == 0:
        os.chown(path, 65_534, -1)
        assert files.load("int64") is None
