"""Threads of this process: results in the order of the items, few held, and none at work after an error."""

import re
from threading import Event

import pytest
from places import HOME

from streameval.process.threads import ThreadPool


def test_results_come_in_the_order_of_the_items():
    """The first of two ends last."""
    second = Event()

    def work(item):
        if item == 0:
            assert second.wait(30)
        if item == 1:
            second.set()
        return item * item

    with ThreadPool(2) as pool:
        assert list(pool.in_order(work, range(5))) == [0, 1, 4, 9, 16]
    with ThreadPool(1) as pool:
        assert list(pool.in_order(str, range(7), 2, together=3)) == ["0", "1", "2", "3", "4", "5", "6"]


def test_no_more_items_are_taken_than_may_be_held():
    taken = []

    def items():
        for item in range(9):
            taken.append(item)
            yield item

    with ThreadPool(2) as pool:
        results = pool.in_order(abs, items(), 3)
        assert [next(results), taken] == [0, [0, 1, 2]]
        assert [next(results), taken] == [1, [0, 1, 2, 3]]


def test_what_has_not_begun_never_does_where_a_block_ends_early():
    begun, started, cancelled = [], Event(), Event()

    def work(item):
        begun.append(item)
        started.set()
        cancelled.wait(5)

    def interrupted():
        with ThreadPool(1) as pool:
            futures = [pool.submit(work, item) for item in range(3)]
            futures[2].add_done_callback(lambda _: cancelled.set())
            started.wait(5)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert begun == [0]


def test_one_file_makes_the_threads_that_work_through_items():
    makers = [path for path in (HOME / "streameval").rglob("*.py")
              if re.search(r"\b(Thread|Process)PoolExecutor\b", path.read_text())]  # fmt: skip
    assert [path.relative_to(HOME / "streameval").as_posix() for path in makers] == ["process/threads.py"]
