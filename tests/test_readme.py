"""What the README shows on a console is what the commands print."""

import re
import shlex
from pathlib import Path

import pytest

from streameval.cli import run

README = Path(__file__).resolve().parents[1] / "README.md"
SHOWN = re.findall(r"```console\n\$ streameval (.*?)\n(.*?)```", README.read_text(), re.DOTALL)


@pytest.mark.parametrize(("command", "output"), SHOWN, ids=[command for command, _ in SHOWN])
def test_the_readme_shows_what_is_printed(command, output, capsys):
    assert run(shlex.split(command)) == 0
    assert capsys.readouterr().out.startswith(output)


def test_there_is_something_to_show():
    assert SHOWN
