"""Operations on a memory as plain data. ``rows`` draws rows of them, and ``driver`` plays them.

Knows nothing about who plays them. A row may hold operations that make no sense (free what is not held).
"""

from typing import NamedTuple


class Allocate(NamedTuple):
    """Start ``seq`` with a prompt. Memory for ``now`` tokens past what is cached, at most the whole prompt, is
    taken; ``gate``: the whole prompt must fit. ``more``: outputs that may come; ``known``: they are foretold."""

    seq: int
    prompt: tuple[int, ...]
    now: int = 99
    gate: bool = True
    more: int = 4
    known: bool = True
    salt: str = ""
    adapter: str = ""
    reads_cache: bool = True
    keep_free: int = 0


class Extend(NamedTuple):
    """Make ``by`` slots past the written ones writable, and run the copies this orders."""

    seq: int
    by: int


class ExtendAll(NamedTuple):
    """The same for several, if ``can_extend`` says that all can; if not, one of them cannot."""

    seqs: tuple[int, ...]
    by: int


class Write(NamedTuple):
    """Compute up to ``by`` tokens, as far as the sequence may write: those of the prompt that are missing, and
    then outputs, taken from ``tokens`` again and again."""

    seq: int
    by: int
    tokens: tuple[int, ...] = (1,)


class Publish(NamedTuple):
    """Make the full blocks of what is written findable."""

    seq: int


class Withdraw(NamedTuple):
    """Take that back for the last ``by`` tokens, as far as they are the sequence's own."""

    seq: int
    by: int


class Fork(NamedTuple):
    """``child`` starts as what ``parent`` is; they share its blocks, or ``child`` gets copies."""

    parent: int
    child: int


class SwapOut(NamedTuple):
    """Move those of ``seqs`` that hold tokens on the device to the host, all or none."""

    seqs: tuple[int, ...]


class SwapIn(NamedTuple):
    """Bring those of ``seqs`` that are on the host back, with room for ``by`` more tokens each and ``keep_free``."""

    seqs: tuple[int, ...]
    by: int
    keep_free: int = 0


class Free(NamedTuple):
    """Drop the sequence."""

    seq: int


class ResetCache(NamedTuple):
    """Forget all cached content."""


Operation = (
    Free
    | ResetCache
    | Allocate
    | Extend
    | ExtendAll
    | Write
    | Publish
    | Withdraw
    | Fork
    | SwapOut
    | SwapIn
)
