"""Answers one after another: whole lines, damage that is seen, and none counted twice."""

import os
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from streameval.errors import OutsideError, StudyError
from streameval.study.answer_journal import NAME, Journal, PageAnswer, read_lines, votes_of

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def answer(number, label="1", **what):
    return PageAnswer(f"answer-{number}", "s", number, number + 1, label, "ann é", NOW, **what)


def test_what_was_added_is_read_again_and_the_same_id_counts_once(tmp_path):
    journal = Journal(tmp_path, n_tasks=3)
    assert journal.add([answer(1), answer(2, "skip", note='", "crc": 1}\n'), answer(1)]) == [
        answer(1), answer(2, "skip", note='", "crc": 1}\n')
    ]  # fmt: skip
    assert journal.add([answer(2)]) == []
    journal.close()
    again = Journal(tmp_path, n_tasks=9)
    assert again.add([answer(1), answer(3, "0")]) == [answer(3, "0")]
    lines = read_lines(tmp_path / NAME)
    assert [one["given"] for one in lines] == [3, 3, 3]
    votes = votes_of(lines)
    assert votes.column("value").to_pylist() == [1.0, None, 0.0]
    assert votes.column("state").to_pylist() == ["answer", "skip", "answer"]
    again.close()


@pytest.mark.parametrize("tail", [b"{", b'{"se_study": "s", "id": "answer-9"', b"\x00" * 50])
def test_a_line_without_an_end_was_never_acknowledged(tmp_path, tail):
    journal = Journal(tmp_path, n_tasks=1)
    journal.add([answer(1)])
    journal.close()
    with open(tmp_path / NAME, "ab") as stream:
        stream.write(tail)
    assert len(read_lines(tmp_path / NAME)) == 1
    again = Journal(tmp_path, n_tasks=1)
    again.add([answer(2)])
    again.close()
    assert [one["se_task"] for one in read_lines(tmp_path / NAME)] == [1, 2]


@pytest.mark.parametrize(("old", "new"), [
    (b'"label": "1"', b'"label": "0"'), (b"crc", b"src"), (b"answer-1", b"answer-\xff"),
])  # fmt: skip
def test_a_changed_line_is_seen(tmp_path, old, new):
    journal = Journal(tmp_path, n_tasks=1)
    journal.add([answer(1), answer(2)])
    journal.close()
    content = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(content.replace(old, new, 1))
    with pytest.raises(StudyError, match=NAME):
        read_lines(tmp_path / NAME)


def test_one_process_at_a_time_adds(tmp_path):
    journal = Journal(tmp_path, n_tasks=1)
    with pytest.raises(OutsideError, match="another command adds answers"):
        Journal(tmp_path, n_tasks=1)
    journal.close()
    Journal(tmp_path, n_tasks=1).close()


def moved_over(path):
    """What editors do: write another file, and give it the name."""
    other = path.with_suffix(".new")
    other.write_bytes(path.read_bytes())
    os.replace(other, path)


def written_to(path):
    with open(path, "ab") as stream:
        stream.write(b"x")


@pytest.mark.parametrize("change", [
    moved_over,
    os.unlink,
    lambda path: os.truncate(path, 10),
    written_to,
    lambda path: (os.unlink(path), path.mkdir()),
], ids=["replaced", "removed", "cut", "written to", "a folder"])  # fmt: skip
def test_no_answer_is_acknowledged_once_the_file_is_not_the_one_that_was_opened(tmp_path, change):
    journal = Journal(tmp_path, n_tasks=1)
    journal.add([answer(1)])
    change(tmp_path / NAME)
    for _ in range(2):
        with pytest.raises(OutsideError, match="replaced, removed or written to"):
            journal.add([answer(2)])
    assert [one["se_task"] for one in journal.lines] == [1]
    journal.close()


def test_a_file_that_was_changed_is_refused_for_good_though_its_length_is_as_before(tmp_path):
    """Cut to a half in the middle of an append, it may have the length that it had before."""
    journal = Journal(tmp_path, n_tasks=1)
    journal.add([answer(1)])
    length = os.stat(tmp_path / NAME).st_size
    written_to(tmp_path / NAME)
    with pytest.raises(OutsideError, match="replaced, removed or written to"):
        journal.add([answer(2)])
    os.truncate(tmp_path / NAME, length)
    with pytest.raises(OutsideError, match="replaced, removed or written to"):
        journal.add([answer(2)])
    journal.close()


@pytest.mark.parametrize("change", [moved_over, os.unlink])
def test_a_second_server_is_refused_whatever_became_of_the_file(tmp_path, change):
    journal = Journal(tmp_path, n_tasks=1)
    journal.add([answer(1)])
    change(tmp_path / NAME)
    with pytest.raises(OutsideError, match="another command adds answers"):
        Journal(tmp_path, n_tasks=1)
    journal.close()
    Journal(tmp_path, n_tasks=1).close()


def test_of_two_answers_the_one_that_came_last_is_the_latest_though_the_clock_was_set_back(tmp_path):
    journal = Journal(tmp_path, n_tasks=1)
    journal.add([answer(1)])
    (corrected,) = journal.add([replace(answer(1, "0"), id="again", time=NOW - timedelta(hours=2))])
    (other,) = journal.add([replace(answer(2), time=NOW - timedelta(hours=2))])
    assert corrected.time > NOW
    assert other.time < NOW
    journal.close()
    again = Journal(tmp_path, n_tasks=1)
    (last,) = again.add([replace(answer(1), id="last", time=NOW - timedelta(hours=3))])
    assert last.time > corrected.time
    again.close()


def test_answers_are_synced_before_they_are_acknowledged(tmp_path, monkeypatch):
    journal, synced = Journal(tmp_path, n_tasks=1), []
    monkeypatch.setattr(os, "fsync", lambda file: synced.append((os.fstat(file).st_ino, os.fstat(file).st_size)))
    journal.add([answer(1), answer(2)])
    there = (tmp_path / NAME).stat()
    assert synced == [(there.st_ino, there.st_size)]
    journal.close()


def test_an_edit_in_place_of_the_same_length_is_refused_before_the_next_answer_is_acknowledged(tmp_path):
    journal, path = Journal(tmp_path, n_tasks=1), tmp_path / NAME
    journal.add([answer(1)])
    written = os.stat(path).st_mtime_ns
    with open(path, "r+b") as stream:
        stream.write(path.read_bytes().replace(b'"label": "1"', b'"label": "0"'))
    os.utime(path, ns=(written, written + 1_000_000_000))  # an edit one second later
    edited = path.read_bytes()
    for _ in range(2):
        with pytest.raises(OutsideError, match="written to while answers were added"):
            journal.add([answer(2)])
    assert path.read_bytes() == edited
    journal.close()


def test_a_damaged_journal_that_could_not_be_opened_lets_its_lock_go(tmp_path):
    (tmp_path / NAME).write_bytes(b"no answer\n")
    with pytest.raises(StudyError) as kept:
        Journal(tmp_path, n_tasks=1)
    (tmp_path / NAME).unlink()
    Journal(tmp_path, n_tasks=1).close()
    assert "line 1 is not as it was written" in str(kept.value)
