"""What people and tools give by mistake: one line that says what is wrong, and nothing written."""

import importlib.util
import shlex
import shutil
import subprocess
import sys

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from places import HOME
from suite_cases import cases

import streameval
from streameval.cli import digits, run
from streameval.cli.output import Output
from streameval.errors import InputError, OutsideError
from streameval.labelling import readers
from streameval.labelling.readers import delimited, lines
from streameval.stores import atomic

SMALL = ["--method", "paula(epsilon=0.1, window=20)"]
BEYOND = str(2**63)


def refusal(statement):
    """What is said of a statement: some versions of DuckDB parse it, and then our own guard refuses it."""
    try:
        duckdb.extract_statements(statement)
    except duckdb.ParserException:
        return "syntax error"
    return "is not allowed"


@pytest.fixture(scope="module")
def long(tmp_path_factory):
    """The path of a list of 10,000 items."""
    path = tmp_path_factory.mktemp("long") / "list.parquet"
    pq.write_table(pa.table({"id": range(10_000)}), path)
    return str(path)


@pytest.fixture
def home(catalogue, long):
    return {"LIST": str(catalogue.lists / "list.parquet"), "STUDY": str(catalogue.path("curve-evaluated")),
            "LONG": long}  # fmt: skip


@pytest.fixture
def curve(home):
    return streameval.Study(home["STUDY"]).evaluation().curve


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ("plan", "LONG", "--study", "new", "--method", "stratified", "--min-precision", "1e-300"),
            "takes more than 2,147,483,648 slots",
        ),
        (("show", "STUDY", f"precision@{BEYOND}"), "rank 9223372036854775808 is beyond any list"),
        (("evaluate", "STUDY", "--misses", BEYOND), "misses is 9,223,372,036,854,775,808, above"),
        (
            ("exact", "LIST", "--label", "right", "--method", f"paula(window={BEYOND})", "--out", "new"),
            "a window of 9,223,372",
        ),
        (("plan", "LIST", "--study", "new", "--seed", "1" + "0" * 20), "'100000000000000000000' is beyond 2^63"),
        (("select", "STUDY", "--export", "t.csv", "--repeats", "100000"), "repeats is 100,000, above the"),
        (("sql", "STUDY", "UPDATE EXTENSIONS"), "UPDATE is not allowed"),
        (("sql", "STUDY", "EXPLAIN UPDATE EXTENSIONS"), refusal("EXPLAIN UPDATE EXTENSIONS")),
        (("plan", "s3://", "--study", "new"), "there is no bucket in it"),
        (("plan", "s3://key:word@bucket/x", "--study", "new"), "a name or secret before the bucket"),
    ],
)
def test_one_line_says_what_is_wrong(home, tmp_path, monkeypatch, capsys, command, said):
    monkeypatch.chdir(tmp_path)
    capsys.readouterr()
    assert run([home.get(word, word) for word in command]) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_a_cost_beyond_counting_is_refused_beside_those_of_other_methods(capsys):
    assert run(["cost", "--items", "1000000", "--min-precision", "1e-300"]) == 0
    assert "stratified: --alpha 0.08 with --min-precision 1e-300 takes more than" in capsys.readouterr().out


def test_several_ranks_are_for_at(curve):
    for one in (curve.precision_at, curve.recall_at, curve.yield_at, curve.f_measure, curve.threshold_at):
        with pytest.raises(InputError, match="one rank is asked for, and 2 were given"):
            one([1, 10])
    assert curve.at([1, 10]).num_rows == 2


@pytest.mark.parametrize("rank", ["x", "1e3", b"1", None, 1.5, float("nan"), True, {}, np.datetime64("2026-01-01")])
def test_a_rank_is_a_whole_number(curve, rank):
    for one in (curve.precision_at, curve.recall_at, curve.yield_at, curve.f_measure, curve.threshold_at, curve.at):
        with pytest.raises(InputError, match=r"^rank .* is not a whole number$"):
            one(rank)
    with pytest.raises(InputError, match="is not a whole number"):
        curve.at([rank])
    assert curve.precision_at(1e3) == curve.precision_at(np.int32(1000))


@pytest.mark.parametrize("share", ["x", None, float("nan"), [1], {}])
def test_targets_and_weights_are_numbers(curve, share):
    for one in (curve.rank_at_precision, curve.rank_at_recall, lambda beta: curve.f_measure(10, beta)):
        with pytest.raises(InputError):
            one(share)


@pytest.mark.parametrize("options", [[], ["--score", "conf"]])
def test_two_columns_of_one_name_are_refused_before_a_label_is_spent(tmp_path, capsys, options):
    path = tmp_path / "doubled.parquet"
    table = pa.table([pa.array(range(3000)), pa.array(range(3000)), pa.array([0.5] * 3000)], names=["id", "id", "conf"])
    pq.write_table(table, path)
    assert run(["plan", str(path), "--study", str(tmp_path / "study"), *SMALL, *options]) == 2
    assert "two columns are named 'id'" in capsys.readouterr().err
    assert not (tmp_path / "study").exists()


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), pa.ArrowInvalid("No space left on device")])
def test_a_full_disk_is_said_with_the_path(tmp_path, error):
    def fail(temporary):
        raise error

    with pytest.raises(OutsideError) as caught:
        atomic.write_all({tmp_path / "plan.parquet": fail})
    assert str(caught.value).startswith(f"{tmp_path / 'plan.parquet'}: No space left on device")


def test_a_reader_that_has_seen_enough_is_no_error():
    closed = f'( {shlex.quote(sys.executable)} -m streameval --help; echo "status $?" >&2 ) | true'
    done = subprocess.run(["sh", "-c", closed], capture_output=True, text=True, check=False)
    assert done.stderr == "status 0\n"


def test_the_demo_says_what_it_does_before_it_does_it(tmp_path):
    said = []

    def tell(line):
        said.append(line)
        raise KeyboardInterrupt  # all that follows would take a minute

    with pytest.raises(KeyboardInterrupt):
        digits.run(tmp_path / "demo", tell)
    assert said == [
        f"Ranking the pairs of 1,797 handwritten digits by their similarity, into {tmp_path}/demo/ranking …"
    ]
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("how", "seen"), [({}, True), ({"quiet": True}, False), ({"json": True}, False),
                                           ({"log": "json"}, False)])  # fmt: skip
def test_what_is_done_next_is_said_to_people_alone(how, seen, capsys):
    Output(**how).tell("Ranking …")
    assert capsys.readouterr() == ("", "Ranking …\n" * seen)


def test_the_script_of_the_demo_installs_what_the_journey_uses():
    used = (HOME / "scripts" / "demo").read_text()
    assert "scripts/setup demo,label" in used


def test_a_demo_that_cannot_run_leaves_nothing(tmp_path, monkeypatch, capsys):
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "sklearn" else find(name))
    assert run(["demo", str(tmp_path / "demo")]) == 2
    assert "the demo needs scikit-learn" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("most", cases([1, 32], 1))
@pytest.mark.parametrize("name", ["labels.csv", "labels.jsonl"])
def test_a_line_that_is_too_long_for_any_buffer_is_named(home, tmp_path, capsys, monkeypatch, name, most):
    """`most` MiB: the suite reads shorter lines, where fewer are allowed."""
    for reader in (readers, delimited, lines) if most < 32 else ():
        monkeypatch.setattr(reader, "LINE", most << 19)
    path, long = tmp_path / name, "x" * ((most << 20) + (most << 16))
    rows = [(rank, long if rank == 3 else "short") for rank in range(1, 6)]
    if name.endswith("csv"):
        path.write_text("rank,label,note\n" + "".join(f"{rank},1,{text}\n" for rank, text in rows))
    else:
        path.write_text("".join(f'{{"rank": {rank}, "label": 1, "note": "{text}"}}\n' for rank, text in rows))
    assert run(["evaluate", home["STUDY"], "--labels", str(path)]) == 2
    assert f"{path}: line {4 if name.endswith('csv') else 3} has more than {most} MiB" in capsys.readouterr().err


def test_pages_of_pictures_may_load_nothing(home, tmp_path):
    plot = tmp_path / "both.html"
    other = shutil.copytree(home["STUDY"], tmp_path / "other")
    assert run(["compare", home["STUDY"], str(other), "--plot", str(plot)]) == 0
    assert 'http-equiv="Content-Security-Policy" content="default-src \'none\';' in plot.read_text()
