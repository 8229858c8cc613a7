"""What the README shows on a console is what the commands print."""

import re
import shlex
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import streameval
from streameval.cli import run

README = Path(__file__).resolve().parents[1] / "README.md"
SHOWN = re.findall(r"```console\n\$ streameval (.*?)\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.fixture(autouse=True)
def my_study(tmp_path, monkeypatch, request):
    """The studies that the README asks: 100,000 items, two thirds positive at the top and fewer below."""
    monkeypatch.chdir(tmp_path)
    n = 100_000
    rank = np.arange(1, n + 1)
    truth = (rank * 0.6180339887 % 1 < 1 / (1 + rank / 20_000)).astype(np.int8)
    pq.write_table(pa.table({"id": rank * 7, "team": rank % 3}), "ranking.parquet")
    command = getattr(request.node, "callspec", None) and request.node.callspec.params["command"]
    study, by = ("by-team", "team") if command and "by-team" in command else ("my-study", None)
    if command and command.startswith("plan"):
        return
    plan = streameval.plan("ranking.parquet", study, method="loguniform", by=by)
    streameval.select(study)
    streameval.evaluate(study, labels=pa.table({"rank": plan.ranks, "label": truth[plan.ranks - 1]}))


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_readme_shows_what_is_printed(command, output, capsys):
    assert run(shlex.split(command)) == 0
    assert capsys.readouterr().out.startswith(output)


def test_there_is_something_to_show():
    assert SHOWN
