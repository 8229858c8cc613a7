"""A short attack with damaged files, kills and the rest, and every case that attacks have found so far."""

import random
import shutil
from functools import cache, partial
from pathlib import Path

import places
import pytest
from attack import golden, layout, outcomes
from attack.consistent import contradictions
from attack.damage import Damage
from attack.hunt import Effort, hunt
from attack.journal import Journal
from attack.kills import Interrupts, Kills, Shortages
from attack.pairs import Pairs
from attack.rankings import MEMORY_GB, NAMED, OPERATIONS, RANKING, Base, Rankings
from attack.scenes import SCENES, Stage
from attack.studies import Studies
from attack.tables import Tables
from attack.thrift import encode
from attack.writers import WRITERS
from suite_cases import LONG as LONGER
from suite_cases import cases, examples

SHARED = places.SHARED / "attack"
FOUND = [
    "column_name_not_utf8",
    "dupcols",
    "exact_score_stats_zero_traceback",
    "giant_dictionary",
    "levels_histogram_abort",
    "not_utf8_text",
    "polars_abort_num_values",
    "stats_short_abort",
]
PLAN = ["plan", RANKING, "--study", "study", "--method", "loguniform", "--budget", "40", "--memory", str(MEMORY_GB)]
SELECT = ["select", "study"]
SCORE = ["--score", "score"]
EXACT = ["exact", RANKING, "--label", "label", "--memory", str(MEMORY_GB)]
EXPORTS = ["tasks.csv", "tasks.jsonl", "tasks.label-studio.json", "tasks.html"]
READINGS = [
    [PLAN, SELECT],
    [[*PLAN, *SCORE], SELECT],
    [EXACT],
    [[*EXACT, *SCORE]],
    *([PLAN, SELECT, [*SELECT, "--export", name]] for name in EXPORTS[: examples(1, 4)]),
]


@pytest.fixture(scope="module")
def rankings(tmp_path_factory):
    return Rankings(tmp_path_factory.mktemp("undamaged"), Journal(tmp_path_factory.mktemp("failures")))


@pytest.fixture(scope="module")
def worker(rankings, tmp_path_factory):
    serving = rankings.worker(tmp_path_factory.mktemp("golden"))
    yield serving
    serving.stop()


@pytest.mark.parametrize("name", WRITERS)
def test_an_undamaged_file_does_not_contradict_itself(rankings, name):
    raw = (rankings.folder / f"{name}.parquet").read_bytes()
    file = layout.read(raw)
    assert contradictions(raw) == []
    assert layout.with_footer(raw, file.footer_at, file.footer) == raw
    for page in (page for chunk in file.chunks for page in chunk.pages):
        assert encode(page.header) == raw[page.at : page.body]


BASES = {}


@cache
def case(make):
    """An undamaged file, and what was done to it."""
    file, raw = make()
    assert contradictions(raw) != []
    base = BASES.setdefault(file.raw, Base(make.__name__, file))
    lies = make is golden.statistics_of_zero
    site = "footer.row_groups.columns.meta_data.statistics" if lies else "as told"
    return base, Damage("made", site, "as told", ((0, len(file.raw), raw),))


def each_damage_with_each_operation():
    """The suite has a third of all pairs: every damage is selected from and evaluated, and most are cut."""
    for i, make in enumerate(golden.DAMAGED):
        for j, one in enumerate(OPERATIONS):
            marks = pytest.mark.slow if (i + j) % 3 else ()
            yield pytest.param(make, one, marks=marks, id=f"{make.__name__}-{one.name}")


@pytest.mark.parametrize(("make", "operation"), list(each_damage_with_each_operation()))
def test_a_damaged_file_is_refused_or_does_no_harm(rankings, worker, make, operation):
    base, damage = case(make)
    found = rankings.outcome(worker, base, operation, damage)
    assert not found.failed, found
    assert found.kind != outcomes.UNSHOWN, "all of these contradict themselves"


# to make half a gigabyte takes seconds; tests/parquet and tests/study have smaller ones that are too large for a limit
QUICK_ODD = cases(golden.ODD, *(one for one in golden.ODD if one is not golden.giant_dictionary))


def is_orderly(worker, raw, commands):
    """Whether a file is used, or refused in a line."""
    shutil.rmtree(worker.home / "study", ignore_errors=True)
    for tasks in worker.home.glob("tasks.*"):  # of the file before: tasks that are there are never replaced
        tasks.unlink()
    (worker.home / RANKING).unlink(missing_ok=True)
    (worker.home / RANKING).write_bytes(raw)
    found = outcomes.of_run(worker.run(commands), NAMED, int(MEMORY_GB * 1e6) + outcomes.BASE_KB)
    assert found is None or found.kind == outcomes.REFUSED, (commands[-1], found)


@pytest.mark.parametrize("make", QUICK_ODD, ids=lambda one: one.__name__)
def test_an_odd_file_is_used_or_refused_in_a_line(worker, make):
    raw = make()
    for commands in (*READINGS, [[*PLAN, *SCORE, "--key", "item"], SELECT]):
        is_orderly(worker, raw, commands)


@pytest.mark.parametrize("name", FOUND)
def test_files_found_before_are_used_or_refused_in_a_line(worker, name):
    path = SHARED / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"{path} is not there: it is not part of the project")
    for commands in (*READINGS, [[*PLAN, *SCORE, "--key", "id"], SELECT]):
        is_orderly(worker, path.read_bytes(), commands)


@pytest.fixture(scope="module")
def study(rankings, worker):
    """A study that is labelled and evaluated."""
    shutil.copyfile(rankings.folder / "arrow-crc.parquet", worker.home / "evaluated.parquet")
    (worker.home / "votes.csv").write_text("rank,label\n1,1\n2,0\n")
    plan = ["plan", "evaluated.parquet", "--study", "evaluated", "--method", "uniform", "--budget", "40"]
    evaluate = ["evaluate", "evaluated", "--labels", "votes.csv"]
    done = worker.run([plan, ["select", "evaluated"], evaluate])
    assert done[-1].status == 0, done[-1].err
    return worker.home / "evaluated"


@pytest.mark.parametrize("make", [*golden.DAMAGED, *QUICK_ODD], ids=lambda one: one.__name__)
def test_a_damaged_table_of_a_study_is_refused_in_a_line(worker, study, make):
    made = make()  # without a checksum of ours, so it is as if a hostile author had given it one that fits
    raw = made if isinstance(made, bytes) else made[1]
    votes = next((study / "votes").glob("*.parquet"))
    for name, question in {
        "plan.parquet": ["evaluate", "evaluated"],
        "selection.parquet": ["sql", "evaluated", "FROM selection"],
        f"votes/{votes.name}": ["labels", "evaluated"],
        "curve.parquet": ["show", "evaluated", "precision@5"],
    }.items():
        kept = (study / name).read_bytes()
        (study / name).write_bytes(raw)
        found = outcomes.of_run(worker.run([question]), [Path(name).name], (1 << 19) + outcomes.BASE_KB)
        (study / name).write_bytes(kept)
        used = found is None and name.startswith("votes")  # whose columns may be any, if the file is sound
        assert used or found.kind == outcomes.REFUSED, (question, found)


# few scenes and pairs, since each is played undisturbed first
FEW = [one for one in SCENES if one.name in ("select", "evaluate, second table")]
DISTURBANCES = {"kills": Kills, "interrupts": Interrupts, "disks": Shortages}
PAIRS = partial(Pairs, commands=("evaluate", "forget"))
# one scene each in the suite, where test_label_store and test_interrupts kill and interrupt evaluations too
SCENE_OF = {"kills": "select", "interrupts": "select", "disks": "evaluate"}
# damaged studies and pairs of commands are in the long set alone: test_own_files flips every bit of a study's files,
# and test_at_once runs two commands at once
SHORT = {
    "rankings": (Rankings, range(2)),
    "tables": (Tables, range(1)),
}
LONG = {
    "rankings": (Rankings, range(60)),
    "tables": (Tables, range(25)),
    "studies": (Studies, range(12)),
    **{name: (partial(one, scenes=FEW), range(6)) for name, one in DISTURBANCES.items()},
    "pairs": (PAIRS, range(3)),
}


def found_nothing(journal, cases):
    return sum(journal.tried.values()) >= len(cases) / 2 and not journal.failed


@pytest.mark.parametrize(
    ("attack", "cases"),
    [
        *(pytest.param(*one, id=name) for name, one in SHORT.items()),
        *(pytest.param(*one, id=f"longer, {name}", marks=pytest.mark.slow) for name, one in LONG.items()),
    ],
)
def test_a_short_attack_finds_nothing(attack, cases, tmp_path):
    journal = Journal(tmp_path / "failures")
    hunt(attack(tmp_path / "undamaged", journal), Effort(17, 600, 1, cases), tmp_path)
    assert found_nothing(journal, cases), journal.table()


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """One for all disturbances: what is played undisturbed is the same for each."""
    home = tmp_path_factory.mktemp("stage")
    there = Stage(home, home / "undamaged")
    yield there
    there.stop()


@pytest.mark.parametrize("name", DISTURBANCES)
def test_a_few_disturbances_do_no_harm(name, stage, tmp_path):
    scenes = FEW if LONGER else [one for one in SCENES if one.name == SCENE_OF[name]]
    journal, numbers = Journal(tmp_path / "failures"), range(len(scenes))
    disturbances = DISTURBANCES[name](stage.undamaged, journal, scenes)
    for number in numbers:
        disturbances.one(stage, random.Random(f"17 {name} {number}"), number)
    assert found_nothing(journal, numbers), journal.table()
