"""What the README and the guides show is what happens: every block of code is run, or at least read."""

import importlib.util
import inspect
import json
import re
import shlex
import subprocess
import sys
import tomllib
import zlib
from pathlib import Path

import duckdb
import numpy as np
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from guide_pages import BLOCKS, GUIDE, PAGES
from places import HOME, TESTS
from suite_cases import cases

import streameval
import streameval.study
from streameval.cli import app, digits, flags_of, run
from streameval.metrics import arrays

GENERATED = {"commands.md", "functions.md"}
QUERIES = [code for _, language, code in BLOCKS if language == "sql"]


def shown(name):
    """Commands of a page with what it shows of their output."""
    blocks = [code for page, language, code in BLOCKS if page == name and language == "console"]
    for block in blocks:
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            yield shlex.split(command.removeprefix("streameval ")), output


def of_language(*languages):
    return [pytest.param(code, id=f"{name}-{i}") for i, (name, language, code) in enumerate(BLOCKS)
            if language in languages and name not in GENERATED]  # fmt: skip


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    """A folder with the list of the demo, without its pictures, which nothing here looks at."""
    pytest.importorskip("sklearn")
    home = tmp_path_factory.mktemp("pairs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(digits, "_png", lambda image: b"")
        digits.write_ranking(home / "streameval-demo")
    return home


@pytest.mark.slow
def test_the_ranking_of_the_demo_is_the_same_on_every_machine(pairs):
    """With vectors of length one, the order of pairs that are nearly alike was that of the machine's linear algebra."""
    made = pq.read_table(pairs / "streameval-demo" / "ranking", columns=["left", "right", "similarity"])
    digests = [zlib.crc32(column.to_numpy().tobytes()) for column in made.columns]
    assert digests == [0xD821F268, 0xEF326B26, 0xF7DEDB49]


def test_a_picture_of_the_demo_is_its_digit_enlarged():
    shades = np.arange(64).reshape(8, 8) % 17
    picture = digits._png(shades.astype(float))
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    body = zlib.decompress(picture.partition(b"IDAT")[2][: -len("....IEND....") - 4])
    lines = np.frombuffer(body, np.uint8).reshape(64, 1 + 32)[:, 1:]
    assert np.array_equal(lines[::8, ::4] >> 4, 15 - np.minimum(shades, 15))


CONSOLE = sorted({name for name, language, _ in BLOCKS if language == "console"})


@pytest.mark.parametrize("name", cases(CONSOLE, *(name for name in CONSOLE if name != "README.md")))
def test_a_page_shows_what_its_commands_print(name, request, capsys, monkeypatch):
    homes = {"README.md": ["pairs"], "slices.md": ["prepared_by_team", "workplace"]}.get(name, ["workplace"])
    monkeypatch.chdir([request.getfixturevalue(home) for home in homes][-1])
    for command, output in shown(name):
        capsys.readouterr()
        assert run(command) == 0
        assert capsys.readouterr().out.startswith(output)
    if name == "README.md":
        assert where_its_bounds_miss() in " ".join(PAGES[name].split())


def where_its_bounds_miss():
    truth = pq.read_table("streameval-demo/truth.parquet").sort_by("rank").column("label").to_numpy()
    ranks, found = np.arange(1, truth.size + 1), np.cumsum(truth, dtype=np.int64)
    lower, upper = streameval.study.Study(Path("pairs")).evaluation().curve.envelope.at(ranks)
    beyond = np.maximum(lower - found, found - upper) / ranks
    missed = ranks[beyond > 0]
    most = f"{100 * beyond.max():.2f}".lstrip("0")
    return f"at {missed.size:,} ranks from {missed[0]:,} to {missed[-1]:,}, by {most} points of precision at most"


def test_the_commands_of_the_readme_are_understood():
    """What they print of 1.6 million pairs takes long; here they are read."""
    commands = [command for command, _ in shown("README.md")]
    assert [command[0] for command in commands] == ["plan", "select", "evaluate", "cut"]
    for command in commands:
        app.parse_args(command, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("code", of_language("sh"))
def test_commands_that_need_other_machines_are_understood(code):
    lines = [line.removeprefix("# 15 2 * * *") for line in code.splitlines()]
    commands = [line.partition("streameval ")[2] for line in lines if line.startswith(("streameval ", "docker run "))]
    assert commands or "scripts/" in code
    for command in commands:
        tokens = shlex.split(command.removesuffix("&&"), comments=True)
        app.parse_args(tokens, exit_on_error=False, print_error=False)


@pytest.mark.parametrize("code", of_language("python"))
def test_python_for_other_tools_is_python(code):
    compile(code, "guide", "exec")


@pytest.mark.parametrize("code", of_language("toml"))
def test_defaults_are_those_of_options(code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "streameval.toml").write_text(code)
    for verb in tomllib.loads(code):
        study = ["--study", "s"] if "--study" in flags_of(verb) else ["s"]
        app.parse_args([verb, *study], exit_on_error=False, print_error=False)


def test_every_block_is_of_a_kind_that_is_tested():
    kinds = {language for name, language, _ in BLOCKS if name not in GENERATED}
    assert kinds <= {"console", "sh", "python", "sql", "pycon", "toml", "yaml", "jinja"}
    assert len(QUERIES) == 2


def test_nobody_is_told_to_install_our_name_from_an_index():
    """Nobody has registered it there, and anybody could."""
    told = [*PAGES.values(), (GUIDE / "digits.ipynb").read_text(encoding="utf-8")]
    told += [path.read_text(encoding="utf-8") for path in GUIDE.parent.rglob("*.py")]
    found = [
        line for text in told for line in re.findall(r"pip install.*", text) if re.search(r"[\s'\"]streameval", line)
    ]
    assert found == []
    assert "pip install wheels/streameval-" in PAGES["recipes.md"]


def test_the_readme_is_short_and_has_ten_links_at_most():
    readme = PAGES["README.md"]
    assert len(readme.splitlines()) <= 150
    assert len(re.findall(r"(?<!!)\[[^]]*\]\(", readme)) <= 10


def test_the_guide_lists_every_page_once_and_each_begins_with_a_command(capsys):
    assert run(["guide"]) == 0
    listed = re.findall(r"^  ([a-z-]+)  ", capsys.readouterr().out, re.MULTILINE)
    pages = {path.removesuffix(".md") for path in PAGES} - {"README"} | {"digits"}
    assert sorted(listed) == sorted(pages)
    tables = {"claims.md", "guarantees.md", "glossary.md", "functions.md", "commands.md", "README.md"}
    for name, text in PAGES.items():
        if name not in tables:
            assert "```" in "\n".join(text.splitlines()[:13]), name


@pytest.mark.parametrize("words", [
    "base rate", "confidence interval", "sample size", "inter-annotator agreement", "A/B test", "drift", "ground truth",
    "Cohen's kappa", "early stopping", "operating point", "elusion", "LLM as a judge",
])  # fmt: skip
def test_the_guide_finds_the_words_of_neighbours(words, capsys):
    assert run(["guide", words]) == 0
    assert capsys.readouterr().out.startswith("streameval guide ")


@pytest.mark.parametrize("page", [*(f"guide/{page}" for page in sorted(GENERATED)), "__init__.pyi"])
def test_references_are_those_of_the_code(page):
    spec = importlib.util.spec_from_file_location("reference", HOME / "scripts" / "reference.py")
    reference = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(reference)
    assert reference.PAGES[page]() == (GUIDE.parent / page).read_text(encoding="utf-8"), "run scripts/reference"


def test_every_public_function_has_an_example_that_is_run():
    text = "".join(code for _, language, code in BLOCKS if language == "pycon") + (inspect.getdoc(arrays) or "")
    without = [name for name in streameval.__all__
               if inspect.isfunction(getattr(streameval, name)) and f"streameval.{name}(" not in text]  # fmt: skip
    assert without == []


def expected_of_queries():
    """What Python says to the two recipes."""
    curve = streameval.study.Study(Path("my-study")).evaluation().curve
    bounds = [(rank, curve.precision_at(rank).lower, curve.precision_at(rank).upper) for rank in (1000, 50000)]
    shown = curve.table.filter(pc.greater_equal(curve.table.column("precision_lower"), 0.9))
    deepest = pc.max(shown.column("rank")).as_py()
    selection = pq.read_table("my-study/selection.parquet", columns=["id", "rank"])
    return bounds, [(row["id"], row["rank"]) for row in selection.to_pylist() if row["rank"] <= deepest]


def test_recipes_give_the_same_in_anyones_duckdb(workplace):
    with duckdb.connect() as own:
        for name in ("envelope", "curve", "selection"):
            own.execute(f"CREATE VIEW {name} AS FROM 'my-study/{name}.parquet'")
        own.execute("CREATE VIEW lake AS FROM 'ranking.parquet'")
        assert tuple(own.execute(query).fetchall() for query in QUERIES) == expected_of_queries()


@pytest.mark.slow
def test_recipes_give_the_same_in_postgresql(workplace, postgresql):
    dbapi = pytest.importorskip("adbc_driver_postgresql.dbapi", reason="needs the extra [db]")
    with dbapi.connect(postgresql) as connection, connection.cursor() as cursor:
        for name in ("envelope", "curve", "selection"):
            table = pq.read_table(f"my-study/{name}.parquet").replace_schema_metadata(None)
            cursor.adbc_ingest(name, table, mode="create")
        cursor.adbc_ingest("lake", pq.read_table("ranking.parquet"), mode="create")
        found = []
        for query in QUERIES:
            cursor.execute(query)
            found.append(cursor.fetchall())
    assert tuple(found) == expected_of_queries()


IN_SAIL = """
import json, sys
sys.path.insert(0, sys.argv[1])
from spark_cases import session
remote = session("sail")["remote"]
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote(remote).getOrCreate()
for name in ("my-study/envelope", "my-study/curve", "my-study/selection", "ranking"):
    spark.read.parquet(f"{sys.argv[2]}/{name}.parquet").createOrReplaceTempView(name.split("/")[-1])
spark.table("ranking").createOrReplaceTempView("lake")
print(json.dumps([[list(row) for row in spark.sql(query).collect()] for query in sys.argv[3:]]))
"""


@pytest.mark.slow
def test_recipes_give_the_same_in_spark_sql(workplace):
    pytest.importorskip("pysail", reason="Sail comes with the package pysail")
    tests = str(TESTS)
    command = [sys.executable, "-c", IN_SAIL, tests, str(workplace), *QUERIES]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=HOME)
    found = json.loads(done.stdout.splitlines()[-1])
    assert tuple([tuple(row) for row in rows] for rows in found) == expected_of_queries()
