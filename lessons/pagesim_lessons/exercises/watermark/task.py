"""Admission with a watermark: who may start, so that those that run have room to grow?

Sequences that run grow by a token a step, and take a block now and then. If none is left, somebody is preempted and
computed again later. So a request is only admitted if, after it has taken its blocks, some still stay free: so many
are the watermark. It is for admissions only. A sequence that runs may take the last free block; what else is it kept
for? And where nobody runs, nobody needs room to grow: then a request may fill the whole memory.

A step has a budget: so many tokens are computed at most. What does not fit into it is computed in later steps, so an
admitted request may begin with a part of its prompt, and takes blocks for that part only. Some blocks of a prompt may
be found in the prefix cache; their tokens are not computed. Found blocks that others hold are simply shared; those
that are free now are not free any more afterwards. Blocks of 4, watermark 2, 7 blocks are free, somebody runs:

    waiting       tokens  found blocks      computes   of the free blocks         free afterwards
    request 0        9    1, held             5          2 (tokens 4 to 8)        7 - 2 = 5    starts
    request 1        9    2, 1 of them free   1          1 found + 1 (token 8)    5 - 2 = 3    starts
    request 2        5    none                5          2                        3 - 2 = 1    waits: 1 < 2
    request 3        2    none                                                                 waits: nobody overtakes

    admit([(9, 1, 0), (9, 2, 1), (5, 0, 0), (2, 0, 0)],
          num_running=1, num_free=7, block_size=4, watermark=2, budget=100) == [5, 1]

Write both functions.
"""

from collections.abc import Sequence


def may_grow(num_tokens: int, num_free: int, block_size: int, watermark: int) -> bool:
    """May a running sequence, whose blocks hold ``num_tokens`` tokens (at least 1), write one more token?

    It takes a block only when the last one it has is full.
    """
    raise NotImplementedError


def admit(
    waiting: Sequence[tuple[int, int, int]],
    num_running: int,
    num_free: int,
    block_size: int,
    watermark: int,
    budget: int,
) -> list[int]:
    """Admit waiting requests in order; the first that cannot start ends it.

    Returns how many tokens each admitted request computes. Each of ``waiting`` is (tokens, found blocks, those of the
    found blocks that are free now). No two requests find the same block, and at least one token of each is not found.
    Before the first is admitted ``num_running`` sequences run, and ``budget`` tokens may still be computed in this
    step. An admitted request computes as many tokens as it can, at least 1, and runs from then on. The token that
    comes out of it is written in the next step: it needs no room now.
    """
    raise NotImplementedError
