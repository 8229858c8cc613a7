"""The worked example: every cell of the notebook runs, and prints what is printed in it."""

import json
import re
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from suite_cases import cases

import streameval

NOTEBOOK = Path(streameval.__file__).parent / "guide" / "digits.ipynb"
PICTURES = 500


class MadeUp:
    """A data set as scikit-learn has it, which takes long to import: pictures of ten kinds."""

    target = np.random.default_rng(7).integers(0, 10, 1_000)
    data = 4 * np.eye(10, 64)[target] + np.random.default_rng(8).random((1_000, 64))


@pytest.mark.parametrize("pictures", cases([150, PICTURES], 150))
def test_the_worked_example_prints_what_stands_in_it(pictures, capsys, monkeypatch):
    """Of fewer pictures, made up, what stands in it but for the numbers."""
    if pictures < PICTURES:
        monkeypatch.setitem(sys.modules, "sklearn", types.ModuleType("sklearn"))
        monkeypatch.setitem(sys.modules, "sklearn.datasets", types.SimpleNamespace(load_digits=MadeUp))
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    names = {}

    def told(text):
        return text if pictures == PICTURES else re.sub(r"-?[\d,.]+", "#", text)

    for cell in cells:
        source = re.sub(rf"\b{PICTURES}\b(?=[\],]| *k=)", str(pictures), "".join(cell["source"]))
        exec(compile(source, "digits.ipynb", "exec"), names)
        printed = "".join(text for out in cell["outputs"] if out["output_type"] == "stream" for text in out["text"])
        assert re.sub(" +", " ", told(capsys.readouterr().out)) == re.sub(" +", " ", told(printed))
    assert len(names["pairs"]) == pictures * (pictures - 1) // 2
    (shown,) = (out["data"] for cell in cells for out in cell["outputs"] if "data" in out)
    found = {"text/html": names["evaluation"]._repr_html_(), "text/plain": repr(names["evaluation"])}
    assert {*shown} == {*found}
    if pictures == PICTURES:  # the study lies in a folder of another name each time
        assert {kind: "".join(text) for kind, text in shown.items()} == {
            kind: text.replace(names["study"], "/tmp/digits") for kind, text in found.items()
        }
