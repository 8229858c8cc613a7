"""Every kind, method and verb reads the labels of now: what became of others leaves no trace in any number."""

import itertools
import json
import re

import pyarrow as pa
import pyarrow.csv as pc
import pyarrow.parquet as pq
import pytest
from suite_cases import cases

import streameval
from streameval.cli import run

KINDS = {  # what is labelled anew: the same study in which all was labelled rightly from the first
    "curve-selected": "curve-evaluated",
    "stored-planned": "stored-evaluated",
    "paula-planned": "paula-evaluated",
    "stratified-planned": "stratified-evaluated",
    "uniform-planned": "uniform-evaluated",
    "slices-planned": "slices-evaluated",
    "judge-planned": "judge-evaluated",
    "stages-planned": "stages-evaluated",
    "comparison-evaluated": "comparison-evaluated",
    "drawn-rankings-planned": "drawn-rankings-evaluated",
    "gate-decided": "gate-decided",
    "cut-decided": "cut-decided",
    "width-decided": "width-decided",
    "gate-half-labelled": "gate-half-labelled",
}
OF_EACH_KIND = ["curve-selected", "comparison-evaluated", "drawn-rankings-planned", "cut-decided", "gate-half-labelled"]
ORDERS = list(itertools.permutations(["bad", "early", "late", "torn", "mended"]))
CHANGED = "its labels have changed since the results were written"
UNREAD = re.compile(r"which (monitor|cut) does not read")
COLUMNS = {"annotator": "annotator", "time": "time"}
ASIDE = {"plan.parquet", "selection.parquet", "labels.parquet", "issues.parquet"}  # what was asked, and of each vote


def answers(folder, truth):
    """Files of votes after all of which each task that was answered rightly is so again.

    `bad` is wrong, of somebody else, and will be forgotten; `early` and `torn` are wrong, and corrected by those who
    gave them: by `late`, which is all right answers, and by `mended`.
    """
    part = len(truth) // 4
    wrong = [(task, 1 - label) for task, label in truth]
    files = {
        "bad": (wrong[:part], "bob", 9),
        "early": (wrong[part : 2 * part], "ann", 1),
        "late": (truth, "ann", 5),
        "torn": (wrong[2 * part : 3 * part], "bob", 2),
        "mended": (truth[2 * part : 3 * part], "bob", 3),
    }
    for name, (votes, who, time) in files.items():
        columns = {"se_task": [task for task, _ in votes], "label": [label for _, label in votes]}
        table = pa.table({**columns, "annotator": [who] * len(votes), "time": [time] * len(votes)})
        pc.write_csv(table, folder / f"{name}.csv")


def numbers(folder):
    """All tables of results, without their names; and how many labels and positives are counted."""
    account = json.loads((folder / "evaluation.json").read_text())["account"]
    tables = {path.name: pq.read_table(path) for path in folder.glob("*.parquet") if path.name not in ASIDE}
    nameless = {name: table.drop(set(table.column_names) & {"evaluation_id"}) for name, table in tables.items()}
    return nameless, {name: account[name] for name in ("labelled", "positive", "missing", "undecided")}


@pytest.mark.parametrize("order", cases(ORDERS, ORDERS[17]), ids="-".join)
@pytest.mark.parametrize("name", cases(KINDS, *OF_EACH_KIND))
def test_no_number_depends_on_labels_that_were_forgotten_corrected_or_torn(name, order, catalogue, study, tmp_path):
    right, folder = catalogue.path(KINDS[name]), study(name)
    if not (folder / "selection.parquet").exists():
        streameval.select(folder)
    votes = pa.concat_tables(
        pq.read_table(path, columns=["task", "value"]) for path in (right / "votes").glob("*.parquet")
    )
    truth = [(task, int(value)) for task, value in zip(*votes.to_pydict().values(), strict=True)]
    answers(tmp_path, truth)
    if sources := [path.stem for path in (folder / "votes").glob("*.parquet")]:
        streameval.labels(folder, forget=sources)
    streameval.evaluate(folder, labels=[tmp_path / f"{one}.csv" for one in order], **COLUMNS)
    streameval.labels(folder, forget="bad.csv")
    streameval.evaluate(folder)
    tables, counts = numbers(folder)
    expected, counted = numbers(right)
    assert counts == counted
    assert tables.keys() == expected.keys()
    assert [name for name in tables if not tables[name].equals(expected[name])] == []


VERBS = {  # what reads results, asked of a study whose labels are others than those that its results were made of
    "check": ["check", "STUDY", "CONDITION"],
    "sql": ["sql", "STUDY", "SELECT 1"],
    "publish": ["publish", "STUDY", "PLACE"],
    "cut": ["cut", "STUDY", "precision:0.5"],
    "monitor": ["monitor", "STUDY", "CONDITION"],
    "report": ["report", "STUDY"],
}
CONDITIONS = {"comparison-evaluated": "gain@100 > 0", "drawn-rankings-evaluated": "precision@5 > 0"}
EVALUATED = [*dict.fromkeys(KINDS.values()), "grown-evaluated", "adopted-evaluated", "curve-misses"]


@pytest.mark.parametrize("name", EVALUATED)
def test_no_verb_says_anything_of_labels_that_were_forgotten_before_it_is_evaluated_again(name, study, capsys):
    folder = study(name)
    streameval.labels(folder, forget=[path.stem for path in (folder / "votes").glob("*.parquet")][:1])
    place = str(folder.with_name("published"))
    condition = [] if name.startswith(("gate", "cut", "width")) else [CONDITIONS.get(name, "precision@500 >= 0.5")]
    for verb, words in VERBS.items():
        named = {"STUDY": [str(folder)], "PLACE": [place], "CONDITION": condition}
        status = run([part for word in words for part in named.get(word, [word])])
        said = capsys.readouterr()
        assert (status, said.out) == (2, ""), verb
        assert CHANGED in said.err or UNREAD.search(said.err), verb
    assert run(["show", str(folder)]) == 0
    assert CHANGED in capsys.readouterr().out.splitlines()[1]
