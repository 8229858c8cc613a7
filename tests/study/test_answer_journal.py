"""Answers one after another: whole lines, damage that is seen, and none counted twice."""

from datetime import UTC, datetime

import pytest

from streameval.errors import OutsideError, StudyError
from streameval.study.answer_journal import NAME, Journal, PageAnswer, read_lines, votes_of

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)


def answer(number, label="1", **what):
    return PageAnswer(f"answer-{number}", "s", number, number + 1, label, "ann é", NOW, **what)


def test_what_was_added_is_read_again_and_the_same_id_counts_once(tmp_path):
    journal = Journal(tmp_path, given=3)
    assert journal.add([answer(1), answer(2, "skip", note='", "crc": 1}\n'), answer(1)]) == [
        answer(1), answer(2, "skip", note='", "crc": 1}\n')
    ]  # fmt: skip
    assert journal.add([answer(2)]) == []
    journal.close()
    again = Journal(tmp_path, given=9)
    assert again.add([answer(1), answer(3, "0")]) == [answer(3, "0")]
    lines = read_lines(tmp_path / NAME)
    assert [one["given"] for one in lines] == [3, 3, 3]
    votes = votes_of(lines)
    assert votes.column("value").to_pylist() == [1.0, None, 0.0]
    assert votes.column("state").to_pylist() == ["answer", "skip", "answer"]
    again.close()


@pytest.mark.parametrize("tail", [b"{", b'{"se_study": "s", "id": "answer-9"', b"\x00" * 50])
def test_a_line_without_an_end_was_never_acknowledged(tmp_path, tail):
    journal = Journal(tmp_path, given=1)
    journal.add([answer(1)])
    journal.close()
    with open(tmp_path / NAME, "ab") as stream:
        stream.write(tail)
    assert len(read_lines(tmp_path / NAME)) == 1
    again = Journal(tmp_path, given=1)
    again.add([answer(2)])
    again.close()
    assert [one["se_task"] for one in read_lines(tmp_path / NAME)] == [1, 2]


@pytest.mark.parametrize(("old", "new"), [
    (b'"label": "1"', b'"label": "0"'), (b"crc", b"src"), (b"answer-1", b"answer-\xff"),
])  # fmt: skip
def test_a_changed_line_is_seen(tmp_path, old, new):
    journal = Journal(tmp_path, given=1)
    journal.add([answer(1), answer(2)])
    journal.close()
    content = (tmp_path / NAME).read_bytes()
    (tmp_path / NAME).write_bytes(content.replace(old, new, 1))
    with pytest.raises(StudyError, match=NAME):
        read_lines(tmp_path / NAME)


def test_one_process_at_a_time_adds(tmp_path):
    journal = Journal(tmp_path, given=1)
    with pytest.raises(OutsideError, match="another command adds answers"):
        Journal(tmp_path, given=1)
    journal.close()
    Journal(tmp_path, given=1).close()
