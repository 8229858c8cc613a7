"""The scripts of a release gate in the guide are run by a shell as they stand, in folders whose names have spaces."""

import itertools

import numpy as np
import polars as pl
import pytest
import shell_here
from guide_pages import BLOCKS

N = 4_000
TOP = 1_000


def scripts_of(guide, folder, cutoff):
    """Write the scripts of a guide, whose cutoff is here a smaller one; how to run one of them on a study."""
    folder.mkdir()
    for code in [block for page, of, block in BLOCKS if page == guide and of == "sh" and block.startswith("# gate")]:
        assert cutoff in code or "@" not in code
        (folder / code.split()[1]).write_text(code.replace(cutoff, str(TOP)))
    assert {path.name for path in folder.iterdir()} == {"gate.sh", "gate-answers.sh"}
    numbers = itertools.count()

    def ran(name, study):
        """Exit status of a script, and what it printed; the lists are beside the study."""
        pipes = folder / f"pipes {next(numbers)}"
        return shell_here.ran("bash", str(folder / name), study.name, pipes=pipes, cwd=study.parent)

    return ran


def of_today(tmp_path):
    """The folder of a night's lists, with a seed for its plan."""
    data = tmp_path / "of today"
    data.mkdir()
    (data / "streameval.toml").write_text("[plan]\nseed = 3\n")
    return data


def compared(tmp_path, noise):
    """The gate of two lists of the same items, of which the new one has so much noise in its order, and its study."""
    data = of_today(tmp_path)
    rng = np.random.default_rng(6)
    scores = rng.normal(size=N)
    for name, by in (("old", scores), ("new", scores + noise * rng.normal(size=N))):
        (data / name).mkdir(parents=True)
        items = pl.DataFrame({"id": np.arange(N), "text": [f"item {one}" for one in range(N)], "score": by})
        items.write_parquet(data / name / "part.parquet")
    return scripts_of("comparing.md", tmp_path / "the scripts", "10000"), data / "the study"


def answered(study, of_gains, first=N):
    """Fill in the task file: the items that only the new top holds have one label, and all others the other."""
    planned = pl.read_parquet(study / "plan.parquet").select("rank", gain=pl.col("first_b") < pl.col("first_a"))
    items = pl.read_parquet(study / "selection.parquet").join(planned, on="rank")
    label = items.select(
        "se_task", label=pl.col("gain").cast(pl.Int8) if of_gains else 1 - pl.col("gain").cast(pl.Int8)
    )
    tasks = pl.read_csv(study / "tasks.csv")
    label = label.filter(pl.col("se_task").is_in(tasks["se_task"].head(first).implode()))
    tasks.drop("label").join(label, on="se_task", how="left").write_csv(study / "tasks.csv")


def test_it_waits_for_labels(tmp_path):
    ran, study = compared(tmp_path, 0.2)
    assert ran("gate.sh", study)[0] == 0
    status, said = ran("gate-answers.sh", study)
    assert status == 2
    assert "has a label yet" in said
    answered(study, True, 10)
    status, said = ran("gate-answers.sh", study)
    assert status == 5, said


@pytest.mark.parametrize(("better", "outcome"), [(True, 0), (False, 4)])
def test_it_releases_what_is_better_and_holds_back_what_is_worse(tmp_path, better, outcome):
    ran, study = compared(tmp_path, 0.2)
    assert ran("gate.sh", study)[0] == 0
    answered(study, better)
    status, said = ran("gate-answers.sh", study)
    assert status == outcome, said
    assert ("<failure" in (study / "gate.xml").read_text()) == (outcome == 4)


def test_it_releases_where_nothing_changed(tmp_path):
    """Two files with the same bytes are two lists."""
    ran, study = compared(tmp_path, 0)
    status, said = ran("gate.sh", study)
    assert status == 0, said
    assert "nothing to label" in said
    assert not (study / "tasks.csv").exists()
    status, said = ran("gate-answers.sh", study)
    assert status == 0, said


def asked(tmp_path):
    """The gate of one question, and its study."""
    data = of_today(tmp_path)
    (data / "ranked").mkdir()
    ids = np.random.default_rng(6).permutation(N)
    items = pl.DataFrame({"id": ids, "text": [f"item {one}" for one in ids], "confidence": np.linspace(1, 0, N)})
    items.write_parquet(data / "ranked" / "part.parquet")
    return scripts_of("question.md", tmp_path / "of a question", "1000000"), data / "the study"


def answer_first(study, tasks):
    """Answer so many tasks of a round; its sheet as it was."""
    sheet = pl.read_csv(study / "tasks.csv")
    place = pl.int_range(pl.len())
    right = pl.when(place < tasks).then((place > 1) & (pl.col("id") % 40 != 0))
    sheet.with_columns(label=right.cast(pl.Int8)).write_csv(study / "tasks.csv")
    return sheet


def test_a_gate_of_one_question_goes_on_where_only_some_tasks_are_answered(tmp_path):
    ran, study = asked(tmp_path)
    assert ran("gate.sh", study)[0] == 0
    sheet = answer_first(study, 20)
    status, said = ran("gate-answers.sh", study)
    assert status == 5, said
    assert not set(pl.read_csv(study / "tasks.csv")["id"]) & set(sheet["id"].head(20))


@pytest.mark.slow
def test_a_gate_of_one_question_goes_on_until_it_is_answered(tmp_path):
    """Round after round, also where only some tasks are answered, by two scripts that may be run again at any time."""
    ran, study = asked(tmp_path)
    for name, expected in (("gate.sh", 0), ("gate-answers.sh", 2), ("gate.sh", 0)):  # nobody has answered
        status, said = ran(name, study)
        assert status == expected, said
    for tasks in (20, *[N] * 9):
        sheet = answer_first(study, tasks)
        status, said = ran("gate-answers.sh", study)
        if status != 5:
            break
        assert not set(pl.read_csv(study / "tasks.csv")["id"]) & set(sheet["id"].head(tasks))
    assert status == 0, said
    assert len(list(study.glob("tasks-*.csv"))) >= 2
    assert "a claim about the truth only if every label is right" not in said
    assert ran("gate-answers.sh", study)[0] == 0
