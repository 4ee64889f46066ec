"""Operations on a learner's memory as data, how they are drawn, and how they are played beside a shadow.

The shadow knows only tokens: which ones each sequence has. Blocks are the learner's to choose.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.practice.film import Film
from pagesim.practice.learner import Learner, Subject, flag, items, whole, wholes

NUM_SEQS = 3


class Start(NamedTuple):
    seq: int
    num_tokens: int


class Fork(NamedTuple):
    parent: int
    child: int


class Append(NamedTuple):
    seq: int


class Free(NamedTuple):
    seq: int


Operation = Start | Fork | Append | Free
Copy = tuple[int, int, int]


class Script(NamedTuple):
    num_blocks: int
    block_size: int
    operations: list[Operation]


kinds = st.sampled_from([Append, Append, Append, Fork, Fork, Start, Free])


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Operations most of which make sense; the others are left out when they are played."""
    size = draw(st.sampled_from([4, 2, 3, 1]))
    row: list[Operation] = [Start(0, draw(st.integers(1, 6)))]
    live = [0]
    for kind in draw(st.lists(kinds, min_size=6, max_size=14)):
        absent = [seq for seq in range(NUM_SEQS) if seq not in live]
        seq = draw(st.sampled_from(live or absent))
        if kind is Append:
            row.append(Append(seq))
        elif kind is Free:
            row.append(Free(seq))
            live = [other for other in live if other != seq]
        elif absent:
            new = absent[0]
            row.append(Fork(seq, new) if kind is Fork else Start(new, draw(st.integers(1, 6))))
            live.append(new)
    return Script(draw(st.sampled_from([4, 3, 5, 6, 9])), size, row)


class State(NamedTuple):
    """The learner's attributes, read."""

    tables: dict[int, list[int]]
    lengths: dict[int, int]
    counts: list[int]
    free: list[int]
    copies: list[Copy]

    def listing(self, block: int) -> list[int]:
        """The sequences whose table lists the block."""
        return [seq for seq, table in self.tables.items() if block in table]


class Moment(NamedTuple):
    """One operation: what the learner's memory was before and after, and what append gave (else ``None``)."""

    operation: Operation
    before: State
    after: State
    gave: bool | None
    size: int


@dataclass(slots=True)
class Player:
    """Plays a script on the learner's class; only what makes sense is called."""

    learner: Learner
    script: Script
    memory: Subject = field(init=False)
    state: State = field(init=False)
    film: Film = field(init=False)

    def moments(self) -> Iterator[Moment]:
        num_blocks, size, operations = self.script
        self.memory = self.learner.make("memory", "Memory", num_blocks, size)
        self.learner.film = self.film = Film(num_blocks, size)
        self.state = self._read()
        for operation in operations:
            if self._makes_sense(operation):
                before, gave = self.state, self._play(operation)
                self.state = self._read()
                self._shoot(operation, before)
                yield Moment(operation, before, self.state, gave, size)

    def _makes_sense(self, operation: Operation) -> bool:
        tables = self.state.tables
        match operation:
            case Start(seq, num_tokens):
                return seq not in tables and -(-num_tokens // self.script.block_size) <= len(
                    self.state.free
                )
            case Fork(parent, child):
                return parent in tables and child not in tables
            case Append(seq) | Free(seq):
                return seq in tables

    def _play(self, operation: Operation) -> bool | None:
        match operation:
            case Start(seq, num_tokens):
                self.memory.call("start", seq, num_tokens)
            case Fork(parent, child):
                self.memory.call("fork", parent, child)
            case Free(seq):
                self.memory.call("free", seq)
            case Append(seq):
                return flag(self.memory.call("append", seq), f"what append({seq}) gave")
        return None

    def _read(self) -> State:
        look = self.memory.look
        return State(
            {
                whole(seq, "a key of tables"): wholes(table, f"tables[{seq}]")
                for seq, table in _dict(look("tables")).items()
            },
            {
                whole(seq, "a key of lengths"): whole(length, f"lengths[{seq}]")
                for seq, length in _dict(look("lengths")).items()
            },
            wholes(look("counts"), "counts"),
            wholes(look("free_blocks"), "free_blocks"),
            [_copy(copy) for copy in items(look("copies"), "copies")],
        )

    def _shoot(self, operation: Operation, before: State) -> None:
        state = self.state
        self.film.shot(
            self.learner.lines[-1],
            state.tables,
            state.lengths,
            counts=state.counts,
            forks={operation.child: operation.parent} if isinstance(operation, Fork) else None,
            copies=state.copies[len(before.copies) :],
        )


def _dict(value: object) -> dict[object, object]:
    return value if isinstance(value, dict) else {}


def _copy(value: object) -> Copy:
    parts = wholes(value, "an entry of copies")
    source, target, slots = parts if len(parts) == 3 else (*parts, -1, -1, -1)[:3]
    return source, target, slots


def play(learner: Learner, script: Script) -> Iterator[Moment]:
    """What there is to see after each operation."""
    return Player(learner, script).moments()
