"""Every case of the benchmark at a small size: ours and the peers return what the generator made."""

import importlib
import json
import math
import re

import numpy as np
import pytest
from binomial import binomial_tail
from places import HOME, SHARED
from suite_cases import cases, examples, slow

SOURCES = {path.stem: path.read_text(encoding="utf-8") for path in (HOME / "benchmarks").glob("*.py")}
CASES = sorted(name for name, text in SOURCES.items() if re.search("^CASE = ", text, re.MULTILINE))


class Benchmarks:
    """The files of the benchmark, each loaded when it is first used: they take long, and one worker needs them."""

    def __getattr__(self, name):
        if name not in SOURCES:
            raise AttributeError(name)
        return importlib.import_module(f"benchmarks.{name}")


bench = Benchmarks()
README = HOME / "benchmarks" / "README.md"
ITEMS = 20_000


@pytest.fixture(scope="session")
def context(tmp_path_factory):
    return bench.case.Context(tmp_path_factory.mktemp("bench"), ITEMS, 7, 2)


@pytest.mark.parametrize("name", cases(CASES, "windows"))
def test_every_runner_returns_the_truth(context, name, monkeypatch):
    monkeypatch.setattr("benchmarks.worker._MOST_RUNS", 1)
    case = getattr(bench, name).CASE
    for dataset in case.datasets(context):
        dataset.make()
        assert dataset.complete
    rows = {runner: bench.worker.measure(case, runner, context) for runner in case.runners}
    text = bench.tables.table(case, context, rows, 1e9)
    assert len(text.splitlines()) == len(rows) + 4


@pytest.mark.parametrize(
    ("shape", "most", "labels"), [(".97 falling to .5 in ln r", 0.081, 0.82), ("constant .5", 0.084, 1.02)]
)
def test_the_second_batch_goes_where_it_is_needed(shape, most, labels):
    """Medians of 8 runs; with one offset for all densities the falling list reached .091 near the head."""
    found = bench.judges.second_batches(shape, 8, 10**6)
    assert found["adaptive"][0] < most
    assert found["adaptive"][1] < labels * found["fixed"][1]


def test_simulated_lists_are_counted_and_cut_as_they_are_labelled(monkeypatch):
    monkeypatch.setattr("benchmarks.simulated_lists._CHUNK", 1_000)
    of = bench.simulated_lists.SimulatedList(7_500, lambda rank: 0.98 / (1 + rank / 1_000), 3)
    found = np.cumsum(of.labels(np.arange(1, 7_501)))
    assert of.positives([2_000, 1, 7_500]) == [found[1_999], found[0], found[7_499]]
    assert of.deepest("0.8") == np.flatnonzero(found >= 0.8 * np.arange(1, 7_501))[-1] + 1
    assert of.expected_positives(7_500) == pytest.approx(found[-1], rel=0.05)
    assert not np.array_equal(
        of.labels(np.arange(1, 99)), bench.simulated_lists.SimulatedList(7_500, of.rate, 4).labels(np.arange(1, 99))
    )


def test_questions_are_asked_and_wrong_answers_counted():
    found = bench.questions.gate(("0.9", 0.8, None, True), 0)
    assert found.counted <= found.asked < 1_000
    assert not found.is_wrong
    assert bench.questions.point((0.5, "0.0406", (10**3, 10**4)), 0).measures[0] < 0.05


@pytest.mark.slow
def test_questions_of_every_design_are_asked():
    fronts = bench.questions.cut((".97, .3 from N/100", "0.9"), 0)
    assert fronts.asked >= 4_000
    assert 0 < fronts.measures[-1] <= 1
    assert [*fronts.measures] == sorted(fronts.measures)
    assert bench.questions.recall((3 * 10**5, "0.3"), 0).measures[0] == pytest.approx(0.51, abs=0.01)
    assert bench.questions.total((".95/(1+(r/3·10⁵)²), 2·10⁹ items", 20), 0).refused


@pytest.mark.parametrize("case", ["precision", "recall", "positives"])
def test_forecasts_hold_as_often_as_they_say_where_truths_are_as_their_prior(case):
    """Of forecasts of no more labels than are given: the first of each question, so that they are independent."""
    runs = examples(2, 150)
    found = [one[0] for one in (bench.questions.foreseen(case, run) for run in range(5_000, 5_000 + runs)) if one]
    for at, share in ((0, 0.5), (1, 0.9)):
        judged = [one[2] <= one[at] for one in found if one[at] <= 5_000]
        held, missed = sum(judged), len(judged) - sum(judged)
        assert binomial_tail(len(judged), held, share) > 1e-3
        assert binomial_tail(len(judged), missed, 1 - share) > 1e-3


def test_forecasts_are_judged_where_as_many_labels_were_given():
    said = [(100.0, 90.0), (100.0, 101.0), (5_000.0, math.inf), (5_001.0, math.inf), (math.inf, 7.0)]
    assert bench.questions.held(said) == "33% of 3"
    assert bench.questions.held(said[3:]) == ""


def test_a_table_of_questions_says_how_many_answers_are_wrong(monkeypatch):
    falling = bench.questions.Shape(30_000, lambda rank: 0.9 / (1 + rank / 3_000))
    for at in (bench.questions, bench.shapes):
        monkeypatch.setattr(at, "SHAPES", {"falling": falling})
    lines = bench.questions.totals(bench.questions.Runs(10, 1)).splitlines()
    assert [line.split(" | ")[:2] for line in lines[2:4]] == [["| falling: 6,474", f"{one} %"] for one in (20, 10)]
    assert lines[-1] == "Numbers of positives: 0 wrong of 4; 0 are allowed. The first plan sufficed in 100%."


@pytest.mark.parametrize(
    ("design", "case"),
    [
        ("gate", ("0.9", 0.8, None, False)),
        *slow(
            ("point", (0.5, "0.0406", (10**4,))),
            ("total", (".9/(1+r/10⁶)", 20)),
            ("cut", (".98/(1+100r/N)", "0.9")),
            ("recall", (3 * 10**5, "0.3")),
        ),
    ],
)
def test_a_wrong_answer_of_any_design_is_counted(design, case, monkeypatch):
    """The answers are those for a list of another kind: all of its items are positive."""
    ask = bench.simulated_lists.ask

    def other(asking, of, *more):
        return ask(asking, bench.simulated_lists.SimulatedList(of.n_items, lambda _: 1.0, of.seed), *more)

    monkeypatch.setattr(bench.questions, "ask", other)
    assert getattr(bench.questions, design)(case, 0).is_wrong


def test_growth_is_read_off_runs_of_several_sizes():
    found = {}
    for case, ours, alone in bench.growth._TIMED.values():
        runners = getattr(bench, case).CASE.runners
        assert {ours, *alone} <= runners.keys()
        found[case, 10**7] = {name: {"cold": 2.0, "warm": 1.0} for name in runners}
    found["exact_stored", 10**8] = {"streameval exact, ties by score": {"failed": "not done in 9 s"}}
    lines = bench.growth.table(found, [10**7, 10**8]).splitlines()
    assert len(lines) == 2 + len(bench.growth._TIMED)
    assert lines[3] == "| windows by score, of half as many | 2.00 / 1.00 | 4.00 / 2.00 | 0.50 / 0.50 |  |  |  |"


@pytest.mark.slow
@pytest.mark.parametrize("name", ["windows", "windows_by_score"])
def test_ours_at_ten_million_items(name, tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.worker._MOST_RUNS", 1)
    context, case = bench.case.Context(tmp_path, 10**7, 7, 2), getattr(bench, name).CASE
    for dataset in case.datasets(context):
        dataset.make()
    assert bench.worker.measure(case, next(iter(case.runners)), context)["cold"] > 0


@pytest.mark.parametrize("here", cases([True, False], True))
def test_the_command_prints_tables_and_keeps_figures(here, tmp_path, capsys, monkeypatch):
    """Runners have processes of their own; no kernel is compiled in them, which takes longer than all the rest."""

    def run(name, runner, context, timeout, more=None, how="measure"):
        return getattr(bench.worker, how)(known[name], runner, context)

    known = {"band": bench.band.CASE}
    if here:
        monkeypatch.setattr(bench.__main__, "_run", run)
        monkeypatch.setattr(bench.__main__, "cases", lambda: known)
    apart = bench.__main__._run
    monkeypatch.setattr(bench.__main__, "compile", lambda: None)
    monkeypatch.setattr(bench.__main__, "_first", lambda *given: apart(*given, None, "first")["first"])
    arguments = ["--items", "3e4", "--cases", "band", "--data", str(tmp_path / "d")]
    bench.__main__.main([*arguments, "--json", str(tmp_path / "f")])
    assert "| streameval |" in capsys.readouterr().out
    row = json.loads((tmp_path / "f").read_text())["rows"]["streameval"]
    assert row["cold"] > 0
    assert row["first"] > 0
    bench.__main__.main([*arguments, "--clean"])
    assert not (tmp_path / "d").exists()


def test_a_bootstrap_and_delong_have_the_standard_errors_of_paired_samples(monkeypatch):
    """300 replicates have a standard error of 4 % of theirs."""
    power, pairs = bench.sample_power, bench.sample_pairs
    monkeypatch.setattr(power, "_replicates", power._replicates.py_func)
    both = power.Cell(500, 0.4, 0.05).draw(np.random.default_rng(4))
    again, sides = power.bootstrap(both, 5, 300), [power.summed(rows) for rows in both]
    for at, metric in enumerate(("AP", "AUC")):
        found = pairs.difference(sides, metric, 100)
        assert again[:, at].std() == pytest.approx(found.standard_error, rel=0.15)
        assert abs(again[:, at].mean() - found.value) < 0.25 * found.standard_error
    assert power.delong(both) == pytest.approx((found.value, found.standard_error), rel=0.02)


@pytest.mark.skipif(not (SHARED / "data").exists(), reason="the real lists are not here")
def test_intervals_of_samples_of_a_real_list():
    """Eight samples of 2,000: each has an interval or a reason, and about nineteen in twenty intervals hold."""
    found = bench.sample_real.counts("nyt10_reside", 0, 8)
    assert {("average_precision", "positives"), ("mcc_at", "100"), ("f1_at_score", "")} <= found.keys()
    for (metric, argument), of in found.items():
        assert of.issued + of.reasons.total() == 8
        assert of.issued == 0 or 0 < of.width / of.issued < 0.5
        assert binomial_tail(of.issued, of.issued - of.holds, 0.05) > 1e-4, (metric, argument)
    assert found["recall_at", "2000"].reasons == {"it is 0 or 1 in this sample": 8}


def test_data_are_made_once_and_follow_the_rank(tmp_path):
    dataset = bench.data.Dataset(tmp_path, 5_000)
    dataset.make()
    before = [path.stat().st_mtime_ns for path in dataset.files]
    dataset.make()
    assert [path.stat().st_mtime_ns for path in dataset.files] == before
    items = dataset.items(np.arange(1, 5_001))
    assert np.all(np.diff(items.column("score").to_numpy()) <= 0)
    assert np.unique(bench.data.ids(np.arange(1, 5_001), 5_000, 3)).size == 5_000


def test_two_rankings_are_counted_alike_by_all(tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    bench.paired_scans._write(old, 5_000, {"score": 0})
    bench.paired_scans._write(new, 5_000, {"score": 1}, step=7)
    found = [run(str(new), str(old), [100, 1_000]) for run in bench.paired_scans._RUNNERS.values()]
    assert {tuple(one["gains"]) for one in found} == {tuple(found[0]["gains"])}
    assert 0 < found[0]["gains"][1] < 100


def test_tables_stand_between_their_markers(tmp_path):
    text = README.read_text(encoding="utf-8")
    names = re.findall(r"^<!-- (\w+) -->$", text, re.MULTILINE)
    assert names == re.findall(r"^<!-- /(\w+) -->$", text, re.MULTILINE)
    written = set(re.findall(r'write_section\("(\w+)"', "".join(SOURCES.values()))) | {
        f"questions_{part}" for part in bench.questions.PARTS
    }
    written |= {f"paired_{part}" for part in bench.paired.PARTS}
    assert written <= set(names) <= set(CASES) | written
    assert re.search(r"\]\(benchmarks/README\.md", (HOME / "README.md").read_text(encoding="utf-8"))
    copy = tmp_path / "README.md"
    copy.write_text("a\n<!-- x -->\nold\n<!-- /x -->\nb\n", encoding="utf-8")
    bench.readme.write_section("x", "new", copy)
    assert copy.read_text(encoding="utf-8") == "a\n<!-- x -->\nnew\n<!-- /x -->\nb\n"
    with pytest.raises(SystemExit):
        bench.readme.write_section("y", "new", copy)


def test_a_step_is_too_slow_at_more_than_twice_its_published_ratio():
    seconds = {"as before": (1.9, 1.0), "slow": (2.1, 1.0), "new": (1.0, 1.0)}
    text, slow = bench.check.judged(seconds, {"as before": 1.0, "slow": 1.0})
    assert slow == ["slow", "new"]
    assert "| as before | 1.900 | 1.000 | 1.90 | 1.00 |  |" in text
    assert "| slow | 2.100 | 1.000 | 2.10 | 1.00 | too slow |" in text


def test_without_published_ratios_nothing_is_measured(tmp_path, monkeypatch):
    monkeypatch.setattr("benchmarks.check.RATIOS", tmp_path / "ratios.json")
    with pytest.raises(SystemExit, match=r"^ratios.json is missing.*--publish$"):
        bench.check.check(10, publish=False)


@pytest.mark.slow
def test_cases_are_the_files_that_have_one():
    assert sorted(bench.case.cases()) == CASES


def test_the_steps_that_are_checked_are_cases_of_the_benchmark():
    for case, ours, peers in bench.check._STEPS.values():
        assert {ours, *peers} <= getattr(bench, case).CASE.runners.keys()


def test_the_store_says_which_bytes_of_a_file_it_answers_with(tmp_path):
    (tmp_path / "a").write_bytes(b"0123456789")
    bucket = bench.object_store.Bucket(tmp_path, 0)
    head, body = bucket.answer("GET", "/lake/list/a", "bytes=2-40").split(b"\r\n\r\n")
    assert (head.split(b"\r\n")[0], body) == (b"HTTP/1.1 206 Partial Content", b"23456789")
    assert b"\r\nContent-Range: bytes 2-9/10" in head
    whole = bucket.answer("GET", "/lake/list/a", "")
    assert (whole.startswith(b"HTTP/1.1 200 OK\r\n"), b"Content-Range" in whole) == (True, False)
