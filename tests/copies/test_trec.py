"""Runs and judgements of TREC: the measures are those of trec_eval, and of the same rows in a table."""

import itertools
import json

import numpy as np
import pyarrow as pa
import pytest
from places import RECORDED
from refusals import refused

import streameval
from streameval.calls import write_call
from streameval.cli import run as command
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
    how = {"label": "relevance", "per": "query(ties=trec_eval)", "score": "score", "key": "document", "at": [5]}
    found = streameval.exact(f"trec:{run}#{qrels}", **how)
    query, item, score = zip(*RUN, strict=True)
    grades = [max(0, JUDGED.get(one[:2], 0)) for one in RUN]
    table = pa.table({"query": query, "document": item, "score": score, "relevance": grades})
    judged = [(*names, grade) for names, grade in {**JUDGED, **MISSED}.items() if grade >= 0]
    beside = pa.table(dict(zip(("query", "document", "relevance"), zip(*judged, strict=True), strict=True)))
    expected = streameval.exact(table, positives=beside, **how)
    for metric in ("average_precision", "reciprocal_rank", "bpref"):
        assert found.mean(metric) == expected.mean(metric)
    assert found.mean("ndcg_at", 5) == expected.mean("ndcg_at", 5)


def test_a_run_of_several_queries_that_is_planned_as_one_list_is_told_of(files, tmp_path):
    file, _ = files
    one = tmp_path / "one.txt"
    one.write_text("".join(file.read_text().splitlines(keepends=True)[:30]))
    for how in (
        {"score": "score"},
        {},
        {"score": "score", "against": one, "key": "query,document", "questions": "gain@10"},
    ):
        doubt = streameval.plan(file, tmp_path / f"s{len(how)}", seed=1, **how).location["doubt"]
        assert doubt.startswith("This run has several queries, and is planned as one list: with --per query")
    assert "several" not in streameval.plan(one, tmp_path / "one", score="score", seed=1).location.get("doubt", "")


def test_a_run_by_itself_is_planned_and_its_names_stay_texts(files, tmp_path):
    run, _ = files
    plan = streameval.plan(run, tmp_path / "s", per="query", score="score", budget=12, questions="precision@3", seed=1)
    chosen = streameval.select(tmp_path / "s").table
    assert plan.table.num_rows == chosen.num_rows == 12
    assert set(chosen.column("query").to_pylist()) < {one[0] for one in RUN}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("001 Q0 doc 1\n", "1 line does not hold query, Q0, document, rank and score (first: line 361)"),
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


TREC = json.loads((RECORDED / "trec_judgements.json").read_text())
NAMES = {"map": "average_precision", "recip_rank": "reciprocal_rank", "ndcg": "ndcg", "Rprec": "r_precision",
         "bpref": "bpref", "map_cut": "average_precision_at", "P": "precision_at", "recall": "recall_at",
         "ndcg_cut": "ndcg_at", "success": "success_at", "set_P": "set_precision", "set_recall": "set_recall",
         "set_F": "set_f1", "11pt_avg": "eleven_point_precision",
         **{f"iprec_at_recall_{i / 10:.2f}": f"precision_at_recall_{i / 10:g}" for i in range(11)}}  # fmt: skip


def written(tmp_path, rows=None):
    run, qrels = tmp_path / "a.run", tmp_path / "a.qrels"
    run.write_text(rows or "".join(f"{q} Q0 {item} 0 {score} tag\n" for q, item, score in TREC["run"]))
    qrels.write_text("".join(f"{q} 0 {item} {grade}\n" for q, item, grade in TREC["qrels"]))
    return f"trec:{run}#{qrels}"


def evaluated(address, **options):
    per = write_call("query", {"ties": options.pop("ties", "trec_eval"), "unjudged": options.pop("unjudged", None)})
    found = streameval.exact(address, label="relevance", per=per, score="score", at=[1, 5, 10, "11pt"], **options)
    return {row["query"]: row for row in found.rankings.to_pylist()}, found


def own_value(row, name):
    """The cell of a row that trec_eval calls so; None where we have none."""
    metric, _, k = name.rpartition("_")
    column = f"{NAMES[metric]}_{k}" if k.isdecimal() and metric in NAMES else NAMES.get(name)
    return None if column is None else row[column] or 0.0


@pytest.mark.parametrize("level", ["1", "2"])
def test_every_cell_is_that_of_trec_eval_whatever_was_judged(tmp_path, level):
    rows, found = evaluated(written(tmp_path), relevant=f">={level}")
    said = TREC["results"][level]
    assert set(rows) == set(said) == {str(number) for number in range(301, 315)} - {"305", "310"}
    cells = {(q, name): own for q in said for name in said[q] if (own := own_value(rows[q], name)) is not None}
    assert len(cells) == 12 * 35
    for (q, name), own in cells.items():
        assert own == pytest.approx(said[q][name], rel=0, abs=1e-12), (q, name)
    assert found.mean("bpref") == pytest.approx(sum(one["bpref"] for one in said.values()) / 12, rel=1e-12)
    assert found.summary["unjudged"] == 2


def test_a_ranking_of_which_nothing_was_judged_counts_where_it_is_asked_for(tmp_path, capsys):
    rows, _ = evaluated(written(tmp_path), unjudged="zero")
    assert len(rows) == 14
    assert (rows["305"]["positives"], rows["305"]["precision_at_5"]) == (0, 0.0)
    arguments = ["exact", written(tmp_path), "--label", "relevance", "--per=query", "--score", "score"]
    assert command(arguments) == 0
    assert "2 rankings of which nothing was judged were left out (" in " ".join(capsys.readouterr().out.split())
    assert command([part.replace("query", "query(unjudged=zero)") for part in arguments]) == 0
    assert "left out" not in capsys.readouterr().out


def test_a_ranking_that_returned_nothing_counts_and_is_said(tmp_path):
    address = written(tmp_path, "".join(f"{q} Q0 {item} 0 {score} t\n" for q, item, score in TREC["run"] if q < "304"))
    rows, found = evaluated(address)
    assert (rows["309"]["items"], rows["309"]["average_precision"]) == (0, 0.0)
    assert found.summary["returned_nothing"] == 9
    assert found.mean("map") == pytest.approx(sum(TREC["results"]["1"][q]["map"] for q in ("301", "302", "303")) / 12)


def test_judgements_that_name_no_item_are_refused_and_those_of_other_queries_leave_the_run_out(tmp_path):
    (tmp_path / "a.run").write_text("1 Q0 d 0 1 t\n")
    (tmp_path / "a.qrels").write_text("1 0 d -1\n")
    with pytest.raises(InputError, match=r"a\.qrels: no rows"):
        evaluated(f"trec:{tmp_path}/a.run#{tmp_path}/a.qrels")
    (tmp_path / "a.qrels").write_text("2 0 d 1\n")
    rows, found = evaluated(f"trec:{tmp_path}/a.run#{tmp_path}/a.qrels")
    assert (list(rows), found.summary["unjudged"], found.summary["unjudged_items"]) == (["2"], 1, 1)


LINES = [
    "{q} 0 {d} 1 {s} tag", "{q} Q0 {d} 1 {s} tag and more", "{q} Q0 {d} 1 {s} tag\t", "{q} Q0 {d} 1 {s}",
    "  {q} Q0 {d} 1 {s} tag", "\t{q}\tQ0\t{d}\t1\t{s}\ttag", "{q} Q0 {d} 1.0 {s} tag", "{q} Q0 {d} - {s} tag",
    "# said of it\n\n{q} Q0 {d} 1 {s} tag\n   ", "\n#\n{q} x {d} ? {s}",
]  # fmt: skip


@pytest.fixture(scope="module")
def as_trec_eval_writes(tmp_path_factory):
    return evaluated(written(tmp_path_factory.mktemp("plain")))[1].metrics


@pytest.mark.parametrize("lines", [LINES, LINES[::-1], ["{q} Q0 {d} 1 {s} tag\r"]], ids=["all", "back", "returns"])
def test_what_trec_eval_takes_is_taken(tmp_path, lines, as_trec_eval_writes):
    forms = itertools.cycle(lines)
    rows = "".join(next(forms).format(q=q, d=item, s=score) + "\n" for q, item, score in TREC["run"])
    assert evaluated(written(tmp_path, rows))[1].metrics.equals(as_trec_eval_writes)


def test_high_grades_are_gains_as_trec_eval_has_them(tmp_path):
    (tmp_path / "a.run").write_text("1 Q0 a 1 3 t\n1 Q0 b 2 2 t\n1 Q0 c 3 1 t\n")
    (tmp_path / "a.qrels").write_text("1 0 a 1\n1 0 b 300\n1 0 d 900\n1 0 c 0\n")
    rows, _ = evaluated(f"trec:{tmp_path}/a.run#{tmp_path}/a.qrels")
    assert rows["1"]["ndcg"] == pytest.approx(0.174603235132631, abs=1e-12)  # pytrec_eval's
    assert (rows["1"]["positives"], rows["1"]["misses"]) == (2, 1)


def test_f1_and_the_share_that_was_judged_are_told_at_each_cutoff(tmp_path):
    (tmp_path / "a.run").write_text("1 Q0 a 1 4 t\n1 Q0 b 2 3 t\n1 Q0 c 3 2 t\n1 Q0 d 4 1 t\n2 Q0 a 1 1 t\n")
    (tmp_path / "a.qrels").write_text("1 0 a 1\n1 0 c 0\n1 0 d 1\n1 0 e 1\n2 0 x 1\n")
    rows, found = evaluated(f"trec:{tmp_path}/a.run#{tmp_path}/a.qrels")
    assert [rows["1"][f"judged_at_{k}"] for k in (1, 5, 10)] == [1.0, 0.6, 0.3]
    assert [rows["1"][f"f1_at_{k}"] for k in (1, 5, 10)] == [2 / 4, 4 / 8, 4 / 13]
    assert rows["2"]["judged_at_1"] == 0.0
    assert (found.mean("judged", 5), found.mean("f1", 1), found.mean("set_recall")) == (0.3, 0.25, 1 / 3)


def test_lines_that_end_in_several_ways_are_named(tmp_path, capsys):
    lines = [f"q1 Q0 d{rank} {rank} {10 - rank} tag" for rank in range(1, 6)]
    (tmp_path / "run").write_bytes("\r\n".join(lines).encode() + b"\n")
    (tmp_path / "list.jsonl").write_bytes(b'{"id": 1, "s": 0.5}\n{"id": 2, "s": 0.4}\r\n')
    said = refused(capsys, "plan", f"trec:{tmp_path / 'run'}", "--study", tmp_path / "s", "--score", "score")
    assert "run: line 5 ends in LF, those before it in CR LF. Hint: save the table with line ends of one kind" in said
    said = refused(capsys, "plan", tmp_path / "list.jsonl", "--study", tmp_path / "s", "--score", "s")
    assert "list.jsonl: line 2 ends in CR LF, those before it in LF" in said
