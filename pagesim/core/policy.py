"""Who goes first and who gives way. Knows nothing about memory: only arrival order and priority."""

from bisect import insort
from collections import deque
from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Protocol

from pagesim.core.sequence import SequenceState


class Order(Enum):
    """FCFS: first come, first served; the latest arrival gives way. PRIORITY: the smallest number first."""

    FCFS = "fcfs"
    PRIORITY = "priority"


def urgency(seq: SequenceState) -> tuple[int, int]:
    """Smaller is served sooner under ``Order.PRIORITY``."""
    return (seq.request.priority, seq.order)


class WaitingQueue(Protocol):
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[SequenceState]: ...
    def head(self) -> SequenceState: ...
    def pop(self) -> SequenceState: ...
    def add(self, seq: SequenceState) -> None: ...
    def put_back(self, seq: SequenceState) -> None:
        """A preempted sequence returns: in front (FCFS), or where its urgency puts it."""
        ...

    def remove(self, seq: SequenceState) -> None: ...


class FcfsQueue:
    """Arrival order. It survives preemption because victims are taken from the end of running."""

    __slots__ = ("_queue",)

    def __init__(self) -> None:
        self._queue: deque[SequenceState] = deque()

    def __len__(self) -> int:
        return len(self._queue)

    def __iter__(self) -> Iterator[SequenceState]:
        return iter(self._queue)

    def head(self) -> SequenceState:
        return self._queue[0]

    def pop(self) -> SequenceState:
        return self._queue.popleft()

    def add(self, seq: SequenceState) -> None:
        self._queue.append(seq)

    def put_back(self, seq: SequenceState) -> None:
        self._queue.appendleft(seq)

    def remove(self, seq: SequenceState) -> None:
        self._queue.remove(seq)


class PriorityQueue:
    """By (priority, arrival): kept sorted, most urgent last, so that the head pops in O(1)."""

    __slots__ = ("_queue",)

    def __init__(self) -> None:
        self._queue: list[SequenceState] = []

    def __len__(self) -> int:
        return len(self._queue)

    def __iter__(self) -> Iterator[SequenceState]:
        return reversed(self._queue)

    def head(self) -> SequenceState:
        return self._queue[-1]

    def pop(self) -> SequenceState:
        return self._queue.pop()

    def add(self, seq: SequenceState) -> None:
        insort(self._queue, seq, key=_reverse_urgency)

    put_back = add

    def remove(self, seq: SequenceState) -> None:
        self._queue.remove(seq)


def _reverse_urgency(seq: SequenceState) -> tuple[int, int]:
    priority, order = urgency(seq)
    return (-priority, -order)


def waiting_queue(order: Order) -> WaitingQueue:
    return FcfsQueue() if order is Order.FCFS else PriorityQueue()


def choose_victim(order: Order, running: Sequence[SequenceState]) -> SequenceState:
    """Who gives its memory back: the last admitted (FCFS), or the least urgent (PRIORITY)."""
    return running[-1] if order is Order.FCFS else max(running, key=urgency)
