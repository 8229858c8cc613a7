"""A judge that is a program: answers are kept as they come, none is asked for twice, faults are one line."""

import json
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from suite_cases import slow

import streameval
from streameval.cli import run
from streameval.errors import InputError, OutsideError, StudyError
from streameval.serving.program import NAME
from streameval.study import Study
from streameval.study.answer_journal import Journal, read_lines

N, ENOUGH = 400, 40
GOOD = 'print(json.dumps({"se_task": item["se_task"], "label": answer(item)}), flush=True)'
PROGRAM = """
import json, os, sys, time
seen = open("seen.txt", "a")
def answer(item):
    return float(int(item["text"].split()[1]) % 10 < 8)
def until_orphaned():
    parent = os.getppid()
    while os.getppid() == parent:
        time.sleep(0.05)
    sys.exit()
for number, line in enumerate(sys.stdin):
    item = json.loads(line)
    print(item["se_task"], file=seen, flush=True)
    {body}
"""


@pytest.fixture(scope="module")
def planned(tmp_path_factory):
    """A list and a study of it, from whose items a judge is asked about some 150; it is only read."""
    folder = tmp_path_factory.mktemp("planned")
    table = {"text": [f"item {i}" for i in range(N)], "secret_score": np.linspace(1, 0, N)}
    pq.write_table(pa.table(table), folder / "list.parquet")
    options = {"score": "secret_score", "judge": "sample=200", "budget": 100, "seed": 1}
    streameval.plan(str(folder / "list.parquet"), folder / "study", **options)
    return folder


@pytest.fixture
def study(planned, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(planned, tmp_path, dirs_exist_ok=True)
    return tmp_path / "study"


def program(body=GOOD):
    with open("ask.py", "w") as stream:
        stream.write(PROGRAM.replace("{body}", body.replace("\n", "\n    ")))
    return shlex.join([sys.executable, "ask.py"])


def seen():
    with open("seen.txt") as stream:
        return stream.read().split()


def answers(study):
    return read_lines(study / "votes" / NAME)


def test_a_program_is_asked_about_every_item_and_its_answers_are_frozen(study, capsys):
    assert run(["judge", "study", "--command", program(), "--rate", "1e6", "--price-per-label", "0.01"]) == 0
    sample = Study(study).plan().judge_sample
    out = capsys.readouterr().out
    assert f"The judge's answers are frozen ({sample.num_rows:,} items; " in out
    assert f"At 0.01 each, they cost {sample.num_rows / 100:,.2f}." in out
    text = sample.column("rank").to_numpy() - 1
    assert sample.column("judge").to_pylist() == (text % 10 < 8).astype(float).tolist()
    assert sorted(seen()) == sorted({*seen()})
    assert sorted(map(int, seen())) == sorted(one["se_task"] for one in answers(study))
    assert streameval.labels(study).account["labelled"] == 0  # what a judge says is no vote
    before, asked = (study / "plan.json").read_bytes(), seen()
    assert run(["judge", "study", "--command", program()]) == 0  # a job that is run again
    assert ((study / "plan.json").read_bytes(), seen()) == (before, asked)
    with pytest.raises(StudyError, match="has answered already"):
        streameval.judge(study, command="./another.sh")


def test_a_program_that_does_not_judge_is_stopped(study, capsys):
    assert run(["judge", "study", "--command", "yes"]) == 2
    message = capsys.readouterr().err
    assert "yes: was stopped: 100 of its lines in a row are no answers; 100 answers cannot be taken" in message
    assert message.count("\n") == 1
    assert answers(study) == []


def test_items_are_given_without_rank_and_score_in_the_order_of_a_shuffle(study):
    streameval.judge(study, command=program('open("first.txt", "a").write(line)\n' + GOOD))
    with open("first.txt") as stream:
        lines = [json.loads(line) for line in stream]
    assert {tuple(one) for one in lines} == {("se_task", "text")}
    order = [int(one["text"].split()[1]) for one in lines]
    assert abs(np.corrcoef(order, np.arange(len(order)))[0, 1]) < 0.1


def test_a_program_that_reads_everything_before_it_answers_is_waited_for(study):
    body = "items = [item, *map(json.loads, sys.stdin)]\nfor item in items: " + GOOD
    assert streameval.judge(study, command=program(body)).judge_counts is not None


STOPS = f'if number == {ENOUGH}: print("out of\\nmoney", file=sys.stderr); sys.exit(3)\n' + GOOD


def test_what_a_program_answered_before_it_failed_is_kept_and_not_asked_again(study, capsys):
    assert run(["judge", "study", "--command", program(STOPS)]) == 3
    said = capsys.readouterr().err
    items = Study(study).plan().judge_sample.num_rows
    assert said.count("\n") == 1
    assert f"ended with status 3 (money); {ENOUGH} of {items:,} items have an answer" in said
    assert "the same command asks for the others" in said
    kept = [one["se_task"] for one in answers(study)]
    assert len(kept) == ENOUGH
    before = {*seen()}
    with open("seen.txt", "w"):
        pass
    streameval.judge(study, command=program())
    assert not {*map(str, kept)} & {*seen()}
    assert before - {*map(str, kept)} <= {*seen()}


def test_every_answer_is_on_the_disk_when_the_command_is_killed(study):
    hangs = f"if number == {ENOUGH}: until_orphaned()\n" + GOOD
    command = [sys.executable, "-m", "streameval", "judge", "study", "--rate", "1000", "--command", program(hangs)]
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as asking:
        journal = study / "votes" / NAME
        while len(read_lines(journal)) < ENOUGH:
            assert asking.poll() is None
            threading.Event().wait(0.01)  # the processor is for the one that is waited for
        with pytest.raises(OutsideError, match="another command adds answers"):
            Journal(study / "votes", 0, NAME)
        asking.send_signal(signal.SIGKILL)
    kept = [one["se_task"] for one in answers(study)]
    assert len(kept) == len({*kept}) == ENOUGH
    streameval.judge(study, command=program())
    assert len(answers(study)) == Study(study).plan().judge_sample.num_rows


BAD = [
    ("maybe", "label 'maybe' of task"), (1.5, "label '1.5' of task"), (-1, "label '-1' of task"),
    ([1], "label '[1]' of task"), ("\x1b[2J", "label '\\x1b[2J' of task"),
]  # fmt: skip


@pytest.mark.parametrize(("label", "said"), [BAD[0], BAD[2], *slow(BAD[1], *BAD[3:])])
def test_a_bad_answer_is_named_and_all_others_are_kept(study, label, said):
    body = f"if number == 7: print(json.dumps({{'se_task': item['se_task'], 'label': {label!r}}})); continue\n{GOOD}"
    with pytest.raises(InputError) as refused:
        streameval.judge(study, command=program(body))
    items = Study(study).plan().judge_sample.num_rows
    assert f"1 answer cannot be taken (line 8: {said}" in str(refused.value)
    assert f"{items - 1:,} of {items:,} items have an answer" in str(refused.value)
    assert len(answers(study)) == items - 1
    streameval.judge(study, command=program())


@pytest.mark.parametrize(("line", "said"), [
    ('{"label": 1}', "is no object with se_task"), ('{"se_task": 1, "label": 1}', "se_task 1 was not asked about"),
    ("\\udcff", "is no JSON"), ('{"se_task": "one", "label": 1}', 'se_task "one" was not asked about'),
    ('{"se_task": 1, "label": 1, "label": 0}', "has the key 'label' twice"),
    *slow(("no json", "'no json' is no JSON"), ("[1]", "'[1]' is no object"), ("[" * 10_000, "is no JSON")),
])  # fmt: skip
def test_lines_that_are_no_answers_are_named(study, line, said):
    body = f"if number == 0: sys.stdout.buffer.write({line!r}.encode('utf-8', 'surrogatepass') + b'\\n')\n{GOOD}"
    with pytest.raises(InputError, match="1 answer cannot be taken") as refused:
        streameval.judge(study, command=program(body))
    assert said in str(refused.value)


def test_the_number_of_a_task_may_be_written_as_text_or_as_a_float(study):
    written = "[str(item['se_task']), float(item['se_task'])][number % 2]"
    streameval.judge(study, command=program(f"print(json.dumps({{'se_task': {written}, 'label': 1}}))"))
    assert len(answers(study)) == Study(study).plan().judge_sample.num_rows


def test_a_second_answer_to_an_item_is_refused_and_the_first_is_kept(study):
    second = 'print(json.dumps({"se_task": item["se_task"], "label": 0.5}), flush=True)'
    with pytest.raises(InputError, match="has an answer already"):
        streameval.judge(study, command=program(f"{GOOD}\nif number == 3: {second}"))
    assert 0.5 not in {float(one["label"]) for one in answers(study)}


def test_null_is_an_answer_and_silence_is_none(study):
    with pytest.raises(InputError, match="items have an answer"):
        streameval.judge(study, command=program(f"if number % 3 == 0: continue\n{GOOD}"))
    plan = streameval.judge(study, command=program(GOOD.replace("answer(item)", "None")))
    words = plan.judge_sample.column("judge")
    assert 0 < words.null_count < len(words) / 2


@pytest.mark.parametrize(("given", "said"), [
    ({"command": "./nowhere.sh"}, "nowhere.sh: cannot be run"), ({"command": ""}, "command is empty"),
    ({"command": "'"}, "cannot be read"), ({"command": "x", "rate": 0}, "rate is 0"),
    ({"command": "x", "answers": "a.csv"}, "not both"), ({}, "name files or"),
    ({"command": "x", "price_per_label": -1}, "price_per_label is -1, not a price"),
])  # fmt: skip
def test_a_command_that_cannot_be_is_refused(study, given, said):
    with pytest.raises(InputError, match=said):
        streameval.judge(study, **given)


def test_a_plan_without_a_sample_asks_nobody(study):
    streameval.plan("list.parquet", "plain", score="secret_score", budget=300, seed=1)
    with pytest.raises(StudyError, match="has no sample for a judge"):
        streameval.judge("plain", command="x")


def test_no_item_is_given_before_its_time(study):
    began = time.monotonic()
    with pytest.raises(OutsideError, match="ended with status 3"):
        streameval.judge(study, command=program(STOPS), rate=100)
    assert time.monotonic() - began >= ENOUGH / 100
