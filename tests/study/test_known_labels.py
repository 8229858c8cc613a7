"""Labels that exist before a plan come to every kind of study in one way."""

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.errors import InputError
from streameval.labelling.options import Judging, LabelColumns, ReuseOptions
from streameval.progress import silent
from streameval.rows.options import RankingOptions
from streameval.study import Study
from streameval.study.known_labels import KnownLabels
from tests.kinds.raffle_kind import Raffle, RaffleOptions

PACKAGE = Path(streameval.__file__).parent


class RaffleOfKnown(Raffle):
    """A kind that takes labels over: all that it says of them is by which column its items are known."""

    options: ClassVar = {"plan": (RaffleOptions, ReuseOptions), "evaluate": (LabelColumns, Judging)}

    def draw(self, ranking, asked, request):
        drawn = super().draw(ranking, asked[:1], request)
        known = request.known_labels.known_by("id")
        return replace(drawn, votes=known.taken_over(drawn.plan, drawn.ranking))


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"id": np.arange(100) * 3, "text": [f"item {i}" for i in range(100)]}), "list.parquet")
    return tmp_path


def planned(study, **given):
    """Plan all items of the list to be labelled by the kind above."""
    return RaffleOfKnown().plan("list.parquet", study, {"tickets": 100, **given}, 5, RankingOptions(), silent)


def test_one_module_reads_labels_that_exist_before_a_plan():
    """Whoever else reads a label table reads answers to a plan that is there: of people, or of its judge."""
    readers = ("import read_votes", "import labelled_keys")
    found = {path.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")
             if any(reader in path.read_text() for reader in readers)}  # fmt: skip
    assert found == {"study/known_labels.py", "study/take_in.py", "study/judge_sample.py"}


@pytest.mark.parametrize("known", [{}, {"reuse": None}])
def test_a_kind_of_which_no_labels_are_known_has_none(home, known):
    planned("s", **known)
    assert Study("s").labelled == 0


def test_a_new_kind_takes_over_the_labels_of_a_table_of_another_and_of_a_study(home):
    table = pa.table({"id": [0, 3, 297, 1], "right": ["yes", "no", None, "yes"]})
    planned("s", reuse=table, label="right")
    assert sorted(Study("s").labels.reused_ranks()) == [1, 2]
    streameval.plan("list.parquet", "keyed", on="id", seed=3, budget=50)
    labels = streameval.select("keyed").table.select(["rank"]).slice(0, 20)
    streameval.evaluate("keyed", labels=labels.append_column("label", pa.array([1] * 20)))
    planned("t", reuse="keyed")
    assert sorted(Study("t").labels.reused_ranks()) == labels.column("rank").to_pylist()
    (source,) = Study("t").labels.sources()
    assert (source.facts["source"], source.facts["place"]) == ("keyed", str(home / "keyed"))


def test_labels_of_a_study_are_read_when_it_is_said_what_its_items_are_known_by(home):
    streameval.plan("list.parquet", "keyed", on="id", seed=3, budget=50)
    streameval.select("keyed")
    known = KnownLabels("keyed").known_by(("id",))
    assert known.source.column_names == ["id", "label"]
    assert known.study.folder == Path("keyed")
    with pytest.raises(InputError, match="its items have no column 'name'"):
        KnownLabels("keyed").known_by("name")


def test_labels_that_contradict_one_another_name_the_first_item_of_the_ranking(home):
    table = pa.table({"id": [297, 30, 297, 30, 3], "label": [1, 1, 0, 0, 1]})
    with pytest.raises(InputError, match=r"2 items have contradictory labels \(first: id 30\)"):
        planned("s", reuse=table)
    assert not Study("s").exists
