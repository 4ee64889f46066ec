"""Append: write new tokens behind those that are there, and take a new block only when one is due.

A step computes one more token of a sequence or, of its prompt, many at once. Each needs the next slot. As long as the
last block has room, that is there already; when it is full, the next token needs a new block. Here blocks have 4
slots, and tokens are just numbers (they stand for a token's K and V). Sequence 0 has 6 tokens in the blocks 5 and 2:

                          tables[0]    slots 20 to 23     slots 8 to 11      slots 28 to 31
                                       (block 5)          (block 2)          (block 7)
                          [5, 2]       11 12 13 14        15 16  .  .         .  .  .  .
    append(0, [17, 18])   [5, 2]       11 12 13 14        15 16 17 18         .  .  .  .
    append(0, [19])       [5, 2, 7]    11 12 13 14        15 16 17 18        19  .  .  .

    lengths[0] == 9       read(0) == [11, 12, 13, 14, 15, 16, 17, 18, 19]

The 7th and 8th token still fit. So block 2 is full, and all the same no block is taken: perhaps no more tokens come.
Block 7 is due with the 9th token. A prompt of many tokens may need several blocks in one append.

``start`` and ``free`` are ready. Write ``append`` and ``read``. The checks look at the attributes, so leave them their
names and meanings.
"""

from collections import deque


class Memory:
    """The slots, and whose they are.

    ``slots`` has the token that was written last into each slot, and 0 where there was none; block b has the slots from
    b x block_size on. ``tables`` has the block table of each sequence, and ``lengths`` its number of tokens.
    ``free_blocks`` are those that no table lists.
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.free_blocks = deque(range(num_blocks))
        self.slots = [0] * (num_blocks * block_size)
        self.tables: dict[int, list[int]] = {}
        self.lengths: dict[int, int] = {}

    def start(self, seq: int) -> None:
        """Begin a sequence, without any token, and so without any block."""
        self.tables[seq] = []
        self.lengths[seq] = 0

    def free(self, seq: int) -> None:
        """End a sequence. What is in its slots stays there, until somebody else writes."""
        self.free_blocks.extend(reversed(self.tables.pop(seq)))
        del self.lengths[seq]

    # -- to be written ---------------------------------------------------------------------------------------

    def append(self, seq: int, tokens: list[int]) -> bool:
        """Write these tokens (at least one) into the next slots of the sequence, and say True.

        Afterwards the table has just the blocks that its tokens need; those that it had before stay where they are.
        Any free blocks may be taken. Returns False, and changes nothing, if too few are free for all of the tokens.
        """
        raise NotImplementedError

    def read(self, seq: int) -> list[int]:
        """All tokens of the sequence, in order, as the slots have them now."""
        raise NotImplementedError
