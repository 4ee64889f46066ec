"""Traces from the outside world, block by block: the paper's figures and vLLM's design notes.

P = Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention", SOSP 2023.
The pool takes a scripted free order, so physical blocks carry the figures' own numbers. P Figure 9 (beam
search) is in test_paper_rules.py.
"""

from pagesim.core.block_manager import BlockManager
from pagesim.core.content import Content
from pagesim.core.types import Copy, Grant, Room

A, B, C = 0, 1, 2


def manager(*first, num_blocks=9, **kwargs):
    """Blocks of 4; those named are handed out first, in that order."""
    rest = [block for block in range(num_blocks) if block not in first]
    return BlockManager(num_blocks, 4, free_order=[*first, *rest], **kwargs)


def start(memory, seq, tokens):
    content = Content(tokens)
    length = len(tokens)
    return memory.allocate(seq, content, Room(length, length, length + 1)), content


def test_figure_6_a_prompt_takes_two_blocks_and_the_second_new_token_a_third():
    """P Figure 6: 7 prompt tokens get blocks 7 and 1, holding 4 and 3."""
    memory = manager(7, 1, 3)
    grant, _ = start(memory, A, range(7))
    assert grant == Grant(writable=8, taken=[7, 1])
    assert memory.extend(A, 8) == Grant(writable=8)  # it fills block 1 to 4
    assert memory.usage().granted == 2
    assert memory.extend(A, 9) == Grant(writable=12, taken=[3])
    assert memory.table(A) == (7, 1, 3)


def test_figure_7_two_requests_side_by_side():
    """P Figure 7: A = 7, 1, 3 and B = 5, 2."""
    memory = manager(7, 1, 5, 3, 2)
    start(memory, A, range(7))
    start(memory, B, range(100, 104))
    for length in (8, 9):
        memory.extend(A, length)
    for length in (5, 6):
        memory.extend(B, length)
    assert memory.table(A) == (7, 1, 3)
    assert memory.table(B) == (5, 2)
    counts = memory.pool.ref_counts
    assert [block for block, count in enumerate(counts) if count] == [1, 2, 3, 5, 7]
    assert max(counts) == 1


def test_figure_8_the_first_writer_copies_and_the_last_writes_in_place():
    """P Figure 8: two samples share blocks 7 and 1; A1 writes to a copy, block 3, and A2 to block 1 itself."""
    memory = manager(7, 1, 3)
    a1, a2 = A, B
    start(memory, a1, range(7))
    fork = memory.fork(a1, a2, 7)
    assert fork.child == Grant(writable=7, shared=(7, 1))
    assert fork.parent_writable == 7
    counts = memory.pool.ref_counts
    assert (counts[7], counts[1]) == (2, 2)

    assert memory.extend(a1, 8) == Grant(
        writable=8, taken=[3], dropped=(1,), copies=(Copy(1, 3, 3),)
    )
    assert (counts[7], counts[1], counts[3]) == (2, 1, 1)
    assert memory.extend(a2, 8) == Grant(writable=8, taken=[])
    assert (memory.table(a1), memory.table(a2)) == ((7, 3), (7, 1))
    assert (counts[7], counts[1], counts[3]) == (2, 1, 1)


def test_the_design_notes_prefix_cache_example():
    """vLLM's design notes on prefix caching: 10 blocks of 4, every freed block to the back of the queue."""
    memory = manager(num_blocks=10, prefix_caching=True, keep_unkeyed_first=False)
    first = list(range(1, 16))

    grant, content = start(memory, A, first)
    assert grant.taken == [0, 1, 2, 3]
    assert list(memory.publish(A, content, 15)) == [0, 1, 2]  # three full blocks are cached
    content.outputs += [16]
    memory.extend(A, 16)
    assert list(memory.publish(A, content, 16)) == [3]
    content.outputs += [17]
    assert memory.extend(A, 17).taken == [4]

    second = first[:10] + list(range(101, 105))  # 14 tokens, 10 of them shared
    grant, content = start(memory, B, second)
    assert (grant.shared, grant.taken, grant.cached_tokens) == ((0, 1), [5, 6], 8)
    memory.publish(B, content, 14)

    assert list(memory.free(A)) == [4, 3, 2]
    assert list(memory.free(B)) == [6, 5, 1, 0]
    assert list(memory.pool.free_queue()) == [7, 8, 9, 4, 3, 2, 6, 5, 1, 0]

    old = Content([*first, 16, 17])
    assert memory.cached_tokens(old) == 16  # block 3 can still be found
    third = first[:12] + list(range(201, 218))  # 29 tokens, 12 of them shared
    grant, _ = start(memory, C, third)
    assert grant.shared == (0, 1, 2)
    assert grant.taken == [7, 8, 9, 4, 3]
    assert list(grant.evicted) == [3]
    assert memory.cached_tokens(old) == 12
    assert list(memory.pool.free_queue()) == [6, 5]
