"""The Dockerfile: what it copies is there, and what it runs makes an installation that nobody needs to write to.

No engine for containers is needed: the slow test runs the steps of the file in a folder (`scripts/recipes`).
"""

import os
import re
import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from guide_pages import PAGES
from places import HOME
from recipe_lists import answers, make_list

STEPS = re.findall(r"^([A-Z]+) (.*)$", (HOME / "Dockerfile").read_text(), re.MULTILINE)
PYTHON = shutil.which("python3", path="/usr/local/bin:/usr/bin") or ""  # one that every user may run
STUDY = """
set -e
streameval plan lake/ranked --study my-study --score confidence --budget 300 --seed 0
streameval select my-study --export tasks.csv
streameval evaluate my-study --labels answers.csv --on id
streameval check my-study "precision@1000 > 0.1"
streameval report my-study
streameval sql my-study "SELECT count(*) FROM metrics"
streameval cut my-study 1000 --out best
touch /opt 2> /dev/null && exit 9
! touch "$OPT/here" 2> /dev/null
"""
ISOLATED = "mount --bind {opt} {opt} && mount -o remount,ro,bind {opt} && exec setpriv --reuid=65532 --regid=65532 \
--clear-groups --no-new-privs sh -c {script}"


def given(instruction):
    return [what for name, what in STEPS if name == instruction]


def test_what_is_copied_is_there_and_not_ignored():
    kept = {line.removeprefix("!") for line in (HOME / ".dockerignore").read_text().splitlines() if line[0] == "!"}
    copied = {name for what in given("COPY") if not what.startswith("--from") for name in what.split()[:-1]}
    assert copied == kept
    assert all((HOME / name).exists() for name in copied)


def test_both_stages_are_for_the_same_processor_and_the_last_user_has_no_rights():
    processors = [re.findall(r"NUMBA_CPU_\w+=\S*", what) for what in given("ENV")]
    assert processors[0] == processors[1] == ["NUMBA_CPU_NAME=$CPU", "NUMBA_CPU_FEATURES="]
    assert given("ARG").count("CPU=generic") == 2
    assert given("USER") == ["65532:65532"]
    assert len({what.split()[0] for what in given("FROM")}) == 1
    for option in ("--read-only", "--tmpfs /tmp", "--build-arg CPU=x86-64-v3"):
        assert option in PAGES["recipes.md"]


@pytest.fixture
def open_folder():
    """A folder that other users may enter: those of pytest close whenever another run of it begins."""
    with tempfile.TemporaryDirectory(prefix="streameval-container-") as name:
        folder = Path(name)
        folder.chmod(0o755)
        yield folder


@pytest.mark.slow
@pytest.mark.skipif(not shutil.which("setpriv") or os.getuid(), reason="becomes another user, as root")
@pytest.mark.skipif(not PYTHON, reason="needs a Python that every user may run")
def test_the_steps_of_the_image_make_one_that_works_read_only(open_folder):
    home = open_folder
    source, opt, work = home / "src", home / "opt", home / "work"
    shutil.copytree(HOME / "streameval", source / "streameval", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(HOME / name, source)
    processor = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("NUMBA", "PYTHON", "XDG"))}
    for step in given("RUN"):
        script = step.replace("/opt/streameval", str(opt)).replace("python3", PYTHON)
        subprocess.run(["sh", "-e", "-c", script], cwd=source, env=kept | processor, check=True)
    shutil.rmtree(source)
    work.mkdir()
    make_list(work)
    answers_to_all(work)
    subprocess.run(["chown", "-R", "65532:65532", work], check=True)
    nobody = processor | {"PATH": f"{opt}/bin:/usr/bin:/bin", "OPT": str(opt)}
    command = ["unshare", "--mount", "sh", "-e", "-c", ISOLATED.format(opt=opt, script='"$SCRIPT"')]
    done = subprocess.run(
        command, cwd=work, env=nobody | {"SCRIPT": STUDY}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "compiling" not in done.stderr
    assert "\npass" in done.stdout


def answers_to_all(work):
    import pyarrow.csv
    import pyarrow.parquet as pq

    pyarrow.csv.write_csv(answers(pq.read_table(work / "lake" / "ranked" / "0.parquet")), work / "answers.csv")
