"""A short attack with damaged files, kills and the rest, and every case that attacks have found so far."""

import random
import shutil
from functools import cache, partial

import places
import pytest
from attack import golden, layout, outcomes
from attack.consistent import contradictions
from attack.damage import Damage
from attack.here import Here
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
    serving = serving if LONGER else Here(serving)
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


def in_the_suite(i, j):
    """Of all pairs, one that selects, one that evaluates for each damage, and one that cuts for some."""
    return j in (i % 5, 5 + i % 3) or (i % 13 == 0 and j == 8 + i % 2)


def each_damage_with_each_operation():
    for i, make in enumerate(golden.DAMAGED):
        for j, one in enumerate(OPERATIONS):
            marks = () if in_the_suite(i, j) else pytest.mark.slow
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
def study(catalogue, worker):
    """A study that is labelled and evaluated."""
    return catalogue.copy("stored-evaluated", worker.home / "evaluated")


TABLES = {
    "plan.parquet": ["evaluate", "evaluated"],
    "selection.parquet": ["sql", "evaluated", "FROM selection"],
    "votes": ["labels", "evaluated"],
    "curve.parquet": ["show", "evaluated", "precision@5"],
}


# without a checksum of ours, so it is as if a hostile author had given it one that fits
@pytest.mark.parametrize("make", [*golden.DAMAGED, *QUICK_ODD], ids=lambda one: one.__name__)
def test_a_damaged_table_of_a_study_is_refused_in_a_line(worker, study, make):
    made = make()
    raw = made if isinstance(made, bytes) else made[1]
    every = [*golden.DAMAGED, *golden.ODD].index(make)
    for name in TABLES if LONGER else [*TABLES][every % 2 :: 2]:
        (path,) = (study / name).glob("*.parquet") if name == "votes" else [study / name]
        kept = path.read_bytes()
        path.write_bytes(raw)
        found = outcomes.of_run(worker.run([TABLES[name]]), [path.name], (1 << 19) + outcomes.BASE_KB)
        path.write_bytes(kept)
        used = found is None and name == "votes"  # whose columns may be any, if the file is sound
        assert used or found.kind == outcomes.REFUSED, (name, found)


# few scenes and pairs, since each is played undisturbed first; in the suite one that needs no compiler, and
# test_label_store and test_interrupts kill and interrupt evaluations
FEW = [one for one in SCENES if one.name in ("select", "evaluate, second table")]
FEWEST = [one for one in SCENES if one.name == "plan"]
DISTURBANCES = {"kills": Kills, "interrupts": Interrupts, "disks": Shortages}
PAIRS = partial(Pairs, commands=("evaluate", "forget"))
# damaged studies and pairs of commands are in the long set alone: test_own_files flips every bit of a study's files,
# and test_at_once runs two commands at once
LONG = {
    "rankings": (Rankings, range(60)),
    "tables": (Tables, range(25)),
    "studies": (Studies, range(12)),
    **{name: (partial(one, scenes=FEW), range(6)) for name, one in DISTURBANCES.items()},
    "pairs": (PAIRS, range(3)),
}


def found_nothing(journal, cases):
    return sum(journal.tried.values()) >= len(cases) / 2 and not journal.failed


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "cases"), LONG.values(), ids=LONG)
def test_a_longer_attack_finds_nothing(attack, cases, tmp_path):
    journal = Journal(tmp_path / "failures")
    hunt(attack(tmp_path / "undamaged", journal), Effort(17, 600, 1, cases), tmp_path)
    assert found_nothing(journal, cases), journal.table()


def try_in_turn(attack, place, cases):
    for number in cases:
        attack.one(place, random.Random(f"17 {attack.name} {number}"), number)
    assert found_nothing(attack.journal, cases), attack.journal.table()


def test_a_short_attack_with_damaged_rankings_finds_nothing(rankings, worker):
    try_in_turn(rankings, worker, range(2))


def test_a_short_attack_with_damaged_label_tables_finds_nothing(rankings, tmp_path):
    tables = Tables(rankings.folder, Journal(tmp_path / "failures"))
    try_in_turn(tables, Here(tables.worker(tmp_path / "tables")), range(1))


@pytest.fixture(scope="module")
def stage(ready_process, rankings, tmp_path_factory):
    """One for all disturbances: what is played undisturbed is the same for each."""
    return Stage(tmp_path_factory.mktemp("stage"), rankings.folder, ready_process)


@pytest.mark.usefixtures("forks")
@pytest.mark.parametrize("name", DISTURBANCES)
def test_a_few_disturbances_do_no_harm(name, stage, tmp_path):
    disturbances = DISTURBANCES[name](stage.undamaged, Journal(tmp_path / "failures"), FEWEST)
    try_in_turn(disturbances, stage, range(1))
