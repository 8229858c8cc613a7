"""Who gets which task."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from streameval.serving.desk import AHEAD, KEPT, SILENT, Desk, given_twice

NOW = datetime(2026, 11, 26, tzinfo=UTC)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def desk(people, tasks, twice=(), closed=()):
    clock = Clock()
    made = Desk(people, clock)
    made.add(tasks, twice, closed)
    return made, clock


def test_nobody_gets_what_another_has_until_it_was_kept_long_enough():
    made, clock = desk(["ann", "ben"], range(5))
    assert made.hand_out("ann", "tab") == [0, 1, 2]
    assert made.hand_out("ann", "other tab") == [3, 4]  # nor do two pages of one person
    assert made.hand_out("ben", "tab") == []
    assert made.may_come_to("ben")
    clock.now = KEPT + 1
    assert made.hand_out("ben", "tab") == [0, 1, 2]
    made.take_answer("ann", 0, "1", NOW)  # late, and counted all the same
    assert made.open == 4
    assert made.hand_out("ben", "tab") == [1, 2, 3]
    assert made.hand_out("ann", "tab") == [4]


def test_a_page_that_is_open_and_answers_nothing_keeps_its_tasks_no_longer():
    made, clock = desk(["ann", "ben"], range(AHEAD))
    for clock.now in range(0, int(KEPT), 30):  # as a page asks
        assert made.hand_out("ann", "tab") == [0, 1, 2]
        assert made.hand_out("ben", "tab") == []
    made.take_answer("ann", 0, "1", NOW)
    clock.now = KEPT + 60
    assert made.hand_out("ben", "tab") == []  # there was an answer since
    assert made.hand_out("ann", "tab") == [1, 2]
    clock.now = 2 * KEPT
    assert made.hand_out("ben", "tab") == [1, 2]
    assert made.hand_out("ann", "tab") == []


def test_a_page_that_is_closed_gives_back_what_it_had():
    made, _ = desk(["ann", "ben"], range(AHEAD))
    assert made.hand_out("ann", "tab") == [0, 1, 2]
    made.leave("ann", "tab")
    made.leave("ann", "tab")
    assert made.hand_out("ben", "tab") == [0, 1, 2]
    made.take_answer("ann", 1, "0", NOW)  # on its way when the page was closed
    assert made.open == 2


def test_a_server_that_is_started_again_leaves_people_what_they_have():
    made, _ = desk(["ann", "ben"], range(10))
    assert made.hand_out("ben", "tab", [4, 3, 99, 7]) == [4, 3, 7]
    assert made.hand_out("ann", "tab", [0, 3]) == [0, 1, 2]
    made.take_answer("ben", 4, "1", NOW)
    assert made.hand_out("ben", "tab", [4, 3, 7]) == [3, 7, 5]
    assert made.hand_out("cem", "tab", range(10)) == [6, 8, 9]


def test_where_nothing_else_is_left_a_silent_page_gives_back_one_task_after_another():
    made, clock = desk(["ann", "ben"], range(AHEAD + 1))
    assert made.hand_out("ann", "tab") == [0, 1, 2]
    clock.now = SILENT + 1
    assert made.hand_out("ben", "tab") == [3]  # as there is one that nobody has
    made.take_answer("ben", 3, "1", NOW)
    assert made.hand_out("ben", "tab") == [0]
    made.take_answer("ben", 0, "1", NOW)
    assert made.hand_out("ben", "tab") == [1]
    assert made.hand_out("ann", "tab") == [2]  # whoever comes back keeps the others
    assert made.hand_out("ben", "tab") == [1]


@given(st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.integers(0, 3), st.integers(0, 400))))
def test_whatever_happens_no_task_is_lost_and_none_goes_twice_to_one_person(steps):
    """In the end a person who is alone with the tasks gets all that want an answer."""
    made, clock = desk(["a", "b", "c"], range(8), twice=[1, 2])
    for person, tab, what, passed in steps:
        clock.now += passed
        given_now = made.hand_out(person, tab)
        assert not [task for task in given_now if person in made.answers.get(task, {})]
        assert len(given_now) == len({*given_now}) <= AHEAD
        if what == 0:
            made.leave(person, tab)
        elif what < 3 and given_now:
            made.take_answer(person, given_now[0], str(what % 2), NOW)
    clock.now += KEPT
    for person in "abc":
        while mine := made.hand_out(person, "last"):
            made.take_answer(person, mine[0], "1", NOW)
    assert made.open == 0
    assert {*made.answers} == {*range(8)}


def test_tasks_for_two_go_to_two_and_to_a_third_where_they_differ():
    made, _ = desk(["ann", "ben", "cem"], [1, 2], twice=[1])
    made.take_answer("ann", 1, "1", NOW)
    assert made.hand_out("ann", "a") == [2]
    made.take_answer("ben", 1, "0", NOW)
    assert made.hand_out("cem", "c") == [1]
    made.take_answer("cem", 1, "0", NOW)
    assert made.open == 1
    made.take_answer("ann", 2, "skip", NOW)
    assert made.open == 0


def test_where_two_differ_and_there_is_no_third_it_is_over():
    made, _ = desk(["ann", "ben"], [1], twice=[1])
    made.take_answer("ann", 1, "1", NOW)
    made.take_answer("ben", 1, "0", NOW)
    assert made.open == 0


def test_what_is_answered_elsewhere_is_not_handed_out():
    made, _ = desk(["ann"], [1, 2], closed=[1])
    assert made.hand_out("ann", "a") == [2]


def test_a_share_of_the_tasks_is_drawn_for_two_and_stays_so():
    tasks = range(10**9, 10**9 + 4_000)
    drawn = given_twice(tasks, 0.1, seed=5)
    assert 320 <= len(drawn) <= 480  # six standard deviations of 19
    assert given_twice(tasks[1_000:2_000], 0.1, seed=5) == drawn & {*tasks[1_000:2_000]}
    assert given_twice(tasks, 0.1, seed=6) != drawn
    assert given_twice(tasks, 0.05, seed=5) < drawn


def test_where_two_differ_by_accident_a_third_is_asked():
    made, _ = desk(["ann", "ben", "cem"], range(2))
    made.take_answer("ann", 0, "1", NOW)
    assert made.open == 1
    made.take_answer("ben", 0, "0", NOW)  # it was out with ben when ann's answer came late
    assert made.open == 2
    assert 0 in made.hand_out("cem", "tab")
    made.take_answer("cem", 0, "0", NOW)
    assert made.open == 1


def test_the_later_answer_counts_whichever_comes_first():
    made, _ = desk(["ann"], range(3))
    made.take_answer("ann", 0, "1", NOW)
    made.take_answer("ann", 0, "0", NOW - timedelta(minutes=1))  # waited on another device
    assert made.answers[0] == {"ann": "1"}
    made.take_answer("ann", 0, "0", NOW + timedelta(minutes=1))
    assert made.answers[0] == {"ann": "0"}


def test_ones_own_answers_come_in_the_order_in_which_one_gave_them():
    made, _ = desk(["ann", "ben"], range(4))
    for task in (0, 1, 2):
        made.take_answer("ann", task, "1", NOW)
    for number, task in enumerate((2, 0, 1)):
        made.take_answer("ben", task, "0", NOW + timedelta(seconds=number))
    assert made.answered_tasks("ben") == [2, 0, 1]
    made.take_answer("ben", 2, "1", NOW + timedelta(minutes=1))
    assert made.answered_tasks("ben") == [0, 1, 2]
    assert made.answered_tasks("cem") == []
