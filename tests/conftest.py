import gc
import importlib
import itertools
import os
import pkgutil
import shutil
import signal
import sys
import tempfile

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from catalogue import Catalogue
from hypothesis import settings
from places import SHARED
from small_studies import SHARES, night_folder, night_list

import streameval
from streameval.kernels import jit
from streameval.kernels.harmonic import precision_sum

# the suite judges a change, so it is the same every time; `pytest --hypothesis-profile=default` searches on
settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.load_profile("repeatable")

DATA = SHARED / "data"
DATABASES = itertools.count()
pytest_plugins = ["cpu_budget"]


def pytest_collection_finish():
    """What is collected lives as long as the run: the garbage collector looks through it seldom."""
    gc.collect()
    gc.set_threshold(100_000, 20, 100)


@pytest.fixture(scope="session", autouse=True)
def interrupts_are_heard():
    """SIGINT is heard here and in what tests start: a background job of a shell ignores it, and so would they."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture(scope="session", autouse=True)
def libraries_are_loaded():
    """What they take to import would count for whichever test comes first."""
    for name in ("numba", "duckdb", "polars", "streameval.cli", "streameval.verbs.evaluate", "streameval.verbs.plan"):
        importlib.import_module(name)
    precision_sum.compiled()(1.0, 5.0, 2.0)  # numba sets itself up when the first kernel runs compiled
    while jit.is_small(1_000):  # the steps that a process does without: else which tests they are of is their order
        pass


@pytest.fixture(scope="session", autouse=True)
def commands_are_loaded(libraries_are_loaded):
    """So would the commands, and the kinds of studies that they find by name."""
    for package in (streameval.cli.commands, importlib.import_module("streameval.kinds")):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            importlib.import_module(module.name)
    gc.freeze()  # what is loaded stays: no collection looks for garbage in it again


@pytest.fixture(scope="session", autouse=True)
def disks_are_not_waited_for():
    """What is written is there for every process; whether the disk has it, only a power failure would show."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("os.fsync", lambda file: None)
        yield


@pytest.fixture
def postgresql(postgresql_server):
    """Address of a database of a real PostgreSQL server, with nothing in it."""
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="needs the extra [db]")
    name = f"of_test_{next(DATABASES)}"
    with dbapi.connect(postgresql_server, autocommit=True) as connection, connection.cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}")
    return postgresql_server.replace("/postgres?", f"/{name}?")


@pytest.fixture(scope="session")
def postgresql_server():
    """Address of a real PostgreSQL server.

    Its `psql` is not used: pgserver starts it by an unquoted path, which fails in a checkout whose path has a space.
    """
    pgserver = pytest.importorskip("pgserver", reason="a real PostgreSQL comes with the package pgserver")
    folder = tempfile.mkdtemp(prefix="streameval-pg-", dir="/tmp")  # the server's own user must get there
    os.chmod(folder, 0o755)
    server = pgserver.get_server(f"{folder}/pg")
    try:
        yield server.get_uri()
    finally:
        server.cleanup()
        shutil.rmtree(folder)


@pytest.fixture
def add_file(tmp_path, monkeypatch):
    """Put a file into a folder of the package for one test, as if it had always been there."""

    def add(package, file, code):
        folder = tmp_path / package
        (folder / file).parent.mkdir(parents=True)
        (folder / file).write_text(code)
        name = file.split("/")[0].removesuffix(".py")
        module = importlib.import_module(package)
        monkeypatch.setattr(module, "__path__", [*module.__path__, str(folder)])
        monkeypatch.setattr(streameval, "cli", importlib.import_module("streameval.cli"))
        for loaded in [one for one in sys.modules if one == f"{package}.{name}" or one.startswith("streameval.cli")]:
            monkeypatch.delitem(sys.modules, loaded)  # the flags of the command line are made of what is there

    yield add
    for loaded in [one for one in sys.modules if one.startswith("streameval.cli")]:
        del sys.modules[loaded]  # what was there before comes back, and nothing that was made with the file stays


@pytest.fixture(scope="session")
def real():
    """Path of a real ranked list, by name; skips where the data are absent."""

    def find(name):
        path = DATA / f"{name}.parquet"
        if not path.exists():
            pytest.skip(f"{path} is not there: real lists are not part of the project")
        return path

    return find


@pytest.fixture(scope="session")
def catalogue(tmp_path_factory):
    """Studies in every state (`catalogue.ROWS`), made once for all workers: `path` reads one, `copy` takes a copy."""
    root = tmp_path_factory.getbasetemp()
    root = (root.parent if "PYTEST_XDIST_WORKER" in os.environ else root) / "catalogue"
    root.mkdir(exist_ok=True)
    made = Catalogue(root)
    yield made
    made.refuse_changes()


@pytest.fixture
def study(catalogue, tmp_path):
    """Give a study of the catalogue, by name, as a folder of the test's own."""
    return lambda name: catalogue.copy(name, tmp_path / name)


@pytest.fixture(scope="session")
def written_ranking(tmp_path_factory):
    """What `ranking` copies."""
    return write_ranking(tmp_path_factory.mktemp("written"))


@pytest.fixture
def ranking(written_ranking, tmp_path):
    """A ranking of 10,000 items in 4 files of 2 row groups, its truth beside it."""
    folder, labels, truth = written_ranking
    shutil.copytree(folder.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / folder.name, tmp_path / labels.name, truth.copy()


@pytest.fixture(scope="module")
def one_ranking(tmp_path_factory):
    """The same, for tests of a module that leave it as it is."""
    return write_ranking(tmp_path_factory.mktemp("ranking"))


def write_ranking(tmp_path):
    rng = np.random.default_rng(7)
    n = 10_000
    score = np.sort(rng.permutation(2 * n)[:n] / (2 * n))[::-1]  # no ties: the stored order is the order by score
    truth = (rng.random(n) < score).astype(np.int8)
    folder = tmp_path / "ranking"
    folder.mkdir()
    for i, rows in enumerate(np.array_split(np.arange(n), 4)):
        table = pa.table({"item": [f"item {r + 1}" for r in rows], "conf": score[rows], "label": truth[rows]})
        pq.write_table(table, folder / f"part-{i}.parquet", row_group_size=1_500)
    labels = tmp_path / "truth.parquet"
    pq.write_table(pa.table({"rank": np.arange(1, n + 1), "label": truth}), labels)
    return folder, labels, truth


@pytest.fixture(scope="session")
def days(catalogue):
    """Five nights, the last two bad: (study, items above 0.5, their precision) of each, which tests leave as it is."""
    root, made = catalogue.path("nights"), []
    for day in range(len(SHARES)):
        table, truth = night_list(day)
        above = table.column("conf").to_numpy() >= 0.5
        made.append((night_folder(root, day), int(above.sum()), float(truth[above].mean())))
    return made
