"""The worked example: every cell of the notebook runs, and prints what is printed in it."""

import json
from pathlib import Path

import streameval

NOTEBOOK = Path(streameval.__file__).parent / "guide" / "digits.ipynb"


def test_the_worked_example_prints_what_stands_in_it(capsys):
    cells = [cell for cell in json.loads(NOTEBOOK.read_text())["cells"] if cell["cell_type"] == "code"]
    names = {}
    for cell in cells:
        exec(compile("".join(cell["source"]), "digits.ipynb", "exec"), names)
        printed = "".join(text for out in cell["outputs"] if out["output_type"] == "stream" for text in out["text"])
        assert capsys.readouterr().out == printed
    pictures = [out["data"]["text/html"] for cell in cells for out in cell["outputs"] if "data" in out]
    assert ["".join(one) for one in pictures] == [names["evaluation"]._repr_html_()]
