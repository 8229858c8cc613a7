"""A short attack with damaged files, kills and the rest, and every case that attacks have found so far."""

import shutil
from pathlib import Path

import pytest
from attack import golden, outcomes
from attack.damage import Damage
from attack.hunt import Effort, hunt
from attack.journal import Journal
from attack.kills import Interrupts, Kills, Shortages
from attack.pairs import Pairs
from attack.rankings import MEMORY_GB, NAMED, OPERATIONS, RANKING, Base, Rankings
from attack.studies import Studies
from attack.tables import Tables
from attack.worker import fresh

SHARED = Path(__file__).resolve().parents[2] / "shared" / "attack"
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
    *([PLAN, SELECT, [*SELECT, "--export", name]] for name in EXPORTS),
]


@pytest.fixture(scope="module")
def rankings(tmp_path_factory):
    return Rankings(tmp_path_factory.mktemp("undamaged"), Journal(tmp_path_factory.mktemp("failures")))


@pytest.fixture(scope="module")
def worker(rankings, tmp_path_factory):
    serving = rankings.worker(tmp_path_factory.mktemp("golden"))
    yield serving
    serving.stop()


@pytest.fixture(scope="module", params=golden.DAMAGED, ids=lambda one: one.__name__)
def case(request):
    """An undamaged file, and what was done to it."""
    file, raw = request.param()
    site = "footer.row_groups.columns.meta_data.statistics" if "statistics_of" in request.param.__name__ else "as told"
    return Base(request.param.__name__, file), Damage("made", site, "as told", ((0, len(file.raw), raw),))


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda one: one.name)
def test_a_damaged_file_is_refused_or_does_no_harm(rankings, worker, case, operation):
    found = rankings.outcome(worker, case[0], operation, case[1])
    assert not found.failed, found
    assert found.kind != outcomes.UNSHOWN, "all of these contradict themselves"


def is_orderly(worker, raw, commands):
    """Whether a file is used, or refused in a line."""
    shutil.rmtree(worker.home / "study", ignore_errors=True)
    (worker.home / RANKING).unlink(missing_ok=True)
    (worker.home / RANKING).write_bytes(raw)
    found = outcomes.of_run(worker.run(commands), NAMED, int(MEMORY_GB * 1e6) + outcomes.BASE_KB)
    assert found is None or found.kind == outcomes.REFUSED, (commands[-1], found)


@pytest.mark.parametrize("make", golden.ODD, ids=lambda one: one.__name__)
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


ATTACKS = {Rankings: 120, Tables: 40, Studies: 40, Kills: 10, Interrupts: 10, Shortages: 10, Pairs: 6}


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda one: one.name)
def test_a_short_attack_finds_nothing(attack, tmp_path):
    journal = Journal(tmp_path / "failures")
    effort = Effort(seed=17, seconds=60, jobs=1, cases=range(ATTACKS[attack]))
    hunt(attack(fresh(tmp_path / "undamaged"), journal), effort, tmp_path)
    assert sum(journal.tried.values()) > 0
    assert not journal.failed, journal.table()
