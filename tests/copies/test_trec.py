"""Runs and judgements of TREC: the measures are those of the same rows in a table."""

import numpy as np
import pyarrow as pa
import pytest

import streameval
from streameval.errors import InputError

DRAWN = np.random.default_rng(11)
RUN = [(f"{query:03d}", f"doc{item:03d}", round(float(DRAWN.random()), 3)) for query in range(12) for item in range(30)]
JUDGED = {(query, item): int(DRAWN.integers(-1, 4)) for query, item, _ in RUN if DRAWN.random() < 0.5}
MISSED = {("003", "never"): 2, ("007", "never"): 1}


@pytest.fixture
def files(tmp_path):
    run, qrels = tmp_path / "bm25.txt", tmp_path / "judged.txt"
    run.write_text(
        "".join(f"{query} Q0  {item}\t{rank} {score} bm25\n" for rank, (query, item, score) in enumerate(RUN, 1))
    )
    qrels.write_text("".join(f"{query} 0 {item} {grade}\r\n" for (query, item), grade in {**JUDGED, **MISSED}.items()))
    return run, qrels


def test_a_run_with_judgements_is_evaluated_as_the_same_rows_in_a_table(files):
    run, qrels = files
    how = {"label": "relevance", "per": "query", "score": "score", "key": "document", "ties": "trec_eval", "at": [5]}
    found = streameval.exact(f"trec:{run}#{qrels}", positives=qrels, **how)
    query, item, score = zip(*RUN, strict=True)
    grades = [max(0, JUDGED.get(one[:2], 0)) for one in RUN]
    table = pa.table({"query": query, "document": item, "score": score, "relevance": grades})
    names, missed = zip(*MISSED, strict=True)
    never = pa.table({"query": names, "document": missed, "relevance": list(MISSED.values())})
    expected = streameval.exact(table, positives=never, **how)
    for metric in ("average_precision", "reciprocal_rank", "bpref"):
        assert found.mean(metric) == expected.mean(metric)
    assert found.mean("ndcg_at", 5) == expected.mean("ndcg_at", 5)


def test_a_run_of_several_queries_that_is_planned_as_one_list_is_told_of(files, tmp_path):
    file, _ = files
    one = tmp_path / "one.txt"
    one.write_text("".join(file.read_text().splitlines(keepends=True)[:30]))
    for how in ({"score": "score"}, {}, {"score": "score", "against": one, "key": "query,document", "at": [10]}):
        doubt = streameval.plan(file, tmp_path / f"s{len(how)}", seed=1, **how).location["doubt"]
        assert doubt.startswith("This run has several queries, and is planned as one list: with --per query")
    assert "several" not in streameval.plan(one, tmp_path / "one", score="score", seed=1).location.get("doubt", "")


def test_a_run_by_itself_is_planned_and_its_names_stay_texts(files, tmp_path):
    run, _ = files
    plan = streameval.plan(run, tmp_path / "s", per="query", score="score", rankings=4, at=[3], seed=1)
    chosen = streameval.select(tmp_path / "s").table
    assert plan.table.num_rows == chosen.num_rows == 12
    assert set(chosen.column("query").to_pylist()) < {one[0] for one in RUN}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("001 Q0 doc 1 0.5\n", "1 line is not of 6 fields, with numbers where they belong (first: line 361)"),
        ("001 Q0 doc 1 high bm25\n", "(first: line 361)"),
    ],
)
def test_a_line_that_is_of_no_run_is_named(files, tmp_path, line, says):
    run, qrels = files
    with run.open("a") as file:
        file.write(line)
    with pytest.raises(InputError) as told:
        streameval.exact(f"trec:{run}#{qrels}", label="relevance", per="query", score="score")
    assert says in str(told.value)


def test_judgements_that_contradict_or_are_of_another_form_are_refused(files, tmp_path):
    run, qrels = files
    for given, says in (
        (f"trec:{run}#{run}", "its first line is not of a TREC file"),
        (f"trec:{qrels}#{qrels}", "its first line is not of a TREC file"),
        (f"trec:{run}#{tmp_path}/none", "no such file"),
    ):
        with pytest.raises(InputError, match=says):
            streameval.cost(given)
    with qrels.open("a", newline="") as file:
        file.write("003 0 never 3\r\n")
    with pytest.raises(InputError, match="document 'never' has two judgements for query '003'"):
        streameval.cost(f"trec:{run}#{qrels}")
