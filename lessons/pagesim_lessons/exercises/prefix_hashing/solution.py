"""Prefix hashing, solved: each key is made from its parent, and so names a whole prefix."""

from collections.abc import Mapping, Sequence
from hashlib import sha256


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

    def keys(self) -> list[bytes]:
        """The keys of all blocks that are full now, the first block's first."""
        # repr() puts quotes and commas between the parts: "ab", "c" is not "a", "bc".
        parent = sha256(repr((self.salt, self.adapter)).encode()).digest()
        keys = []
        for block in range(len(self.tokens) // self.block_size):
            start = block * self.block_size
            own = repr(self.tokens[start : start + self.block_size])
            parent = sha256(parent + own.encode()).digest()
            keys.append(parent)
        return keys

    def find(self, index: Mapping[bytes, int]) -> list[int]:
        """The blocks, in order, that hold the beginning of this content: what ``index`` has for its keys."""
        most = (len(self.tokens) - 1) // self.block_size  # the last token is always computed
        found = []
        for key in self.keys()[:most]:
            if key not in index:
                break
            found.append(index[key])
        return found
