"""Studies whose options were planned one by one (`--at`, `--within`, `--zone` …): they are read, evaluated, and go on.

`recorded/studies-0.2.0.tar.xz` holds some of every kind, without report.html and study.duckdb; those in `OPEN` lack
labels, a round or a stage.
"""

import shlex
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import unpack

import streameval
from streameval.cli import run
from streameval.study import Study

LISTS = {"drawn_rankings": "in/queries.parquet"}  # of all others in/list.parquet
OPEN = ("question", "widths", "paired", "any", "drawn_rankings", "stages")
DONE = ("curve", "paula")
PLANNED = {  # as plan.json has it
    "question": {"confidence": "0.96961", "zone": "0.02", "expect": "0.7", "round": 10, "budget": 60,
                 "together": "0.95"},
    "widths": {"confidence": "0.95", "zone": None, "expect": "0.6", "round": None, "budget": None},
    "paired": {"within": "0.02", "confidence": "0.95", "look": "both", "min_precision": 0.4},
    "any": {"within": "0.02", "confidence": "0.95", "look": "any", "min_precision": 0.5},
    "drawn_rankings": {"confidence": 0.95, "rankings": 12, "at": 3},
}  # fmt: skip
COMMANDS = {  # recorded studies, and the commands that planned them
    "question": "--for 'precision@100 >= 0.5' --zone 0.02 --expect 0.7 --round 10 --together --budget 60 --seed 4",
    "widths": "--for 'precision@100, 300 within 0.2' --expect 0.6 --seed 4",
    "paired": "--against in/list.parquet --against-score old --key id --at 20,50,100 --within 0.02 "
              "--min-precision 0.4 --seed 5",
    "any": "--against in/list.parquet --against-score old --item id --at 50 --within 0.02 --look any --seed 5",
    "drawn_rankings": "--per query --rankings 12 --at 2,3 --seed 6",
    "stages": "--alpha 0.4 --stages 2 --growing --seed 3",
    "paula": "--method paula --epsilon 0.3 --window 3 --seed 3",
}  # fmt: skip


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    return unpack("studies-0.2.0.tar.xz", tmp_path_factory.mktemp("recorded"))


@pytest.fixture
def recorded(unpacked, tmp_path, monkeypatch):
    """A copy of all, which is the current folder."""
    monkeypatch.chdir(shutil.copytree(unpacked, tmp_path / "studies"))


def labels_of(study):
    """Right answers to what a study asks now."""
    place = LISTS.get(study, "in/list.parquet")
    source = pq.read_table(place)
    truth = dict(zip(source.column("id").to_pylist(), source.column("label").to_pylist(), strict=True))
    tasks = streameval.select(study, ranking=place, columns=["id"]).table
    labels = pa.array([truth[item] for item in tasks.column("id").to_pylist()])
    return tasks.select(["se_task"]).append_column("label", labels)


@pytest.mark.parametrize("study", [*OPEN, *DONE])
def test_what_they_say_is_computed_again_to_the_bit(recorded, study):
    before = pq.read_table(f"{study}/metrics.parquet")
    found = streameval.evaluate(study)
    assert found.metrics.to_pylist() == before.to_pylist()
    assert run(["show", study]) == 0


@pytest.mark.parametrize("study", PLANNED)
def test_their_plans_are_read_as_they_are(recorded, study):
    assert dict(Study(Path(study)).plan().parameters) == PLANNED[study]


@pytest.mark.parametrize("study", OPEN)
def test_they_go_on(recorded, study):
    if study == "stages":
        streameval.grow(study, budget=35)
    before = Study(Path(study)).summary()["account"]["labelled"]
    found = streameval.evaluate(study, labels=labels_of(study))
    assert found.summary["account"]["labelled"] > before
    assert streameval.sql(study, "FROM metrics").num_rows > 0


@pytest.mark.parametrize(("study", "condition"), [("labelled_list", "precision@10 >= 0.5"), ("rankings", "map >= 0.3")])
def test_exact_results_are_read(recorded, study, condition):
    assert run(["show", study]) == run(["check", study, condition]) == 0


@pytest.mark.parametrize("study", COMMANDS)
def test_what_is_printed_plans_what_the_old_command_did(recorded, capsys, study):
    place = LISTS.get(study, "in/list.parquet")
    assert run(["plan", place, "--study", "new", "--score", "conf", *shlex.split(COMMANDS[study])]) == 2
    new = capsys.readouterr().err.partition(" any more. Hint: streameval ")[2]
    assert run(shlex.split(new)) == 0
    old, new = (pq.read_table(f"{each}/plan.parquet").to_pylist() for each in (study, "new"))
    assert repr(old) == repr(new)  # NaN among them
    assert Study(Path("new")).plan().parameters == Study(Path(study)).plan().parameters
