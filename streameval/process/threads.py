"""Threads of this process: several at work on items, and what comes of these in their order."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import islice
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")
R = TypeVar("R")


class ThreadPool(ThreadPoolExecutor):
    """Threads for as long as a block lasts: an error, or an interruption, ends it with the work that has begun."""

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        """Wait for what is at work; what has not begun never does where the block ends early."""
        self.shutdown(cancel_futures=kind is not None)

    def in_order(
        self, work: Callable[[T], R], items: Iterable[T], ahead: float = math.inf, together: int = 1
    ) -> Iterator[R]:
        """Map with several at work: yield results in the order of the items.

        Args:
            ahead: Results that are held at most; items are taken as there is room.
            together: Items that are handed to a thread at once, where each takes so little that this counts.
        """
        if together > 1:
            left = iter(items)
            batches = iter(lambda: tuple(islice(left, together)), ())
            for results in self.in_order(lambda batch: [work(item) for item in batch], batches, ahead):
                yield from results
            return
        waiting: deque[Future[R]] = deque()
        try:
            for item in items:
                waiting.append(self.submit(work, item))
                if len(waiting) >= ahead:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for future in waiting:
                future.cancel()
