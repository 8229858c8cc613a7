"""Pictures of items on the served page: sent once, and one that is not there holds up nobody."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from label_pages import said

import streameval
from streameval.cli import run
from streameval.errors import InputError
from streameval.labelling.exports import TaskQuestion
from streameval.labelling.exports import cells as pictures
from streameval.stores import atomic
from streameval.study.tasks import question_file

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels"


@pytest.fixture
def photos(tmp_path):
    """A study of 60 items with pictures, one of which is not there."""
    (tmp_path / "a.png").write_bytes(PNG)
    names = [str(tmp_path / "a.png")] * 59 + ["gone.png"]
    pq.write_table(pa.table({"photo": names, "text": [f"item {i % 7}" for i in range(60)]}), tmp_path / "list.parquet")
    study = tmp_path / "study"
    streameval.plan(str(tmp_path / "list.parquet"), study, method="paula(epsilon=1.0, window=60)", seed=0)
    atomic.write_all(question_file(streameval.Study(study), TaskQuestion(images=("photo",), image_root=str(tmp_path))))
    return study


def test_a_picture_that_is_not_there_is_said_and_holds_up_nobody(photos, opened):
    pages, shown = opened(photos), []
    while tasks := pages.work()["tasks"]:
        shown += [cells[0] for _, cells in tasks]
        pages.work(*(said(task) for task, _ in tasks))
    assert shown.count("gone.png: no picture in the folder of the list") == 1
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
    for name in ("pipe", ".", "/dev/zero", "a\0b"):
        with pytest.raises(InputError, match="no picture in the folder of the list"):
            pictures.address(name, str(tmp_path))
    with pytest.raises(InputError, match="has more than"):
        pictures.address("large.png", str(tmp_path))


def test_pictures_are_those_in_the_folder_of_the_list_and_nothing_is_said_of_others(tmp_path, monkeypatch):
    """Whether a path leads out of it by dots, by a link or as it stands."""
    root = tmp_path / "lists"
    (root / "photos").mkdir(parents=True)
    for path in (root / "photos" / "a.png", tmp_path / "secret.png"):
        path.write_bytes(PNG)
    (root / "link.png").symlink_to(tmp_path / "secret.png")
    monkeypatch.chdir(root / "photos")
    shown = {pictures.address(name, str(root)) for name in ("photos/a.png", "a.png", f"file://{root}/photos/a.png")}
    assert len(shown) == 1
    outside = ("../secret.png", "../gone.png", str(tmp_path / "secret.png"), "link.png", "/proc/self/environ", "/gone")
    said = {pictures.address_or_why(name, str(root)).removeprefix(name) for name in outside}
    assert said == {": no picture in the folder of the list"}


def test_another_folder_of_pictures_is_named_once(tmp_path, monkeypatch, capsys):
    (tmp_path / "lists").mkdir()
    (tmp_path / "photos").mkdir()
    (tmp_path / "photos" / "a.png").write_bytes(PNG)
    table = pa.table({"photo": ["a.png"] * 60, "text": [f"item {i}" for i in range(60)]})
    pq.write_table(table, tmp_path / "lists" / "list.parquet")
    study = tmp_path / "study"
    monkeypatch.chdir(tmp_path)
    streameval.plan("lists/list.parquet", study, method="uniform", budget=10, seed=0)
    export = ["select", str(study), "--export", "tasks.html", "--image", "photo"]
    assert run(export) == 2
    assert "a.png: no picture in the folder of the list. Hint: --image-root names" in capsys.readouterr().err
    assert run([*export, "--image-root", "photos"]) == 0
    assert run(["select", str(study), "--export", "again.html"]) == 0
    assert (tmp_path / "again.html").read_bytes().count(b"data:image/png") == 10
