"""Many files checked, several at a time.

Knows nothing about what is done with a result.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import TypeVar

from pagesim.practice.sandbox import Running

Item = TypeVar("Item")
Result = TypeVar("Result")
LOOK_S = 0.5


def default_jobs() -> int:
    """One less than there are processors, so that time limits mean what they say."""
    return max((os.cpu_count() or 2) - 1, 1)


def work_through(
    items: Sequence[Item],
    work: Callable[[Item, Running], Result],
    jobs: int,
    tell: Callable[[int, Result], None],
) -> None:
    """Do ``work`` for each, and ``tell`` its place and its result, here, whenever one is done.

    What interrupts us ends all processes at once; what was told until then is all there is.
    """
    running = Running()
    pool = ThreadPoolExecutor(max_workers=jobs)
    try:
        places = {pool.submit(work, item, running): place for place, item in enumerate(items)}
        left: set[Future[Result]] = set(places)
        while left:
            done, left = wait(left, LOOK_S, FIRST_COMPLETED)
            for future in sorted(done, key=places.__getitem__):
                tell(places[future], future.result())
    finally:
        running.end()
        pool.shutdown(cancel_futures=True)
