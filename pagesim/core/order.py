"""Who is served first. Small pure functions, and the queue that keeps what they say. Knows nothing about memory.

An order is a *rank*: a number (or a tuple of them) that a sequence has for life; the smallest is served first,
and of equal ones who arrived first. So no order needs a clock, and a queue never has to be sorted anew.
"""

import heapq
from collections import deque
from collections.abc import Callable, Iterator
from typing import NamedTuple, Protocol

from pagesim.core.sequence import SequenceState

Rank = int | tuple[int, ...]
AGEING = 32
"""Under ``AGED_PRIORITY``, how many later arrivals one level of priority is worth. A round figure."""


class Order(NamedTuple):
    """``rank(seq)`` must not change while the sequence lives; ``name`` is what a person types."""

    name: str
    rank: Callable[[SequenceState], Rank]


def _arrival(seq: SequenceState) -> Rank:
    return seq.order


def _priority(seq: SequenceState) -> Rank:
    return seq.request.priority


def _prompt_length(seq: SequenceState) -> Rank:
    return len(seq.request.prompt)


def _aged_priority(seq: SequenceState) -> Rank:
    return seq.order + AGEING * seq.request.priority


FCFS = Order("fcfs", _arrival)
PRIORITY = Order("priority", _priority)
SHORTEST_PROMPT = Order("shortest-prompt", _prompt_length)
AGED_PRIORITY = Order("aged-priority", _aged_priority)
ORDERS = {order.name: order for order in (FCFS, SHORTEST_PROMPT, PRIORITY, AGED_PRIORITY)}


class WaitingQueue(Protocol):
    def __len__(self) -> int: ...
    def __iter__(self) -> Iterator[SequenceState]: ...
    def head(self) -> SequenceState: ...
    def pop(self) -> SequenceState: ...
    def add(self, seq: SequenceState) -> None: ...
    def put_back(self, seq: SequenceState) -> None:
        """A preempted sequence returns to where its rank puts it."""
        ...

    def remove(self, seq: SequenceState) -> None: ...


class FcfsQueue:
    """Arrival order. Who comes back goes in front of all that arrived later: mostly of everybody."""

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
        position = 0
        for waiting in self._queue:
            if waiting.order > seq.order:
                break
            position += 1
        self._queue.insert(position, seq)

    def remove(self, seq: SequenceState) -> None:
        self._queue.remove(seq)


class RankedQueue:
    """By (rank, arrival): a heap, so that adding and taking the head are O(log n)."""

    __slots__ = ("_heap", "_rank")

    def __init__(self, rank: Callable[[SequenceState], Rank]) -> None:
        self._rank = rank
        self._heap: list[tuple[Rank, int, SequenceState]] = []

    def __len__(self) -> int:
        return len(self._heap)

    def __iter__(self) -> Iterator[SequenceState]:
        return iter([seq for _, _, seq in sorted(self._heap)])

    def head(self) -> SequenceState:
        return self._heap[0][2]

    def pop(self) -> SequenceState:
        return heapq.heappop(self._heap)[2]

    def add(self, seq: SequenceState) -> None:
        heapq.heappush(self._heap, (self._rank(seq), seq.order, seq))

    put_back = add

    def remove(self, seq: SequenceState) -> None:
        self._heap.remove(next(entry for entry in self._heap if entry[2] is seq))
        heapq.heapify(self._heap)


def waiting_queue(order: Order) -> WaitingQueue:
    return FcfsQueue() if order is FCFS else RankedQueue(order.rank)
