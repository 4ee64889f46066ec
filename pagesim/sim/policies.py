"""Policies by name: those that come with pagesim, or a function of a person's own, ``FILE:name``.

    def shortest_answer(seq):                       order: a number, the smallest is served first
        return seq.request.max_tokens

    def newest_of_two(running):                     victim: one of the running sequences
        return running[-1]

    def only_big(unit, price):                      preempt mode: "swap" or "recompute", or a Way
        return "swap" if len(unit) > 2 else "recompute"

Knows nothing about what they decide.
"""

import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from traceback import extract_tb
from typing import NamedTuple, TypeVar

from pagesim.core.errors import InputError
from pagesim.core.order import FCFS, ORDERS, Order
from pagesim.core.preempt_mode import PREEMPT_MODES, PreemptMode, Price, Way
from pagesim.core.sequence import SequenceState
from pagesim.core.victim import VICTIMS, Victim
from pagesim.sim.plugin import load_function

T = TypeVar("T")


class Watermark(NamedTuple):
    """Blocks to keep free: a number of them, or a share of the memory."""

    blocks: int = 0
    share: Fraction = Fraction(0)

    def of(self, num_blocks: int) -> int:
        return self.blocks + int(self.share * num_blocks)

    def checked(self, num_blocks: int) -> int:
        """The same. Raises InputError where it leaves nothing."""
        kept = self.of(num_blocks)
        if kept >= num_blocks:
            raise InputError(
                f"a watermark of {kept:,} blocks was given and {num_blocks:,} are present; nobody could ever join "
                "others, so keep fewer free"
            )
        return kept


@dataclass(frozen=True, slots=True)
class Policies:
    """What decides in a run. ``None``: what the rules, or the order, usually go by."""

    order: Order = FCFS
    victim: Victim | None = None
    preempt: PreemptMode | None = None
    watermark: Watermark | None = None


USUAL = Policies()


def order_named(name: str) -> Order:
    """Raises InputError for an unknown name, or a file that cannot be used."""
    found = _known(name, ORDERS, "order", "rank(seq)")
    if isinstance(found, Order):
        return found
    rank = found

    def checked(seq: SequenceState) -> int | tuple[int, ...]:
        value = rank(seq)
        numbers = value if isinstance(value, tuple) else (value,)
        if not all(isinstance(n, int | float) and n == n for n in numbers):  # and not nan
            raise InputError(
                f"the order {name} returned {value!r} for {seq.name}; it must return a number, or a tuple of numbers "
                "of one length"
            )
        return value  # type: ignore[return-value]

    return Order(name, checked)


def victim_named(name: str) -> Victim:
    """Raises InputError, as ``order_named``."""
    found = _known(name, VICTIMS, "victim policy", "choose(running)")
    if isinstance(found, Victim):
        return found
    choose = found

    def checked(running: Sequence[SequenceState]) -> SequenceState:
        victim = choose(tuple(running))
        if victim not in running:
            raise InputError(
                f"the victim policy {name} returned {victim!r}; it must return one of the sequences it is given"
            )
        return victim  # type: ignore[return-value]

    return Victim(name, checked)


def preempt_mode_named(name: str) -> PreemptMode:
    """Raises InputError, as ``order_named``."""
    found = _known(name, PREEMPT_MODES, "preempt mode", "choose(unit, price)")
    if isinstance(found, PreemptMode):
        return found
    choose = found

    def checked(unit: Sequence[SequenceState], price: Price | None) -> Way:
        way = choose(tuple(unit), price)
        if way not in ("swap", "recompute", Way.SWAP, Way.RECOMPUTE):
            raise InputError(
                f'the preempt mode {name} returned {way!r}; it must return "swap" or "recompute"'
            )
        return Way(way)

    return PreemptMode(name, checked)


def parse_watermark(text: str) -> Watermark:
    """ "40" blocks, "1%" or "0.5 %" of the memory. Raises InputError."""
    number = text.strip().removesuffix("%").strip()
    is_share = text.strip().endswith("%")
    problem = InputError(
        f"watermark {text!r} was given; give a number of blocks, such as 40, or a share below 100%, such as 1%"
    )
    try:
        value = Fraction(number)
    except (ValueError, ZeroDivisionError):
        raise problem from None
    if "/" in number or value < 0 or (is_share and value >= 100):
        raise problem
    if is_share:
        return Watermark(share=value / 100)
    if value.denominator != 1:
        raise problem
    return Watermark(blocks=int(value))


def _known(name: str, table: dict[str, T], what: str, signature: str) -> T | Callable[..., object]:
    found = table.get(name)
    if found is not None:
        return found
    if ":" in name:
        return guarded(name, load_function(name, what, signature))
    raise InputError(
        f"{name!r} is no {what}; take one of {', '.join(table)}, or FILE:name, a function {signature} of your own"
    )


def guarded(name: str, function: Callable[..., object]) -> Callable[..., object]:
    """The same function; an exception of it becomes one sentence."""

    file = name.rpartition(":")[0]

    def call(*arguments: object) -> object:
        try:
            with redirect_stdout(sys.stderr):  # standard output is pagesim's
                return function(*arguments)
        except InputError:
            raise
        except (Exception, SystemExit) as error:
            what = f"{type(error).__name__}: {' '.join(str(error).split())}"
            lines = [f.lineno for f in extract_tb(error.__traceback__) if f.filename.endswith(file)]
            where = f" in line {lines[-1]}" if lines else ""
            raise InputError(f"the policy {name} failed{where}: {what}") from error

    return call
