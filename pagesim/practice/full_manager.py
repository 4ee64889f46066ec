"""A learner's memory that meets the whole protocol, called with care: what comes back is looked at each time.

Answers must be of the right types, tables must be what the grants told, and the ``BlockBook`` must agree. Errors that
the protocol knows go through. Knows nothing about who calls.
"""

from collections.abc import Sequence
from typing import TypeVar

from pagesim.core.content import Content
from pagesim.core.contiguous import BeyondReservationError
from pagesim.core.errors import DuplicateSequenceError, UnknownSequenceError
from pagesim.core.types import (
    Admission,
    BlockId,
    Copy,
    ForkGrant,
    Geometry,
    Grant,
    Room,
    SeqId,
    SwapGrant,
    Usage,
)
from pagesim.practice.block_book import BlockBook, Table, broken
from pagesim.practice.callers import Caller
from pagesim.practice.reading import NotReadableError, read_flag, read_whole, read_wholes, shown

T = TypeVar("T")
KNOWN_ERRORS = (UnknownSequenceError, DuplicateSequenceError, BeyondReservationError)


class FullManager:
    """Meets ``KVCacheManager``."""

    def __init__(self, own: Caller) -> None:
        self._own = own
        self.geometry = self._typed("geometry", own.look("geometry"), Geometry)
        self.can_share = self._flag("can_share", own.look("can_share"))
        self.can_cache = self._flag("can_cache", own.look("can_cache"))
        self.can_swap = self._flag("can_swap", own.look("can_swap"))
        self._live: dict[SeqId, None] = {}
        self.book = BlockBook(self.geometry, counts_all=self.can_share)
        free = self.usage().free
        if free != self.geometry.num_blocks:
            broken(
                "conservation",
                f"a new manager of {self.geometry.num_blocks} blocks says that {free} are free",
            )

    # -- questions ---------------------------------------------------------------------------------------

    def cached_tokens(self, content: Content) -> int:
        return self._whole("cached_tokens(...)", self._own.ask("cached_tokens", content))

    def admission(self, content: Content, room: Room) -> Admission:
        return self._typed("admission(...)", self._own.ask("admission", content, room), Admission)

    def never_fits(self, content: Content, room: Room) -> str | None:
        clause = self._own.ask("never_fits", content, room)
        return None if clause is None else self._typed("never_fits(...)", clause, str)

    def can_extend(self, targets: Sequence[tuple[SeqId, int]]) -> bool:
        return self._flag("can_extend(...)", self._own.ask("can_extend", targets))

    def swap_size(self, unit: Sequence[tuple[SeqId, int]]) -> int:
        return self._whole("swap_size(...)", self._own.ask("swap_size", unit))

    def table(self, seq: SeqId) -> Sequence[BlockId]:
        found = self._own.ask("table", seq)
        return found if isinstance(found, range) else self._blocks(f"table({seq})", found)

    def usage(self) -> Usage:
        return self._typed("usage()", self._own.ask("usage"), Usage)

    # -- commands ----------------------------------------------------------------------------------------

    def allocate(self, seq: SeqId, content: Content, room: Room) -> Grant | None:
        call = f"allocate({seq}, ...)"
        grant = self._granted(call, self._attempt("allocate", seq, content, room))
        if grant is not None:
            self._live[seq] = None
            self._check_hits(call, grant)
            self._done(call, [seq], grant.shared)
            self._check_told(call, seq, (*grant.shared, *grant.taken))
        return grant

    def extend(self, seq: SeqId, to: int) -> Grant | None:
        call = f"extend({seq}, {to})"
        before = self.book.tables.get(seq, ())
        grant = self._granted(call, self._attempt("extend", seq, to))
        if grant is not None:
            self._done(call, [seq], grant.shared)
            self._check_told(call, seq, _extended(before, grant))
        return grant

    def publish(self, seq: SeqId, content: Content, num_tokens: int) -> Sequence[BlockId]:
        return self._listed("publish", seq, content, num_tokens)

    def withdraw(self, seq: SeqId, num_tokens: int) -> Sequence[BlockId]:
        return self._listed("withdraw", seq, num_tokens)

    def fork(self, parent: SeqId, child: SeqId, num_tokens: int) -> ForkGrant | None:
        call = f"fork({parent}, {child}, {num_tokens})"
        answer = self._attempt("fork", parent, child, num_tokens)
        if answer is None:
            self.book.refused(f"{call} returned None", self.tables_now(), self.usage().free)
            return None
        fork = self._typed(call, answer, ForkGrant)
        self._granted(call, fork.child)
        self._whole(f"parent_writable of {call}", fork.parent_writable)
        self._live[child] = None
        if self.can_share:
            self._done(call, [parent, child], fork.child.shared)
            self._check_told(call, child, (*fork.child.shared, *fork.child.taken))
        return fork

    def swap_out(self, unit: Sequence[tuple[SeqId, int]]) -> SwapGrant | None:
        return self._swapped("swap_out", unit)

    def swap_in(self, targets: Sequence[tuple[SeqId, int]], keep_free: int) -> SwapGrant | None:
        return self._swapped("swap_in", targets, keep_free)

    def free(self, seq: SeqId) -> Sequence[BlockId]:
        call = f"free({seq})"
        answer = self._attempt("free", seq)
        table = self.book.tables.get(seq, ())
        released = answer if isinstance(answer, range) else self._blocks(call, answer)
        self._live.pop(seq, None)
        self._done(call, [seq])
        unheld = [block for block in table if not self.book.holders(block)]
        if self.can_share and sorted(released) != sorted(unheld):
            broken(
                "fold",
                f"{call} returned {list(released)}, and of its blocks {unheld} are in no table now",
            )
        return released

    def reset_cache(self) -> bool:
        return self._flag("reset_cache()", self._own.call("reset_cache"))

    # -- parts -------------------------------------------------------------------------------------------

    def _attempt(self, method: str, *args: object) -> object:
        """A command; errors that the protocol knows are raised here as they were there."""
        answer = self._own.attempt(method, *args, errors=KNOWN_ERRORS)
        if isinstance(answer, KNOWN_ERRORS):
            raise answer
        return answer

    def _granted(self, call: str, answer: object) -> Grant | None:
        if answer is None:
            self.book.refused(f"{call} returned None", self.tables_now(), self.usage().free)
            return None
        grant = self._typed(call, answer, Grant)
        self._whole(f"writable of {call}", grant.writable)
        self._whole(f"cached_tokens of {call}", grant.cached_tokens)
        for name in ("taken", "shared", "evicted", "dropped"):
            self._blocks(f"{name} of {call}", getattr(grant, name))
        for copy in grant.copies:
            self._check_copy(call, copy)
        return grant

    def _check_hits(self, call: str, grant: Grant) -> None:
        for place, block in enumerate(grant.shared):
            if block in grant.shared[:place]:
                broken(
                    "content",
                    f"{call} shares block {block} at two places of one table, {list(grant.shared)}: a block's K and V "
                    "hang on every token before it, so its key must hang on them, too",
                )

    def _check_copy(self, call: str, copy: object) -> None:
        found = self._typed(f"a copy of {call}", copy, Copy)
        in_all = self.geometry.num_blocks_in_all
        if not (0 <= found.source < in_all and 0 <= found.target < in_all):
            broken("contract", f"{call} orders {found}, and blocks are 0 to {in_all - 1}")

    def _swapped(
        self, method: str, unit: Sequence[tuple[SeqId, int]], *more: int
    ) -> SwapGrant | None:
        call = f"{method}({', '.join(map(repr, (unit, *more)))})"
        answer = self._attempt(method, unit, *more)
        if answer is None:
            self.book.refused(f"{call} returned None", self.tables_now(), self.usage().free)
            return None
        grant = self._typed(call, answer, SwapGrant)
        for copy in grant.copies:
            self._check_copy(call, copy)
        told = dict(grant.tables)
        self._done(call, list(told), [block for table in told.values() for block in table])
        for seq, table in told.items():
            self._check_told(call, seq, table)
        return grant

    def _listed(self, method: str, *args: object) -> Sequence[BlockId]:
        answer = self._attempt(method, *args)
        blocks = self._blocks(f"{method}({args[0]}, ...)", answer)
        self.book.unmoved(f"{method}({args[0]}, ...)", self.tables_now())
        return blocks

    def _done(self, call: str, seqs: Sequence[SeqId], shared: Sequence[BlockId] = ()) -> None:
        tables = self.tables_now()
        changed = {seq: tables.get(seq) for seq in seqs}
        self.book.done(call, changed, self.usage().free, shared)
        self.book.unmoved(call, {s: t for s, t in tables.items() if s not in changed})

    def tables_now(self) -> dict[SeqId, Table]:
        """What the learner's code says now, right or wrong."""
        return {seq: tuple(self.table(seq)) for seq in self._live}

    def _check_told(self, call: str, seq: SeqId, told: Sequence[BlockId]) -> None:
        table = self.book.tables[seq]
        if tuple(told) != table:
            broken(
                "fold",
                f"{call} told of a table {list(told)} for sequence {seq}, and it is {list(table)}",
            )

    def _typed(self, what: str, value: object, kind: type[T]) -> T:
        if not isinstance(value, kind):
            broken("contract", f"{what} is {shown(value)}; it must be of type {kind.__name__}")
        return value

    def _whole(self, what: str, value: object) -> int:
        try:
            return read_whole(value)
        except NotReadableError:
            broken("contract", f"{what} is {shown(value)}; it must be a whole number")

    def _flag(self, what: str, value: object) -> bool:
        try:
            return read_flag(value)
        except NotReadableError:
            broken("contract", f"{what} is {shown(value)}; it must be True or False")

    def _blocks(self, what: str, value: object) -> Table:
        try:
            return tuple(read_wholes(value))
        except NotReadableError:
            broken("contract", f"{what} is {shown(value)}; it must be a list of block numbers")


def _extended(before: Table, grant: Grant) -> Table:
    """The table after an extend, as the grant tells it."""
    if isinstance(grant.taken, range) and grant.dropped:  # a run moved
        return tuple(grant.taken)
    table, taken = list(before), list(grant.taken)
    if grant.dropped and taken and grant.dropped[0] in table:
        table[table.index(grant.dropped[0])] = taken.pop(0)
    return (*table, *taken)
