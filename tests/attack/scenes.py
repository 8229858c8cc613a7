"""Scenes: a folder as it is before a command that writes, the command, and the folder after it."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq

from attack import writers
from attack.forks import Forks
from attack.studies import FILES
from attack.worker import Commands, Done, as_shell

_SEED = ("--seed", "7")
PLAN = ("plan", "ranking.parquet", "--study", "study", *_SEED, "--budget", "40")
PLAN_LOOKS = ("plan", "ranking.parquet", "--study", "study", *_SEED, "--budget", "40", "--stages", "3:later")
PLAN_SCORE = (*PLAN, "--score", "score", "--key", "item")
SELECT = ("select", "study")
FIRST = ("evaluate", "study", "--labels", "first.csv")
SECOND = ("evaluate", "study", "--labels", "second.csv")
EXACT = ("exact", "ranking.parquet", "--label", "label", "--out", "other")
_LABELLED = (PLAN, SELECT, FIRST)
_BOTH = (*_LABELLED, SECOND)
_REUSING = (*PLAN, "--reuse", "known.csv", "--on", "item", "--labels-unseen-by-model", "yes")


@dataclass(frozen=True)
class Scene:
    """A command that writes, and what has to be there before it.

    Attributes
    ----------
    name : str
    before : commands
    command : sequence of str
    after : commands
        What has to leave the same bytes, where those of the command itself depend on how often it was stopped.
    """

    name: str
    before: Commands
    command: Sequence[str]
    after: Commands = ()


SCENES = (
    Scene("plan", (), PLAN),
    Scene("plan by score", (), PLAN_SCORE),
    Scene("plan by slice", (), (*PLAN, "--by", "country")),
    Scene("plan, more labels", (PLAN_LOOKS, SELECT, FIRST), ("grow", "study", "--budget", "20")),
    Scene("plan, reuse", (), _REUSING),
    Scene("select", (PLAN,), SELECT),
    Scene("select by score", (PLAN_SCORE,), SELECT),
    Scene("select by slice", ((*PLAN, "--by", "country"),), SELECT),
    Scene("select, CSV", (PLAN, SELECT), (*SELECT, "--export", "tasks.csv")),
    Scene("select, Label Studio", (PLAN, SELECT), (*SELECT, "--export", "tasks.label-studio.json")),
    Scene("select, page", (PLAN, SELECT), (*SELECT, "--export", "tasks.html")),
    Scene("scan", (PLAN_SCORE,), ("scan", "study", "--shard", "1/2"), (("scan", "study"), SELECT)),
    Scene("evaluate", (PLAN, SELECT), FIRST),
    Scene("evaluate, second table", _LABELLED, SECOND),
    Scene("evaluate again", _BOTH, ("evaluate", "study")),
    Scene("publish", _LABELLED, ("publish", "study", "published")),
    Scene("labels, forget", _BOTH, ("labels", "study", "--forget", "second.csv")),
    Scene("cut", _BOTH, ("cut", "study", "150", "--out", "best")),
    Scene("cut, rank order", _BOTH, ("cut", "study", "150", "--out", "best", "--order", "rank")),
    Scene("exact", (), EXACT),
    Scene("exact by score", (), (*EXACT, "--score", "score")),
    Scene("report", _LABELLED, ("report", "study")),
    Scene("report, plots", _LABELLED, ("report", "study", "--plot", "plots")),
    Scene("sql", _LABELLED, ("sql", "study", "SELECT * FROM curve", "--out", "rows.parquet")),
    Scene("compare", (*_LABELLED, EXACT), ("compare", "study", "other", "--out", "differences")),
)  # fmt: skip


def ready(folder: Path, undamaged: Path) -> None:
    """Put the inputs into an empty folder."""
    ranking = writers.write("arrow-plain-crc-index", undamaged)
    shutil.copyfile(ranking, folder / "ranking.parquet")
    for name, text in FILES.items():
        (folder / name).write_text(text)
    items = pq.read_table(ranking, columns=["item"]).column("item").to_pylist()[::3]
    (folder / "known.csv").write_text("item,label\n" + "".join(f"{one},1\n" for one in items))


INPUTS = ("ranking.parquet", "known.csv", *FILES)


def inputs(folder: Path) -> dict[str, Path | bytes]:
    """The files that `ready` put into a folder."""
    return {name: folder / name for name in INPUTS}


def tree(folder: Path) -> dict[str, str]:
    """Every file and folder below one, hidden ones included, with a digest."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder"
        for path in sorted(folder.rglob("*"))
    }


@dataclass
class Stage:
    """Where scenes are played: the folder that every command sees under one name, so that paths within files agree.

    Parameters
    ----------
    home : Path
    undamaged : Path
        Where rankings are written once.
    forks : Forks, optional
        Runs the commands; the stage has a process of its own where none is given.
    """

    home: Path
    undamaged: Path
    forks: Forks | None = None
    seconds: dict[str, float] = field(default_factory=dict)
    after: dict[str, dict[str, str]] = field(default_factory=dict)
    changing: dict[str, set[str]] = field(default_factory=dict)
    templates: dict[tuple[Sequence[str], ...], Path] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.undamaged.mkdir(parents=True, exist_ok=True)
        self.forks = self.forks or Forks(self.home / "forks")
        self.folder = self.home / "play"

    def prepare(self, scene: Scene) -> None:
        """Bring the folder to where the scene begins; play it twice undisturbed where that was not done before."""
        template = self._template(scene.before)
        if scene.name not in self.after:
            self._undisturbed(scene, template)
        self._reset(template)

    def _template(self, before: Commands) -> Path:
        """A copy of the folder after some commands; scenes that begin alike share it."""
        there = self.templates.get(tuple(before))
        if there is not None:
            return there
        if before:
            self._reset(self._template(before[:-1]))
            self._well(before[-1])
        else:
            shutil.rmtree(self.folder, ignore_errors=True)
            self.folder.mkdir(parents=True)
            ready(self.folder, self.undamaged)
        made = self.templates[tuple(before)] = self.home / f"before-{len(self.templates)}"
        shutil.copytree(self.folder, made, symlinks=True)
        return made

    def _reset(self, template: Path) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(template, self.folder, symlinks=True)
        shutil.rmtree(self.forks.temporary, ignore_errors=True)
        self.forks.temporary.mkdir()

    def _undisturbed(self, scene: Scene, template: Path) -> None:
        """Files that two undisturbed runs write differently are compared by name only."""
        trees = []
        for _ in range(2):
            self._reset(template)
            self.seconds[scene.name] = self._well(scene.command).seconds
            self.finish(scene)
            trees.append(tree(self.folder))
        self.after[scene.name] = trees[0]
        self.changing[scene.name] = {name for name in trees[0] if trees[0][name] != trees[1].get(name)}

    def _well(self, command: Sequence[str]) -> Done:
        done = self.forks.run(command, self.folder)
        if done.status != 0:
            raise RuntimeError(f"{as_shell(command)} fails undisturbed: {done.err}")
        return done

    def finish(self, scene: Scene) -> None:
        """Run what follows the command of a scene."""
        for command in scene.after:
            self._well(command)

    def differences(self, scene: Scene) -> list[str]:
        """What the folder has otherwise than after an undisturbed run: "+ file", "- file", "other file"."""
        now, then, changing = tree(self.folder), self.after[scene.name], self.changing[scene.name]
        found = [f"+ {name}" for name in now if name not in then] + [f"- {name}" for name in then if name not in now]
        return found + [
            f"other {name}" for name in then if name in now and now[name] != then[name] and name not in changing
        ]

    def stop(self) -> None:
        self.forks.stop()
