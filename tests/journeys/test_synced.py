"""What is renamed into its place is on the disk before: the one test where files are synced, as people's are.

Everywhere else `os.fsync` does nothing, for only a power failure would tell.
"""

import os
import sys
from pathlib import Path

import pytest

from streameval.cli import run

posix = pytest.importorskip("posix")


class Disk:
    """What is synced, and what is moved into its place, in the order in which it happens."""

    def __init__(self, monkeypatch):
        self.synced, self.moved, self.told = set(), {}, []
        monkeypatch.setattr("os.fsync", self.sync)
        for name in ("replace", "rename", "link"):
            monkeypatch.setattr(os, name, self.moving(getattr(os, name)))

    def sync(self, handle):
        posix.fsync(handle)
        is_of = os.fstat(handle)
        self.synced.add((is_of.st_ino, is_of.st_size, is_of.st_mtime_ns))
        self.told.append(os.readlink(f"/proc/self/fd/{handle}"))

    def moving(self, move):
        def moved(source, target):
            for path in [Path(source), *Path(source).rglob("*")]:
                is_of = path.stat()
                known = path.is_dir() or (is_of.st_ino, is_of.st_size, is_of.st_mtime_ns) in self.synced
                self.moved[Path(target) / path.relative_to(source)] = known
            move(source, target)
            self.told.append(Path(target))

        return moved


def evaluated(study, tmp_path):
    (tmp_path / "labels.csv").write_text("rank,label\n1,1\n2,0\n")
    return ["evaluate", str(study("stored-planned")), "--labels", str(tmp_path / "labels.csv")]


def cut(study, tmp_path):
    return ["cut", str(study("stored-evaluated")), "500", "--out", str(tmp_path / "best")]


@pytest.mark.skipif(sys.platform != "linux", reason="files are known by /proc")
@pytest.mark.parametrize("command", [evaluated, cut], ids=lambda one: one.__name__)
def test_with_real_syncs_every_file_is_on_the_disk_before_it_is_renamed_and_its_folder_after(
    command, study, tmp_path, monkeypatch
):
    arguments = command(study, tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*") if path.is_file()}
    disk = Disk(monkeypatch)
    assert run(arguments) == 0
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path.stat().st_mtime_ns != before.get(path)]
    assert len(written) > (8 if command is evaluated else 2)
    assert {path: disk.moved.get(path) for path in written if path.name != ".lock"} == {
        path: True for path in written if path.name != ".lock"
    }
    for folder in {path.parent for path in disk.told if isinstance(path, Path)}:
        last = max(i for i, path in enumerate(disk.told) if isinstance(path, Path) and path.parent == folder)
        assert str(folder) in disk.told[last:], folder
