"""Operations on a learner's memory as data, how they are drawn, and how they are played."""

from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.practice.film import Film
from pagesim.practice.learner import Learner, Subject, tables, whole, wholes

NUM_SEQS = 4
OTHER_ERRORS = (LookupError, ValueError, TypeError, AttributeError)


class Start(NamedTuple):
    seq: int
    num_blocks: int


class Grow(NamedTuple):
    seq: int


class Fork(NamedTuple):
    parent: int
    child: int


class Free(NamedTuple):
    """Of a sequence that has a table, or of one that has none."""

    seq: int


class WouldFree(NamedTuple):
    seq: int


Operation = Start | Grow | Fork | Free | WouldFree
NAMES = {Start: "start", Grow: "grow", Fork: "fork", Free: "free", WouldFree: "would_free"}


class Script(NamedTuple):
    num_blocks: int
    operations: list[Operation]


kinds = st.sampled_from([Fork, Fork, Grow, Free, Free, WouldFree, WouldFree, Start, None])


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Operations most of which make sense; the others are left out when they are played. ``None``: free nobody."""
    row: list[Operation] = [Start(0, draw(st.integers(1, 3)))]
    live = [0]
    for kind in draw(st.lists(kinds, min_size=5, max_size=12)):
        absent = [seq for seq in range(NUM_SEQS) if seq not in live]
        if kind is None:
            row.append(Free(draw(st.sampled_from(absent or [NUM_SEQS]))))
        elif kind is Start or not live:
            if absent:
                row.append(Start(absent[0], draw(st.integers(1, 2))))
                live.append(absent[0])
        elif kind is Fork:
            if absent:
                row.append(Fork(draw(st.sampled_from(live)), absent[0]))
                live.append(absent[0])
        elif kind is Free:
            row.append(Free(live.pop(draw(st.integers(0, len(live) - 1)))))
        elif kind is Grow:
            row.append(Grow(draw(st.sampled_from(live))))
        else:
            row.append(WouldFree(draw(st.sampled_from(live))))
    return Script(draw(st.sampled_from([5, 4, 6])), row)


class State(NamedTuple):
    """The learner's attributes, read."""

    tables: dict[int, list[int]]
    counts: list[int]
    free: list[int]

    def listing(self, block: int) -> list[int]:
        """The sequences whose table lists the block."""
        return [seq for seq, table in self.tables.items() if block in table]


class Moment(NamedTuple):
    """One operation: the learner's memory before and after, and what came of it (``None``: nothing)."""

    operation: Operation
    before: State
    after: State
    came: int | Exception | None

    @property
    def call(self) -> str:
        return f"{NAMES[type(self.operation)]}({', '.join(map(str, self.operation))})"


def play(learner: Learner, script: Script) -> Iterator[Moment]:
    """What there is to see after each operation; what makes no sense is left out."""
    memory = learner.make("memory", "Memory", script.num_blocks)
    learner.film = film = Film(script.num_blocks, 1)
    state = _read(memory)
    for operation in script.operations:
        if not _makes_sense(operation, state):
            continue
        before, came = state, _perform(memory, operation, state)
        state = _read(memory)
        film.shot(
            learner.lines[-1],
            state.tables,
            counts=state.counts,
            forks={operation.child: operation.parent} if isinstance(operation, Fork) else None,
        )
        yield Moment(operation, before, state, came)


def _makes_sense(operation: Operation, state: State) -> bool:
    match operation:
        case Start(seq, num_blocks):
            return seq not in state.tables and num_blocks <= len(state.free)
        case Grow(seq):
            return seq in state.tables and len(state.free) > 0
        case Fork(parent, child):
            return parent in state.tables and child not in state.tables
        case WouldFree(seq):
            return seq in state.tables
        case Free():
            return True


def _perform(memory: Subject, operation: Operation, state: State) -> int | Exception | None:
    name = NAMES[type(operation)]
    if isinstance(operation, Free) and operation.seq not in state.tables:
        came = memory.attempt(name, *operation, errors=OTHER_ERRORS)
        return came if isinstance(came, Exception) else None
    gave = memory.call(name, *operation)
    if isinstance(operation, WouldFree):
        return whole(gave, f"what would_free({operation.seq}) gave")
    return None


def _read(memory: Subject) -> State:
    look = memory.look
    return State(
        tables(look("tables")),
        wholes(look("counts"), "counts"),
        wholes(look("free_blocks"), "free_blocks"),
    )
