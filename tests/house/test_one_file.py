"""One file adds a method, a label source or a metric: every verb has it, and so has the command line."""

import json

import pytest

import streameval

METHOD = """
from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np
import pyarrow as pa

from streameval.curve import Curve
from streameval.curve.envelope import Points, close
from streameval.methods import Method
from streameval.methods.options import BUDGET
from streameval.options import option
from streameval.types import Claim, Labels, Plan


@dataclass(frozen=True)
class Prefix(Method):
    name: ClassVar[str] = "prefix"
    summary: ClassVar[str] = "the first ranks, and every so manyth of the others"

    every: int = option(10, "Label every so manyth rank beyond the first.")
    edge: Literal["kept", "left"] = option("kept", "Whether the last rank is labelled.")
    budget: int | None = option(None, BUDGET)

    def _ranks(self, n_items: int) -> Any:
        head = min(n_items, 20 if self.budget is None else self.budget)
        beyond = np.arange(head + self.every, n_items + 1, self.every) if self.budget is None else []
        last = [n_items] if self.edge == "kept" and self.budget is None else []
        return np.unique(np.concatenate([np.arange(1, head + 1), beyond, last])).astype(np.int64)

    def plan(self, n_items: int, seed: int = 0) -> Plan:
        rank = self._ranks(n_items)
        table = pa.table({"rank": rank, "stratum": np.zeros(rank.size, np.int32)})
        return Plan(self.name, dict(self.__dict__), n_items, seed, table)

    def curve(self, plan: Plan, labels: Labels) -> Curve:
        envelope = close(plan.n_items, Points.none(), labels.rank, labels.label)
        return Curve(plan.n_items, envelope, plan.ranks, Claim("simultaneous", 1.0, "nothing"))

    def cost(self, n_items: int) -> dict[str, Any]:
        labels = int(self._ranks(n_items).size)
        return {"method": self.name, "labels": labels, "accuracy": 0.5, "forecast": False, "claim": "simultaneous"}


METHOD = Prefix
"""

LINES = """
import pathlib

import pyarrow as pa

from streameval.labelling.readers import Opened, file_digest
from streameval.labelling.readers.memory import register

READS = "toy:FILE, lines RANK=LABEL"
SCHEMES = ("toy",)


def read(connection, source):
    path = source.removeprefix("toy:")
    pairs = [line.split("=") for line in pathlib.Path(path).read_text().split()]
    table = pa.table({"rank": [int(rank) for rank, _ in pairs], "label": [label for _, label in pairs]})
    return Opened(path, file_digest(path), register(connection, table, path).columns)
"""

MARKED = (
    LINES.replace('SCHEMES = ("toy",)', "").replace(".split()]", ".split()[1:]]")
    + """

def accepts(source, head):
    return head is not None and head.startswith(b"PK-toy")
"""
)


@pytest.fixture
def command(capsys):
    """Run a command as a shell would, and read what it prints."""

    def run(*words, status=0):
        from streameval.cli import run as call

        found = call([str(word) for word in words])
        said = capsys.readouterr()
        assert found == status, said.err
        return said.err if status else json.loads(said.out) if "--json" in words else said.out

    return run


@pytest.fixture
def method(add_file):
    """The method `prefix`."""
    add_file("streameval.methods", "prefix.py", METHOD)


def test_a_method_of_one_file_is_in_the_help(method, command):
    shown = " ".join(command("plan", "--help").replace("│", " ").split())
    assert "loguniform, paula, prefix, stratified or uniform;" in shown
    shown = command("guide", "prefix")
    assert shown.startswith("# prefix\n\nThe first ranks, and every so manyth of the others.\n")
    assert "| every | 10 | Label every so manyth rank beyond the first. |" in shown
    assert " One of kept, left. |" in shown
    assert "| alpha | 0.0812 at epsilon .03 |" in command("guide", "paula")


def test_a_method_of_one_file_goes_the_whole_journey(method, command, ranking, tmp_path):
    folder, truth, _ = ranking
    study = tmp_path / "study"
    made = command("plan", folder, "--study", study, "--method", "prefix(every=1_000, edge=left)", "--json")
    assert (made["labels"], made["parameters"]) == (29, {"every": 1000, "edge": "left", "budget": None})
    assert command("select", study, "--json")["items"] == 29
    found = command("evaluate", study, "--labels", truth, "--json")
    assert (found["claim"]["coverage"], found["account"]["labelled"]) == ("simultaneous", 29)
    assert (study / "report.html").exists()
    command("report", study, "--out", tmp_path / "again.html")
    assert "prefix" in (tmp_path / "again.html").read_text()


def test_a_method_of_one_file_is_compared_and_used_by_slice(method, command, ranking, tmp_path):
    folder = ranking[0]
    costs = {
        row["method"]: row["labels"]
        for row in command("cost", "--items", 10_000, "--method", "prefix(every=500),prefix", "--json")["methods"]
    }
    assert costs["prefix(every=500)"] == 40
    asked = ("simulate", folder, "--label", "label", "--method", "prefix(every=50),uniform", "--replicates", 2)
    rows = command(*asked, "--json")["methods"]
    assert rows[0]["method"] == "prefix(every=50)"
    assert rows[0]["held"] == rows[0]["replicates"] == 2
    by_slice = command("plan", folder, "--study", tmp_path / "sliced", "--method", "prefix", "--by", "label", "--json")
    assert {one["name"] for one in by_slice["notes"]["slices"]} == {"0", "1"}
    said = command("plan", folder, "--study", tmp_path / "no", "--method", "uniform(every=5)", status=2)
    assert "uniform has no parameter 'every'. Hint: it is one of prefix" in said


@pytest.fixture
def study(ranking, tmp_path):
    streameval.plan(ranking[0], tmp_path / "study", method="uniform", budget=60, seed=1)
    return tmp_path / "study", ranking[2]


def write_lines(path, study, truth, before=""):
    ranks = streameval.Study(study).plan().ranks
    path.write_text(before + "\n".join(f"{rank}={truth[rank - 1]}" for rank in ranks))


def test_a_label_source_with_an_address_of_its_own_is_one_file(add_file, command, study, tmp_path):
    add_file("streameval.labelling.readers", "toy.py", LINES)
    folder, truth = study
    write_lines(tmp_path / "labels.txt", folder, truth)
    address = f"toy:{tmp_path / 'labels.txt'}"
    foreseen = command("evaluate", folder, "--labels", address, "--dry-run", "--json")
    assert foreseen["labels"] == [{"source": address, "bytes": None, "rows": None}]
    found = command("evaluate", folder, "--labels", address, "--json")
    assert (found["account"]["labelled"], found["account"]["missing"]) == (60, 0)
    beside = tmp_path / "all.txt"
    beside.write_text("\n".join(f"{rank}={label}" for rank, label in enumerate(truth, 1)))
    plain = command("exact", tmp_path / "ranking", "--label", "label", "--json")
    same = command("exact", tmp_path / "ranking", "--label", "label", "--labels", f"toy:{beside}", "--json")
    assert same["metrics"] == plain["metrics"]
    said = command("evaluate", folder, "--labels", tmp_path / "study", status=2)
    assert "not a file" in said


def test_a_label_source_with_files_of_its_own_is_one_file(add_file, command, study, tmp_path):
    """Also of files that would be refused if nobody read them."""
    path = tmp_path / "labels.toy"
    write_lines(path, *study, before="PK-toy\n")
    assert "this is a ZIP archive" in command("evaluate", study[0], "--labels", path, status=2)
    add_file("streameval.labelling.readers", "marked.py", MARKED)
    assert command("evaluate", study[0], "--labels", path, "--json")["account"]["labelled"] == 60


def test_names_separated_by_commas_are_read_beside_pydantic_too():
    pytest.importorskip("pydantic")  # where it was imported, the command line checks types with it
    from streameval.cli import app

    asked = ["evaluate", "study", "--prefer", "person,llm"]
    assert app.parse_args(asked, exit_on_error=False, print_error=False)[1].arguments["prefer"] == ("person", "llm")
