"""Studies to be labelled in the browser."""

import contextlib

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_pages import TEXTS, Pages

import streameval


@pytest.fixture
def listed(tmp_path):
    """A list of 400 items, whose first 200 are positive."""
    count = 400
    texts = [TEXTS[i % len(TEXTS)] + f" {i}" for i in range(count)]
    table = {"secret_score": [1 - i / count for i in range(count)], "text": texts}
    pq.write_table(pa.table(table), tmp_path / "list.parquet")
    return tmp_path / "list.parquet"


@pytest.fixture
def study(tmp_path, listed):
    streameval.plan(str(listed), tmp_path / "study", score="secret_score", method="uniform", alpha=0.1, seed=2)
    return tmp_path / "study"


@pytest.fixture
def question(tmp_path, listed):
    asked = ["precision@100 >= 0.5"]
    streameval.plan(str(listed), tmp_path / "question", score="secret_score", questions=asked, seed=2)
    return tmp_path / "question"


@pytest.fixture
def opened():
    """Opens the pages of a study, and closes them in the end."""
    with contextlib.ExitStack() as stack:

        def open_pages(*given, **how):
            pages = Pages(*given, **how)
            stack.callback(pages.session.close)
            return pages

        yield open_pages
