"""Operations on a learner's memory as data, how they are drawn, and how they are played."""

from collections.abc import Iterator
from typing import NamedTuple

from hypothesis import strategies as st

from pagesim.practice.film import Film
from pagesim.practice.learner import Learner, Subject, flag, tables, wholes

NUM_SEQS = 4
OTHER_ERRORS = (LookupError, ValueError, TypeError, AttributeError)


class Allocate(NamedTuple):
    seq: int
    num_tokens: int


class Free(NamedTuple):
    """Of a sequence that has a table, or of one that has none."""

    seq: int


Operation = Allocate | Free


class Script(NamedTuple):
    num_blocks: int
    block_size: int
    operations: list[Operation]


@st.composite
def scripts(draw: st.DrawFn) -> Script:
    """Allocations, some too large, and frees, a few of them of nobody."""
    size = draw(st.sampled_from([4, 2, 3, 1]))
    num_blocks = draw(st.sampled_from([5, 4, 6, 8]))
    row: list[Operation] = []
    live: list[int] = []
    for choice in draw(st.lists(st.integers(0, 9), min_size=4, max_size=12)):
        absent = [seq for seq in range(NUM_SEQS) if seq not in live]
        if absent and choice < 6:
            blocks = draw(st.integers(1, 3) if choice else st.integers(3, num_blocks + 1))
            row.append(Allocate(absent[0], blocks * size - draw(st.integers(0, size - 1))))
            live.append(absent[0])
        elif live and choice < 9:
            seq = live.pop(draw(st.integers(0, len(live) - 1)))
            row.append(Free(seq))
        else:
            row.append(Free(draw(st.sampled_from(absent or [NUM_SEQS]))))
    return Script(num_blocks, size, row)


class State(NamedTuple):
    """The learner's attributes, read."""

    tables: dict[int, list[int]]
    free: list[int]

    def listing(self, block: int) -> list[int]:
        """The sequences whose table lists the block."""
        return [seq for seq, table in self.tables.items() if block in table]


class Moment(NamedTuple):
    """One operation: the learner's memory before and after, and what came of it (``None``: nothing was to come)."""

    operation: Operation
    before: State
    after: State
    came: bool | Exception | None
    size: int
    num_blocks: int

    @property
    def call(self) -> str:
        name = type(self.operation).__name__.lower()
        return f"{name}({', '.join(map(str, self.operation))})"


def play(learner: Learner, script: Script) -> Iterator[Moment]:
    """What there is to see after each operation; what makes no sense is left out."""
    num_blocks, size, operations = script
    memory = learner.make("memory", "Memory", num_blocks, size)
    learner.film = film = Film(num_blocks, size)
    state, written = _read(memory), dict[int, int]()
    for operation in operations:
        if isinstance(operation, Allocate) and operation.seq in state.tables:
            continue
        before, came = state, _perform(memory, operation, state)
        state = _read(memory)
        if isinstance(operation, Allocate):
            written[operation.seq] = operation.num_tokens
        film.shot(learner.lines[-1], state.tables, written)
        yield Moment(operation, before, state, came, size, num_blocks)


def _perform(memory: Subject, operation: Operation, state: State) -> bool | Exception | None:
    match operation:
        case Allocate(seq, num_tokens):
            gave = memory.call("allocate", seq, num_tokens)
            return flag(gave, f"what allocate({seq}, {num_tokens}) gave")
        case Free(seq) if seq in state.tables:
            memory.call("free", seq)
            return None
        case Free(seq):
            came = memory.attempt("free", seq, errors=OTHER_ERRORS)
            return came if isinstance(came, Exception) else None


def _read(memory: Subject) -> State:
    return State(tables(memory.look("tables")), wholes(memory.look("free_blocks"), "free_blocks"))
