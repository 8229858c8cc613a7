"""A study: a local folder with a file, open to anyone, for each stop of the journey.

::

    plan.parquet, plan.json      what was drawn; plan.json is written last and makes it a study
    selection.parquet            the items to label; thresholds.parquet: scores at the curve's cutoffs
    manifests/VERB.json          what the verb read and wrote
    votes/ID.parquet             every label that ever came in, one file per source, never rewritten
    labels.parquet               one row per planned rank
    curve.parquet, envelope.parquet, metrics.parquet, evaluation.json, report.html

The last two lines are results: they carry one `evaluation_id`, and are refused when they do not agree on it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from streameval import __version__, atomic
from streameval.curve import Curve
from streameval.envelope import Envelope
from streameval.errors import StudyError
from streameval.types import Claim, Labels, Plan

_RESULTS = ("labels.parquet", "envelope.parquet", "curve.parquet", "metrics.parquet")
# what others need of a study, in the order in which it is best read
EXACT = ("envelope.parquet", "curve.parquet", "metrics.parquet", "report.html", "evaluation.json")
PUBLISHED = ("plan.parquet", "plan.json", *_RESULTS, "report.html", "evaluation.json")


def result_files(folder: Path) -> list[Path]:
    """Files that `evaluate` writes."""
    return [folder / name for name in PUBLISHED if not name.startswith("plan.")]


@dataclass(frozen=True)
class Evaluation:
    """What `evaluate` finds, as its files hold it.

    Attributes
    ----------
    evaluation_id : str
        Hash of plan, labels, misses and version.
    labels : pyarrow.Table
        `rank`, `label`, `votes`, `positive_votes`.
    curve : Curve
    curve_table, metrics : pyarrow.Table
    summary : mapping
        What `evaluation.json` and `--json` say.
    """

    evaluation_id: str
    labels: pa.Table
    curve: Curve
    curve_table: pa.Table
    metrics: pa.Table
    summary: Mapping[str, Any]


def evaluation_id(plan: Plan, labels: Labels, misses: int = 0) -> str:
    """Sixteen hex digits: the hash of plan, labels, misses and version."""
    digest = hashlib.sha256(f"{plan.plan_id}\0{__version__}\0{misses}\0".encode())
    for values in (labels.label, labels.votes, labels.positive_votes):
        digest.update(np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class Study:
    """The files of a study.

    Parameters
    ----------
    folder : Path
    """

    folder: Path

    @property
    def exists(self) -> bool:
        """Whether there is a plan."""
        return (self.folder / "plan.json").exists()

    def plan(self) -> Plan:
        """Read the plan.

        Raises
        ------
        StudyError
            No study there, or its plan was changed by hand.
        """
        path = self.folder / "plan.json"
        try:
            header = json.loads(path.read_text(encoding="utf-8"))
            table = pq.read_table(self.folder / "plan.parquet")
            plan = Plan(table=table.replace_schema_metadata(None), **{key: header[key] for key in _PLAN_KEYS})
        except FileNotFoundError as error:
            raise StudyError(
                f"{error.filename or self.folder / 'plan.parquet'}: no such file, so {self.folder} is no study",
                "make one with `streameval plan`",
            ) from error
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            raise StudyError(f"{path}: the plan cannot be read ({error})", "restore it, or plan anew") from error
        if plan.plan_id != header["plan_id"]:
            raise StudyError(
                f"{path}: says plan {header['plan_id']}, but plan.json and plan.parquet make {plan.plan_id}",
                "one of them was changed; restore both, or plan into a new folder",
            )
        return plan

    def save_plan(self, plan: Plan) -> bool:
        """Write the plan, unless it is already there.

        Returns
        -------
        bool
            False where the same plan was there already.

        Raises
        ------
        StudyError
            Another plan is there; names what differs.
        """
        if self.exists:
            there = self.plan()
            if there.plan_id != plan.plan_id:
                raise StudyError(
                    f"{self.folder} holds a different plan: {_difference(there, plan)}",
                    "plan into another folder, or repeat the plan that is there",
                )
            if dict(there.location) == dict(plan.location):
                return False
        elif (self.folder / "votes").exists():
            raise StudyError(f"{self.folder} holds labels but no plan.json", "restore it, or plan into another folder")
        header = {"plan_id": plan.plan_id, **plan.header(), "location": dict(plan.location), "version": __version__}
        atomic.write_all(
            {
                self.folder / "plan.parquet": atomic.parquet(plan.table, {"plan_id": plan.plan_id}),
                self.folder / "plan.json": atomic.text(json.dumps(header, indent=2, ensure_ascii=False) + "\n"),
            }
        )
        return True

    def save_selection(
        self, plan: Plan, table: pa.Table, thresholds: pa.Table | None, facts: Mapping[str, Any]
    ) -> None:
        """Write the items to label, and the scores at the curve's cutoffs where the order has scores."""
        tags = {"plan_id": plan.plan_id, **facts}
        files = {self.folder / "selection.parquet": atomic.parquet(table, tags)}
        if thresholds is not None:
            files[self.folder / "thresholds.parquet"] = atomic.parquet(thresholds, tags)
        atomic.write_all(files)

    def selection(self, plan: Plan) -> pa.Table | None:
        """Read the items to label; None before `select`.

        Raises
        ------
        StudyError
            It belongs to another plan.
        """
        return self._selected(plan, "selection.parquet")

    def thresholds(self, plan: Plan) -> pa.Table | None:
        """Read `rank`, `score` at the curve's cutoffs; None where the order has no scores, or before `select`.

        Raises
        ------
        StudyError
            They belong to another plan.
        """
        return self._selected(plan, "thresholds.parquet")

    def _selected(self, plan: Plan, name: str) -> pa.Table | None:
        path = self.folder / name
        if not path.exists():
            return None
        try:
            facts, table = atomic.facts_of(path), pq.read_table(path)
        except (OSError, pa.ArrowException) as error:
            raise StudyError(f"{path}: cannot be read ({error})", "run `streameval select` again") from error
        if facts.get("plan_id") != plan.plan_id:
            raise StudyError(f"{path}: belongs to another plan", "run `streameval select` again")
        return table

    def add_votes(self, identity: str, votes: pa.Table, facts: Mapping[str, Any]) -> bool:
        """Store the votes of a source for good.

        Returns
        -------
        bool
            False where the same source was stored before: it adds nothing.
        """
        path = self.folder / "votes" / f"{identity}.parquet"
        if path.exists():
            return False
        atomic.write_all({path: atomic.parquet(votes, facts)})
        return True

    def votes(self) -> list[pa.Table]:
        """Every vote stored so far, one table per source.

        Raises
        ------
        StudyError
            A file of votes is damaged.
        """
        found = []
        for path in sorted((self.folder / "votes").glob("*.parquet")):
            try:
                found.append(pq.read_table(path, columns=["rank", "label", "row"]))
            except (OSError, pa.ArrowException) as error:
                raise StudyError(
                    f"{path}: stored votes cannot be read ({' '.join(str(error).split())[:120]})",
                    "restore the file, or remove it and give its label table again",
                ) from error
        return found

    def save_evaluation(self, found: Evaluation, report: str) -> None:
        """Write all results; `evaluation.json` last."""
        facts = {"evaluation_id": found.evaluation_id}
        tables = (found.labels, found.curve.envelope.table, found.curve_table, found.metrics)
        files = {self.folder / name: atomic.parquet(t, facts) for name, t in zip(_RESULTS, tables, strict=True)}
        files[self.folder / "report.html"] = atomic.text(report)
        summary = json.dumps(dict(found.summary), indent=2, ensure_ascii=False)
        files[self.folder / "evaluation.json"] = atomic.text(summary + "\n")
        atomic.write_all(files)

    def evaluation(self) -> Evaluation:
        """Read all results.

        Raises
        ------
        StudyError
            There are none, or they do not belong together.
        """
        try:
            summary = json.loads((self.folder / "evaluation.json").read_text(encoding="utf-8"))
            paths = [self.folder / name for name in _RESULTS]
            ids = {path.name: atomic.facts_of(path).get("evaluation_id") for path in paths}
            labels, envelope, curve_table, metrics = (pq.read_table(path) for path in paths)
            curve = _curve(summary, envelope, curve_table)
            identity = str(summary["evaluation_id"])
        except FileNotFoundError as error:
            raise StudyError(f"{error.filename}: no results yet", "run `streameval evaluate`") from error
        except (OSError, ValueError, KeyError, TypeError, pa.ArrowException) as error:
            raise StudyError(f"{self.folder}: the results cannot be read ({error})", "run evaluate again") from error
        for name, own in ids.items():
            if own != identity:
                raise StudyError(f"{self.folder / name}: is of another evaluation than the rest", "run evaluate again")
        return Evaluation(identity, labels, curve, curve_table, metrics, summary)


def save_exact(folder: Path, found: Evaluation, report: str) -> None:
    """Write the results of a fully labelled list, which need no plan; `evaluation.json` last.

    Raises
    ------
    StudyError
        The folder holds a study.
    """
    if (folder / "plan.json").exists():
        raise StudyError(f"{folder} holds a study with a plan", "give exact results a folder of their own")
    facts = {"evaluation_id": found.evaluation_id}
    tables = {
        "envelope.parquet": found.curve.envelope.table,
        "curve.parquet": found.curve_table,
        "metrics.parquet": found.metrics,
    }
    files = {folder / name: atomic.parquet(table, facts) for name, table in tables.items()}
    files[folder / "report.html"] = atomic.text(report)
    summary = json.dumps(dict(found.summary), indent=2, ensure_ascii=False)
    files[folder / "evaluation.json"] = atomic.text(summary + "\n")
    atomic.write_all(files)


def _curve(summary: Mapping[str, Any], envelope: pa.Table, curve_table: pa.Table) -> Curve:
    return Curve(
        n_items=summary["n_items"],
        envelope=Envelope.from_table(envelope),
        grid=curve_table.column("rank").to_numpy(),
        claim=Claim(**summary["claim"]),
        diagnostics=summary["diagnostics"],
        findings=tuple(summary["findings"]),
        score=curve_table.select(["rank", "score"]) if "score" in curve_table.column_names else None,
        misses=summary["misses"],
    )


_PLAN_KEYS = ("method", "parameters", "n_items", "seed", "ranking", "notes", "location")


def _difference(there: Plan, new: Plan) -> str:
    old, now = _flat(there.header()), _flat(new.header())
    for key in [*now, *old]:
        if old.get(key) != now.get(key):
            return f"{key} is {old.get(key)} there, and {now.get(key)} now"
    return "its ranks differ"


def _flat(header: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in header.items():
        if isinstance(value, Mapping):
            flat |= _flat(value, f"{prefix}{key}.")
        elif not prefix.startswith("notes"):
            flat[prefix + key] = value
    return flat
