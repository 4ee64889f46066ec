"""Keys are made once for each block, when it becomes full, with 8 bytes a token."""

import hashlib
import struct
from itertools import takewhile


class Content:
    def __init__(self, tokens, block_size, salt="", adapter=""):
        self.block_size = block_size
        self.tokens = []
        names = [salt.encode(), adapter.encode()]
        self.parent = b"".join(struct.pack("<Q", len(name)) + name for name in names)
        self.made = []
        for token in tokens:
            self.append(token)

    def append(self, token):
        self.tokens.append(token)
        if len(self.tokens) % self.block_size == 0:
            own = struct.pack(f"<{self.block_size}q", *self.tokens[-self.block_size :])
            parent = self.made[-1] if self.made else self.parent
            self.made.append(hashlib.blake2b(parent + own, digest_size=20).digest())

    def keys(self):
        return list(self.made)

    def find(self, index):
        most = (len(self.tokens) - 1) // self.block_size
        there = takewhile(lambda key: key in index, self.made[:most])
        return [index[key] for key in there]
