"""How much a contiguous memory reserves for one sequence: the maximum, a guess, or the true length.

Knows nothing about where a reservation is put. The three rules are the baselines of Kwon et al.,
SOSP 2023, section 6.1: "Orca (Max)", "Orca (Pow2)" and "Orca (Oracle)". Like theirs, a rule
reserves prompt + output, though the last output token is never stored.
"""

from dataclasses import dataclass
from typing import Protocol

from pagesim.core.buddy import next_power_of_two
from pagesim.core.content import Content
from pagesim.core.types import Room


class Reservation(Protocol):
    """A rule that fixes a sequence's whole reservation, in slots, when the sequence starts.

    A sequence that comes back after a preemption (``room.present`` longer than its prompt) gets
    what it had at first. No rule reserves less than ``room.present``, and only for that more than
    ``max_model_len``: the longest, in tokens, that any sequence may become.
    """

    @property
    def max_model_len(self) -> int: ...

    def slots(self, content: Content, room: Room) -> int:
        """Slots to reserve for this sequence."""
        ...


@dataclass(frozen=True, slots=True)
class ReserveMax:
    """Always ``max_model_len``: what a server must do that knows nothing about its requests."""

    max_model_len: int

    def slots(self, content: Content, room: Room) -> int:
        return max(self.max_model_len, _present(content, room))


@dataclass(frozen=True, slots=True)
class ReservePowerOfTwo:
    """The prompt, and the true output rounded up to a power of two: a guess at most twice too long.

    Where ``room.final`` is not known, the longest allowed output is rounded up instead.
    """

    max_model_len: int

    def slots(self, content: Content, room: Room) -> int:
        prompt = len(content.prompt)
        output = max(_final(room) - prompt, 1)
        return max(
            min(prompt + next_power_of_two(output), self.max_model_len), _present(content, room)
        )


@dataclass(frozen=True, slots=True)
class ReserveExact:
    """The true length, as an oracle would know it: the best any reservation can do.

    Where ``room.final`` is not known, the sequence's own limit.
    """

    max_model_len: int

    def slots(self, content: Content, room: Room) -> int:
        return max(min(_final(room), self.max_model_len), _present(content, room))


def _present(content: Content, room: Room) -> int:
    """What is there already, whole even where ``room`` asks for a part of it only."""
    return max(room.present, len(content))


def _final(room: Room) -> int:
    return room.limit if room.final is None else room.final
