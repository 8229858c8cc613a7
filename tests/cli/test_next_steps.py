"""The command that each verb names next works, whatever was asked of it before: it is read from the output and run."""

import csv
import json
import shlex
import shutil
from contextlib import chdir

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from suite_cases import cases

from streameval.cli import run

N = 600
STUDY = "my study"  # a path that has to be quoted


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


FACTOR, PRIME = 3571, 10_007  # no item says by its number, and so to people, where it is in the list


def write_list(path, first=0, **columns):
    item = np.arange(first, first + N) * FACTOR % PRIME
    pq.write_table(pa.table({"item": item, "text": [f"text {i}" for i in item], **columns}), path)


def good(item):
    """Every other item is positive, as are the first hundreds."""
    place = int(item) * pow(FACTOR, -1, PRIME) % PRIME
    return place % 2 == 0 or place < N // 2


@pytest.fixture
def step(capsys):
    """Run a command, given as text or as what a shell would split, and give its output."""

    def ask(command):
        words = shlex.split(command.removeprefix("streameval ")) if isinstance(command, str) else command
        capsys.readouterr()
        assert run(words) == 0, capsys.readouterr().err
        return capsys.readouterr().out

    return ask


def after(output, word="Next"):
    """The command that an output names."""
    (line,) = (line for line in output.splitlines() if line.startswith(f"{word}: streameval "))
    return line.removeprefix(f"{word}: ")


def answer_csv(path):
    with open(path, encoding="utf-8-sig", newline="") as stream:
        rows = list(csv.DictReader(stream))
    with open(path, "w", encoding="utf-8", newline="") as stream:
        out = csv.DictWriter(stream, rows[0])
        out.writeheader()
        out.writerows({**row, "label": int(good(row["item"]))} for row in rows)
    return len(rows)


def answered(folder, export):
    """What people would have left in the folder, by the tool that a task file is for."""
    if export.endswith(".csv"):
        return answer_csv(export)
    if export.endswith(".html"):
        page = (folder / export).read_text().split('id="tasks">')[1]
        data = json.loads(page.split("</script>")[0])
        item = data["names"].index("item")
        rows = [
            f"{data['study']},{task},{int(good(cells[item]))},Ann,2026-01-01T10:00:00Z" for task, cells in data["tasks"]
        ]
        (folder / "labels-1-Ann.csv").write_text("\n".join(["se_study,se_task,label,annotator,time", *rows]))
    elif export.endswith(".label-studio.json"):
        tasks = json.loads((folder / export).read_text())
        for one in tasks:
            choice = "positive" if good(one["data"]["item"]) else "negative"
            result = {"from_name": "label", "type": "choices", "value": {"choices": [choice]}}
            one["annotations"] = [{"id": one["data"]["se_task"], "completed_by": 1, "result": [result]}]
        (folder / "answers.json").write_text(json.dumps(tasks))
    else:
        lines = (json.loads(line) for line in (folder / export).read_text().splitlines())
        rows = [
            json.dumps(
                {**one, "_input_hash": 1, "_task_hash": 1, "answer": "accept" if good(one["item"]) else "reject"}
            )
            for one in lines
        ]
        (folder / "answers.jsonl").write_text("\n".join(rows))
    return None


@pytest.mark.parametrize(
    "export",
    cases(
        ["tasks.csv", "my tasks.csv", "tasks.html", "tasks.jsonl", "tasks.label-studio.json"],
        "my tasks.csv",
        "tasks.html",
    ),
)
def test_the_journey_is_what_its_commands_name(here, step, export):
    write_list("list.parquet")
    out = step(["plan", "list.parquet", "--study", STUDY, "--budget", "60", "--seed", "1"])
    out = step(after(out).replace("tasks.csv", shlex.quote(export)))
    answered(here, export)
    command = after(out).replace("labels-*.csv", "labels-1-Ann.csv")  # as a shell would
    out = step(command)
    assert "Widest bounds" in out
    out = step(after(out))
    assert "/best (1 file)" in out
    assert sorted(path.name for path in (here / "best").iterdir())[-1] == "part-00000.parquet"


def test_what_is_missing_is_asked_for_before_anything_is_cut(here, step):
    write_list("list.parquet")
    step(after(step(["plan", "list.parquet", "--study", STUDY, "--budget", "60", "--seed", "1"])))
    asked = answer_csv("tasks.csv")
    (here / "half.csv").write_text("\n".join((here / "tasks.csv").read_text().splitlines()[: asked // 2 + 1]))
    out = step(["evaluate", STUDY, "--labels", "half.csv"])
    assert after(out) == "streameval select 'my study' --remaining --export remaining.csv"
    out = step(after(out))
    assert answer_csv("remaining.csv") == asked - asked // 2
    assert "cut 'my study' precision:" in (following := after(step(after(out))))
    out = step(["select", STUDY, "--remaining", "--export", "none.csv"])
    assert "Every task has its label, so none.csv was not written." in out
    assert after(out) == following
    assert not (here / "none.csv").exists()


def test_after_reuse_only_what_has_no_label_is_asked_for(here, step):
    write_list("list.parquet")
    (here / "old.csv").write_text(
        "item,label\n" + "".join(f"{i},{int(good(i))}\n" for i in np.arange(0, N, 3) * FACTOR % PRIME)
    )
    reuse = ["--reuse", "old.csv", "--on", "item", "--labels-unseen-by-model", "yes", "--seed", "1"]
    out = step(["plan", "list.parquet", "--study", STUDY, *reuse])
    left = int(out.split(" are left to ask for")[0].split()[-1])
    out = step(after(out))
    assert answer_csv("tasks.csv") == left
    assert "cut" in after(step(after(out)))


def test_after_reuse_of_every_label_nobody_is_asked(here, step):
    write_list("list.parquet")
    (here / "old.csv").write_text(
        "item,label\n" + "".join(f"{i},{int(good(i))}\n" for i in np.arange(N) * FACTOR % PRIME)
    )
    reuse = ["--reuse", "old.csv", "--on", "item", "--labels-unseen-by-model", "yes", "--seed", "1"]
    out = step(["plan", "list.parquet", "--study", STUDY, *reuse])
    assert after(out) == "streameval evaluate 'my study'"
    step("select 'my study'")
    assert "cut" in after(step(after(out)))


@pytest.fixture(scope="module")
def monday(tmp_path_factory):
    """A folder with a list, and the study of it, evaluated."""
    home = tmp_path_factory.mktemp("monday")
    with chdir(home):
        write_list("monday.parquet")
        plan = ["plan", "monday.parquet", "--study", STUDY, "--seed", "1", "--budget", "60"]
        for command in (plan, ["select", STUDY, "--export", "tasks.csv"]):
            assert run(command) == 0
        answer_csv("tasks.csv")
        assert run(["evaluate", STUDY, "--labels", "tasks.csv"]) == 0
    return home


@pytest.mark.parametrize("first", [60, 10 * N])
def test_after_reuse_of_a_study_the_rest_is_asked_for(here, monday, step, first):
    shutil.copytree(monday, here, dirs_exist_ok=True)
    write_list("tuesday.parquet", first)
    plan = ["plan", "tuesday.parquet", "--study", "tuesday", "--seed", "2", "--budget", "60"]
    plan += ["--reuse", STUDY, "--on", "item"]
    told = step([*plan, "--dry-run"])
    out = step([*plan, "--labels-unseen-by-model", "yes"])
    left = int(out.split(" are left to ask for")[0].split()[-1].replace(",", ""))
    assert f"{left:,} are left to ask for" in told
    known = "--remaining" in after(out)
    assert known == (first == 60)  # nothing is known of a list that has other items
    step(after(out).replace("tasks.csv", "rest.csv"))
    assert answer_csv("rest.csv") == left
    assert "cut" in after(step("evaluate tuesday --labels rest.csv"))


SHUFFLED = np.random.default_rng(0).permutation(N) / N


@pytest.mark.parametrize(("columns", "said"), [
    ({"confidence": SHUFFLED}, "it is not by confidence: --score confidence"),
    ({"model_score": np.argsort(SHUFFLED), "weight": np.arange(N) / N}, "--score model_score"),
    ({"confidence": np.arange(N) / N}, "it is not by confidence"),  # worst first
    ({"a": SHUFFLED, "b": SHUFFLED[::-1]}, "by none of its columns a, b: --score COLUMN"),
    ({"confidence": np.sort(SHUFFLED)[::-1], "a": SHUFFLED}, ""),
    ({"distance": np.arange(N) / N}, ""),
    ({"half": np.where(np.arange(N) < 3, None, 0.5)}, ""),
    ({"good": SHUFFLED > 0.5}, ""),
    ({}, ""),
])  # fmt: skip
def test_a_list_that_lies_in_the_order_of_no_score_is_told_of_before_a_label_is_spent(here, step, columns, said):
    write_list("list.parquet", **columns)
    out = step(["plan", "list.parquet", "--study", STUDY])
    assert ("The stored order is taken as best first" in out, said in out) == (bool(said), True)
    assert json.loads(step(["plan", "list.parquet", "--study", STUDY, "--json"]))["doubt"] == (
        next((line for line in out.splitlines() if line.startswith("The stored order")), None)
    )
    if "--score" in said and "COLUMN" not in said:
        name = said.split("--score ")[1]
        assert "stored order is taken" not in step(["plan", "list.parquet", "--study", STUDY, "--score", name])
