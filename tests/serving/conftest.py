"""Studies to be labelled in the browser."""

import contextlib
import shutil

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_pages import TEXTS, Pages

import streameval


@pytest.fixture(scope="session")
def listed(tmp_path_factory):
    """A list of 400 items, whose first 200 are positive; it is only read."""
    count, folder = 400, tmp_path_factory.mktemp("listed")
    texts = [TEXTS[i % len(TEXTS)] + f" {i}" for i in range(count)]
    table = {"secret_score": [1 - i / count for i in range(count)], "text": texts}
    pq.write_table(pa.table(table), folder / "list.parquet")
    return folder / "list.parquet"


@pytest.fixture(scope="session")
def planned(listed, tmp_path_factory):
    """Makes a planned study of the list for each set of options, once; it is only read."""
    folder, made = tmp_path_factory.mktemp("planned"), {}

    def plan(**options):
        study = folder / str(len(made))
        if str(options) not in made:
            streameval.plan(str(listed), study, score="secret_score", **options)
            made[str(options)] = study
        return made[str(options)]

    return plan


@pytest.fixture
def study(planned, tmp_path):
    return shutil.copytree(planned(method="uniform", budget=90, seed=2), tmp_path / "study")


@pytest.fixture
def short(planned, tmp_path):
    """A study with few tasks."""
    return shutil.copytree(planned(method="uniform", budget=24, seed=2), tmp_path / "study")


@pytest.fixture
def question(planned, tmp_path):
    return shutil.copytree(planned(questions=["precision@100 >= 0.5"], seed=2), tmp_path / "question")


@pytest.fixture
def opened():
    """Opens the pages of a study, and closes them in the end."""
    with contextlib.ExitStack() as stack:

        def open_pages(*given, **how):
            pages = Pages(*given, **how)
            stack.callback(pages.session.close)
            return pages

        yield open_pages
