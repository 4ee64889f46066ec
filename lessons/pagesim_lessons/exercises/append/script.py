"""Operations on a learner's memory as data, how they are drawn, and how they are played beside a shadow.

The shadow knows only tokens: which ones each sequence has. Blocks are the learner's to choose.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.practice.exercise import RETURNS, Fault
from pagesim.practice.film import Film
from pagesim.practice.learner import (
    Learner,
    Subject,
    flag,
    items,
    lengths,
    tables,
    whole_or_none,
    wholes,
)
from pagesim.practice.reading import NotReadableError, read_whole

NUM_SEQS = 3
FIRST_TOKEN = 11
UNREADABLE = -1
"""In place of something in a slot that is no whole number."""


class Start(NamedTuple):
    seq: int


class Append(NamedTuple):
    seq: int
    num_tokens: int


class Read(NamedTuple):
    seq: int


class Free(NamedTuple):
    seq: int


Operation = Start | Append | Read | Free


class Script(NamedTuple):
    num_blocks: int
    block_size: int
    operations: list[Operation]


kinds = st.sampled_from([Append, Append, Append, Append, Read, Read, Start, Free])
amounts = st.one_of(st.just(1), st.just(1), st.integers(1, 3), st.integers(2, 7))


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Operations most of which make sense; the others are left out when they are played."""
    row: list[Operation] = [Start(0), Append(0, draw(st.integers(1, 6)))]
    live = [0]
    for kind in draw(st.lists(kinds, min_size=5, max_size=14)):
        absent = [seq for seq in range(NUM_SEQS) if seq not in live]
        if kind is Start or not live:
            if absent:
                row += [Start(absent[0]), Append(absent[0], draw(amounts))]
                live.append(absent[0])
            continue
        seq = draw(st.sampled_from(live))
        if kind is Append:
            row.append(Append(seq, draw(amounts)))
        elif kind is Read:
            row.append(Read(seq))
        else:
            row += [Read(seq), Free(seq)]
            live.remove(seq)
    row += [Read(seq) for seq in live]
    return Script(draw(st.sampled_from([4, 3, 5, 6])), draw(st.sampled_from([4, 2, 3, 1])), row)


class State(NamedTuple):
    """The learner's attributes, read."""

    tables: dict[int, list[int]]
    lengths: dict[int, int]
    free: list[int]
    slots: list[int]

    def listing(self, block: int) -> list[int]:
        """The sequences whose table lists the block."""
        return [seq for seq, table in self.tables.items() if block in table]


class Moment(NamedTuple):
    """One operation: the learner's memory before and after, and what came (a flag, tokens, or nothing).

    ``came`` is an IndexError where blocks or places ran out. ``tokens`` were to be written by it, and ``own`` are
    those that each sequence had before. ``ended`` are tokens of sequences of the same number that were freed.
    """

    operation: Operation
    call: str
    before: State
    after: State
    came: bool | list[int | None] | IndexError | None
    tokens: list[int]
    own: dict[int, list[int]]
    size: int
    ended: list[int]

    @property
    def needed(self) -> int:
        """Blocks that the sequence needs with the new tokens."""
        return -(-(len(self.own[self.operation.seq]) + len(self.tokens)) // self.size)


@dataclass(slots=True)
class Player:
    """Plays a script on the learner's class; only what makes sense is called."""

    learner: Learner
    script: Script
    memory: Subject = field(init=False)
    own: dict[int, list[int]] = field(default_factory=dict)
    ended: dict[int, list[int]] = field(default_factory=dict)

    def moments(self) -> Iterator[Moment]:
        num_blocks, size, operations = self.script
        self.memory = self.learner.make("memory", "Memory", num_blocks, size)
        self.learner.film = film = Film(num_blocks, size)
        state, fresh = self._read(), count(FIRST_TOKEN)
        for operation in operations:
            if (operation.seq in self.own) == isinstance(operation, Start):
                continue
            had = {seq: tokens.copy() for seq, tokens in self.own.items()}
            tokens = (
                list(islice(fresh, operation.num_tokens)) if isinstance(operation, Append) else []
            )
            before, came = state, self._play(operation, tokens)
            state = self._read()
            film.shot(self.learner.lines[-1], state.tables, state.lengths)
            call = self.learner.lines[-1].partition("  #")[0].removeprefix("memory.")
            ended = self.ended.get(operation.seq, [])
            yield Moment(operation, call, before, state, came, tokens, had, size, ended)
            if isinstance(came, IndexError):  # none of the laws has anything to say about it
                place = self.learner.place_of(came)
                raise Fault(f"your append raised IndexError: {came}{place}", law=RETURNS)

    def _play(
        self, operation: Operation, tokens: list[int]
    ) -> bool | list[int | None] | IndexError | None:
        name, seq = type(operation).__name__.lower(), operation.seq
        match operation:
            case Append():
                came = self.memory.attempt(name, seq, tokens, errors=(IndexError,))
                if isinstance(came, IndexError):
                    return came
                if gave := flag(came, f"what append({seq}, ...) gave"):
                    self.own[seq] += tokens
                return gave
            case Read():
                read = self.memory.call(name, seq)
                return [
                    whole_or_none(token, f"what read({seq}) gave, in part,")
                    for token in items(read, f"what read({seq}) gave")
                ]
            case Start():
                self.memory.call(name, seq)
                self.own[seq] = []
            case Free():
                self.memory.call(name, seq)
                self.ended[seq] = self.ended.get(seq, []) + self.own.pop(seq)
        return None

    def _read(self) -> State:
        look = self.memory.look
        return State(
            tables(look("tables")),
            lengths(look("lengths")),
            wholes(look("free_blocks"), "free_blocks"),
            [_token(token) for token in items(look("slots"), "slots")],
        )


def _token(value: object) -> int:
    try:
        return 0 if value is None else read_whole(value)
    except NotReadableError:
        return UNREADABLE


def play(learner: Learner, script: Script) -> Iterator[Moment]:
    """What there is to see after each operation."""
    return Player(learner, script).moments()
