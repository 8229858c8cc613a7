"""A cut, its items written to a folder of this machine or of an object store."""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from streameval import __version__
from streameval.curve import Basis
from streameval.errors import InputError
from streameval.notebook import Tabular
from streameval.parquet.account import Forecast
from streameval.progress import Progress, silent
from streameval.rankings import open_planned
from streameval.rankings.copied import read_from_copies
from streameval.rankings.forecasts import forecast_top
from streameval.rows.options import RankingOptions
from streameval.stores import atomic, is_remote, store_of
from streameval.stores.listing import matches
from streameval.stores.publish import (
    ahead,
    clear,
    foreign,
    joined,
    listed,
    names_in,
    names_of_set,
    refuse_taken,
    staged,
    write_parts,
)
from streameval.stores.transfer import get
from streameval.text.options import flag
from streameval.types import Claim, Plan

ORDERS = ("storage", "rank")
MANIFEST = "_manifest.json"  # a name without the underscore would be read as Parquet by who reads the folder


@dataclass(frozen=True)
class Written:
    """Files that `Cut.write` wrote.

    Attributes:
        folder: A string where it is the URI of an object store.
        files: Names of the parts, in order.
        bytes: Of the parts.
        already_there: Whether the same cut was there before: nothing was written.
        replaced: Evaluation of the earlier cut that was there, of the same question, in whose place this one is; None
            where there was none.
    """

    folder: Path | str
    files: tuple[str, ...]
    rows: int
    columns: tuple[str, ...]
    bytes: int
    already_there: bool = False
    replaced: str | None = None


@dataclass(frozen=True)
class Target:
    """Place and order of the items to write."""

    out: str | os.PathLike[str]
    order: str = "storage"

    def __post_init__(self) -> None:
        """Check both."""
        if self.order not in ORDERS:
            raise InputError(f"--order is '{self.order}'", "it is 'storage' or 'rank'")
        if self.remote:
            store_of(self.place)

    @property
    def remote(self) -> bool:
        """Tell whether it is on an object store."""
        return is_remote(os.fspath(self.out))

    @property
    def place(self) -> str:
        """Absolute path, or URI, without a slash at its end."""
        out = os.fspath(self.out)
        return out.rstrip("/") if self.remote else os.path.abspath(out)

    @property
    def folder(self) -> Path | str:
        """Destination as a Path, or a URI string if remote."""
        return self.place if self.remote else Path(self.place)


@dataclass(frozen=True)
class Cut(Tabular):
    """A cutoff, and what is proven of it.

    Attributes:
        rank: The items of ranks 1..rank are above it.
        score: Score of the item at `rank`; None where the order has none, or where the list lies in memory and was not
            given.
        holds (mapping of str to float): `yield_lower, yield, yield_upper` and the same of precision, recall and f1, of
            ranks 1..rank; None where undefined.
        claim: What the bounds promise.
        asked (mapping of str to str): `cutoff`; and `misses` and `misses_from`, where they were given.
        estimates ({"bounds", "labels at hand", "none"}): What estimates are made of (`streameval.curve.Curve`).
        promise: What holds of it, in a sentence, where that is not what the claim of a curve promises.
        written: Where its items lie; None where they were not asked for.
    """

    rank: int
    score: Any
    holds: Mapping[str, float | None]
    claim: Claim
    asked: Mapping[str, str]
    plan: Plan
    evaluation_id: str
    study: Path
    estimates: Basis
    promise: str = ""
    written: Written | None = None
    _ranking: Any = None

    @property
    def table(self) -> pa.Table:
        """`metric` (precision, recall, f1, yield), `lower`, `estimate`, `upper`."""
        names = ["precision", "recall", "f1", "yield"]
        sides = {"lower": "{}_lower", "estimate": "{}", "upper": "{}_upper"}
        values = {side: [self.holds.get(form.format(name)) for name in names] for side, form in sides.items()}
        return pa.table(
            {
                "metric": names,
                **{side: pa.array(values_of_side, pa.float64()) for side, values_of_side in values.items()},
            }
        )

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-ready values."""
        return {
            "study": str(self.study),
            "asked": dict(self.asked),
            "rank": self.rank,
            "score": self.score,
            **self.holds,
            "estimates": self.estimates,
            "claim": self.claim.as_dict(),
        }

    def write(self, out: str | os.PathLike[str], *, order: str = "storage", progress: Progress = silent) -> Written:
        """Write the items above the cutoff to a folder of Parquet files, whole or not at all, in fixed memory.

        Args:
            out (path or URI): A new folder, or an empty one, here or on an object store: part-00000.parquet … and a
                manifest, which names them; on a store their names have the id of the run that wrote them. Where this
                same cut is already, nothing is written; an earlier one of the same question (of this plan or study,
                to this cutoff, in this order) is replaced by what the labels say now.
            order ({"storage", "rank"}): Order of the items. In rank order each item has its `rank`; so it has where the
                stored order is the ranking. An order by score takes room for a second, uncompressed copy beside `out`
                (for an object store, among the temporary files) while it is sorted.
            progress (callable(done, total)): Items written.

        Raises:
            InputError: A path that is taken, or inside the ranking; a damaged file, or one that changed; a store that
                refuses.
            StudyError: The ranking is not the one that was planned, or lies in memory and was not given.
            OutsideError: Full disk, a store that does not answer, another run that writes there, and the like; nothing
                is left behind.
        """
        return write_items(self, Target(out, order), self._ranking, progress)


def write_items(cut: Cut, target: Target, in_memory: Any, progress: Progress) -> Written:
    """Write the items of a cut; see `Cut.write`. `in_memory` is the ranking, where it lies in memory."""
    from streameval.rankings.top_items import read_top

    refuse_inside(target, cut.plan)
    former = get(f"{target.place}/{MANIFEST}")
    there = already_written(cut, target, former)
    if there is not None:
        if target.remote:  # a run that was killed at its very end has left what it sent, or what it replaced
            clear(target.place, MANIFEST)
        return there
    former = _earlier_manifest(cut, target, former)
    ranking = open_planned(cut.plan, in_memory)
    memory = RankingOptions.from_plan(cut.plan).memory * 1e9
    with read_from_copies(cut.plan), _fill(target, former) as (room, finished, named):
        items = read_top(ranking, cut.rank, target.order, room, memory)
        sizes: list[int] = []

        def keep(name: str) -> None:
            sizes.append((room / name).stat().st_size)
            finished(name)

        groups = joined(ahead(items.tables), memory / 8)
        files = write_parts(room, items.schema, groups, lambda done: progress(done, cut.rank), keep)
        earlier = None if former is None else str(json.loads(former).get("evaluation_id"))
        names, columns = tuple(map(named, files)), tuple(items.schema.names)
        written = Written(target.folder, names, cut.rank, columns, sum(sizes), replaced=earlier)
        text = json.dumps(
            _manifest(cut, target, written, listed(former) if target.remote else []), indent=2, ensure_ascii=False
        )
        (room / MANIFEST).write_text(text + "\n", encoding="utf-8")
    return written


def forecast_cut(cut: Cut, out: str | os.PathLike[str], *, order: str = "storage") -> tuple[Forecast, list[str]]:
    """Forecast what `Cut.write` would read, and where it would write: nowhere, where the same cut is already."""
    target = Target(out, order)
    refuse_inside(target, cut.plan)
    former = get(f"{target.place}/{MANIFEST}")
    if already_written(cut, target, former) is not None:
        return Forecast(), []
    _earlier_manifest(cut, target, former)
    ranking = open_planned(cut.plan)
    return forecast_top(ranking, cut.rank), [f"{target.place}/part-*.parquet", f"{target.place}/{MANIFEST}"]


@contextmanager
def _fill(target: Target, former: bytes | None) -> Iterator[tuple[Path, Callable[[str], None], Callable[[str], str]]]:
    """Fill the target: a local folder to write to, whom to tell of a file that is whole, and the name it then has."""
    if target.remote:
        with staged(target.place, MANIFEST, former) as sender:
            yield sender.room, sender.send, sender.named
    else:
        with atomic.folder(Path(target.place), names_of_set(MANIFEST, former)) as temporary:
            yield temporary, lambda name: None, lambda name: name


def already_written(cut: Cut, target: Target, manifest: bytes | None) -> Written | None:
    """Find the same cut where it was written before, whole."""
    files = listed(manifest)
    if manifest is None or not files:
        return None
    facts, mine = json.loads(manifest), json.loads(json.dumps(_identity(cut, target)))
    if any(facts.get(key) != value for key, value in mine.items()):
        return None
    names = _names(target)
    if not names >= {*files} or foreign(names, names_of_set(MANIFEST, manifest)):
        return None
    columns, size = tuple(facts.get("columns", ())), int(facts.get("bytes", 0))
    return Written(target.folder, tuple(files), cut.rank, columns, size, True)


def _names(target: Target) -> set[str]:
    return names_in(target.place) if target.remote else set(os.listdir(target.place))


def _earlier_manifest(cut: Cut, target: Target, manifest: bytes | None) -> bytes | None:
    """Return the manifest of an earlier cut of the same question; refuse a place that holds anything else.

    What runs left on a store that did not end is no obstacle.
    """
    ours = manifest if _is_own(cut, target, manifest) else None
    if target.remote:
        refuse_taken(target.place, names_of_set(MANIFEST, ours))
    else:
        atomic.refuse_taken(Path(target.place), names_of_set(MANIFEST, ours))
    return ours


def _is_own(cut: Cut, target: Target, manifest: bytes | None) -> bool:
    if manifest is None or not listed(manifest):
        return False
    facts: dict[str, Any] = json.loads(manifest)
    if facts.get("asked") != dict(cut.asked) or facts.get("order") != target.order:
        return False
    return cut.plan.plan_id == facts.get("plan_id") or _command(cut, target) == facts.get("command")


def _identity(cut: Cut, target: Target) -> dict[str, Any]:
    """Say what makes two cuts the same, to the last byte of their items."""
    return {
        **{key: value for key, value in cut.as_dict().items() if key != "study"},
        "rows": cut.rank,
        "order": target.order,
        "plan_id": cut.plan.plan_id,
        "evaluation_id": cut.evaluation_id,
        "version": __version__,
    }


def _manifest(cut: Cut, target: Target, written: Written, former: list[str]) -> dict[str, Any]:
    return {
        "study": str(cut.study),
        **_identity(cut, target),
        "bytes": written.bytes,
        "columns": list(written.columns),
        "files": list(written.files),
        "command": _command(cut, target),
        **({} if written.replaced is None else {"replaced_evaluation": written.replaced, "replaces": former}),
    }


def _command(cut: Cut, target: Target) -> str:
    options = [(flag(name), value) for name, value in cut.asked.items() if name != "cutoff"]
    words = [cut.asked["cutoff"], *(part for pair in options for part in pair)]
    study = os.fspath(cut.study.resolve())
    return shlex.join(["streameval", "cut", study, *words, "--out", target.place, "--order", target.order])


def refuse_inside(target: Target, plan: Plan) -> None:
    """Refuse a place that the ranking would grow by; the error names both."""
    for source in plan.location.get("source") or ():
        if _is_inside(target, source.removeprefix("delta:")):
            raise InputError(
                f"{target.place}: lies inside the ranking {source}, which would grow by it", "give another place"
            )


def _is_inside(target: Target, source: str) -> bool:
    if target.remote:
        folder = source.rsplit("@", 1)[0].rstrip("/")
        return f"{target.place}/".startswith(f"{folder}/") or matches(f"{target.place}/part-00000.parquet", source)
    return os.path.isdir(source) and Path(os.path.realpath(target.place)).is_relative_to(os.path.realpath(source))
