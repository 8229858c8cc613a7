"""Every sentence about a claim stands on the page of claims, and those that no other test attacks are attacked here."""

import ast
import json
import re
from importlib import resources
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_tables import judged

import streameval
from streameval.cli import run

PACKAGE = Path(streameval.__file__).parent
PAGE = " ".join((resources.files("streameval") / "guide" / "claims.md").read_text(encoding="utf-8").split())
CLAIMS = re.compile(
    r"\b(prove[ns]?|truth|claims?|claimed|holds?|held|promises?|promised|established|exact|picture|contradicts?|fails|"
    r"widest|forecast|suggests|differ|With probability|says? nothing|no bound)\b"
)
NO_CLAIMS = ("column … (…) holds what cannot be printed: …", "its ranks differ", "Chart:", "run exact again")
N = 1_500
PAULA = {"method": "paula(epsilon=0.1, window=20)"}


def sentences(node):
    """Texts that the code may print, `…` for what is filled in: no docstrings, errors, help of options or queries."""
    for child in ast.iter_child_nodes(node):
        called = getattr(child, "func", None)
        is_docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if (
            is_docstring
            or isinstance(child, ast.Raise)
            or getattr(called, "id", "") in ("Parameter", "option", "InputError")
        ):
            continue
        if isinstance(child, ast.JoinedStr):
            yield "".join(part.value if isinstance(part, ast.Constant) else "…" for part in child.values)
            for part in child.values:
                yield from () if isinstance(part, ast.Constant) else sentences(part)
        elif isinstance(child, ast.Constant):
            yield child.value if isinstance(child.value, str) else ""
        else:
            yield from sentences(child)


NO_STRING = re.compile(r'(?:\A|:\n) *r?"""(?:.|\n)*?"""|^ *#.*', re.MULTILINE)  # docstrings and comments


def test_every_sentence_about_a_claim_is_on_the_page():
    sources = {path: path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py")}
    told = {
        (str(path.relative_to(PACKAGE)), " ".join(text.split()))
        for path, source in sources.items()
        if CLAIMS.search(NO_STRING.sub("", source))
        for text in sentences(ast.parse(source))
        if len(text.split()) > 2 and CLAIMS.search(text) and not text.startswith(NO_CLAIMS)
        if not re.search(r"SELECT|FROM |MACRO|<html", text)
    }
    assert len(told) > 60
    missing = sorted(
        one for one in told if any(part.strip() not in PAGE for part in one[1].split("…") if len(part.split()) > 2)
    )
    assert missing == []


@pytest.fixture
def study(tmp_path):
    """Plan a study of a list whose labels are known; what they are."""

    def make(method="loguniform", truth=None, **options):
        options = {"budget": 200} | options if method == "loguniform" and "alpha" not in options else options
        truth = (np.arange(N) < 0.6 * N).astype(np.int8) if truth is None else truth
        pq.write_table(pa.table({"id": np.arange(N)}), tmp_path / "list.parquet")
        folder = tmp_path / f"study-{len(list(tmp_path.iterdir()))}"
        plan = streameval.plan(str(tmp_path / "list.parquet"), folder, method=method, seed=1, **options)
        return folder, pa.table({"rank": plan.ranks, "label": truth[plan.ranks - 1]})

    return make


def comments(folder):
    with duckdb.connect(str(folder / "study.duckdb"), read_only=True) as database:
        return {(table, column): told for table, column, told in database.sql(
            "SELECT table_name, column_name, comment FROM duckdb_columns()").fetchall()}  # fmt: skip


@pytest.mark.parametrize(
    ("method", "rises", "weakens"),
    [("loguniform", False, ""), ("paula", False, "Of the claim: the bounds hold only under an assumption."),
     ("paula", True, "Of the claim: the bounds prove nothing.")],
)  # fmt: skip
def test_comments_of_bounds_say_what_weakens_them(study, method, rises, weakens):
    truth = (np.arange(N) < 0.6 * N).astype(np.int8)
    options = PAULA if method == "paula" else {}
    folder, labels = study(truth=truth[::-1].copy() if rises else truth, **options)
    claim = streameval.evaluate(folder, labels=labels).curve.claim
    assert (claim.coverage == "none") == rises
    told = comments(folder)
    for place in (("curve", "precision_lower"), ("envelope", "yield_upper"), ("metrics", "lower")):
        assert told[place].endswith(weakens or told[place])
        assert ("Of the claim" in told[place]) == bool(weakens)


@pytest.mark.parametrize(
    ("options", "how", "made"),
    [({}, {}, True), ({}, {"label_error": 0.02}, False), (PAULA, {}, True), (PAULA, {"assume": "independent"}, False)],
)  # fmt: skip
def test_a_forecast_of_half_is_made_only_where_it_has_a_ground(study, options, how, made):
    folder, labels = study(**options)
    found = judged(folder, labels, **how)
    assert found.curve.proves
    assert (found.summary["half_width"]["labels_for_half"] is not None) == made
    part = judged(study(**options)[0], labels.slice(0, labels.num_rows - 9), **how)
    assert part.summary["half_width"]["labels_for_half"] is None


def test_rows_that_match_nothing_are_counted_beyond_those_that_are_listed(study, tmp_path, capsys):
    folder, _ = study()
    pq.write_table(
        pa.table({"rank": np.arange(N + 1, N + 20_001), "label": np.ones(20_000, int)}), tmp_path / "l.parquet"
    )
    assert run(["evaluate", str(folder), "--labels", str(tmp_path / "l.parquet")]) == 2
    assert "and 19,999 more rows like it" in capsys.readouterr().err


def test_cut_and_compare_say_what_their_estimates_are_of(study, capsys):
    """A random half of the labels gives estimates of a random half."""
    folder, labels = study()
    half = np.sort(np.random.default_rng(3).permutation(labels.num_rows)[: labels.num_rows // 2])
    other, whole = study(alpha=0.1)
    streameval.evaluate(other, labels=whole)
    basis = streameval.evaluate(folder, labels=labels.take(half)).curve.basis
    assert basis == "labels at hand"
    capsys.readouterr()
    for command in (["cut", str(folder), "1000"], ["compare", str(folder), str(other)]):
        assert run([*command, "--json"]) == 0
        said = json.loads(capsys.readouterr().out)
        assert said.get("a", said)["estimates"] == basis
        assert run(command) == 0
        assert "Estimates are those of the labels at hand" in capsys.readouterr().out
    assert said["b"]["estimates"] == "labels"
