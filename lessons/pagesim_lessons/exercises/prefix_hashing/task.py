"""Prefix hashing: under which key is a full block kept, so that another request finds it?

K and V of a token depend on all tokens before it. So a block may only be used again if everything before it was the
same, too. That is why a block's key is made of its own tokens *and* of the key of the block before it, its parent:

    tokens    12  7  7 30 |  4  9 12  1 |  5  6              block_size 4
    block          0      |       1     |   2 (not full)
                   |             |
    key     salt,  v             v
         adapter -> key 0 -----> key 1        no key: more tokens will come, and change it

The first block has no parent. There, a salt and the name of an adapter come in: the same tokens under another salt or
another adapter have other keys, in all blocks.

A lookup asks an index (key -> block) for one key after another, from the first, and ends at the first that is
missing. What comes after a missing block is of no use. And at least one token has to be computed, the last one, as
the next word is drawn from what comes out there: a prompt of 8 tokens in blocks of 4 finds 1 block at most, one of
9 tokens finds 2.

``__init__`` and ``append`` are ready; you may add attributes. Write ``keys`` and ``find``.
"""

from collections.abc import Mapping, Sequence


class Content:
    """The tokens of one sequence, which grows at its end. Token ids are whole numbers from 0 to 200,000."""

    def __init__(
        self, tokens: Sequence[int], block_size: int, salt: str = "", adapter: str = ""
    ) -> None:
        self.tokens = list(tokens)
        self.block_size = block_size
        self.salt = salt
        self.adapter = adapter

    def append(self, token: int) -> None:
        """A new token at the end."""
        self.tokens.append(token)

    # -- to be written ---------------------------------------------------------------------------------------

    def keys(self) -> list[bytes]:
        """The keys of all blocks that are full now, the first block's first.

        Two blocks have equal keys exactly if all tokens are equal from the start to the end of the block, in the same
        order, and salt and adapter are, too. A key is a digest, for example of ``hashlib.sha256``: bytes, at least 16,
        as many for each block, and the same in every process. Python's ``hash()`` is not used: it differs from process
        to process for texts, and collisions are easily made.
        """
        raise NotImplementedError

    def find(self, index: Mapping[bytes, int]) -> list[int]:
        """The blocks, in order, that hold the beginning of this content: what ``index`` has for its keys."""
        raise NotImplementedError
