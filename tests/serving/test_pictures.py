"""Pictures of items on the served page: sent once, and one that is not there holds up nobody."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_pages import said

import streameval
from streameval.errors import InputError
from streameval.labelling.exports import TaskQuestion, pictures
from streameval.stores import atomic
from streameval.study.asked import question_file

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"


@pytest.fixture
def photos(tmp_path):
    """A study of 60 items with pictures, one of which is not there."""
    (tmp_path / "a.png").write_bytes(PNG)
    names = [str(tmp_path / "a.png")] * 59 + ["gone.png"]
    pq.write_table(pa.table({"photo": names, "text": [f"item {i % 7}" for i in range(60)]}), tmp_path / "list.parquet")
    study = tmp_path / "study"
    streameval.plan(str(tmp_path / "list.parquet"), study, epsilon=1.0, window=60, method="paula", seed=0)
    atomic.write_all(question_file(streameval.Study(study), TaskQuestion(images=("photo",))))
    return study


def test_a_picture_that_is_not_there_is_said_and_holds_up_nobody(photos, opened):
    pages, shown = opened(photos), []
    while tasks := pages.work()["tasks"]:
        shown += [cells[0] for _, cells in tasks]
        pages.work(*(said(task) for task, _ in tasks))
    assert shown.count("gone.png: No such file or directory") == 1
    assert sum(one.startswith("data:image/png;base64,") for one in shown) == 59


def test_what_a_page_has_is_not_sent_again(photos, opened):
    pages = opened(photos)
    first = pages.work()["tasks"]
    have = [task for task, _ in first]
    reply = pages.ask("work", tab="t", have=have, answers=[said(have[0])]).json()
    assert reply["tasks"][:2] == [[task, None] for task in have[1:]]
    assert reply["tasks"][2][1] is not None
    assert len(pages.ask("start").json()["mine"]) == 1
    for wrong in ("x", [1] * 51, {"1": 2}):
        assert pages.ask("work", tab="t", have=wrong).status_code == 400


def test_a_page_that_is_loaded_again_gets_few_pictures(photos, opened):
    pages = opened(photos)
    for _ in range(4):
        pages.work(*(said(task) for task, _ in pages.work()["tasks"]))
    assert len(pages.ask("start").json()["mine"]) == 3


def test_what_is_no_file_or_too_large_is_no_picture(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large.png").write_bytes(PNG)
    monkeypatch.setattr(pictures, "_LARGEST", len(PNG) - 1)
    for name in ("pipe", "large.png", "."):
        with pytest.raises(InputError, match="is no file of at most"):
            pictures.address(str(tmp_path / name))
    for name in ("/dev/zero", "a\0b"):
        with pytest.raises(InputError, match=r"is no file|cannot be read"):
            pictures.address(name)
