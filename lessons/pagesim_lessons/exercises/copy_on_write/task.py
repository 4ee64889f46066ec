"""Copy-on-write: fork a sequence without copying, and copy a shared block only when somebody writes into it.

Two samples of one prompt have the same first tokens. So a fork lists the same blocks, and copies nothing. Only the
last block, if it is not full, will be written again; whoever writes first while others list it takes a free block,
orders a copy of what is written so far, and writes there. Blocks of 4, a prompt of 6 tokens, forked; then
sequence 1 appends a token:

    fork(0, 1)                           append(1)

    seq 0   [ 5 ][ 2 ]                   seq 0   [ 5 ][ 2 ]           copy of 2 slots: block 2 -> block 7
              |    |                               |
    seq 1   [ 5 ][ 2 ]                   seq 1   [ 5 ][ 7 ]

    block 5: 4 of 4 slots written, count 2         block 5: count 2
    block 2: 2 of 4 slots written, count 2         block 2: count 1, and sequence 0 may write on in it
                                                   block 7: 3 of 4 slots written, count 1

``start`` and ``free`` are ready. Write ``fork`` and ``append``. The attributes are looked at by the checks, so leave
them their names and meanings.
"""


class Memory:
    """The blocks, and who lists them.

    ``tables`` has the block ids of each sequence, in order, and ``lengths`` its number of tokens. ``counts[block]`` is
    how many tables list the block. ``free_blocks`` are those that no table lists, each once. ``copies`` are all
    copies ordered so far: (source block, target block, number of slots to copy, from the block's first slot).
    """

    def __init__(self, num_blocks: int, block_size: int) -> None:
        self.block_size = block_size
        self.free_blocks = list(range(num_blocks))
        self.counts = [0] * num_blocks
        self.tables: dict[int, list[int]] = {}
        self.lengths: dict[int, int] = {}
        self.copies: list[tuple[int, int, int]] = []

    def start(self, seq: int, num_tokens: int) -> None:
        """Begin a sequence with its prompt. It is only called where enough blocks are free."""
        num_blocks = -(-num_tokens // self.block_size)
        self.tables[seq] = [self._take() for _ in range(num_blocks)]
        self.lengths[seq] = num_tokens

    def free(self, seq: int) -> None:
        """End a sequence: its blocks are free again, where no other table lists them."""
        for block in self.tables.pop(seq):
            self.counts[block] -= 1
            if self.counts[block] == 0:
                self.free_blocks.append(block)
        del self.lengths[seq]

    def _take(self) -> int:
        """A free block, now in one table."""
        block = self.free_blocks.pop()
        self.counts[block] = 1
        return block

    # -- to be written ---------------------------------------------------------------------------------------

    def fork(self, parent: int, child: int) -> None:
        """Begin ``child`` as a copy of ``parent``, of the same length, without copying or taking any block."""
        raise NotImplementedError

    def append(self, seq: int) -> bool:
        """Make room for one more token at the end of the sequence, which is then written there.

        Afterwards the block for that token is in no other table. If that needs a copy, it is added to ``copies``.
        Returns False, and changes nothing, if a free block is needed and there is none.
        """
        raise NotImplementedError
