"""Draws rows of operations, and sizes of memories to play them on, for Hypothesis.

Most operations of a row make sense if those before them succeeded. Knows nothing about memories.
"""

from collections.abc import Callable

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from pagesim.practice.operations import (
    Allocate,
    Extend,
    ExtendAll,
    Fork,
    Free,
    Operation,
    Publish,
    ResetCache,
    SwapIn,
    SwapOut,
    Withdraw,
    Write,
)

NUM_SEQS = 4
MAX_PROMPT = 14
WEIGHTS = {
    "rest": 1,  # nothing; the first, so that a row shrinks to rests
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
tokens = st.integers(1, 2)
prompts: SearchStrategy[tuple[int, ...]] = st.one_of(
    st.integers(1, MAX_PROMPT).map(lambda length: (1,) * length),  # these share prefixes
    st.integers(2, 12).map(lambda length: (1,) * (length // 2) + (2,) * (length - length // 2)),
    st.lists(tokens, min_size=1, max_size=12).map(tuple),
)
words = st.sampled_from(["", "", "", "", "s"])
small = st.integers(1, 6)
outputs: SearchStrategy[tuple[int, ...]] = st.lists(tokens, min_size=1, max_size=3).map(tuple)
paged_sizes = st.tuples(
    st.sampled_from([8, 1, 2, 3, 4, 5, 6, 7, 9, 10, 11, 12]), st.sampled_from([4, 2, 3, 1, 5])
)
arenas = st.integers(1, 64)


def operations(
    kinds: tuple[str, ...] = tuple(WEIGHTS),
    max_size: int = 40,
    nonsense: int = WEIGHTS["nonsense"],
) -> SearchStrategy[list[Operation]]:
    """Rows of operations of these kinds (keys of ``WEIGHTS``). ``nonsense`` is how often such come that make none."""
    weights = {**WEIGHTS, "nonsense": nonsense}
    weighted = [kind for kind in weights if kind in kinds for _ in range(weights[kind])]
    return _rows(st.lists(st.sampled_from(weighted), min_size=12, max_size=max_size))


@st.composite
def _rows(draw: DrawFn, kinds: SearchStrategy[list[str]]) -> list[Operation]:
    row: list[Operation] = []
    live: list[int] = []
    asked: list[tuple[int, ...]] = []  # prompts so far: some come again, and may be found cached
    for kind in draw(kinds):
        if kind == "rest":
            continue
        absent = [seq for seq in range(NUM_SEQS) if seq not in live]
        if kind == "nonsense":
            seq, other = draw(st.tuples(*[st.integers(0, NUM_SEQS - 1)] * 2))
            unwise: list[Operation] = [
                Free(seq),
                Extend(seq, 1),
                Fork(seq, other),
                Allocate(seq, (1,)),
            ]
            row.append(draw(st.sampled_from(unwise)))
        elif kind == "reset" or (kind != "start" and not live):
            row.append(ResetCache())
        elif kind == "start":
            if absent:
                again = st.sampled_from(asked) if asked else prompts
                op = draw(_allocations(absent[0], st.one_of(prompts, prompts, again)))
                live.append(op.seq)
                asked.append(op.prompt)
                row += [op, Write(op.seq, len(op.prompt)), Publish(op.seq)]
        else:
            seq = draw(st.sampled_from(live))
            row += draw(_moves(kind, seq, live, absent))
    return row


def _allocations(seq: int, drawn: SearchStrategy[tuple[int, ...]]) -> SearchStrategy[Allocate]:
    return st.builds(
        Allocate,
        seq=st.just(seq),
        prompt=drawn,
        now=st.sampled_from([99, 99, 1, 3, 5]),
        gate=st.booleans(),
        more=st.integers(1, 8),
        known=st.booleans(),
        salt=words,
        adapter=words,
        reads_cache=st.sampled_from([True, True, True, True, False]),
        keep_free=st.sampled_from([0, 0, 0, 1, 3]),
    )


def _moves(
    kind: str, seq: int, live: list[int], absent: list[int]
) -> SearchStrategy[tuple[Operation, ...]]:
    """Operations on a sequence that is held, if all went well. Notes in ``live`` who comes and goes."""
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
        return st.just((Free(seq),))
    return _SINGLE[kind](seq, tuple(live)).map(lambda operation: (operation,))


def _swaps(seq: int, live: tuple[int, ...]) -> SearchStrategy[Operation]:
    def either(seqs: tuple[int, ...]) -> SearchStrategy[Operation]:
        return st.one_of(
            st.just(SwapOut(seqs)),
            st.builds(SwapIn, st.just(seqs), st.integers(0, 3), st.sampled_from([0, 0, 1])),
            st.just(SwapIn(tuple(range(NUM_SEQS)), 1)),
        )

    return st.sampled_from([(seq,), live]).flatmap(either)


_SINGLE: dict[str, Callable[[int, tuple[int, ...]], SearchStrategy[Operation]]] = {
    "extend": lambda seq, _: st.builds(Extend, st.just(seq), small),
    "write": lambda seq, _: st.builds(Write, st.just(seq), small, outputs),
    "all": lambda _, live: st.builds(ExtendAll, st.just(live), st.integers(1, 3)),
    "publish": lambda seq, _: st.just(Publish(seq)),
    "withdraw": lambda seq, _: st.builds(Withdraw, st.just(seq), small),
    "swap": _swaps,
}
