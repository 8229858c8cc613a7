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
from streameval.process.cache_files import CacheFiles
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
    codegen.CPUCodeLibrary._object_getbuffer_hook = classmethod(interrupted)
from streameval.kernels.harmonic import harmonic_difference
try:
    print(harmonic_difference(10.0, 5.0))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture
def compiled_without_a_word():
    """Here it is what is tested that commands say so."""


def python(code, cache, *arguments):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    return subprocess.run(
        [sys.executable, "-c", code, *arguments], env=environment, capture_output=True, text=True, check=False
    )


def kernels(cache):
    return sorted(cache.rglob("*.kernel"))


@pytest.fixture(scope="module")
def filled(tmp_path_factory):
    cache = tmp_path_factory.mktemp("cache")
    done = python(INTERRUPTED, cache)
    assert done.returncode == 0, done.stderr
    return cache, done.stdout


def test_an_interrupt_while_a_cached_kernel_is_loaded_waits_until_it_is(filled):
    cache, _ = filled
    done = python(INTERRUPTED, cache, "interrupt")
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\n", "")


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


def test_a_damaged_kernel_is_compiled_anew(filled, tmp_path):
    cache = shutil.copytree(filled[0], tmp_path / "cache")
    before = {path: damaged(path.read_bytes(), "bit") for path in kernels(cache)}
    for path, raw in before.items():
        path.write_bytes(raw)
    done = python(INTERRUPTED, cache)
    assert (done.returncode, done.stdout, done.stderr) == (0, filled[1], "")
    assert any(path.read_bytes() != raw for path, raw in before.items())


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


def test_many_processes_start_at_once_on_an_empty_cache(tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    code = INTERRUPTED + "from streameval.kernels.draw import mix64; import numpy as np; print(mix64(np.uint64(7)))"
    started = [
        subprocess.Popen(
            [sys.executable, "-c", code], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(examples(2, 3))
    ]
    said = {(*one.communicate(), one.returncode) for one in started}
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


def installed(folder, home):
    """Copy the package to where its folder for compiled files cannot be made, even by root; run it from there."""
    ignored = shutil.ignore_patterns("__pycache__")
    copy = shutil.copytree(Path(streameval.__file__).parent, folder / "streameval", ignore=ignored)
    (copy / "kernels" / "__pycache__").write_text("no folder")
    set_elsewhere = {"NUMBA_CACHE_DIR", "XDG_CACHE_HOME"}
    environment = {name: value for name, value in os.environ.items() if name not in set_elsewhere}
    environment |= {"PYTHONPATH": str(folder), "PYTHONDONTWRITEBYTECODE": "1", "HOME": str(home)}
    done = subprocess.run(
        [sys.executable, "-c", ANNOUNCED], env=environment, cwd=folder, capture_output=True, text=True, check=True
    )
    return done.stdout


def test_a_read_only_installation_keeps_kernels_in_the_users_cache_folder(tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    assert installed(tmp_path, home) == ONCE.format(kernel="draw.mix64") + "\n"
    assert kernels(home)
    shutil.rmtree(tmp_path / "streameval")
    assert installed(tmp_path, home) == ""


@pytest.mark.skipif(not shutil.which("unshare"), reason="makes a folder read-only for root, too")
def test_a_read_only_image_runs_what_was_compiled_when_it_was_made(tmp_path):
    """A file system that nobody can write to, and a user without a home."""
    cache, home = tmp_path / "cache", "/nonexistent"
    assert python(ANNOUNCED, cache).stdout == ONCE.format(kernel="draw.mix64") + "\n"
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
def test_machine_code_is_of_one_processor_unless_it_is_made_for_many(processor, compiled, tmp_path, monkeypatch):
    for name, value in processor.items():
        monkeypatch.setenv(name, value)
    assert python(ANNOUNCED, tmp_path).stdout == ONCE.format(kernel="draw.mix64") + "\n"
    done = python(ELSEWHERE + ANNOUNCED, tmp_path)
    assert (done.returncode, bool(done.stdout)) == (0, compiled), done.stderr


def test_with_no_folder_to_keep_kernels_in_one_line_says_what_to_set(tmp_path):
    home = tmp_path / "home"
    home.write_text("no folder")
    assert installed(tmp_path, home) == EACH_TIME.format(kernel="draw.mix64") + "\n"
    assert "NUMBA_CACHE_DIR" in EACH_TIME


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
    monkeypatch.setattr(cli, "_answered", lambda given: [compiling(what, *kernel) for kernel in twice])
    assert cli.run(arguments) == 0
    assert capsys.readouterr().err == said


def test_a_log_says_why_a_command_takes_long(monkeypatch, capsys):
    monkeypatch.setattr(cli, "_answered", lambda given: compiling(ONCE, "draw.mix64"))
    assert cli.run(["cost", "--log", "json"]) == 0
    notice, done = map(json.loads, capsys.readouterr().err.splitlines())
    assert (notice["event"], notice["level"], notice["kernel"]) == ("notice", "info", "draw.mix64")
    assert notice["message"] == ONCE.format(kernel="draw.mix64")
    assert done["event"] == "done"


def test_kernels_can_be_run_as_plain_python():
    code = "import numpy as np; from streameval.kernels.harmonic import harmonic_difference as f; print(f(10.0, 5.0))"
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert np.isfinite(float(done.stdout))


BY_SCORE = {"order_keys.float64_keys", "order_keys.float64_bits", "group_sums.add_groups", "groups.every_group",
            "groups.leading_ties"}  # fmt: skip


@pytest.mark.parametrize(("score", "needed"), [("", set()), *slow((", score='score'", BY_SCORE))])
def test_a_short_list_compiles_what_it_needs_and_no_part_by_itself(score, needed, tmp_path):
    pq.write_table(
        pa.table({"good": [1, 0] * 5_000, "score": sorted([1.0, 2.0, 3.0, 4.0] * 2_500)[::-1]}), tmp_path / "list"
    )
    code = f"import streameval; streameval.exact({str(tmp_path / 'list')!r}, label='good'{score})"
    done = python(code, tmp_path / "cache")
    assert done.returncode == 0, done.stderr
    assert {path.name.split("-")[0] for path in kernels(tmp_path / "cache")} == needed
