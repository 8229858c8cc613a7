"""Studies in stages, by the command line: batches while labelling goes on, a judge for a sample, an adaptive plan."""

import json
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest
from label_tables import judged, taken_in
from measured import with_tables
from suite_cases import cases

import streameval
from streameval.cli import run
from streameval.errors import InputError, StudyError
from streameval.kinds.curve.results import CurveResult
from streameval.labelling.reading import read_votes
from streameval.methods import method_of
from streameval.study import Study
from streameval.types import Labels

N = 2_000
RNG = np.random.default_rng(21)
TRUTH = (RNG.random(N) < np.linspace(0.98, 0.6, N)).astype(np.int8)
SAID = np.where(RNG.random(N) < 0.95, TRUTH, 1 - TRUTH) * 0.8 + 0.1
ITEMS = [f"item {r + 1}" for r in range(N)]


@pytest.fixture(scope="module")
def lists(tmp_path_factory):
    folder, half = tmp_path_factory.mktemp("lists"), np.where(np.arange(N) % 2, "a", "b")
    pq.write_table(pa.table({"item": ITEMS, "said": SAID, "half": half, "truth": TRUTH}), folder / "list.parquet")
    pq.write_table(pa.table({"rank": np.arange(1, N + 1), "label": TRUTH}), folder / "truth.parquet")
    return folder


@pytest.fixture(autouse=True)
def files(lists, tmp_path, monkeypatch):
    shutil.copytree(lists, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)


def planned(*more, study="s", labels=150):
    return run(["plan", "list.parquet", "--study", study, "--seed", "4", "--budget", str(labels), *more])


def answer(tasks, to, said, last=None):
    """Fill in the column `label` of a task file, as far as a row."""
    table = csv.read_csv(tasks)
    by_item = dict(zip(ITEMS, said, strict=True))
    answers = [by_item[item] if last is None or i < last else None
               for i, item in enumerate(table.column("item").to_pylist())]  # fmt: skip
    csv.write_csv(table.set_column(table.column_names.index("label"), "label", pa.array(answers)), to)


def curve(study="s"):
    return Study(Path(study)).evaluation().curve


def held(found):
    low, high = found.envelope.at(np.arange(1, N + 1))
    return bool(np.all((low <= np.cumsum(TRUTH)) & (np.cumsum(TRUTH) <= high)))


def told(capsys, *arguments):
    """The one line of a refusal."""
    capsys.readouterr()
    assert run([*arguments]) == 2, arguments
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    return said


def curve_after(study, done):
    """The curve of a study once people have answered the first tasks of its file."""
    plan, tasks = Study(Path(study)).plan(), csv.read_csv(f"{study}.csv").column("item").to_pylist()
    answered = np.isin(plan.ranks, [int(item.split()[1]) for item in tasks[:done]])
    return method_of(plan).curve(plan, Labels.of(plan, np.where(answered, TRUTH[plan.ranks - 1], -1)))


def test_bounds_narrow_after_every_batch_while_labelling_goes_on(capsys):
    assert planned("--stages", "4") == 0
    assert planned(study="plain") == 0
    for study in ("s", "plain"):
        assert run(["select", study, "--export", f"{study}.csv"]) == 0
    assert "Batches end with tasks" in capsys.readouterr().out
    assert run(["select", "s", "--export", "again.csv", "--json"]) == 0
    ends = json.loads(capsys.readouterr().out.splitlines()[-1])["batches"]
    plan = Study(Path("s")).plan()
    batch = dict(zip(plan.ranks.tolist(), plan.table.column("batch").to_pylist(), strict=True))
    order = [batch[int(item.split()[1])] for item in csv.read_csv("s.csv").column("item").to_pylist()]
    assert order == sorted(order)
    assert ends == np.cumsum(np.bincount(order)[1:]).tolist()
    widths, plain = [], []
    for i, done in enumerate(ends):
        for study, into in (("plain", plain), ("s", widths))[0 if i < 2 else 1 :]:
            found = curve_after(study, done)
            into.append(found.half_width().alpha)
        assert held(found)
    answer("s.csv", "done.csv", TRUTH, ends[2])
    with_tables(Path("s"), "done.csv")
    assert curve().half_width().alpha == widths[2]
    assert widths == sorted(widths, reverse=True)
    assert widths[0] < 0.6 * plain[0]  # without batches, what nobody answered yet counts as unknown
    assert widths[1] < 0.6 * plain[1]
    assert "and after each of 4 stages, whatever the list" in found.findings[0]
    assert run(["cut", "s", "precision:0.5", "--out", "best"]) == 0
    assert run(["grow", "s", "--budget", "100"]) == 2  # it was not planned for growing


def asked(thresholds=""):
    assert planned("--judge", f"{thresholds}sample=1000, accuracy=0.9", labels=215) == 0
    assert run(["select", "s", "--export", "judge.csv"]) == 0
    answer("judge.csv", "said.csv", SAID)


def test_the_journey_with_a_judge_who_is_asked_about_a_sample(capsys):
    asked("0.3, 0.7, ")
    out = capsys.readouterr().out
    assert "Ask the judge about" in out
    assert "Next: streameval judge s judge.csv" in out
    before = Study(Path("s")).plan()
    shown = csv.read_csv("judge.csv")
    assert shown.num_rows == before.judge_sample.num_rows > 4 * before.table.num_rows
    assert set(before.ranks) <= set(before.judge_sample.column("rank").to_numpy())
    assert run(["judge", "s", "said.csv"]) == 0
    assert "The judge's answers are frozen" in capsys.readouterr().out
    plan = Study(Path("s")).plan()
    assert plan.plan_id != before.plan_id
    assert np.array_equal(plan.ranks, before.ranks)
    sample = plan.judge_sample.column("rank").to_numpy()
    naive = np.where(SAID[sample - 1] >= 0.7, 2, 0)
    assert plan.judge_sample.column("judge_class").to_pylist() == naive.tolist()
    assert plan.judge_counts.column("items").to_numpy().sum() == sample.size
    assert run(["judge", "s", "said.csv"]) == 0  # the same again changes nothing
    assert Study(Path("s")).plan().plan_id == plan.plan_id
    assert run(["select", "s", "--export", "tasks.csv"]) == 0
    assert csv.read_csv("tasks.csv").num_rows == plan.table.num_rows
    answer("tasks.csv", "labels.csv", TRUTH)
    assert run(["evaluate", "s", "--labels", "labels.csv"]) == 0
    assert run(["publish", "s", "out"]) == 0
    judge = Study(Path("s")).summary()["diagnostics"]["judge"]
    same = (SAID > 0.5) == TRUTH
    assert judge["share"] == pytest.approx(same[plan.ranks - 1].mean())
    assert curve().half_width().alpha < 0.9 * judge["half_width_without"]
    assert held(curve())
    assert Study(Path("out")).evaluation().evaluation_id == Study(Path("s")).evaluation().evaluation_id
    assert run(["report", "s"]) == 0


def test_a_judge_may_leave_items_out_and_answer_by_rank_in_any_source(capsys):
    asked()
    rank = Study(Path("s")).plan().judge_sample.column("rank").to_numpy()
    said = pa.array(SAID[rank - 1], mask=np.arange(rank.size) % 3 == 0)
    pq.write_table(pa.table({"rank": rank, "said": said}), "said.parquet")
    assert run(["judge", "s", "said.parquet", "--label", "said", "--json"]) == 0
    counts = json.loads(capsys.readouterr().out.splitlines()[-1])["judge"]
    assert counts["no answer"] == -(-rank.size // 3)
    assert held(judged("s", "truth.parquet").curve)


def test_nobody_labels_before_the_judge_has_answered(capsys):
    asked()
    capsys.readouterr()
    assert "its judge has to answer before anybody labels" in told(capsys, "select", "s")
    assert run(["select", "s", "--export", "again.csv"]) == 0
    assert "again.csv for the judge, who answers before anybody labels" in capsys.readouterr().out
    assert Path("again.csv").read_bytes() == Path("judge.csv").read_bytes()
    assert "its judge has to answer before anybody labels" in told(capsys, "evaluate", "s", "--labels", "truth.parquet")
    assert "is for people" in told(capsys, "select", "s", "--export", "j.csv", "--remaining")
    assert not Study(Path("s")).labels.sources()


def test_bad_input_of_a_judge_is_one_line(capsys):
    asked()
    for source, says in (("truth.parquet", "about items that the judge was not asked about"),
                         ("odd.csv", "odd.csv: column 'label' has 1.4 in row 2. Hint: a judge says")):  # fmt: skip
        answer("judge.csv", "odd.csv", SAID + 0.5)
        assert says in told(capsys, "judge", "s", source)
    rank = Study(Path("s")).plan().judge_sample.column("rank").to_pylist()
    pq.write_table(pa.table({"rank": [*rank, rank[7]], "label": [0.0] * len(rank) + [1.0]}), "twice.parquet")
    assert "has a second answer" in told(capsys, "judge", "s", "twice.parquet")
    assert run(["judge", "s", "said.csv"]) == 0
    answer("judge.csv", "other.csv", 1 - SAID)
    assert "has answered already, and" in told(capsys, "judge", "s", "other.csv")
    assert run(["select", "s"]) == 0
    assert "no row is a label of a planned item" in told(capsys, "evaluate", "s", "--labels", "said.csv")
    assert planned(study="plain") == 0
    assert "has no sample for a judge" in told(capsys, "judge", "plain", "said.csv")


def test_a_plan_with_a_judge_that_cannot_be_asked_is_one_line(capsys):
    for more, says in [
        (["--judge", "accuracy=.9"], "--judge 'accuracy=.9' names no column. Hint: such as"),
        (["--judge", "accuracy=.9", "--on", "item"], "names no column"),
        (["--judge", "sample=100"], "sample of --judge is 100, below the"),
        (["--judge", "said(sample=1000)"], "a judge is either a column or asked about a sample"),
        (["--judge", ".1,.2,.3,.4,.5,.6,.7,sample=1000"], "9 classes of a judge"),
        (["--judge", "1.5, sample=1000"], "the thresholds of --judge are 1.5"),
    ]:
        line = told(capsys, "plan", "list.parquet", "--study", "x", "--budget", "200", *more)
        assert says in line


def test_labels_that_are_there_before_the_judge_are_refused():
    asked()
    study = Study(Path("s"))
    votes = read_votes(pa.table({"rank": study.plan().ranks[:5], "label": [1] * 5}), study.plan())
    study.labels.add([votes])
    with pytest.raises(InputError, match="there are labels already, and its judge may have seen them"):
        streameval.judge("s", "said.csv")


def test_a_second_batch_is_drawn_once_all_of_the_first_is_answered(capsys):
    assert planned("--stages", "adaptive") == 0
    first = Study(Path("s")).plan()
    assert "tasks of its first batch are open" in told(capsys, "grow", "s")
    assert run(["select", "s", "--export", "tasks.csv"]) == 0
    answer("tasks.csv", "part.csv", TRUTH, first.table.num_rows - 1)
    capsys.readouterr()
    assert run(["evaluate", "s", "--labels", "part.csv"]) == 0
    assert "Next: `streameval select s --remaining --export remaining.csv` writes" in capsys.readouterr().out
    assert run(["check", "s", "precision@100 >= .5"]) == 5
    assert "select s --remaining --export remaining.csv" in capsys.readouterr().out
    assert "1 of the" in told(capsys, "grow", "s")


def test_the_second_batch_goes_where_the_first_says(capsys):
    assert planned("--stages", "adaptive") == 0
    assert planned(study="fixed") == 0
    first, fixed = (Study(Path(name)).plan() for name in ("s", "fixed"))
    assert first.table.num_rows < 0.45 * fixed.table.num_rows
    assert run(["select", "s"]) == 0
    found = judged("s", "truth.parquet")
    assert found.curve.claim.coverage == "none"
    assert "this is the first batch of an adaptive plan" in found.curve.findings[0]
    assert (
        CurveResult.from_evaluation(found)
        .facts(Path("s"))["next"]
        .startswith("`streameval grow s` adds the second batch")
    )
    assert run(["cut", "s", "precision:0.5", "--out", "best"]) == 2
    assert run(["grow", "s"]) == 0
    grown = Study(Path("s")).plan()
    assert set(first.ranks) <= set(grown.ranks) <= set(fixed.ranks)
    assert grown.table.num_rows < 0.8 * fixed.table.num_rows  # the list is better than .5
    assert run(["grow", "s"]) == 0
    assert Study(Path("s")).plan().plan_id == grown.plan_id
    assert run(["select", "s"]) == 0
    found = judged("s", "truth.parquet").curve
    assert (found.claim.coverage, held(found)) == ("simultaneous", True)
    assert "made without stages to grow by" in told(capsys, "grow", "fixed")


@pytest.mark.parametrize(
    "judge",
    cases(
        [["--judge", "said(accuracy=0.9)"], ["--judge", "sample=1000, accuracy=0.9"]],
        ["--judge", "sample=1000, accuracy=0.9"],
    ),
)
def test_an_adaptive_plan_with_a_judge(judge):
    assert planned("--stages", "adaptive", *judge) == 0
    if "sample" in judge[1]:
        assert run(["select", "s", "--export", "judge.csv"]) == 0
        answer("judge.csv", "said.csv", SAID)
        assert run(["judge", "s", "said.csv"]) == 0
    taken_in("s", "truth.parquet")
    assert run(["grow", "s"]) == 0
    assert run(["select", "s"]) == 0
    found = judged("s", "truth.parquet").curve
    plan = Study(Path("s")).plan()
    assert plan.table.column("judge_class").to_pylist() == (SAID[plan.ranks - 1] > 0.5).astype(int).tolist()
    assert found.claim.coverage == "simultaneous"
    assert held(found)


def test_growing_that_was_interrupted_is_the_plan_before(monkeypatch):
    from streameval.stores import atomic

    asked()
    before, write = Study(Path("s")).plan(), atomic.write_all

    def stopped(files, *more):
        write({path: writer for path, writer in files.items() if path.name != "plan.json"}, *more)
        if any(path == Path("s/plan.json") for path in files):
            raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(atomic, "write_all", stopped)
        with pytest.raises(KeyboardInterrupt):
            streameval.judge("s", "said.csv")
    assert Study(Path("s")).plan().plan_id == before.plan_id
    streameval.judge("s", "said.csv")
    assert Study(Path("s")).plan().study_ids[-1] == before.plan_id


JUDGE, SAMPLE = ("--judge", "said"), ("--judge", "sample=1000")
BATCHES, ADAPTIVE = ("--stages", "2"), ("--stages", "adaptive")
# what goes with what: 0 works, else what the one line says
BESIDE = {
    ("--stages", "3:later"): {JUDGE: "--stages 3:later does not go with a judge", SAMPLE: "stages that come later"},
    ("--by", "half"): {JUDGE: "does not go with slices", SAMPLE: "a judge does not go with slices",
                       BATCHES: "--stages 2 does not go with slices", ADAPTIVE: "adaptive does not go with slices"},
    ("--on", "item"): {JUDGE: "a judge does not go with draws by key", BATCHES: 0,
                       SAMPLE: "a judge does not go with draws by key",
                       ADAPTIVE: "--stages adaptive does not go with draws by key"},
    ("--method", "paula"): {JUDGE: "has no use", SAMPLE: "has no parameter", BATCHES: "no parameter",
                            ADAPTIVE: "no parameter"},
    BATCHES: {JUDGE: 0, SAMPLE: 0},
}  # fmt: skip


@pytest.mark.parametrize("beside", BESIDE, ids=" ".join)
def test_what_goes_with_what(beside, capsys):
    for more, says in BESIDE[beside].items():
        study = f"x{more[0]}{more[1]}"
        budget = ["--alpha", "0.3"] if "paula" in beside else ["--budget", "200"]
        status = run(["plan", "list.parquet", "--study", study, "--seed", "4", *budget, *beside, *more])
        said = capsys.readouterr().err
        assert status == (0 if says == 0 else 2), (beside, more, said)
        assert (not said) if says == 0 else (says in said and said.count("\n") == 1), said


STAGES = [["--judge", "said"], ["--stages", "2"], ["--judge", "sample=1000"]]


@pytest.fixture(scope="module", params=cases(STAGES, ["--judge", "sample=1000"]), ids=" ".join)
def staged(request, lists, tmp_path_factory):
    """A study of each stage in a folder `s`, labelled by two people but for a part, and evaluated."""
    folder = shutil.copytree(lists, tmp_path_factory.mktemp("staged"), dirs_exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        assert planned(*request.param) == 0
        if "sample=1000" in request.param:
            assert run(["select", "s", "--export", "judge.csv"]) == 0
            answer("judge.csv", "said.csv", SAID)
            assert run(["judge", "s", "said.csv"]) == 0
        assert run(["select", "s"]) == 0
        ranks = Study(Path("s")).plan().ranks
        label = pa.array(TRUTH[ranks - 1], mask=np.arange(ranks.size) % 40 == 39)
        for who in ("ann", "bob"):
            pq.write_table(pa.table({"rank": ranks, "label": label, "annotator": [who] * ranks.size}), f"{who}.parquet")
        assert run(["evaluate", "s", "--labels", "ann.parquet", "bob.parquet"]) == 0
    return folder


@pytest.fixture
def here(staged, tmp_path, monkeypatch):
    monkeypatch.chdir(shutil.copytree(staged, tmp_path / "here"))


def test_each_stage_goes_with_missing_labels_errors_of_labels_and_several_annotators(here):
    plan = Study(Path("s")).plan()
    assert held(curve())
    assert judged("s", label_error=0.02).curve.half_width().alpha > curve().half_width().alpha
    assert method_of(plan).name == "loguniform"
    votes = pc.sum(Study(Path("s")).evaluation().label_table.column("votes")).as_py()
    assert votes == 2 * (plan.ranks.size - plan.ranks.size // 40)
    assert run(["labels", "s"]) == 0
    assert run(["check", "s", "precision@1000 >= .5"]) == 0


def test_each_stage_goes_with_the_rest_of_the_journey(here, capsys):
    assert run(["cut", "s", "precision:0.5", "--out", "best"]) == 0
    assert run(["report", "s"]) == 0
    capsys.readouterr()
    assert run(["sql", "s", "SELECT count(*) AS n FROM plan", "--json"]) == 0
    count = Study(Path("s")).plan().ranks.size
    assert json.loads(capsys.readouterr().out.splitlines()[-1])["rows"] == [{"n": count}]
    assert planned(study="t") == 0
    with_tables(Path("t"), "truth.parquet")
    assert run(["compare", "s", "t"]) == 0


@pytest.mark.parametrize("how", cases([[*ADAPTIVE], ["--stages", "3"], [*SAMPLE]], [*ADAPTIVE], ["--stages", "3"]))
def test_simulate_runs_every_stage_with_a_judge_and_without(how, capsys):
    assert run(["simulate", "list.parquet", "--label", "truth", "--method", "loguniform", "--judge", "said",
                "--budget", "200", "--replicates", "8", "--json", *how]) == 0  # fmt: skip
    rows = json.loads(capsys.readouterr().out)["methods"]
    assert [row["replicates"] for row in rows] == [8, 8]
    assert rows[1]["half_width"] < rows[0]["half_width"] or "adaptive" in how
    assert all(row["held"] >= 6 for row in rows)


def test_a_judge_for_a_plan_that_is_begun_is_refused(capsys):
    """A judge that comes after the labels might have seen them: there is none for old plans."""
    assert planned() == 0
    taken_in("s", "truth.parquet")
    capsys.readouterr()
    assert "holds a different plan" in told(capsys, "plan", "list.parquet", "--study", "s", "--seed", "4",
                                            "--budget", "150", "--judge", "said")  # fmt: skip
    with pytest.raises(StudyError, match="has no sample for a judge"):
        streameval.judge("s", "truth.parquet")
