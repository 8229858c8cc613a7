"""Scans by Spark: tasks that travel as bytes, partials that come home as integers, and the local engine's ranks."""

import gc
import json
import pickle
import shutil
import signal
import socket
import subprocess
import sys
import threading
import types
import warnings
from dataclasses import replace
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import refusals
import spark_cases
from hypothesis import given, settings
from hypothesis import strategies as st
from places import HOME
from score_lists import SCORES
from spark_cluster import Cluster
from suite_cases import cases, examples

import streameval
from streameval import engines
from streameval.cli import run
from streameval.errors import InputError, OutsideError
from streameval.order.locate import least_memory, locate
from streameval.order.tasks import Counting
from streameval.progress import silent
from streameval.rankings import open_ranking
from streameval.rows.options import RankingOptions
from streameval.scans import threads, workers
from streameval.scans.checkpoints import Checkpoints, Scans
from streameval.scans.spark import run_request, trouble


@pytest.fixture
def small_shares(monkeypatch):
    monkeypatch.setattr(workers, "_LEAST_ROWS", 100)


OF_EACH_KIND = ("quantised", "all equal", "zeros and infinities", "float32 -log u", "int8", "uint64")


@pytest.mark.parametrize("name", cases(SCORES, *OF_EACH_KIND))
@settings(max_examples=examples(2, 8), deadline=None)
@given(seed=st.integers(0, 2**32), key=st.booleans(), ascending=st.booleans(), tight=st.booleans())
def test_parcels_bring_home_what_the_local_engine_finds(name, seed, key, ascending, tight, tmp_path_factory):
    """With the least memory as well, so that bins are split by key and by tie hash."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 800))
    path = tmp_path_factory.mktemp("list") / "a.parquet"
    pq.write_table(pa.table({"s": SCORES[name](n, rng), "k": rng.permutation(n)}), path, row_group_size=n // 5 + 1)
    options = RankingOptions(score="s", key=("k",) if key else (), ascending=ascending)
    wanted = np.unique(rng.integers(1, n + 1, 40))
    scan = open_ranking(str(path), options).order.scan_for(wanted)
    memory = float(least_memory(wanted.size)) if tight else 1e8
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(workers, "_LEAST_ROWS", 40)
        there = locate(scan, wanted, memory, checkpoints=Checkpoints(engine=Cluster(seed)))
    here = locate(scan, wanted, memory)
    assert there.position.tolist() == here.position.tolist()
    assert there.tied.tolist() == here.tied.tolist()
    assert there.equal_keys == here.equal_keys


def write_list(folder):
    rng = np.random.default_rng(5)
    table = pa.table({"s": rng.integers(0, 50, 3000) / 50, "k": np.arange(3000)})
    pq.write_table(table, folder / "a.parquet", row_group_size=300)
    return folder / "a.parquet"


@pytest.fixture
def listed(tmp_path):
    return write_list(tmp_path)


class Spy(Cluster):
    """Keeps the job and the request that it was last given."""

    def run(self, job, progress):
        if job.for_workers() is not None:
            Spy.job = job
        return super().run(job, progress)

    def run_job(self, request):
        Spy.request = request
        return super().run_job(request)


@pytest.fixture
def last(listed, small_shares):
    ranking = open_ranking(str(listed), RankingOptions(score="s"))
    ranking.fetch(np.array([3, 700]), ["k"], scans=Scans(engine=Spy()))
    return Spy.job, Spy.request


def test_shares_that_are_lost_or_done_twice_are_noticed(last):
    job, request = last
    assert request.shares == 10
    schema = pa.schema({"at": pa.int64(), "piece": pa.binary()})
    for shares in (range(9), [*range(10), 4], [*range(10), 9], []):

        def careless(request, shares=shares):
            return pa.Table.from_batches(workers.run_shares(request.payload, shares), schema)

        with pytest.raises(OutsideError, match="10 pieces were asked for, and others came back"):
            list(workers.run_on_workers(job, careless, silent))


def test_counts_that_are_lost_or_done_twice_are_noticed(last):
    job, _ = last
    task = Counting(job.task.stages[:1], np.empty(0, np.int64), job.task.hashed)
    for shares, came in ((range(9), 9), ([*range(10), 4], 11)):

        def careless(request, shares=shares):
            home = pa.Table.from_batches(workers.run_shares(request.payload, shares))
            return home.group_by("at").aggregate([(name, "sum") for name in request.columns[1:]])

        with pytest.raises(OutsideError, match=f"10 row groups were asked for, and {came} came back"):
            list(workers.run_on_workers(replace(job, task=task), careless, silent))


def test_what_goes_wrong_at_a_worker_is_told_in_one_line(last, listed, monkeypatch):
    _, request = last

    def told(sent=request.payload):
        with pytest.raises(RuntimeError) as caught:
            list(workers.run_shares(sent, [0]))
        return trouble(ValueError(f"Job aborted\n  RuntimeError: {caught.value}\n at java.lang.Thread"))

    listed.rename(listed.with_suffix(".gone"))
    error = told()
    assert isinstance(error, InputError)
    assert error.what == f"{listed}: the workers do not see this file"
    assert error.hint == "put the list where all machines see it under one path"
    pq.write_table(pa.table({"s": [0.5]}), listed)
    assert "changed while it was read" in told().what
    monkeypatch.setattr(threads, "partial_of", lambda *_: (_ for _ in ()).throw(OSError(28, "No space left")))
    assert isinstance(told(), OutsideError)
    version, *rest = pickle.loads(request.payload)
    assert "the workers have streameval" in told(pickle.dumps((f"{version}9", *rest))).what


def test_other_trouble_of_spark_is_one_line():
    error = trouble(ValueError("\n  ModuleNotFoundError: No module named 'streameval'"))
    assert isinstance(error, InputError)
    assert str(error).startswith("Spark's workers cannot import streameval. Hint: install streameval")
    error = trouble(ValueError("Job 3 cancelled\n\tat org.apache.spark"))
    assert (type(error), error.what) == (OutsideError, "Spark gave up (Job 3 cancelled)")


def test_scans_begun_here_are_finished_there(listed, tmp_path, small_shares):
    study = tmp_path / "study"
    streameval.plan(str(listed), study, method="loguniform", budget=100, options=RankingOptions(score="s"), seed=0)
    assert streameval.scan(study, shard="1/2").step == "count"
    assert streameval.scan(study, engine=Cluster(1)).missing == ()
    assert streameval.scan(study, shard="2/2").step == "candidates"
    streameval.select(study)
    streameval.plan(
        str(listed), tmp_path / "b", method="loguniform", budget=100, options=RankingOptions(score="s"), seed=0
    )
    streameval.select(tmp_path / "b")
    assert pq.read_table(study / "selection.parquet").equals(pq.read_table(tmp_path / "b" / "selection.parquet"))


def test_paths_are_made_absolute_for_workers(listed, last, monkeypatch):
    job, _ = last
    scan = job.scan
    monkeypatch.chdir(listed.parent)
    footers = [replace(unit.footer, file=replace(unit.footer.file, path=listed.name)) for unit in scan.units]
    units = [replace(unit, footer=footer) for unit, footer in zip(scan.units, footers, strict=True)]
    Spy().run(replace(job, scan=replace(scan, units=units)), silent).__next__()
    monkeypatch.chdir("/")
    assert len(list(workers.run_shares(Spy.request.payload, [0]))) == 1


def test_engines_that_do_not_fit(listed, tmp_path, capsys):
    with pytest.raises(InputError, match=r"there is no engine 'sparc'.*did you mean 'spark'"):
        engines.create("sparc", {})
    with pytest.raises(InputError, match="the engine 'local' has no setting 'remote'"):
        engines.create("local", {"remote": "sc://x"})
    table = pq.read_table(listed)
    with pytest.raises(InputError, match="a table in memory cannot be scanned elsewhere"):
        open_ranking(table, RankingOptions(score="s")).fetch(np.array([1]), ["k"], scans=Scans(engine=Cluster()))
    study = str(tmp_path / "study")
    streameval.plan(str(listed), study, method="loguniform", budget=100, seed=0)
    for flags, said in (
        (["--engine", "spark"], "no scan that an engine could run"),
        (["--engine", "local:sc://x"], "the engine 'local' has no setting 'remote'"),
    ):
        assert run(["select", study, *flags]) == 2
        error = capsys.readouterr().err
        assert said in error
        assert error.count("\n") == 1


def by_score(listed, tmp_path):
    study = str(tmp_path / "study")
    streameval.plan(str(listed), study, method="loguniform", budget=100, options=RankingOptions(score="s"), seed=0)
    return study


def test_the_extra_is_named_where_it_is_missing(listed, tmp_path, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    assert run(["select", by_score(listed, tmp_path), "--engine", "spark"]) == 2
    assert capsys.readouterr().err == (
        "streameval: scans by Spark need pyspark, which is not installed. Hint: pip install 'pyspark[connect]>=4.0'\n"
    )


@pytest.mark.parametrize(
    ("remote", "code", "said"),
    [
        ("sc://127.0.0.1:{port}/;token=secret", 3, "no Spark server answers at 127.0.0.1:{port}"),
        ("sc://:15002", 2, "is not a Spark server. Hint: write --engine spark:sc://HOST:15002"),
        ("spark://host:7077/;token=secret", 2, "'host:7077' is not a Spark server"),
    ],
)
def test_a_spark_that_cannot_be_reached_is_one_line(listed, tmp_path, capsys, remote, code, said, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark.sql", type("pyspark.sql", (), {"SparkSession": None}))
    for name in ("grpc_proxy", "https_proxy", "http_proxy"):
        monkeypatch.delenv(name, raising=False)
    with socket.socket() as free:  # bound and not listening: nobody answers
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        study = by_score(listed, tmp_path)
        assert run(["select", study, "--engine", f"spark:{remote.format(port=port)}"]) == code
    error = capsys.readouterr().err
    assert said.format(port=port) in error
    assert error.count("\n") == 1
    assert "secret" not in error


@pytest.fixture(scope="module")
def answers_of(request, tmp_path_factory):
    """What a real Spark (or Sail) finds in all cases that it is asked for: each starts once."""
    told = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]

    @cache
    def found(engine):
        folder = tmp_path_factory.mktemp(engine)
        cases = [one["case"] for one in told if one.get("engine") == engine]
        command = [sys.executable, spark_cases.__file__, engine, str(folder), *cases]
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=HOME)
        shutil.rmtree(folder)
        return done

    return found


@pytest.fixture
def answers(answers_of, engine):
    pytest.importorskip("pyspark", reason="pip install 'streameval[spark]'")
    if engine == "sail":
        pytest.importorskip("pysail", reason="Sail comes with the package pysail")
    elif shutil.which("java") is None:
        pytest.skip("Spark needs Java 17")
    done = answers_of(engine)
    if engine == "sail" and "unsupported PySpark version" in done.stderr:
        pytest.skip("this Sail speaks to older clients of Spark only")
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.splitlines()[-1])


def over(*cases):
    """Every case by each engine: the suite asks Spark for one of each kind of job, scripts/spark for the rest."""

    def marks(engine, case):
        return () if engine == "classic" and case in spark_cases.FEW else pytest.mark.slow

    engines = ("classic", "sail", "connect")
    asked = [pytest.param(one, case, marks=marks(one, case)) for one in engines for case in cases]
    return pytest.mark.parametrize(("engine", "case"), asked)


@over(*spark_cases.CASES, "study")
def test_spark_finds_the_ranks_of_the_local_engine(answers, case):
    found = answers[case]
    if case == "NaN refused":
        assert found["error"] == "InputError"
        assert "items have no s (null or NaN), first: " in found["text"]
    elif case == "damaged":
        assert found["error"] == "InputError"
        assert "p2.parquet: row group 1, column s: " in found["text"]
    else:
        assert found["same"]
        assert found.get("scans", 2) >= (3 if "split" in case else 2)


@over(*(f"exact, {case}" for case in spark_cases.LABELLED))
def test_spark_evaluates_exactly_as_the_local_engine_does(answers, case):
    """To the byte, many blocks and shares; that files are the same then, test_spark_exact shows."""
    here, there = answers[case]
    assert there == here
    code, said, error = here
    if case == "exact, label missing":
        assert (code, said) == (2, "")
        assert "row group 4, row 0 (from 0): 1 label missing" in error
    else:
        assert (code, error) == (0, "")
        assert spark_cases.LABELLED[case.removeprefix("exact, ")][1] in json.loads(said)["how"]


@over("many")
def test_spark_measures_many_rankings_as_the_local_engine_does(answers, case):
    """To the bit, every ranking and every mean."""
    assert answers[case] == {"same": True, "how": ["parted by ranking", "parted by ranking on workers"]}


@over("interrupted")
def test_a_job_that_is_interrupted_is_stopped_at_the_workers(answers, case):
    """By a limit of time: its own error comes out, and nothing of the job is left to wait for."""
    assert answers[case] == {"same": True, "waiting": []}


class Session:
    """A session whose only job ends when it is asked twice to stop: it had not begun the first time."""

    def __init__(self):
        self.tags, self.asked, self.stopped = [], [], threading.Event()

    def addTag(self, tag):  # noqa: N802
        self.tags.append(tag)

    def interruptTag(self, tag):  # noqa: N802
        self.asked.append(tag)
        if len(self.asked) == 2:
            self.stopped.set()

    def range(self, *numbers):
        return self

    def mapInArrow(self, run, schema):  # noqa: N802
        return self

    def toArrow(self):  # noqa: N802
        signal.pthread_kill(threading.main_thread().ident, signal.SIGALRM)
        assert self.stopped.wait(30)
        raise ValueError("the job was cancelled")


@pytest.mark.parametrize("error", [KeyboardInterrupt(), OutsideError("the time limit was reached")])
def test_an_interruption_is_passed_on_until_the_job_ends(error, monkeypatch):
    quiet = types.SimpleNamespace(inheritable_thread_target=lambda session: lambda target: target)
    monkeypatch.setitem(sys.modules, "pyspark", types.ModuleType("pyspark"))
    monkeypatch.setitem(sys.modules, "pyspark.util", quiet)

    def stop(number, frame):
        raise error

    before = signal.signal(signal.SIGALRM, stop)
    session = Session()
    try:
        with pytest.raises(type(error)) as caught:
            run_request(session, workers.JobRequest(b"", 1, ("at",), "binary"))
    finally:
        signal.signal(signal.SIGALRM, before)
    assert caught.value is error
    assert session.tags * 2 == session.asked


def test_why_spark_did_not_start_is_said_in_its_own_words(listed, tmp_path, monkeypatch, capsys):
    pytest.importorskip("pyspark", reason="pip install 'streameval[spark]'")
    for name in ("PYSPARK_GATEWAY_PORT", "SPARK_REMOTE", "SPARK_API_MODE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    study = by_score(listed, tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ResourceWarning)  # pyspark leaves the input of its launcher open
        said = refusals.refused(capsys, "select", study, "--engine", "spark")
        gc.collect()
    assert "nowhere/bin/java: No such file or directory" in said


@pytest.mark.parametrize("length", [20, 150, 4000])
def test_what_spark_says_is_not_cut_where_paths_are_long(length):
    from streameval.scans.spark import first_line

    said = f"/{'p' * length}/spark-class: line 71: /nowhere/bin/java: No such file or directory"
    assert first_line(RuntimeError(f"\n{said}\nmore")).endswith("/nowhere/bin/java: No such file or directory")
