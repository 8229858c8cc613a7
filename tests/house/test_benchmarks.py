"""Every case of the benchmark at a small size: ours and the peers return what the generator made."""

import json
import re

import numpy as np
import pytest
from places import HOME
from suite_cases import cases as some
from suite_cases import slow

from benchmarks import __main__ as command
from benchmarks import growth, paired, paired_scans, questions, shapes
from benchmarks.case import Context, cases
from benchmarks.check import _STEPS, check, judged
from benchmarks.data import Dataset, ids
from benchmarks.judges import second_batches
from benchmarks.readme import README, write_section
from benchmarks.simulated_lists import SimulatedList
from benchmarks.simulated_lists import ask as questions_asked
from benchmarks.tables import table
from benchmarks.worker import measure

ITEMS = 60_000


@pytest.fixture(scope="session")
def context(tmp_path_factory):
    return Context(tmp_path_factory.mktemp("bench"), ITEMS, 7, 2)


@pytest.mark.parametrize("name", some(sorted(cases()), "exact_stored"))
def test_every_runner_returns_the_truth(context, name, monkeypatch):
    monkeypatch.setattr("benchmarks.worker._MOST_RUNS", 1)
    case = cases()[name]
    for dataset in case.datasets(context):
        dataset.make()
        assert dataset.complete
    rows = {runner: measure(case, runner, context) for runner in case.runners}
    text = table(case, context, rows, 1e9)
    assert len(text.splitlines()) == len(rows) + 4


@pytest.mark.parametrize(
    ("shape", "most", "labels"), [(".97 falling to .5 in ln r", 0.081, 0.82), ("constant .5", 0.084, 1.02)]
)
def test_the_second_batch_goes_where_it_is_needed(shape, most, labels):
    """Medians of 8 runs; with one offset for all densities the falling list reached .091 near the head."""
    found = second_batches(shape, 8, 10**6)
    assert found["adaptive"][0] < most
    assert found["adaptive"][1] < labels * found["fixed"][1]


def test_simulated_lists_are_counted_and_cut_as_they_are_labelled(monkeypatch):
    monkeypatch.setattr("benchmarks.simulated_lists._CHUNK", 1_000)
    of = SimulatedList(7_500, lambda rank: 0.98 / (1 + rank / 1_000), 3)
    found = np.cumsum(of.labels(np.arange(1, 7_501)))
    assert of.positives([2_000, 1, 7_500]) == [found[1_999], found[0], found[7_499]]
    assert of.deepest("0.8") == np.flatnonzero(found >= 0.8 * np.arange(1, 7_501))[-1] + 1
    assert of.expected_positives(7_500) == pytest.approx(found[-1], rel=0.05)
    assert not np.array_equal(of.labels(np.arange(1, 99)), SimulatedList(7_500, of.rate, 4).labels(np.arange(1, 99)))


def test_questions_are_asked_and_wrong_answers_counted():
    found = questions.gate(("0.9", 0.8, None, True), 0)
    assert found.counted <= found.asked < 1_000
    assert not found.is_wrong
    assert questions.point((0.5, "0.0406", (10**3, 10**4)), 0).measures[0] < 0.05


@pytest.mark.slow
def test_questions_of_every_design_are_asked():
    fronts = questions.cut((".97, .3 from N/100", "0.9"), 0)
    assert fronts.asked >= 4_000
    assert 0 < fronts.measures[-1] <= 1
    assert [*fronts.measures] == sorted(fronts.measures)
    assert questions.recall((3 * 10**5, "0.3"), 0).measures[0] == pytest.approx(0.51, abs=0.01)
    assert questions.total((".95/(1+(r/3·10⁵)²), 2·10⁹ items", 20), 0).refused


def test_a_table_of_questions_says_how_many_answers_are_wrong(monkeypatch):
    falling = questions.Shape(10**5, lambda rank: 0.9 / (1 + rank / 10_000))
    for at in (questions, shapes):
        monkeypatch.setattr(at, "SHAPES", {"falling": falling})
    lines = questions.totals(questions.Runs(10, 1)).splitlines()
    assert [line.split(" | ")[:2] for line in lines[2:4]] == [["| falling: 21,580", f"{one} %"] for one in (20, 10)]
    assert lines[-1] == "Numbers of positives: 0 wrong of 4; 0 are allowed."


@pytest.mark.parametrize(
    ("run", "case"),
    [
        (questions.gate, ("0.9", 0.8, None, False)),
        *slow(
            (questions.point, (0.5, "0.0406", (10**4,))),
            (questions.total, (".9/(1+r/10⁶)", 20)),
            (questions.cut, (".98/(1+100r/N)", "0.9")),
            (questions.recall, (3 * 10**5, "0.3")),
        ),
    ],
)
def test_a_wrong_answer_of_any_design_is_counted(run, case, monkeypatch):
    """The answers are those for a list of another kind: all of its items are positive."""

    def other(asking, of, *more):
        return questions_asked(asking, SimulatedList(of.n_items, lambda _: 1.0, of.seed), *more)

    monkeypatch.setattr(questions, "ask", other)
    assert run(case, 0).is_wrong


def test_growth_is_read_off_runs_of_several_sizes():
    known = cases()
    found = {}
    for case, ours, alone in growth._TIMED.values():
        assert {ours, *alone} <= known[case].runners.keys()
        found[case, 10**7] = {name: {"cold": 2.0, "warm": 1.0} for name in known[case].runners}
    found["exact_stored", 10**8] = {"streameval exact, ties by score": {"failed": "not done in 9 s"}}
    lines = growth.table(found, [10**7, 10**8]).splitlines()
    assert len(lines) == 2 + len(growth._TIMED)
    assert lines[3] == "| windows by score, of half as many | 2.00 / 1.00 | 4.00 / 2.00 | 0.50 / 0.50 |  |  |  |"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["windows", "windows_by_score"])
def test_ours_at_ten_million_items(name, tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.worker._MOST_RUNS", 1)
    context, case = Context(tmp_path, 10**7, 7, 2), cases()[name]
    for dataset in case.datasets(context):
        dataset.make()
    assert measure(case, next(iter(case.runners)), context)["cold"] > 0


def test_the_command_prints_tables_and_keeps_figures(tmp_path, capsys, monkeypatch):
    """Runners have processes of their own; no kernel is compiled in them, which takes longer than all the rest."""
    monkeypatch.setattr(command, "compile", lambda: None)
    monkeypatch.setattr(command, "_first", lambda *given: command._run(*given, None, "first")["first"])
    arguments = ["--items", "3e4", "--cases", "band", "--data", str(tmp_path / "d")]
    command.main([*arguments, "--json", str(tmp_path / "f")])
    assert "| streameval |" in capsys.readouterr().out
    row = json.loads((tmp_path / "f").read_text())["rows"]["streameval"]
    assert row["cold"] > 0
    assert row["first"] > 0
    command.main([*arguments, "--clean"])
    assert not (tmp_path / "d").exists()


def test_data_are_made_once_and_follow_the_rank(tmp_path):
    dataset = Dataset(tmp_path, 5_000)
    dataset.make()
    before = [path.stat().st_mtime_ns for path in dataset.files]
    dataset.make()
    assert [path.stat().st_mtime_ns for path in dataset.files] == before
    items = dataset.items(np.arange(1, 5_001))
    assert np.all(np.diff(items.column("score").to_numpy()) <= 0)
    assert np.unique(ids(np.arange(1, 5_001), 5_000, 3)).size == 5_000


def test_two_rankings_are_counted_alike_by_all(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    paired_scans._write(old, ITEMS, {"score": 0})
    paired_scans._write(new, ITEMS, {"score": 1}, step=7)
    found = [run(str(new), str(old), [100, 5_000]) for run in paired_scans._RUNNERS.values()]
    assert {tuple(one["gains"]) for one in found} == {tuple(found[0]["gains"])}
    assert 0 < found[0]["gains"][1] < 500


def test_tables_stand_between_their_markers(tmp_path):
    text = README.read_text(encoding="utf-8")
    names = re.findall(r"^<!-- (\w+) -->$", text, re.MULTILINE)
    assert names == re.findall(r"^<!-- /(\w+) -->$", text, re.MULTILINE)
    sources = "".join(path.read_text(encoding="utf-8") for path in README.parent.glob("*.py"))
    written = set(re.findall(r'write_section\("(\w+)"', sources)) | {f"questions_{part}" for part in questions.PARTS}
    written |= {f"paired_{part}" for part in paired.PARTS}
    assert written <= set(names) <= set(cases()) | written
    assert re.search(r"\]\(benchmarks/README\.md", (HOME / "README.md").read_text(encoding="utf-8"))
    copy = tmp_path / "README.md"
    copy.write_text("a\n<!-- x -->\nold\n<!-- /x -->\nb\n", encoding="utf-8")
    write_section("x", "new", copy)
    assert copy.read_text(encoding="utf-8") == "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n"
    with pytest.raises(SystemExit):
        write_section("y", "new", copy)


def test_a_step_is_too_slow_at_more_than_twice_its_published_ratio():
    seconds = {"as before": (1.9, 1.0), "slow": (2.1, 1.0), "new": (1.0, 1.0)}
    text, slow = judged(seconds, {"as before": 1.0, "slow": 1.0})
    assert slow == ["slow", "new"]
    assert "| as before | 1.900 | 1.000 | 1.90 | 1.00 |  |" in text
    assert "| slow | 2.100 | 1.000 | 2.10 | 1.00 | too slow |" in text


def test_without_published_ratios_nothing_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.check.RATIOS", tmp_path / "ratios.json")
    with pytest.raises(SystemExit, match=r"^ratios.json is missing.*--publish$"):
        check(10, publish=False)


def test_the_steps_that_are_checked_are_cases_of_the_benchmark():
    for case, ours, peers in _STEPS.values():
        assert {ours, *peers} <= cases()[case].runners.keys()
