"""What can be seen of a learner's blocks from outside: all tables, and how many blocks are free.

After every command the book is compared with what it was before, and says what went wrong and by which block:
a manager that keeps no counts to look at cannot be asked. Knows nothing about how blocks are managed.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import NoReturn

from pagesim.core.errors import LawBrokenError
from pagesim.core.types import BlockId, Geometry, SeqId

Table = tuple[BlockId, ...]
MOST_NAMED = 8


class BlockBook:
    """The only writer of its ``tables``; ``num_free`` counts blocks of the device.

    ``counts_all``: every block that is not free is in a table. A memory that reserves in runs may hold more.
    """

    def __init__(self, geometry: Geometry, *, counts_all: bool) -> None:
        self.geometry = geometry
        self.num_free = geometry.num_blocks
        self.tables: dict[SeqId, Table] = {}
        self._counts_all = counts_all
        self._holders: dict[BlockId, list[SeqId]] = {}
        self._num_held = 0  # blocks of the device in tables
        self._once_shared: set[BlockId] = set()  # in several tables since they were last in none

    def holders(self, block: BlockId) -> Sequence[SeqId]:
        """Who lists the block."""
        return self._holders.get(block, ())

    def others(self, seq: SeqId, block: BlockId) -> list[SeqId]:
        """Who lists it besides this sequence."""
        return [other for other in self.holders(block) if other != seq]

    # -- after a command ---------------------------------------------------------------------------------

    def refused(self, call: str, tables: Mapping[SeqId, Table], num_free: int) -> None:
        """Nothing has changed. ``call`` begins the sentence: "allocate(1, 9) returned False"."""
        if num_free != self.num_free:
            broken(
                "none-changes-nothing",
                f"{call}, and the number of free blocks went from {self.num_free} to {num_free}",
            )
        for seq, table in tables.items():
            if table != self.tables[seq]:
                broken(
                    "none-changes-nothing",
                    f"{call}, and the table of sequence {seq} went from {list(self.tables[seq])} to {list(table)}",
                )

    def done(
        self,
        call: str,
        changed: Mapping[SeqId, Table | None],
        num_free: int,
        shared: Collection[BlockId] = (),
    ) -> None:
        """``changed`` tables of those whom the command is about (``None``: gone); ``shared`` may be in several."""
        before = {seq: self.tables.get(seq, ()) for seq in changed}
        for seq, table in changed.items():
            self._check_table(call, seq, table or ())
        left = self._note(changed)
        for seq, table in changed.items():
            for block in table or ():
                if block in before[seq] or block in shared:
                    continue
                for other in self.others(seq, block):
                    broken(
                        "single-writer",
                        f"{call} gave block {block} to sequence {seq}, and sequence {other} holds it",
                    )
        self._check_counts(call, num_free, left)
        self.num_free = num_free
        self._once_shared.difference_update(left)

    def unmoved(self, call: str, tables: Mapping[SeqId, Table]) -> None:
        """These tables are not what the command was about."""
        for seq, table in tables.items():
            if table != self.tables[seq]:
                broken(
                    "content",
                    f"{call} changed the table of sequence {seq} from {list(self.tables[seq])} to {list(table)}",
                )

    # -- parts -------------------------------------------------------------------------------------------

    def _check_table(self, call: str, seq: SeqId, table: Table) -> None:
        in_all = self.geometry.num_blocks_in_all
        for position, block in enumerate(table):
            if not 0 <= block < in_all:
                broken(
                    "conservation",
                    f"after {call} the table of sequence {seq} lists block {block}, and blocks are 0 to {in_all - 1}",
                )
            if block in table[:position]:
                broken(
                    "conservation",
                    f"after {call} the table of sequence {seq} lists block {block} twice: {list(table)}",
                )

    def _note(self, changed: Mapping[SeqId, Table | None]) -> list[BlockId]:
        """Take the new tables over. Returns the blocks that were in some table and are in none now."""
        touched: dict[BlockId, None] = {}
        for seq in changed:
            for block in self.tables.pop(seq, ()):
                self._holders[block].remove(seq)
                touched[block] = None
        for seq, table in changed.items():
            if table is None:
                continue
            self.tables[seq] = table
            for block in table:
                holders = self._holders.setdefault(block, [])
                if not holders and block not in touched and block < self.geometry.num_blocks:
                    self._num_held += 1
                holders.append(seq)
                if len(holders) > 1:
                    self._once_shared.add(block)
        left = [block for block in touched if not self._holders[block]]
        self._num_held -= sum(block < self.geometry.num_blocks for block in left)
        return left

    def _check_counts(self, call: str, num_free: int, left: Sequence[BlockId]) -> None:
        num_blocks, held = self.geometry.num_blocks, self._num_held
        if not 0 <= num_free <= num_blocks:
            broken(
                "conservation", f"after {call} {num_free} blocks are free of {num_blocks} present"
            )
        sizes = (
            f"after {call} {plural(held, 'block')} of {num_blocks} {'is' if held == 1 else 'are'} in tables and "
            f"{num_free} free"
        )
        lost = num_blocks - held - num_free
        if lost > 0 and self._counts_all:
            once = [block for block in left if block in self._once_shared]
            if once:
                broken(
                    "refcount",
                    f"{sizes}: the last table that listed {_named(once)} is gone, and {_it(once)} not free: a count "
                    "is too high",
                )
            gone = f"; {_named(left)} just left {_its(left)} table" if left else ""
            broken("conservation", f"{sizes}: {plural(lost, 'block')} lost{gone}")
        if lost < 0:
            both = [block for block in self._once_shared if self.holders(block)]
            if both:
                broken(
                    "refcount",
                    f"{sizes}: a block counts as free that a table still lists; {_named(both)} had several owners",
                )
            broken("conservation", f"{sizes}: a block is both free and in a table")


def broken(law: str, sentence: str) -> NoReturn:
    """Raise LawBrokenError."""
    raise LawBrokenError(f"{law}: {sentence}")


def plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _named(blocks: Sequence[BlockId]) -> str:
    if len(blocks) == 1:
        return f"block {blocks[0]}"
    if len(blocks) > MOST_NAMED:
        shown = ", ".join(map(str, blocks[: MOST_NAMED - 1]))
        return f"blocks {shown} and {len(blocks) - MOST_NAMED + 1} more"
    return f"blocks {', '.join(map(str, blocks[:-1]))} and {blocks[-1]}"


def _it(blocks: Sequence[BlockId]) -> str:
    return "it is" if len(blocks) == 1 else "they are"


def _its(blocks: Sequence[BlockId]) -> str:
    return "its" if len(blocks) == 1 else "their"
