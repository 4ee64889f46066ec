"""A learner's simple manager, made into a memory that meets the whole protocol.

The simple contract, for blocks of B tokens; position p of a sequence is in block ``table[p // B]``, slot p % B:

    Manager(num_blocks, block_size)
    num_free                      how many blocks are in no table (a property or a method)
    allocate(seq, num_tokens)     True: seq holds just enough blocks. False: they do not suffice; nothing changed
    append(seq, position)         the token at ``position`` comes, all before it are there. True: its slot exists
                                  and is seq's alone. False: no block is free; nothing changed. (old, new): the
                                  block was shared; new stands in its place, and the caller copies
    free(seq)                     seq holds nothing any more
    table(seq)                    its blocks, in order
    fork(parent, child, num_tokens)   optional: child shares the blocks of the parent's first num_tokens tokens

``append`` may be called for a position whose slot is there already: then no block is needed.

The adapter does what the contract leaves out (admission, looking ahead) by arithmetic, and is strict about what
comes back: each call is compared with the ``BlockBook``. Knows nothing about who calls.
"""

from collections.abc import Sequence

from pagesim.core.content import Content
from pagesim.core.errors import DuplicateSequenceError, UnknownSequenceError
from pagesim.core.types import (
    NO_BLOCKS,
    Admission,
    BlockId,
    Copy,
    ForkGrant,
    Geometry,
    Grant,
    Room,
    SeqId,
    Usage,
    blocks_for,
    blocks_lacking,
)
from pagesim.practice.block_book import BlockBook, Table, broken, plural
from pagesim.practice.callers import Caller
from pagesim.practice.reading import (
    NotReadableError,
    read_flag,
    read_items,
    read_whole,
    read_wholes,
    shown,
)

ANY_ERROR = (Exception,)


class SimpleManager:
    """Meets ``KVCacheManager``. Without ``fork`` it copies where others share: ``can_share`` says which.

    ``thorough``: every table is looked at after every call, not only that of the call's own sequence.
    ``doubtful`` are calls that were to be refused, and came back as if nothing were wrong, though nothing that can be
    seen has changed.
    """

    can_cache = False
    can_swap = False

    def __init__(
        self,
        own: Caller,
        num_blocks: int,
        block_size: int,
        *,
        forks: bool,
        thorough: bool = False,
    ) -> None:
        self.geometry = Geometry(num_blocks, block_size)
        self.can_share = forks
        self.book = BlockBook(self.geometry, counts_all=True)
        self._own = own
        self._thorough = thorough
        self.doubtful: list[str] = []
        self._room: dict[SeqId, int] = {}  # tokens that there is room for, and may be written
        free = self._free_now()
        if free != num_blocks:
            broken(
                "conservation",
                f"a new manager of {plural(num_blocks, 'block')} says that {free} are free",
            )

    # -- questions ---------------------------------------------------------------------------------------

    def cached_tokens(self, content: Content) -> int:  # noqa: ARG002
        return 0

    def admission(self, content: Content, room: Room) -> Admission:
        if self.never_fits(content, room) is not None:
            return Admission.NEVER
        return Admission.NOW if self._fits(room) else Admission.LATER

    def never_fits(self, content: Content, room: Room) -> str | None:  # noqa: ARG002
        return blocks_lacking(self.geometry, room)

    def can_extend(self, targets: Sequence[tuple[SeqId, int]]) -> bool:
        return self._needed(targets) <= self.book.num_free

    def table(self, seq: SeqId) -> Sequence[BlockId]:
        self._check_known(seq)
        return self.book.tables[seq]

    def usage(self) -> Usage:
        free = self.book.num_free
        return Usage(self.geometry.num_blocks - free, free, 0, free)

    # -- commands ----------------------------------------------------------------------------------------

    def allocate(self, seq: SeqId, content: Content, room: Room) -> Grant | None:  # noqa: ARG002
        call = f"allocate({seq}, {room.now})"
        if seq in self._room:
            self._must_refuse(call, "allocate", seq, room.now)
            raise DuplicateSequenceError(f"sequence {seq} already holds blocks; free it first")
        needed, free = blocks_for(room.now, self.geometry.block_size), self.book.num_free
        if needed <= free and not self._fits(room):
            return None  # there must be more than is taken now: the learner is not asked
        if not self._flag(call, self._own.call("allocate", seq, room.now)):
            self.book.refused(f"{call} returned False", self._seen(), self._free_now())
            if needed <= free:
                broken(
                    "contract",
                    f"{call} returned False; it needs {plural(needed, 'block')} and {free} are free",
                )
            return None
        table = self._read(seq)
        self._book(call, {seq: table})
        if len(table) != needed:
            broken(
                "contract",
                f"after {call} table({seq}) has {plural(len(table), 'block')}; {room.now} tokens in blocks of "
                f"{self.geometry.block_size} need {needed}",
            )
        self._room[seq] = room.now
        return Grant(room.now, table)

    def extend(self, seq: SeqId, to: int) -> Grant | None:
        if seq not in self._room:
            self._must_refuse(f"append({seq}, 0)", "append", seq, 0)
            self._check_known(seq)
        room = self._room[seq]
        if to <= room:
            return Grant(room)
        if self._needed([(seq, to)]) > self.book.num_free:
            if self._needed([(seq, room + 1)]) > self.book.num_free:
                self._append(seq, room)
            return None
        taken: list[BlockId] = []
        dropped: list[BlockId] = []
        copies: list[Copy] = []
        for position in range(room, to):
            before = self.book.tables[seq]
            copy = self._append(seq, position)
            if copy is not None:
                taken.append(copy.target)
                dropped.append(copy.source)
                copies.append(copy)
            taken += self.book.tables[seq][len(before) :]
            self._room[seq] = position + 1
        return Grant(to, taken, NO_BLOCKS, NO_BLOCKS, dropped, copies)

    def fork(self, parent: SeqId, child: SeqId, num_tokens: int) -> ForkGrant:
        if not self.can_share:
            return self._copied(parent, child, num_tokens)
        call = f"fork({parent}, {child}, {num_tokens})"
        if parent not in self._room or child in self._room:
            self._must_refuse(call, "fork", parent, child, num_tokens)
            self._check_known(parent)
            raise DuplicateSequenceError(f"sequence {child} already holds blocks; free it first")
        answer = self._own.call("fork", parent, child, num_tokens)
        if answer is not None and answer is not True:
            broken(
                "contract", f"{call} returned {shown(answer)}; it takes no block: return nothing"
            )
        block_size = self.geometry.block_size
        before = self.book.tables[parent]
        expected = before[: blocks_for(num_tokens, block_size)]
        table = self._read(child)
        self._book(call, {parent: self._read(parent), child: table}, shared=expected)
        if table != expected or self.book.tables[parent] != before:
            broken(
                "content",
                f"after {call} table({child}) is {list(table)} and table({parent}) "
                f"{list(self.book.tables[parent])}; the child's must be {list(expected)}, and the parent's stay "
                f"{list(before)}",
            )
        self._room[child] = num_tokens
        if num_tokens % block_size:
            self._room[parent] = min(self._room[parent], num_tokens)
        return ForkGrant(Grant(num_tokens, shared=table), self._room[parent])

    def free(self, seq: SeqId) -> Sequence[BlockId]:
        call = f"free({seq})"
        if seq not in self._room:
            self._must_refuse(call, "free", seq)
            self._check_known(seq)
        self._own.call("free", seq)
        table = self.book.tables[seq]
        del self._room[seq]
        self._book(call, {seq: None})
        return [block for block in reversed(table) if not self.book.holders(block)]

    def reset_cache(self) -> bool:
        return not self._room

    def publish(self, seq: SeqId, content: Content, num_tokens: int) -> Sequence[BlockId]:  # noqa: ARG002
        return NO_BLOCKS

    def withdraw(self, seq: SeqId, num_tokens: int) -> Sequence[BlockId]:  # noqa: ARG002
        return NO_BLOCKS

    def swap_size(self, unit: Sequence[tuple[SeqId, int]]) -> int:  # noqa: ARG002
        return 0

    def swap_out(self, unit: Sequence[tuple[SeqId, int]]) -> None:  # noqa: ARG002
        return None

    def swap_in(self, targets: Sequence[tuple[SeqId, int]], keep_free: int) -> None:  # noqa: ARG002
        return None

    # -- one more token ----------------------------------------------------------------------------------

    def _append(self, seq: SeqId, position: int) -> Copy | None:
        """One call. If no block is free it must be refused, else done; a copy if one is due."""
        call = f"append({seq}, {position})"
        before, free = self.book.tables[seq], self.book.num_free
        needed = self._needed([(seq, position + 1)])
        answer = self._own.call("append", seq, position)
        said = f"{call} returned {shown(answer)}"
        copy = self._copy_of(said, answer, before, position)
        if copy is None and not self._flag(call, answer, " or (old, new)"):
            self.book.refused(said, self._seen(), self._free_now())
            if needed <= free:
                needs = f"it needs {plural(needed, 'block')} and {free} are free"
                broken("contract", f"{said}; {needs if needed else 'its slot was there already'}")
            return None
        table = self._read(seq)
        self._book(call, {seq: table})
        self._check_appended(said, seq, position, before, copy)
        if needed > free:
            broken("contract", f"{said}, and no block is free")
        return copy

    def _check_appended(
        self, said: str, seq: SeqId, position: int, before: Table, copy: Copy | None
    ) -> None:
        block_size, table = self.geometry.block_size, self.book.tables[seq]
        place = position // block_size
        expected = list(before)
        if copy is not None:
            expected[place] = copy.target
        kept = list(table[: len(before)])
        if (
            kept != expected
            and copy is None
            and kept[:place] == expected[:place]
            and len(kept) > place
        ):
            broken(
                "content",
                f"{said}, and block {table[place]} stands in the place of block {before[place]}: return "
                f"({before[place]}, {table[place]}), or nobody copies what is in it",
            )
        if kept != expected:
            broken(
                "content",
                f"{said}, and table({seq}) went from {list(before)} to {list(table)}: what is written stays where "
                "it is",
            )
        length, there = max(place + 1, len(before)), place < len(before)
        if len(table) != length:
            broken(
                "contract",
                f"{said}, and table({seq}) has {plural(len(table), 'block')}; position {position} is in block number "
                f"{position} // {block_size} = {place}, so {length} {'is' if length == 1 else 'are'} needed"
                + (": its slot was there already" if there else ""),
            )
        if copy is not None and not self.book.holders(copy.source):
            broken(
                "contract",
                f"{said}; block {copy.source} was in no other table: its only owner writes in place",
            )
        others = self.book.others(seq, table[place])
        if others:
            broken(
                "single-writer",
                f"{said}, and position {position} is in block {table[place]}, which sequence {others[0]} lists, too: "
                "take another block and return (old, new)",
            )

    def _copy_of(self, said: str, answer: object, before: Table, position: int) -> Copy | None:
        """The copy that was asked for; ``None``: the answer is another one."""
        if not isinstance(answer, tuple | list):
            return None
        try:
            pair = [read_whole(item) for item in read_items(answer)]
        except NotReadableError:
            pair = []
        if len(pair) != 2:
            broken("contract", f"{said}; return True, False or (old, new), two blocks")
        place, offset = divmod(position, self.geometry.block_size)
        if place < len(before) and pair[1] == before[place] != pair[0]:
            broken(
                "contract",
                f"{said}, the wrong way round: return (old, new), here ({pair[1]}, {pair[0]})",
            )
        if place >= len(before) or pair[0] != before[place]:
            listed = f"block {before[place]}" if place < len(before) else "no block yet"
            broken("contract", f"{said}; the table has {listed} at position {position}")
        if not offset:
            broken(
                "contract", f"{said}; position {position} begins a block: there is nothing to copy"
            )
        return Copy(pair[0], pair[1], offset)

    def _copied(self, parent: SeqId, child: SeqId, num_tokens: int) -> ForkGrant:
        """Without a fork of the learner's: into the blocks that the child holds already."""
        self._check_known(parent)
        self._check_known(child)
        block_size = self.geometry.block_size
        pairs = zip(self.book.tables[parent], self.book.tables[child], strict=False)
        copies = [
            Copy(source, target, min(num_tokens - number * block_size, block_size))
            for number, (source, target) in enumerate(pairs)
            if number * block_size < num_tokens
        ]
        return ForkGrant(Grant(self._room[child], copies=copies), self._room[parent])

    # -- parts -------------------------------------------------------------------------------------------

    def _check_known(self, seq: SeqId) -> None:
        if seq not in self._room:
            raise UnknownSequenceError(
                f"sequence {seq} holds no blocks: it was never allocated, or is freed"
            )

    def _must_refuse(self, call: str, method: str, *args: int) -> None:
        """A call that makes no sense: it may raise or say False, and changes nothing."""
        answer = self._own.attempt(method, *args, errors=ANY_ERROR)
        seq = args[0] if method != "fork" or args[0] not in self._room else args[1]
        holds = "holds blocks already" if seq in self._room else "holds nothing"
        refusal = f"{call} is to be refused, as sequence {seq} {holds}"
        self.book.refused(refusal, self._seen(), self._free_now())
        if answer is True or isinstance(answer, tuple | list):
            broken("contract", f"{refusal}, and it returned {shown(answer)}")
        if answer is None:
            self.doubtful.append(refusal)

    def _flag(self, call: str, answer: object, more: str = "") -> bool:
        try:
            return read_flag(answer)
        except NotReadableError:
            broken("contract", f"{call} returned {shown(answer)}; return True, or False{more}")

    def _free_now(self) -> int:
        found = self._own.look("num_free")
        if callable(found):
            found = self._own.ask("num_free")
        try:
            return read_whole(found)
        except NotReadableError:
            broken("contract", f"num_free is {shown(found)}; it must be a whole number")

    def _read(self, seq: SeqId) -> Table:
        found = self._own.ask("table", seq)
        try:
            return tuple(read_wholes(found))
        except NotReadableError:
            broken(
                "contract", f"table({seq}) returned {shown(found)}; return a list of block numbers"
            )

    def tables_now(self) -> dict[SeqId, Table]:
        """What the learner's code says now, right or wrong, for a picture of it."""
        return {seq: self._read(seq) for seq in self._room}

    def _seen(self) -> dict[SeqId, Table]:
        """The tables as they are now, if all are looked at."""
        return self.tables_now() if self._thorough else {}

    def _book(
        self, call: str, changed: dict[SeqId, Table | None], shared: Sequence[BlockId] = ()
    ) -> None:
        others = {seq: table for seq, table in self._seen().items() if seq not in changed}
        free = self._free_now()
        self.book.done(call, changed, free, shared)
        self.book.unmoved(call, others)

    def _fits(self, room: Room) -> bool:
        needed = blocks_for(max(room.now, room.present), self.geometry.block_size)
        return needed + room.keep_free <= self.book.num_free

    def _needed(self, targets: Sequence[tuple[SeqId, int]]) -> int:
        """Blocks that extending all of these takes, one after another."""
        block_size, book = self.geometry.block_size, self.book
        needed = 0
        writers: dict[BlockId, int] = {}  # of shared last blocks
        for seq, to in targets:
            self._check_known(seq)
            room, table = self._room[seq], book.tables[seq]
            if to <= room:
                continue
            needed += max(blocks_for(to, block_size) - len(table), 0)
            if room % block_size and len(book.holders(table[room // block_size])) > 1:
                block = table[room // block_size]
                writers[block] = writers.get(block, 0) + 1
        for block, count in writers.items():  # the last owner writes in place
            needed += min(count, len(book.holders(block)) - 1)
        return needed
