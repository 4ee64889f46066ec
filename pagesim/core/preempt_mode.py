"""What becomes of a victim's tokens: swapped to the host, or dropped and computed again. Small pure functions."""

from collections.abc import Callable, Sequence
from enum import Enum
from typing import NamedTuple

from pagesim.core.sequence import SequenceState


class Way(Enum):
    """HOST_FULL: it was to be swapped, and the host pool had no room."""

    RECOMPUTE = "recompute"
    SWAP = "swap"
    HOST_FULL = "host full"


class Price(NamedTuple):
    """What preempting costs either way, there and back, in nanoseconds, as predicted."""

    recompute_ns: int
    swap_ns: int


Prices = Callable[[Sequence[int], int, int], Price]
"""From the lengths to compute again, and how many slots in how many host blocks would move, each way."""


class PreemptMode(NamedTuple):
    """``choose`` says which way the sequences of one group go. ``needs_price``: it is told a price, not ``None``."""

    name: str
    choose: Callable[[Sequence[SequenceState], Price | None], Way]
    needs_price: bool = False


def _recompute(unit: Sequence[SequenceState], price: Price | None) -> Way:  # noqa: ARG001
    return Way.RECOMPUTE


def _swap(unit: Sequence[SequenceState], price: Price | None) -> Way:  # noqa: ARG001
    return Way.SWAP


def _by_group(unit: Sequence[SequenceState], price: Price | None) -> Way:  # noqa: ARG001
    return Way.SWAP if len(unit) > 1 else Way.RECOMPUTE


def _cheaper(unit: Sequence[SequenceState], price: Price | None) -> Way:  # noqa: ARG001
    assert price is not None
    return Way.SWAP if price.swap_ns < price.recompute_ns else Way.RECOMPUTE


RECOMPUTE = PreemptMode("recompute", _recompute)
SWAP = PreemptMode("swap", _swap)
BY_GROUP = PreemptMode("by-group", _by_group)
CHEAPER = PreemptMode("cheaper", _cheaper, needs_price=True)
PREEMPT_MODES = {mode.name: mode for mode in (RECOMPUTE, SWAP, BY_GROUP, CHEAPER)}
