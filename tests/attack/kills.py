"""Kills, interrupts, full disks and too few open files, at random moments of every verb that writes.

After each, the same command again has to leave the bytes of an undisturbed run, and nothing else. What is asked of the
disturbed run itself: an interrupted one says one line and exits with 130; one out of room says one line with status 3,
and leaves the folder as it was.
"""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from attack import outcomes
from attack.forks import Trouble
from attack.journal import Journal
from attack.outcomes import Outcome, signature
from attack.scenes import SCENES, Scene, Stage, inputs, tree
from attack.worker import Done, as_shell

_DONE, _OUTSIDE, _INTERRUPTED = 0, 3, 130
# what scenes read and write, and where temporary files go: a message about a shortage names one of them
_PLACES = ("study", "other", "best", "later", "tasks", "plots", "rows", "differences", "known", "published", "ranking")
_PLACES += ("forks/tmp",)


class Disturbances:
    """What kills, interrupts and full disks have in common.

    Parameters
    ----------
    undamaged : Path
    journal : Journal
    scenes : sequence of Scene
    """

    name = ""
    tried = ""

    def __init__(self, undamaged: Path, journal: Journal, scenes: Sequence[Scene] = SCENES) -> None:
        self.undamaged, self.journal, self.scenes = undamaged, journal, scenes

    def worker(self, home: Path) -> Stage:
        return Stage(home, self.undamaged)

    def one(self, stage: Stage, rng: random.Random, number: int) -> None:
        """Play one scene, disturbed, then again."""
        scene = self.scenes[number % len(self.scenes)]
        stage.prepare(scene)
        before = tree(stage.folder)
        trouble, said = self.trouble(rng, stage, scene)
        done = self.disturb(stage, scene, trouble)
        between = tree(stage.folder)
        self.journal.tried[self.tried] += 1
        outcome = self.judge(done, before, between) or self._again(stage, scene)
        what = f"{self.name}: {scene.name}"
        if self.journal.note(what, outcome):
            script = [as_shell(one) for one in scene.before]
            script += [f"# {said}", as_shell(scene.command), as_shell(scene.command), 'find "$PWD"']
            facts = {
                "trouble": said,
                "status": done.status,
                "stderr": done.err[-2000:],
                "between": _news(before, between),
            }
            self.journal.save(what, outcome, inputs(stage.folder), script, facts)

    def trouble(self, rng: random.Random, stage: Stage, scene: Scene) -> tuple[Trouble, str]:
        raise NotImplementedError

    def disturb(self, stage: Stage, scene: Scene, trouble: Trouble) -> Done:
        return stage.forks.run(scene.command, stage.folder, trouble)

    def judge(self, done: Done, before: dict[str, str], between: dict[str, str]) -> Outcome | None:
        """Judge the disturbed run; None where there is nothing to say against it."""
        raise NotImplementedError

    def _again(self, stage: Stage, scene: Scene) -> Outcome:
        done = stage.forks.run(scene.command, stage.folder)
        if done.status != _DONE:
            ended = outcomes.of_run([done], [], 1 << 40)
            if ended is not None and ended.failed:
                return ended
            return Outcome(outcomes.LOST, f"the same command again: status {done.status}: {signature(done.err)}")
        stage.finish(scene)
        if found := stage.differences(scene):
            kind = outcomes.LEFT if all(one.startswith("+") for one in found) else outcomes.LOST
            return Outcome(kind, signature(", ".join(found)))
        if left := list(stage.forks.temporary.iterdir()):
            return Outcome(outcomes.LEFT, "in the temporary folder: " + signature(left[0].name)[:40])
        return Outcome(outcomes.SAME)


def _news(before: dict[str, str], after: dict[str, str]) -> list[str]:
    return [name for name in {**before, **after} if before.get(name) != after.get(name)]


class Kills(Disturbances):
    """SIGKILL."""

    name, tried = "kill", "kills"

    def trouble(self, rng: random.Random, stage: Stage, scene: Scene) -> tuple[Trouble, str]:
        after = rng.random() * stage.seconds[scene.name] * 1.1
        return Trouble(signal.SIGKILL, after), f"SIGKILL after {after:.3f} s"

    def judge(self, done: Done, before: dict[str, str], between: dict[str, str]) -> Outcome | None:
        killed = done.status in (_DONE, -signal.SIGKILL)
        return None if killed else Outcome(outcomes.LOST, f"status {done.status}: {signature(done.err)}")


class Interrupts(Disturbances):
    """SIGINT and SIGTERM."""

    name, tried = "interrupt", "interrupts"

    def trouble(self, rng: random.Random, stage: Stage, scene: Scene) -> tuple[Trouble, str]:
        after, number = rng.random() * stage.seconds[scene.name] * 1.05, rng.choice((signal.SIGINT, signal.SIGTERM))
        return Trouble(number, after), f"{number.name} after {after:.3f} s"

    def judge(self, done: Done, before: dict[str, str], between: dict[str, str]) -> Outcome | None:
        if done.status is None:
            return Outcome(outcomes.HANG)
        # it came before the program could listen, or after the end of the command
        if done.status in (_DONE, -signal.SIGTERM, -signal.SIGINT) and not done.err.strip():
            return _left(between, before)
        if "Traceback" in done.err or done.status == 1:
            return Outcome(outcomes.TRACEBACK, signature(done.err))
        if done.status < 0:
            return Outcome(outcomes.ABORT, f"signal {-done.status}: {signature(done.err)}")
        lines = done.err.strip().splitlines()
        if done.status != _INTERRUPTED or len(lines) != 1:
            return Outcome(outcomes.UNTIDY, f"status {done.status}, {len(lines)} lines: {signature(done.err)}")
        return _left(between, before)


def _left(between: dict[str, str], before: dict[str, str]) -> Outcome | None:
    """Hidden and partial files that are there after a command which could have removed them."""
    hidden = [name for name in between if name not in before and Path(name).name.startswith(".")]
    new = [name for name in hidden if Path(name).name != ".lock"]  # which a study keeps
    return Outcome(outcomes.LEFT, f"at once: {signature(', '.join(new))}") if new else None


class Shortages(Disturbances):
    """A full disk, a limit of file size, too few open files."""

    name, tried = "shortage", "full disks and too few files"

    def trouble(self, rng: random.Random, stage: Stage, scene: Scene) -> tuple[Trouble, str]:
        kind = rng.choice(("room", "size", "size", "files"))
        if kind == "room":
            return Trouble(limits={"room": (size := rng.choice((0, 4, 16, 64, 256, 1024)) + 4)}), f"{size} kB of room"
        if kind == "size":
            size = rng.choice((0, 1, 100, 1000, 3000, 5000, 10_000, 100_000, 1_000_000))
            return Trouble(limits={"RLIMIT_FSIZE": size}), f"files of {size} bytes at most (ulimit -f)"
        number = rng.randrange(6, 30)
        return Trouble(limits={"RLIMIT_NOFILE": number}), f"{number} open files at most (ulimit -n)"

    def disturb(self, stage: Stage, scene: Scene, trouble: Trouble) -> Done:
        room = (trouble.limits or {}).get("room")
        if room is None:
            return stage.forks.run(scene.command, stage.folder, trouble)
        with _small_disk(stage, room) as folder:
            return stage.forks.run(scene.command, folder)

    def judge(self, done: Done, before: dict[str, str], between: dict[str, str]) -> Outcome | None:
        ended = outcomes.of_run([done], [], 1 << 40)
        if ended is None:
            return None
        if ended.failed:
            return ended
        if done.status != _OUTSIDE:
            return Outcome(outcomes.UNTIDY, f"status {done.status}: {signature(done.err)}")
        if not any(name in done.err for name in _PLACES):
            return Outcome(outcomes.UNTIDY, f"no file named: {signature(done.err)}")
        return _left(between, before)


class _small_disk:  # noqa: N801
    """The folder of a stage, for a while on a disk that has only so much room left; as root, else as it is."""

    def __init__(self, stage: Stage, room_kb: int) -> None:
        self.folder, self.beside = stage.folder, stage.home / "beside"
        used = sum(4 * (1 + path.stat().st_size // 4096) for path in stage.folder.rglob("*") if path.exists())
        self.size = used + room_kb + 16

    def __enter__(self) -> Path:
        shutil.rmtree(self.beside, ignore_errors=True)
        self.folder.rename(self.beside)
        self.folder.mkdir()
        mount = ["mount", "-t", "tmpfs", "-o", f"size={self.size}k", "attack", str(self.folder)]
        self.mounted = shutil.which("mount") is not None and subprocess.run(mount, capture_output=True).returncode == 0
        if self.mounted:
            shutil.copytree(self.beside, self.folder, dirs_exist_ok=True)
        else:
            self.folder.rmdir()
            self.beside.rename(self.folder)
        return self.folder

    def __exit__(self, *what: object) -> None:
        if not self.mounted:
            return
        shutil.rmtree(self.beside)
        shutil.copytree(self.folder, self.beside)
        subprocess.run(["umount", str(self.folder)], check=True)
        self.folder.rmdir()
        self.beside.rename(self.folder)
