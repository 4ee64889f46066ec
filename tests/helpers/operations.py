"""Operations on a memory as plain data, and strategies that draw rows of them.

``driver`` plays them. Operations that make no sense (free what is not held) are drawn, too.
"""

from typing import NamedTuple

from hypothesis import strategies as st

# -- operations ------------------------------------------------------------------------------------------


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
    seq: int


class ResetCache(NamedTuple):
    pass


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


# -- strategies ----------------------------------------------------------------------------------------

tokens = st.integers(1, 2)
prompts = st.one_of(
    st.integers(1, 14).map(lambda length: (1,) * length),  # these share prefixes
    st.integers(2, 12).map(lambda length: (1,) * (length // 2) + (2,) * (length - length // 2)),
    st.lists(tokens, min_size=1, max_size=12).map(tuple),
)
words = st.sampled_from(["", "", "", "", "s"])
small = st.integers(1, 6)
outputs = st.lists(tokens, min_size=1, max_size=3).map(tuple)
WEIGHTS = {
    "start": 3,
    "compute": 2,
    "fork": 2,
    "free": 2,
    "extend": 1,
    "write": 1,
    "all": 1,
    "publish": 1,
    "withdraw": 1,
    "swap": 2,
    "reset": 1,
    "nonsense": 1,
}
kinds = st.sampled_from([kind for kind, weight in WEIGHTS.items() for _ in range(weight)])
NUM_SEQS = 4


def allocations(seq):
    return st.builds(
        Allocate,
        seq=st.just(seq),
        prompt=prompts,
        now=st.sampled_from([99, 99, 1, 3, 5]),
        gate=st.booleans(),
        more=st.integers(1, 8),
        known=st.booleans(),
        salt=words,
        adapter=words,
        reads_cache=st.sampled_from([True, True, True, True, False]),
        keep_free=st.sampled_from([0, 0, 0, 1, 3]),
    )


@st.composite
def operations(draw):
    """A row of operations, most of which make sense if those before them succeeded."""
    row: list[Operation] = []
    live: list[int] = []
    for kind in draw(st.lists(kinds, min_size=12, max_size=40)):
        absent = [seq for seq in range(NUM_SEQS) if seq not in live]
        if kind == "nonsense":
            seq, other = draw(st.tuples(*[st.integers(0, NUM_SEQS - 1)] * 2))
            unwise = st.sampled_from(
                [Free(seq), Extend(seq, 1), Fork(seq, other), Allocate(seq, (1,))]
            )
            row.append(draw(unwise))
        elif kind == "reset" or (kind != "start" and not live):
            row.append(ResetCache())
        elif kind == "start":
            if absent:
                op = draw(allocations(absent[0]))
                live.append(op.seq)
                row += [op, Write(op.seq, len(op.prompt)), Publish(op.seq)]
        else:
            seq = draw(st.sampled_from(live))
            row += draw(moves(kind, seq, live, absent))
    return row


def moves(kind, seq, live, absent):
    """Operations on a sequence that is held, if all went well."""
    if kind == "compute":
        return st.tuples(small, outputs).map(
            lambda drawn: (Extend(seq, drawn[0]), Write(seq, *drawn), Publish(seq))
        )
    if kind == "fork":
        if not absent:
            return st.just((Fork(seq, seq),))
        live.append(absent[0])
        return st.just((Fork(seq, absent[0]),))
    if kind == "free":
        live.remove(seq)
    single = {
        "extend": st.builds(Extend, st.just(seq), small),
        "write": st.builds(Write, st.just(seq), small, outputs),
        "all": st.builds(ExtendAll, st.just(tuple(live)), st.integers(1, 3)),
        "publish": st.just(Publish(seq)),
        "withdraw": st.builds(Withdraw, st.just(seq), small),
        "swap": st.sampled_from([(seq,), tuple(live)]).flatmap(
            lambda seqs: st.one_of(
                st.just(SwapOut(seqs)),
                st.builds(SwapIn, st.just(seqs), st.integers(0, 3), st.sampled_from([0, 0, 1])),
                st.just(SwapIn(tuple(range(NUM_SEQS)), 1)),
            )
        ),
        "free": st.just(Free(seq)),
    }[kind]
    return single.map(lambda operation: (operation,))


paged_sizes = st.tuples(st.sampled_from([8, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12]), st.integers(1, 5))
arenas = st.integers(1, 64)
