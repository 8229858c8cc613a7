"""The watch through a month: labels that come late, nights that are missed, falls, and bands that fail by chance."""

from dataclasses import dataclass, replace
from datetime import date, timedelta
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from measured import with_tables
from small_studies import START
from suite_cases import cases
from test_monitor import pooled

import streameval
from benchmarks import late_labels
from benchmarks.monitor import design
from streameval.cli import run
from streameval.curve.bounds import Bounds
from streameval.curve.runs import STAKES, Days
from streameval.kernels.martingale import evidence
from streameval.kinds.curve.history import SCHEMA, Day
from streameval.kinds.curve.history_page import page, sentences
from streameval.methods import create
from streameval.study.judging import at_confidence, curve_of
from streameval.types import Labels

N, CUTOFF = 600, 300


def night(root, day, share, n=N, budget=200):
    """A study of one day's list, of which no label is in yet; its labels in the order in which they come."""
    folder = root / str(START + timedelta(days=day - 1))
    rng = np.random.default_rng(day)
    truth = rng.random(n) < share
    plan = streameval.plan(pa.table({"id": np.arange(n)}), folder, seed=day, budget=budget)
    ranks = rng.permutation(plan.ranks)
    return folder, pa.table({"rank": ranks, "label": truth[ranks - 1]})


@pytest.fixture(scope="module")
def week(tmp_path_factory):
    """Six nights, all labelled, the last two of them bad."""
    root = tmp_path_factory.mktemp("week")
    return [with_tables(*night(root, day, 0.95 if day < 5 else 0.3)) for day in range(1, 7)]


def rows_of(out):
    return pq.read_table(out).to_pylist()


@dataclass(frozen=True)
class Calendar:
    """What happens on which night, of so many.

    Attributes
    ----------
    nights, items : int
    falls : int
        The first night with a precision of .6 (in a week, .3) in place of .95.
    late, back : int
        The night whose labels are there in part, and the one on which the rest is.
    down : tuple of int
        Nights on which the job does not run.
    up : dict of int to int
        Nights on which it runs again, with how many nights it is given.
    good : list of int
        Statuses of the calls before the fall.
    """

    nights: int
    items: int
    falls: int
    late: int
    back: int
    down: tuple[int, ...]
    up: dict[int, int]
    good: list[int]


MONTH = Calendar(
    30, 3_000, 21, 10, 12, (15, 22, 25, 26, 27), {16: 2, 23: 2, 28: 4}, [5] * 4 + [0] * 5 + [5] * 2 + [0] * 8
)  # fmt: skip
WEEKS = Calendar(17, 3_000, 13, 7, 9, (10, 14, 15), {11: 2, 16: 3}, [5] * 4 + [0] * 2 + [5] * 2 + [0] * 3)
WEEK = Calendar(6, N, 5, 2, 3, (4,), {5: 2}, [0, 5, 0])


@pytest.mark.parametrize("calendar", cases([MONTH, WEEKS, WEEK], WEEK), ids=lambda one: f"{one.nights} nights")
def test_a_month_of_nights_with_late_labels_a_missed_night_and_falls(calendar, week, tmp_path, capsys):
    """Precision is .95 at first and lower from some night on; .85 is to be kept. Every status of every call."""
    out, statuses, studies = tmp_path / "history.parquet", {}, []
    cutoff = calendar.items // 2

    def watch(*folders):
        asked = [f"precision@{cutoff} >= 0.85", "--out", str(out)]
        capsys.readouterr()
        status = run(["monitor", *map(str, folders), *(asked if not out.exists() else asked[-2:])])
        return status, capsys.readouterr()

    def done(folder, labels):
        return folder if folder in week else with_tables(folder, labels)

    for day in range(1, calendar.nights + 1):
        if calendar is WEEK and day != calendar.late:
            folder, labels = week[day - 1], ()
        else:
            folder, labels = night(tmp_path, day, 0.95 if day < calendar.falls else 0.6, calendar.items)
        studies.append(folder)
        if day == calendar.late:  # a third of the labels is in when the job starts, the rest two nights later
            late = labels.slice(60)
            with_tables(folder, labels.slice(0, 60))
            before = out.read_bytes()
            status, said = watch(folder)
            assert status == 5
            assert f"planned labels are missing: {late.num_rows} of {labels.num_rows}. It is taken when" in said.out
            assert "--allow=incomplete takes it now" in said.out
            assert said.out.endswith("\nwaiting\n")
            assert out.read_bytes() == before
            status, said = watch(folder, "--allow", "incomplete")
            assert f"2026-01-{day:02} counts with 60 of {labels.num_rows} labels" in said.out
            early = rows_of(out)[-1]
        elif day == calendar.back:  # they are in: that night again, and tonight
            with_tables(studies[calendar.late - 1], late)
            status, said = watch(studies[calendar.late - 1], done(folder, labels))
            row = rows_of(out)[calendar.late - 1]
            assert (row["missing"], early["missing"]) == (0, late.num_rows)
            assert early["precision_lower"] < row["precision_lower"] <= row["precision_upper"]
            assert "labels: its bounds allow" not in said.out
        elif day in calendar.down:  # the machine was down
            done(folder, labels)
            continue
        elif day in calendar.up:  # all nights since it went down in one call
            status, said = watch(*studies[-calendar.up[day] : -1], done(folder, labels))
        else:
            status, said = watch(done(folder, labels))
        statuses[day] = status
    assert [status for day, status in statuses.items() if day < calendar.falls] == calendar.good
    fallen = [row["day"].day for row in rows_of(out) if row["change"] == "fall"]
    assert len(fallen) == 1
    assert calendar.falls <= fallen[0] <= calendar.falls + 2
    assert {statuses[day] for day in statuses if day >= fallen[0]} == {4}
    status, said = watch(studies[-1])  # nobody read the page: it is said again
    assert status == 4
    assert "Nothing was added" in said.out
    assert "it is proven to be below 0.85" in said.out
    once = streameval.monitor(studies, f"precision@{cutoff} >= 0.85")
    assert once.table.equals(pq.read_table(out))  # as if all labels had been there on their night
    assert once.outcome == "fail"


def test_a_fall_on_any_day_of_a_call_is_status_4_and_once_alone(week, tmp_path, capsys):
    """As in the catch-up call of a trial: the fall lies days before the last one, and no precision was named."""
    studies, out = week, tmp_path / "history.parquet"
    assert run(["monitor", *map(str, studies[:3]), f"precision@{CUTOFF}", "--out", str(out)]) == 0
    capsys.readouterr()
    assert run(["monitor", *map(str, studies), "--out", str(out)]) == 4
    fallen = [row["day"] for row in rows_of(out) if row["change"] == "fall"]
    assert fallen
    assert fallen[-1] < rows_of(out)[-1]["day"]
    assert f"New: a fall, established on {fallen[0]}." in capsys.readouterr().out
    assert run(["monitor", *map(str, studies), "--out", str(out)]) == 0  # nothing new, and nothing to keep


def test_a_model_that_is_bad_from_the_first_day_is_status_4_as_long_as_it_is(tmp_path):
    """No day alone proves it, and nothing falls: the mean does."""
    out, outcomes = tmp_path / "history.parquet", []
    for day in (1, 2):
        folder = with_tables(*night(tmp_path, day, 0.8, budget=130))
        found = streameval.monitor(folder, f"precision@{CUTOFF} >= 0.9", out=out)
        outcomes.append((found.rows[-1]["outcome"], found.rows[-1]["run_outcome"], found.outcome))
    assert outcomes[0] == ("inconclusive",) * 3
    assert outcomes[-1] == ("inconclusive", "fail", "fail")
    assert [row["change"] for row in found.rows] == [None] * 2


def test_what_came_late_may_be_added_and_nothing_may_change(tmp_path, capsys):
    out = tmp_path / "history.parquet"
    folder, labels = night(tmp_path, 1, 0.9)
    early, late = labels.slice(0, 90), labels.slice(90)
    asked = [str(folder), "--out", str(out)]
    with_tables(folder, early)
    assert run(["monitor", *asked, f"precision@{CUTOFF}", "--allow", "incomplete"]) == 0
    with_tables(folder, late.slice(0, 30))
    assert run(["monitor", *asked]) == 0  # it was taken as it was, and has more now
    assert "counts with 120 of" in capsys.readouterr().out
    first = rows_of(out)[0]
    with_tables(folder, pa.table({"rank": early.column("rank")[:1], "label": early.column("label")[:1]}))
    before = out.read_bytes()
    assert run(["monitor", *asked]) == 0  # another vote that changes no label
    assert out.read_bytes() == before
    other = [not one for one in early.column("label")[:2].to_pylist()]
    with_tables(folder, pa.concat_tables([pa.table({"rank": early.column("rank")[:2], "label": other})] * 3))
    capsys.readouterr()
    assert run(["monitor", *asked, "--allow", "incomplete"]) == 2
    said = capsys.readouterr().err
    assert "labels that the history counts for 2026-01-01 have changed since: 2" in said
    assert said.count("\n") == 1
    assert rows_of(out) == [first]


def test_labels_of_a_day_before_that_were_corrected_are_said_at_the_next(tmp_path, capsys):
    out, (first, labels) = tmp_path / "history.parquet", night(tmp_path, 1, 0.9)
    second = with_tables(*night(tmp_path, 2, 0.9))
    with_tables(first, labels)
    assert run(["monitor", str(first), f"precision@{CUTOFF}", "--out", str(out)]) == 0
    other = pa.table(
        {"rank": labels.column("rank")[:2], "label": [not one.as_py() for one in labels.column("label")[:2]]}
    )
    with_tables(first, pa.concat_tables([other] * 3))
    counted = rows_of(out)[0]
    capsys.readouterr()
    assert run(["monitor", str(second), "--out", str(out)]) == 0
    said = f"Labels that the history counts have changed since, of 2026-01-01 ({first}): 2. They count as they were"
    assert said in capsys.readouterr().out
    assert rows_of(out)[0] == counted


def test_a_day_that_is_judged_otherwise_is_not_replaced(tmp_path):
    out = tmp_path / "history.parquet"
    folder, labels = night(tmp_path, 1, 0.9)
    streameval.monitor(with_tables(folder, labels.slice(9)), f"precision@{CUTOFF}", allow=["incomplete"], out=out)
    with_tables(folder, labels.slice(0, 9), label_error=0.02)
    with pytest.raises(streameval.StudyError, match="allow='label_error'"):
        streameval.monitor(folder, out=out)
    with pytest.raises(streameval.StudyError, match="its bounds are not within those that the history has"):
        streameval.monitor(folder, allow=["label_error"], out=out)
    streameval.evaluate(folder, label_error=0)
    assert streameval.monitor(folder, out=out).rows[0]["missing"] == 0


def test_bounds_of_every_run_from_some_labels_hold_those_from_all():
    """What the proof rests on: whatever is missing on whatever days, every run's bounds contain the final ones."""
    blocks, rng = design(200), np.random.default_rng(11)
    items, prior, mu = blocks.items[:, None].astype(float), np.array([0.5]), STAKES / 5_000
    first, last = (np.array(side) for side in zip(*[(a, b) for a in range(1, 9) for b in range(a, 9)], strict=True))

    def days(missing):
        sides = [[], []]
        for drawn, found, unknown in zip(*missing, strict=True):
            least, most = found - np.minimum(found, unknown), found - np.minimum(found, unknown) + unknown
            for side, pair in zip(sides, ((least, most), (drawn - most, drawn - least)), strict=True):
                found_in = tuple(one[:, None].astype(float) for one in pair)
                side.append(evidence(blocks.phases, items, drawn[:, None].astype(float), found_in, prior, mu)[-1])
        return Days(*map(np.array, sides), np.zeros(8), np.zeros(8))

    for _ in range(20):
        drawn = rng.binomial(blocks.items.astype(np.int64), blocks.rate, (8, blocks.rate.size))
        found = rng.binomial(drawn, rng.uniform(0.3, 0.95, (8, 1)))
        unknown = rng.binomial(drawn, rng.choice([0, 0.1, 0.6], (8, 1)))
        low, high = days((drawn, found, np.zeros_like(drawn))).means(first, last, 0.05)
        least, most = days((drawn, found, unknown)).means(first, last, 0.05)
        assert np.all(least <= low + 1e-9)
        assert np.all(most >= high - 1e-9)


@pytest.mark.parametrize("method", ["loguniform", "uniform", "stratified"])
def test_levels_from_some_labels_hold_those_from_all(method):
    made = create(method, {"budget": 150} if method == "loguniform" else {})
    plan, rng = made.plan(400, 3), np.random.default_rng(5)
    for _ in range(10):
        label = (rng.random(plan.ranks.size) < 0.8).astype(np.int8)
        some = np.where(rng.random(label.size) < 0.3, -1, label).astype(np.int8)
        fewer = np.where(rng.random(label.size) < 0.3, -1, some).astype(np.int8)
        bounds = [made.curve(plan, Labels.of(plan, one)).envelope.at(np.arange(1, 401)) for one in (label, some, fewer)]
        for (low, high), (least, most) in pairwise(bounds):
            assert np.all((least <= low) & (high <= most))


def contradicted(root, day, seed, level=0.05, **planned):
    """A study whose own bounds contradict themselves, at a `level` too: drawn are too many for a list of positives."""
    plan = create("loguniform", {"budget": 68, "confidence": 0.05, **planned}).plan(300, seed)
    labels = Labels.of(plan, np.ones(plan.ranks.size, np.int8))
    assert not curve_of(at_confidence(plan, level), labels).envelope.consistent, "this draw will not do: search on"
    folder = root / str(START + timedelta(days=day - 1))
    streameval.plan(pa.table({"id": np.arange(300)}), folder, seed=seed, budget=68, confidence=0.05, **planned)
    return with_tables(folder, pa.table({"rank": plan.ranks, "label": labels.label}))


def test_a_day_whose_bounds_contradict_themselves_counts_with_its_evidence(tmp_path):
    """To leave it out would depend on its labels, which the proof does not cover."""
    calm, odd, bare = (
        pooled(tmp_path, 0, 1),
        contradicted(tmp_path, 2, 203),
        contradicted(tmp_path, 3, 229, stages="2:later"),
    )
    adopted = tmp_path / "2026-01-04"
    rank = np.sort(np.random.default_rng(0).choice(400, 60, replace=False) + 1)
    streameval.adopt(pa.table({"id": np.arange(400)}), adopted, pa.table({"rank": rank, "label": rank <= 100}),
                     drawn="uniform(size=60)", confidence=0.05)  # fmt: skip
    assert not streameval.Study(with_tables(adopted)).evaluation().curve.proves
    study = streameval.Study(odd)
    plan, evaluation = study.plan(), study.evaluation()
    assert not evaluation.curve.proves
    assert evaluation.curve.claim.coverage == "simultaneous"
    found = streameval.monitor([calm, odd, bare, adopted], "precision@150")
    assert [row["contradiction"] for row in found.rows] == [None, "study", "study", "study"]
    evidence = create("loguniform", plan.parameters).evidence_at(plan, evaluation.labels, 150, STAKES / 150)
    assert found.rows[1]["positives"] == evidence[0].tolist()
    assert found.rows[2]["positives"] is found.rows[3]["positives"] is None
    assert all(0 < row["precision_lower"] <= row["precision_upper"] for row in found.rows)
    told = [one for one in sentences(found) if "contradict themselves" in one]
    assert "The bounds of the study of 2026-01-02 contradict themselves, as happens by chance" in told[0]
    assert "with what its labels say of the cutoff alone" in told[0]
    assert all("with the bounds at the confidence of the day, which do not" in one for one in told[1:])


def test_a_day_whose_bounds_contradict_themselves_at_its_own_confidence_is_taken_as_unknown(tmp_path):
    level = 1 - 0.475 / 2  # of the first day of a history of confidence .05
    both = [contradicted(tmp_path, 1, 116, level), contradicted(tmp_path, 2, 269, level, stages="2:later")]
    for folder, instead in zip(both, ("what its labels say of the cutoff alone", "precision from 0 to 1"), strict=True):
        found = streameval.monitor(folder, "precision@150 >= 0.5", confidence=0.05)
        (row,) = found.rows
        assert row["contradiction"] == "day"
        assert (row["precision_lower"], row["precision_upper"], row["outcome"]) == (0, 1, "inconclusive")
        assert any("even at the confidence of the day" in one and instead in one for one in sentences(found))


def test_runs_that_contradict_themselves_establish_nothing_and_say_so(tmp_path):
    """Evidence of a share of positives below .2 and above .8: no list has both."""
    odd = -STAKES * 0.2
    days = Days(np.array([odd] * 4), np.array([odd] * 4), np.zeros(4), np.zeros(4))
    low, high = days.means(np.array([1]), np.array([4]), 0.05)
    assert low[0] > high[0]
    assert days.change(1, 0.05) is None
    history = streameval.monitor(pooled(tmp_path, 0, 1), "precision@100 >= 0.9")
    (row,) = history.rows
    one = replace(history, table=pa.Table.from_pylist([row | {"day": date(2025, 12, 31)}], schema=SCHEMA))
    level = Bounds(row["precision_lower"], row["precision"], row["precision_upper"])
    day = Day(row["day"], "b", "b", "b", None, 300, 100, np.zeros(3, np.int8), level, None, (odd, odd))
    found = one.with_study(1, day).with_study(2, replace(day, day=START + timedelta(days=9)))
    assert found.rows[-1]["run_lower"] is None
    assert found.rows[-1]["run_outcome"] == "inconclusive"
    assert any(
        "contradict themselves, which happens in fewer than 5.0% of histories" in one for one in sentences(found)
    )
    assert "<svg" in page(found)


ATTEMPTS = {
    "a night": lambda rng, folder: late_labels.month(rng, folder, nights=1),
    "three nights": lambda rng, folder: late_labels.month(rng, folder, nights=3),
    "a challenger": lambda rng, folder: late_labels.challengers(rng, folder, many=1),
    "three challengers": lambda rng, folder: late_labels.challengers(rng, folder, many=3),
    "a gate": late_labels.gate,
}


@pytest.mark.parametrize("attempt", cases(ATTEMPTS, "a challenger"))
def test_nothing_false_is_said_while_labels_come_late_and_contradict_one_another(attempt, tmp_path):
    """A small version of `benchmarks.late_labels`, whose attempts are counted in benchmarks/README.md."""
    assert not ATTEMPTS[attempt](np.random.default_rng(5), tmp_path)
