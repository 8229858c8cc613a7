"""What nouns show in a notebook, and a curve on a terminal."""

import numpy as np
import pytest
from small_studies import curve_of

from streameval.cli.picture import draw, picture
from streameval.types import Labels


def test_a_curve_shows_itself_in_a_notebook():
    curve = curve_of((np.arange(12_345) % 3 < 2).astype(np.int8), 0, budget=900)
    page = curve._repr_html_()
    assert "12,345" in page
    assert "<svg" in page
    assert "<script" not in page
    row = curve.precision_at(1000)
    assert f"<td>1,000</td><td>{row.lower:.4f}</td><td>{row.estimate:.4f}</td><td>{row.upper:.4f}</td>" in page


def test_labels_show_themselves_in_a_notebook():
    rank = np.arange(1, 4)
    labels = Labels(rank, np.array([1, 0, -1], np.int8), rank, rank, {"<b>": 5})
    page = labels._repr_html_()
    assert "<td>labelled</td><td>2</td>" in page
    assert "&lt;b&gt;" in page


@pytest.mark.parametrize("n", [1, 9, 5_000])
def test_a_terminals_picture_shows_the_estimate_at_every_rank(n, monkeypatch):
    curve = curve_of((np.arange(n) % 4 < 3).astype(np.int8), 0, budget=min(n, 400))
    lines = draw(curve)
    ranks = np.unique(np.rint(np.geomspace(1, n, 64)).astype(np.int64))
    cells = [line[6:].ljust(ranks.size) for line in lines[:10]]
    for column, rank in enumerate(ranks.tolist()):
        (row,) = [i for i in range(10) if cells[i][column] == "━"]
        assert row == 9 - min(int(curve.precision_at(rank).estimate * 10 + 1e-12), 9)
    assert picture(curve) == []
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    assert picture(curve) == lines
