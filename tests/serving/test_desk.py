"""Who gets which task."""

from streameval.serving.desk import AHEAD, KEPT, Desk, given_twice


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
    assert made.awaited("ben")
    clock.now = KEPT + 1
    assert made.hand_out("ben", "tab") == [0, 1, 2]
    made.answered("ann", 0, "1")  # late, and counted all the same
    assert made.open == 4
    assert made.hand_out("ben", "tab") == [1, 2, 3]
    assert len(made.hand_out("ann", "tab")) == AHEAD - 2


def test_tasks_for_two_go_to_two_and_to_a_third_where_they_differ():
    made, _ = desk(["ann", "ben", "cem"], [1, 2], twice=[1])
    made.answered("ann", 1, "1")
    assert made.hand_out("ann", "a") == [2]
    made.answered("ben", 1, "0")
    assert made.hand_out("cem", "c") == [1]
    made.answered("cem", 1, "0")
    assert made.open == 1
    made.answered("ann", 2, "skip")
    assert made.open == 0


def test_where_two_differ_and_there_is_no_third_it_is_over():
    made, _ = desk(["ann", "ben"], [1], twice=[1])
    made.answered("ann", 1, "1")
    made.answered("ben", 1, "0")
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
