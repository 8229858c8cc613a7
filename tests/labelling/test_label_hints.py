"""Hints about words and grades of labels: as they stand they can be typed, and what is typed so is another command."""

import re
import shlex
import shutil

import pyarrow.parquet as pq
import pytest

import streameval
from streameval.cli import run

ROWS = 12
WORDS = ["fraud", "ok"]
LISTED = '"[""a"",""b""]"'  # a list in JSON, as CSV has it
EXACT = "exact list.csv --score points"
PER = "exact list.csv --per query --at 2 --score points"
SIMULATE = "simulate list.csv --label label --score points --method uniform --budget 5 --replicates 2"
JOINED = "exact items.csv --score points --labels list.csv --on name"
EVALUATE = "evaluate study --labels list.csv --on rank"


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(labels):
    """A list of items with the labels, over and over; `items.csv` beside it has none."""
    lines = [f"{row},{row + 1},{ROWS - row},{row % 2},{labels[row % len(labels)]}\n" for row in range(ROWS)]
    head = "name,rank,points,query,label\n"
    with open("list.csv", "w") as out:
        out.writelines([head, *lines])
    with open("items.csv", "w") as out:
        out.writelines(line.rpartition(",")[0] + "\n" for line in [head, *lines])


def told(command, capsys):
    """What a command says when it refuses; nothing where it does not."""
    status = run(shlex.split(command))
    text = capsys.readouterr().err.strip()
    assert status in (0, 2), text
    return text if status else ""


def followed(command, hint):
    """A command with the first options that a hint gives a value to."""
    typed, text = shlex.split(command), hint.rpartition("such as ")[2]
    first = next(part for part in re.split(r",? or |; ", text) if "--" in part)
    options = re.findall(r"(--[a-z-]+) ('[^']*'|[^\s;']+)", first)
    assert options, hint
    for option, value in options:
        (value,) = shlex.split(value)
        if option in typed:
            typed[typed.index(option) + 1] = value
        else:
            typed += [option, value]
    return shlex.join(typed)


@pytest.mark.parametrize(
    ("command", "labels", "then"),
    [
        (EXACT, WORDS, "--positive fraud"),
        (EXACT, ["not sure", "ok"], "--positive 'not sure'"),
        (EXACT, [0.9, -1], "--relevant '>=0.9'"),
        (EXACT, [1, 2, 3, 4, 5], "--relevant '>=4'"),
        (EXACT, [3], "--relevant '>=3'"),
        (EXACT, [0.1234567, 0.7654321], "--relevant '>=0.7654321'"),
        (f"{EXACT} --relevant '>=4'", [1, 2, 3], "--relevant '>=3'"),
        (f"{EXACT} --positive 1", [1, 2], "--positive 1 --negative 0"),
        (f"{EXACT} --positive 0", [0, 1], "--positive 0 --negative 1"),
        (f"{EXACT} --positive fraud,2", ["fraud", 2, 0], "--positive fraud,2 --negative 0"),
        (f"{EXACT} --positive fraud", ["fraud", 2, 0], "--positive fraud,2"),
        (f"{EXACT} --positive fraud --negative ok", ["fraud", "ok", "unsure"], "--positive fraud,unsure"),
        (PER, WORDS, "--positive fraud"),
        (PER, [0.9, -1], "--positive 0.9 --negative -1"),
        (PER, [0.2, 0.7, 0.9], "--positive 0.9 --negative 0.2,0.7"),
        (f"{PER} --positive good --negative bad", ["good", "bad", -1], "--positive good,-1"),
        (f"{PER} --relevant '>=4'", [1, 2, 3], "--relevant '>=3'"),
        (f"{PER} --relevant '>=0'", [0, 1], "--relevant '>=1'"),
        (SIMULATE, WORDS, "--positive fraud"),
        (SIMULATE, [0.9, -1], "--relevant '>=0.9'"),
        (f"{SIMULATE} --relevant '>=4'", [1, 2, 3], "--relevant '>=3'"),
        (JOINED, WORDS, "--positive fraud"),
        (JOINED, [0.9, -1], "--relevant '>=0.9'"),
        (f"{JOINED} --relevant '>=4'", [1, 2, 3], "--relevant '>=3'"),
        (JOINED, [1, 0, "nan"], "--labels-are positives"),
        (EVALUATE, WORDS, "--positive fraud"),
        (EVALUATE, [0.9, -1], "--positive 0.9 --negative -1"),
        (EVALUATE, [1, 2, 3], "--vote 'mean>=3'"),
        (EVALUATE, [0.1234567, 0.2, 0.7654321], "--vote 'mean>=0.7654321'"),
        (f"{EVALUATE} --vote any", [1, 2, 3], "--vote 'any>=3'"),
        (f"{EVALUATE} --vote 'mean>=4'", [1, 2, 3], "--vote 'mean>=3'"),
        (f"{EVALUATE} --positive fraud", ["fraud", 2, 0], "--positive fraud,2"),
        (f"{EVALUATE} --positive fraud,2", ["fraud", 2, 0], "--positive fraud,2 --negative 0"),
    ],
)
def test_a_hint_is_typed_as_it_stands_and_does_not_come_again(command, labels, then, here, catalogue, capsys):
    if command.startswith("evaluate"):
        shutil.copytree(catalogue.path("curve-selected"), "study")
    write(labels)
    wrong, _, hint = told(command, capsys).partition(" Hint: ")
    assert then in hint
    again = told(followed(command, hint), capsys)
    assert again.partition(" Hint: ")[0] != wrong


@pytest.mark.parametrize(
    ("command", "labels", "says"),
    [
        (f"{EXACT} --relevant '>=1'", [0], "none of 12 labels is: all are 0. Hint: is this the column of labels?"),
        (f"{JOINED} --relevant '>=1'", [0], "none of 12 labels is: all are 0. Hint: is this the column of labels?"),
        (EXACT, [LISTED], "neither 0/1, yes/no nor a number. Hint: give one label per item"),
        (f"{EVALUATE} --vote 'any>=1'", [0], "all are 0. Hint: name a grade that occurs; where all of them are "
         "negative on your scale, name them with --negative in place of a threshold"),
        (f"{EXACT} --label lable", [0], "no column 'lable'. Hint: did you mean 'label'?"),
    ],
)  # fmt: skip
def test_a_hint_names_no_option_that_would_not_help(command, labels, says, here, catalogue, capsys):
    if command.startswith("evaluate"):
        shutil.copytree(catalogue.path("curve-selected"), "study")
    write(labels)
    assert told(command, capsys).endswith(says)


@pytest.mark.parametrize(("between", "whole"), [(">=2.5", ">=3"), (">2.5", ">=3"), (">2", ">=3"), (">=1e0", ">=1")])
def test_a_threshold_between_whole_grades_is_the_next_of_them_in_many_rankings(between, whole, here, capsys):
    write([0, 1, 2, 3, 3])
    for level, out in ((between, "a"), (whole, "b")):
        assert run([*PER.split(), "--relevant", level, "--out", out]) == 0
    one, other = (pq.read_table(here / name / "metrics.parquet") for name in "ab")
    assert one.equals(other)


@pytest.mark.parametrize("on", ["id,id", ["id", "id"], "id,ID"])
def test_a_key_that_is_named_twice_joins_as_once(on, study):
    folder = study("curve-selected")
    items = pq.read_table(folder / "selection.parquet", columns=["id", "right"])
    labels = items.rename_columns(["id", "label"])
    assert streameval.evaluate(folder, labels=labels, on=on).summary["account"]["labelled"] == items.num_rows
