"""Secrets in addresses are in no output and in no file, whatever is done with the address."""

import contextlib
import io
import types

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from suite_cases import examples

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.labelling.readers import adbc
from streameval.text.credentials import mask, masked_source, without_secrets

SMALL = ["--method", "paula(epsilon=0.1, window=20)"]
# letters that no message and no path holds in a row, with what has a meaning in an address between them
PIECES = st.lists(st.text("QXZJ7", min_size=5, max_size=8), min_size=1, max_size=3)
SECRET = st.builds(
    lambda pieces, mark: mark.join(pieces), PIECES, st.sampled_from(["", "@", "#", ":", "/", "?", " ", "%40"])
)
FORMS = (
    "postgresql://me:{}@host/db",
    "postgresql://me:{}@host/db#SELECT rank, label FROM t",
    "postgresql://{}@host:5432/db#SELECT 1",
    "s3://key:{}@bucket/list.parquet",
    "gs://me:{}@bucket/list.parquet",
)
VALUES = (
    "postgresql://host/db?user=me&sslpassword={}#SELECT rank, label FROM t",
    "https://store.example/list.parquet?X-Amz-Date=1&X-Amz-Signature={}",
    "az://container/list.parquet?sig={}",
    "s3://bucket/list.parquet?secret={}",
)
ADDRESSES = st.one_of(
    st.tuples(st.sampled_from(FORMS), SECRET),
    st.tuples(st.sampled_from(VALUES), st.text("QXZJ7", min_size=5, max_size=12)),
)
COMMANDS = (
    ("plan", "{}", "--study", "new", *SMALL),
    ("plan", "RANKING", "--study", "new", "--method", "loguniform", "--reuse", "{}", "--on", "item"),
    ("scan", "{}", "--score", "conf", "--study", "new"),
    ("select", "{}"),
    ("evaluate", "STUDY", "--labels", "{}"),
    ("evaluate", "STUDY", "--labels", "{}", "--log", "json"),
    ("evaluate", "STUDY", "--labels", "{}", "--dry-run"),
    ("publish", "STUDY", "{}"),
    ("evaluate", "STUDY", "--labels={}", "--nonsense"),
    ("exact", "{}", "--label", "label", "--out", "out"),
    ("cut", "STUDY", "5", "--out", "{}"),
    ("sql", "STUDY", "SELECT 1", "--with", "x={}"),
    ("labels", "{}"),
    ("labels", "STUDY", "--forget", "{}"),
    ("report", "{}"),
    ("compare", "STUDY", "{}"),
    ("simulate", "{}", "--label", "label"),
    ("show", "{}", "precision@3"),
    ("unknown", "{}"),
)


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    home = tmp_path_factory.mktemp("home")
    ranking, labels, study = home / "ranking.parquet", home / "truth.parquet", home / "study"
    truth = (np.random.default_rng(7).random(1_000) < np.linspace(1, 0, 1_000)).astype(np.int8)
    pq.write_table(pa.table({"item": [f"item {one}" for one in range(1_000)], "label": truth}), ranking)
    pq.write_table(pa.table({"rank": range(1, 1_001), "label": truth}), labels)
    assert run(["plan", str(ranking), "--study", str(study), *SMALL]) == 0
    return {"RANKING": str(ranking), "LABELS": str(labels), "STUDY": str(study), "truth": truth}


def pieces(secret):
    """What may not be seen: any run of its letters between the marks."""
    return [piece for piece in "".join(c if c in "QXZJ7" else " " for c in secret).split() if len(piece) >= 3]


@pytest.mark.parametrize("commands", [COMMANDS[::3], COMMANDS[1::3], COMMANDS[2::3]], ids=["some", "more", "others"])
@settings(max_examples=examples(8, 20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=ADDRESSES, data=st.data())
def test_no_verb_says_or_writes_what_is_secret(commands, home, tmp_path, monkeypatch, where, data):
    command = data.draw(st.sampled_from(commands))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(adbc, "_driver", lambda kind, shown: Quoting)
    form, secret = where
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        run([home.get(word, word.format(form.format(secret))) for word in command])
    said = out.getvalue() + err.getvalue()
    for piece in pieces(secret):
        assert piece not in said
        for path in tmp_path.rglob("*"):
            assert piece not in str(path.relative_to(tmp_path))
            assert not path.is_file() or piece.encode() not in path.read_bytes()


class Quoting:
    """A driver that reads an address as libpq does, and quotes of it what it cannot read."""

    class Error(Exception):
        pass

    @classmethod
    def connect(cls, address):
        raise cls.Error(f'could not translate host name "{address[16:]}" and "{address[18:26]}" to address')


def answering(table):
    """A driver that answers every query with a table."""
    cursor = types.SimpleNamespace(execute=lambda query: None, fetch_record_batch=table.to_reader)
    database = types.SimpleNamespace(cursor=lambda: contextlib.nullcontext(cursor))
    return types.SimpleNamespace(Error=OSError, connect=lambda address: contextlib.nullcontext(database))


def test_results_from_a_database_hold_its_address_without_secrets(home, tmp_path, monkeypatch, capsys):
    truth = home["truth"]
    table = pa.table({"rank": range(1, truth.size + 1), "label": truth})
    monkeypatch.setattr(adbc, "_driver", lambda kind, shown: answering(table))
    study, board = tmp_path / "study", tmp_path / "board"
    address = "postgresql://QQUSER:XXSECRET@host/db?sslpassword=ZZSECRET#SELECT rank, label FROM t"
    assert run(["plan", home["RANKING"], "--study", str(study), *SMALL]) == 0
    assert run(["evaluate", str(study), "--labels", address, "--log", "json"]) == 0
    assert run(["publish", str(study), str(board), "--log", "json"]) == 0
    assert run(["labels", str(study)]) == 0
    assert run(["report", str(study)]) == 0
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {"evaluation.json", "report.html", "study.duckdb", "manifest.json"} <= {path.name for path in written}
    held = b"".join(path.read_bytes() for path in written) + capsys.readouterr().out.encode()
    for path in study.rglob("*.parquet"):
        held += str(pq.read_table(path).to_pylist()).encode() + str(pq.read_schema(path).metadata).encode()
    with duckdb.connect(str(study / "study.duckdb"), read_only=True) as database:
        for (name,) in database.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            held += str(database.execute(f'FROM "{name}"').fetchall()).encode()
    for secret in (b"QQUSER", b"XXSECRET", b"ZZSECRET"):
        assert secret not in held
    assert b"postgresql://***@host/db?sslpassword=***" in held
    assert run(["labels", str(study), "--forget", address.partition("#")[0]]) == 0


def test_errors_of_the_library_hold_no_secret_either(home):
    with pytest.raises(InputError) as caught:
        streameval.evaluate(home["STUDY"], labels="postgresql://me:XXSECRET@host/db")
    assert "XXSECRET" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_defect_is_shown_without_secrets(home, monkeypatch, capsys):
    def fail(*arguments):
        raise RuntimeError("cannot parse 'ZZSECRET@host'")

    monkeypatch.setattr(adbc, "_driver", fail)
    assert run(["evaluate", home["STUDY"], "--labels", "postgresql://me:ZZSECRET@host/db#SELECT 1"]) == 1
    said = capsys.readouterr().err
    assert "ZZSECRET" not in said
    assert "RuntimeError" in said


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("s3://bucket/a@b/part-0.parquet", "s3://bucket/a@b/part-0.parquet"),
        ("sc://host:15002: no answer", "sc://host:15002: no answer"),
        ("http://127.0.0.1:9000/list", "http://127.0.0.1:9000/list"),
        ("sc://host:15002/;token=XYZ", "sc://host:15002/;token=***"),
        ("'postgresql://a:b@h/d'", "'postgresql://***@h/d'"),
        ("host=h password='x y' dbname=d", "host=h password=*** dbname=d"),
        ("delta:/lake/table@0: no file", "delta:/lake/table@0: no file"),
        ("delta:s3://key:secret@bucket/table@0", "delta:s3://***@0"),
        ("C:/users/a@b/list.parquet", "C:/users/a@b/list.parquet"),
        ("mail to a@b.example: see ?x=1", "mail to a@b.example: see ?x=1"),
    ],
)
def test_only_what_may_be_secret_is_hidden(text, shown):
    assert mask(text) == shown == mask(shown)


@given(where=ADDRESSES)
def test_an_address_that_is_known_whole_is_hidden_whole(where):
    form, secret = where
    address = form.format(secret)
    for shown in (masked_source(address), without_secrets(f"cannot read {address!r}: {address[12:]}", [address])):
        assert not any(piece in shown for piece in pieces(secret))
