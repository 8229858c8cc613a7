"""What a page sends is of one form, or refused in a line."""

import re

import pytest

from streameval.serving.messages import RefusedError, SentAnswer, SentWork

ANSWER = {"id": "abcdefgh", "task": 7, "answer": "1", "note": "why", "took": 1200, "ago": 3}


def test_what_a_page_sends():
    sent = SentWork.read({"tab": "t", "leaving": True, "have": [3, 4, "5"], "answers": [ANSWER]})
    assert sent == SentWork("t", True, (3, 4), (SentAnswer("abcdefgh", 7, "1", "why", 1200, 3),))
    assert SentWork.read({}) == SentWork("", False, (), ())


@pytest.mark.parametrize(("name", "value"), [
    ("id", "short"), ("id", None), ("id", "../../etc/passwd"), ("answer", "2"), ("answer", 1), ("note", "n" * 2_001),
    ("task", 1.5), ("task", -1), ("task", True), ("task", "7"), ("task", 2.0**60), ("task", float("nan")),
    ("ago", -1), ("took", [1]),
])  # fmt: skip
def test_an_answer_of_another_form_is_refused(name, value):
    with pytest.raises(RefusedError, match=r"^(an answer|id|answer|note|task|ago|took) (has|is) "):
        SentWork.read({"answers": [{**ANSWER, name: value}]})


@pytest.mark.parametrize(("message", "why"), [
    ([], "tab is a text of at most 64 characters"), ({"tab": "t" * 65}, "tab is a text of at most 64 characters"),
    ({"answers": [ANSWER] * 51}, "answers is a list of 50 at most"), ({"have": 7}, "have is a list of 50 at most"),
    ({"answers": [7]}, "id is a text of at most 64 characters"),
])  # fmt: skip
def test_a_message_of_another_form_is_refused(message, why):
    with pytest.raises(RefusedError, match=re.escape(why)):
        SentWork.read(message)
